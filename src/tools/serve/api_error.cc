#include "tools/serve/api_error.h"

#include <new>

#include "hearth/error.h"
#include "models/serving/full_queue.h"
#include "tools/chat_json/field_error.h"

namespace hearth::tools::serve {
namespace {

constexpr int kTooManyRequests = 429;
constexpr const char* kBadRequestType = "invalid_request_error";
constexpr const char* kServerType = "server_error";
constexpr const char* kUnavailableType = "unavailable_error";

JsonValue text_or_null(const std::string& text) {
  return text.empty() ? JsonValue(nullptr) : JsonValue(text);
}

}  // namespace

JsonValue ApiError::document() const {
  return JsonObject{{"error", JsonObject{{"message", std::string(what())},
                                         {"type", type_},
                                         {"param", text_or_null(param_)},
                                         {"code", text_or_null(code_)}}}};
}

ApiResponse ApiError::response() const {
  ApiResponse response{.status = status_, .body = json_text(document())};
  if (status_ == kTooManyRequests || status_ == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  if (status_ == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiError stopping() { return {503, "the server is stopping", kUnavailableType}; }

ApiError cancelled() { return {503, "the answer was cancelled", kServerType}; }

ApiError error_of_exception() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error;
  } catch (const FieldError& error) {
    return {400, error.what(), kBadRequestType, error.param(), error.code()};
  } catch (const models::FullQueue& error) {
    return {kTooManyRequests, error.what(), "rate_limit_error", "", "queue_full"};
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::invalid_argument:
      case ErrorCode::unsupported:
        return {400, error.what(), kBadRequestType};
      case ErrorCode::out_of_memory:
        return {503, error.what(), kServerType};
      default:
        return {500, error.what(), kServerType};
    }
  } catch (const std::bad_alloc&) {
    return {503, "out of memory", kServerType};
  } catch (const std::exception& error) {
    return {500, error.what(), kServerType};
  }
}

}  // namespace hearth::tools::serve
