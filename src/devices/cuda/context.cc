#include "devices/cuda/context.h"

#include <algorithm>

#include "hearth/error.h"

namespace hearth::cuda {

Context::Context(std::shared_ptr<const DriverApi> api, Card card, std::string name)
    : api_(std::move(api)), card_(card), name_(std::move(name)) {}

Context::~Context() {
  if (!is_open_) return;
  // Failures change nothing here: the card may be lost, and at the end of the process the driver's
  // library may be gone before this.
  if (drain() && api_->cuCtxPushCurrent_v2(context_) == Result::success) {
    api_->cuStreamDestroy_v2(stream_);
    if (recording_stream_ != nullptr) api_->cuStreamDestroy_v2(recording_stream_);
    ContextHandle popped = nullptr;
    api_->cuCtxPopCurrent_v2(&popped);
  }
  api_->cuDevicePrimaryCtxRelease_v2(card_);
}

void Context::open() {
  const std::lock_guard lock(mutex_);
  if (is_open_) return;
  const auto expect = [&](Result result, const char* call) {
    if (result == Result::success) return;
    throw Error(result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device,
                "cuda: " + name_ + " cannot be used; got " + describe(*api_, result) + " from " +
                    call + ", expected success");
  };
  ContextHandle context = nullptr;
  expect(api_->cuDevicePrimaryCtxRetain(&context, card_), "cuDevicePrimaryCtxRetain");
  ContextHandle popped = nullptr;
  Result result = api_->cuCtxPushCurrent_v2(context);
  if (result == Result::success) {
    // It shall not wait for the queue that other libraries use by default.
    result = api_->cuStreamCreate(&stream_, kStreamNonBlocking);
    api_->cuCtxPopCurrent_v2(&popped);
  }
  if (result != Result::success) api_->cuDevicePrimaryCtxRelease_v2(card_);
  expect(result, "cuStreamCreate");
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

void Context::wait() {
  const std::int64_t queued = queued_;
  check(api_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
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
