#include "c_api/status.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "c_api/invalid_handle.h"
#include "core/forked.h"
#include "hearth/error.h"
#include "hearth/version.h"

namespace hearth::c_api {
namespace {

// Of the calling thread, and longer than most. It takes no memory, and has no destructor: a thread
// that ends may call from those of its other objects.
thread_local constinit char message[2048] = "";

// The text may end in the middle, but not of a character.
hearth_status say(hearth_status status, const char* function, const char* text) noexcept {
  const auto length = static_cast<std::size_t>(
      function == nullptr ? std::snprintf(message, sizeof message, "%s", text)
                          : std::snprintf(message, sizeof message, "%s: %s", function, text));
  if (length >= sizeof message) {
    std::size_t end = sizeof message - 1;
    while (end > 0 && (message[end - 1] & 0xc0) == 0x80) --end;
    if (end > 0 && (message[end - 1] & 0x80) != 0) message[end - 1] = 0;
  }
  return status;
}

// Statuses are error codes, counted from 1.
constexpr hearth_status status_of(ErrorCode code) { return static_cast<hearth_status>(code) + 1; }
static_assert(status_of(ErrorCode::invalid_argument) == HEARTH_ERROR_INVALID_ARGUMENT);
static_assert(status_of(ErrorCode::device) == HEARTH_ERROR_DEVICE);
static_assert(status_of(ErrorCode::corrupt_file) == HEARTH_ERROR_CORRUPT_FILE);
static_assert(status_of(ErrorCode::internal) == HEARTH_ERROR_INTERNAL);

}  // namespace

void require_own_process(const char* function) {
  if (!is_forked()) return watch_forks();
  throw Error(ErrorCode::unsupported,
              std::string(function) +
                  ": no threads and devices of Hearth here; got a call in a child of fork(), "
                  "expected one that runs another program, or fork() before the first call");
}

hearth_status failed(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return say(status_of(error.code()), nullptr, error.what());
  } catch (const InvalidHandle& error) {
    return say(HEARTH_ERROR_INVALID_HANDLE, nullptr, error.what());
  } catch (const std::bad_alloc&) {
    return say(HEARTH_ERROR_OUT_OF_MEMORY, function, "out of memory of the host");
  } catch (const std::exception& error) {
    return say(HEARTH_ERROR_INTERNAL, function, error.what());
  } catch (...) {
    return say(HEARTH_ERROR_INTERNAL, function, "an unknown exception");
  }
}

}  // namespace hearth::c_api

extern "C" {

int32_t hearth_c_api_version(void) { return HEARTH_C_API_VERSION; }

const char* hearth_version(void) { return HEARTH_VERSION; }

const char* hearth_error_message(void) { return hearth::c_api::message; }

const char* hearth_status_name(hearth_status status) {
  if (status == HEARTH_OK) return "ok";
  if (status == HEARTH_ERROR_INVALID_HANDLE) return "invalid_handle";
  if (status < HEARTH_OK || status > HEARTH_ERROR_INVALID_HANDLE) return "unknown";
  return hearth::name(static_cast<hearth::ErrorCode>(status - 1));
}

}  // extern "C"
