#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "hearth/c_api.h"
#include "runtime/device/device_spec.h"

namespace hearth::c_api {
namespace {

// A read that runs beside its caller. `mutex` guards what follows it.
struct Read {
  Value value;  // until its bytes are there
  void (*done)(void* context) = nullptr;
  void* context = nullptr;
  std::shared_ptr<Read> next;  // of those whose `done` waits for another's end; of one thread

  std::mutex mutex;
  std::condition_variable finished;
  bool is_finished = false;
  // What the device's memory held; of memory that the host sees, nothing.
  std::vector<std::byte> bytes;
  std::exception_ptr failure;  // until it is thrown
};

using Reads = Handles<std::shared_ptr<Read>, HandleKind::read>;

Device device_of(const Value& value) {
  return value.quantized != nullptr ? value.quantized->device() : value.array.device();
}

std::size_t size_in_bytes(const Value& value) {
  if (value.quantized != nullptr) return static_cast<std::size_t>(value.quantized->bytes());
  return static_cast<std::size_t>(bytes_of(value.array.dtype(), value.array.size()));
}

// Whether reading neither waits nor copies from another memory.
bool is_at_hand(const Value& value) {
  return value.quantized == nullptr && value.array.is_evaluated() &&
         (value.array.is_scalar() || device_of(value).impl().host_visible());
}

// Whether this thread finishes reads: it cannot wait for one.
thread_local bool is_waiter = false;

// The reads whose `done` this thread calls once the one that it is in has returned, so that reads
// which callbacks start need no deeper stack. On the stack of the outermost call.
struct Callbacks {
  std::shared_ptr<Read> first;
  Read* last = nullptr;

  void add(std::shared_ptr<Read> read) noexcept {
    Read* const added = read.get();
    (last == nullptr ? first : last->next) = std::move(read);
    last = added;
  }
  std::shared_ptr<Read> take() noexcept {
    std::shared_ptr<Read> taken = std::move(first);
    if (taken != nullptr) first = std::move(taken->next);
    if (first == nullptr) last = nullptr;
    return taken;
  }
};
// Null outside of `done`.
thread_local constinit Callbacks* callbacks = nullptr;

void call_done(std::shared_ptr<Read> read) noexcept {
  if (callbacks != nullptr) return callbacks->add(std::move(read));
  Callbacks waiting;
  callbacks = &waiting;
  for (; read != nullptr; read = waiting.take()) {
    call_back([&] { read->done(read->context); });
  }
  callbacks = nullptr;
}

void finish(std::shared_ptr<Read> read) {
  {
    const std::lock_guard lock(read->mutex);
    read->is_finished = true;
  }
  read->finished.notify_all();
  if (read->done != nullptr) call_done(std::move(read));
}

// Waits for the arrays of a device in a thread of its own, one after the other: they come in the
// order in which the device computes them. The thread begins with the first and lives as long as
// the process.
class Waiter {
 public:
  static Waiter& of(Device device) {
    static std::mutex* const mutex = new std::mutex;
    static auto* const all = new std::map<const DeviceImpl*, Waiter*>;
    const std::lock_guard lock(*mutex);
    Waiter*& one = (*all)[&device.impl()];
    if (one == nullptr) one = new Waiter;
    return *one;
  }

  void add(std::shared_ptr<Read> read) {
    const std::lock_guard lock(mutex_);
    if (!has_thread_) {
      std::thread([this] { run(); }).detach();
      has_thread_ = true;
    }
    reads_.push_back(std::move(read));
    wake_.notify_one();
  }

 private:
  void run() noexcept {
    is_waiter = true;
    for (;;) {
      std::shared_ptr<Read> read;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !reads_.empty(); });
        read = std::move(reads_.front());
        reads_.pop_front();
      }
      try {
        std::vector<std::byte> bytes(size_in_bytes(read->value));
        c_api::read(read->value, bytes.data(), bytes.size(), "hearth_read_start");
        const std::lock_guard lock(read->mutex);
        read->bytes = std::move(bytes);
      } catch (...) {
        const std::lock_guard lock(read->mutex);
        read->failure = std::current_exception();
      }
      // Who is told finds the array's memory given back.
      if (read->failure != nullptr || !read->bytes.empty()) read->value = {};
      finish(std::move(read));
    }
  }

  std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Read>> reads_;
  bool has_thread_ = false;
};

// `handle` is there before `done` is called.
void start(hearth_array array, void (*done)(void*), void* context, hearth_read& handle,
           const char* function) {
  auto read = std::make_shared<Read>();
  read->value = *use(array, function, "array");
  read->done = done;
  read->context = context;
  submit();
  const hearth_read before = std::exchange(handle, {Reads::give(read)});
  if (is_at_hand(read->value)) return finish(std::move(read));
  try {
    Waiter::of(device_of(read->value)).add(read);
  } catch (...) {
    Reads::release(std::exchange(handle, before).id, function, "read");
    throw;
  }
}

// Of a read that is finished and did not fail.
void copy(const Read& read, void* target, std::size_t bytes, const char* function) {
  if (read.bytes.empty()) return c_api::read(read.value, target, bytes, function);
  require_size(bytes, read.bytes.size(), function);
  std::memcpy(target, read.bytes.data(), bytes);
}

std::shared_ptr<Read> read_of(hearth_read read, const char* function) {
  return *Reads::use(read.id, function, "read");
}

}  // namespace

std::int64_t read_handles() noexcept { return Reads::count(); }

}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;
using c_api::require_pointer;

extern "C" {

hearth_status hearth_read_start(hearth_array array, hearth_read* read) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(read, function, "read");
    c_api::start(array, nullptr, nullptr, *read, function);
  });
}

hearth_status hearth_read_start_notify(hearth_array array, void (*done)(void* context),
                                       void* context, hearth_read* read) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(reinterpret_cast<const void*>(done), function, "done");
    require_pointer(read, function, "read");
    c_api::start(array, done, context, *read, function);
  });
}

hearth_status hearth_read_poll(hearth_read read, int32_t* ready) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(ready, function, "ready");
    const auto used = c_api::read_of(read, function);
    const std::lock_guard lock(used->mutex);
    *ready = used->is_finished ? 1 : 0;
  });
}

hearth_status hearth_read_finish(hearth_read read, void* target, size_t bytes) {
  return guarded(__func__, [&, function = __func__] {
    const auto used = c_api::read_of(read, function);
    c_api::Reads::release(read.id, function, "read");
    if (bytes > 0) require_pointer(target, function, "target");
    std::exception_ptr failure;
    {
      std::unique_lock lock(used->mutex);
      if (c_api::is_waiter && !used->is_finished) {
        throw hearth::Error(hearth::ErrorCode::invalid_argument,
                            std::string(function) +
                                ": the thread that finishes reads would wait for itself; got a "
                                "read that has not finished, expected one that has, in `done`");
      }
      used->finished.wait(lock, [&] { return used->is_finished; });
      // Taken, so that the waiter's thread, which may drop the read last, has no part in it.
      failure = std::exchange(used->failure, nullptr);
    }
    if (failure != nullptr) std::rethrow_exception(std::move(failure));
    c_api::copy(*used, target, bytes, function);
  });
}

hearth_status hearth_read_release(hearth_read read) {
  return guarded(__func__,
                 [&, function = __func__] { c_api::Reads::release(read.id, function, "read"); });
}

}  // extern "C"
