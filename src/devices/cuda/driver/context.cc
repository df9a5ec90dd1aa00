#include "devices/cuda/driver/context.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "hearth/error.h"

namespace hearth::cuda {
namespace {

constexpr std::chrono::microseconds kSpin{100};
constexpr int kLooks = 64;  // between two looks at the clock

}  // namespace

Context::Context(std::shared_ptr<const DriverApi> api, Card card, std::string name)
    : api_(std::move(api)), card_(card), name_(std::move(name)) {}

Context::~Context() {
  if (!is_open_) return;
  // Failures change nothing here: the card may be lost, and at the end of the process the driver's
  // library may be gone before this.
  if (drain() && api_->cuCtxPushCurrent_v2(context_) == Result::success) {
    api_->cuStreamDestroy_v2(stream_);
    api_->cuMemFreeHost(end_);
    if (recording_stream_ != nullptr) api_->cuStreamDestroy_v2(recording_stream_);
    ContextHandle popped = nullptr;
    api_->cuCtxPopCurrent_v2(&popped);
  }
  api_->cuDevicePrimaryCtxRelease_v2(card_);
}

void Context::open() {
  const std::lock_guard lock(mutex_);
  if (is_open_) return;
  const auto expect = [&](Result result, const char* name) {
    if (result == Result::success) return;
    throw Error(result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device,
                "cuda: " + name_ + " cannot be used; got " + describe(*api_, result) + " from " +
                    name + ", expected success");
  };
  ContextHandle context = nullptr;
  expect(api_->cuDevicePrimaryCtxRetain(&context, card_), "cuDevicePrimaryCtxRetain");
  ContextHandle popped = nullptr;
  const char* call = "cuStreamCreate";
  Result result = api_->cuCtxPushCurrent_v2(context);
  if (result == Result::success) {
    // It shall not wait for the queue that other libraries use by default.
    result = api_->cuStreamCreate(&stream_, kStreamNonBlocking);
    if (result == Result::success) {
      call = "cuMemHostAlloc";
      void* memory = nullptr;
      result = api_->cuMemHostAlloc(&memory, sizeof *end_, 0);
      if (result == Result::success) {
        end_ = new (memory) std::uint32_t(0);
      } else {
        api_->cuStreamDestroy_v2(stream_);
      }
    }
    api_->cuCtxPopCurrent_v2(&popped);
  }
  if (result != Result::success) api_->cuDevicePrimaryCtxRelease_v2(card_);
  expect(result, call);
  context_ = context;
  is_open_ = true;
}

Stream Context::recording_stream() {
  if (recording_stream_ == nullptr) {
    check(api_->cuStreamCreate(&recording_stream_, kStreamNonBlocking), "cuStreamCreate");
  }
  return recording_stream_;
}

Context::Scope::Scope(Context& context, Use use) : context_(context), use_(use) {
  context.expect_alive();
  if (!context.is_open_) context.open();
  context.check(context.api_->cuCtxPushCurrent_v2(context.context_), "cuCtxPushCurrent");
  if (use == Use::queue) ++context.queued_;
}

Context::Scope::~Scope() {
  if (use_ == Use::queue) ++context_.queued_;
  ContextHandle popped = nullptr;
  context_.api_->cuCtxPopCurrent_v2(&popped);
}

void Context::expect_alive() {
  if (!is_lost_) return;
  const std::lock_guard lock(mutex_);
  throw Error(ErrorCode::device, fault_);
}

void Context::fail(Result result, const char* call) {
  const std::string got = describe(*api_, result) + " from " + call;
  if (!is_sticky(result)) {
    throw Error(result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device,
                "cuda: " + name_ + " refuses a call; got " + got + ", expected success");
  }
  const std::lock_guard lock(mutex_);
  if (!is_lost_) {
    fault_ = "cuda: " + name_ + " is lost until the process ends; got " + got + " after " +
             launched() + ", expected success";
    is_lost_ = true;
  }
  throw Error(ErrorCode::device, fault_);
}

std::string Context::launched() const {
  if (launches_ == 0) return "no launch since the last wait";
  std::string text = std::to_string(launches_) + (launches_ == 1 ? " launch" : " launches") +
                     " since the last wait, last ";
  const std::int64_t known = std::min<std::int64_t>(launches_, kNames);
  for (std::int64_t i = launches_ - known; i < launches_; ++i) {
    if (i != launches_ - known) text += ", ";
    text += *last_launches_[static_cast<std::size_t>(i) % kNames];
  }
  return text;
}

bool Context::see_end() {
  std::atomic_ref<std::uint32_t> word(*end_);
  std::uint32_t value = 0;
  {
    const std::lock_guard lock(mutex_);  // values are queued in order
    value = ++ends_;
    const auto address = static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(end_));
    check(api_->cuStreamWriteValue32_v2(stream_, address, value, 0), "cuStreamWriteValue32");
  }
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooks; ++i) {
      // Another thread may be further on.
      if (static_cast<std::int32_t>(word.load(std::memory_order_acquire) - value) >= 0) return true;
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return false;
}

void Context::wait() {
  const std::int64_t queued = queued_;
  // A queue that has failed writes nothing any more.
  if (!see_end()) check(api_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
  waited_ = queued;
  const std::lock_guard lock(mutex_);
  launches_ = 0;
}

bool Context::drain() noexcept {
  if (is_lost_) return false;
  if (!is_open_ || queued_ == waited_) return true;
  try {
    const Scope scope(*this, Use::call);
    wait();
    return true;
  } catch (const std::exception&) {
    // Whoever uses the card next hears of it.
    return false;
  }
}

const std::string* Context::remember(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  return &*kernels_.insert(kernel).first;
}

void Context::note_launches(std::span<const std::string* const> kernels) noexcept {
  const std::lock_guard lock(mutex_);
  // Only the last ones are kept.
  const std::size_t skipped = kernels.size() - std::min(kernels.size(), kNames);
  launches_ += static_cast<std::int64_t>(skipped);
  for (const std::string* kernel : kernels.subspan(skipped)) {
    last_launches_[static_cast<std::size_t>(launches_) % kNames] = kernel;
    ++launches_;
  }
}

}  // namespace hearth::cuda
