#include "devices/metal/driver/commands/command_stream.h"

#include <algorithm>
#include <utility>

#include "hearth/error.h"

namespace hearth::metal {
namespace {

constexpr UInteger kConcurrentDispatch = 1;  // MTLDispatchTypeConcurrent
constexpr UInteger kCompleted = 4;           // MTLCommandBufferStatusCompleted; an error is more
constexpr std::size_t kNamed = 6;

}  // namespace

CommandStream::CommandStream(const ObjectiveC& objc, Id device, Residency& residency,
                             const Chip& chip, std::string name)
    : objc_(objc),
      residency_(residency),
      chip_(chip),
      name_(std::move(name)),
      queue_(objc.send(device, messages::new_queue)),
      reached_(objc) {
  if (!queue_) {
    throw Error(ErrorCode::device, "metal: " + name_ + " gives no command queue");
  }
  residency_.attach(queue_.get());
}

CommandStream::~CommandStream() {
  without_throwing([this] { close(); });
  if (running_.empty()) return;
  without_throwing(
      [this] { objc_.send(running_.back().buffer.get(), messages::wait_until_completed); });
}

void CommandStream::open() {
  if (buffer_) return;
  buffer_ = objc_.keep(objc_.send(queue_.get(), messages::command_buffer));
  if (!buffer_) throw Error(ErrorCode::device, "metal: " + name_ + " gives no command buffer");
}

Id CommandStream::encoder() {
  if (encoder_) return encoder_.get();
  const AutoreleasePool pool(objc_);
  open();
  bound_.clear();
  encoder_ = objc_.keep(objc_.send(buffer_.get(), messages::compute_encoder, kConcurrentDispatch));
  if (!encoder_) {
    throw Error(ErrorCode::device, "metal: " + name_ + " gives no command encoder");
  }
  return encoder_.get();
}

void CommandStream::encode_call(const KernelName& call, const Load& load,
                                const std::function<void(Id)>& encode) {
  const AutoreleasePool pool(objc_);
  close();
  open();
  residency_.apply();  // it may be committed any time
  if (!wrapper_) {
    wrapper_ = objc_.keep(objc_.send(objc_.type_named("MPSCommandBuffer"),
                                     messages::wrap_command_buffer, buffer_.get()));
  }
  if (!wrapper_) throw Error(ErrorCode::device, "metal: " + name_ + " gives no MPSCommandBuffer");
  note(call, load);
  try {
    encode(wrapper_.get());
  } catch (...) {
    go_on_in(objc_.send(wrapper_.get(), messages::root_command_buffer));
    throw;
  }
  go_on_in(objc_.send(wrapper_.get(), messages::root_command_buffer));
}

void CommandStream::go_on_in(Id buffer) {
  if (buffer == buffer_.get()) return;
  // Its last command may be in both.
  const KernelName last = kernels_.back();
  follow();
  buffer_ = objc_.keep(buffer);
  kernels_ = {last};
}

void CommandStream::note(const KernelName& kernel, const Load& load) {
  kernels_.push_back(kernel);
  load_ += load;
}

void CommandStream::close() {
  if (!encoder_) return;
  objc_.send(encoder_.get(), messages::end_encoding);
  encoder_ = Owned();
  for (Owned& each : reached_.take()) kept_.push_back(std::move(each));
}

void CommandStream::follow() {
  running_.push_back({std::move(buffer_), std::exchange(kernels_, {}), std::exchange(kept_, {})});
  ++committed_;
  load_ = {};
}

void CommandStream::commit() {
  if (!buffer_) return;
  const AutoreleasePool pool(objc_);
  close();
  residency_.apply();
  objc_.send(buffer_.get(), messages::commit);
  wrapper_ = {};
  follow();
}

double CommandStream::finish_oldest() {
  const Running running = std::move(running_.front());
  running_.pop_front();
  ++done_;
  const Id buffer = running.buffer.get();
  if (objc_.send(buffer, messages::status) > kCompleted) {
    if (fault_.empty()) fault_ = failure(running);
    return 0;
  }
  return objc_.send(buffer, messages::gpu_end_time) - objc_.send(buffer, messages::gpu_start_time);
}

std::string CommandStream::failure(const Running& running) const {
  std::vector<std::string> names;
  for (const KernelName& kernel : running.kernels) {
    if (std::find(names.begin(), names.end(), *kernel) == names.end()) names.push_back(*kernel);
  }
  std::string text = "metal: " + name_ + ": ";
  text += names.size() == 1 ? "kernel " : "one of the kernels ";
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamed) text += " and " + std::to_string(names.size() - kNamed) + " others";
  const std::string reason = objc_.error_text(objc_.send(running.buffer.get(), messages::error));
  return text + " failed: " + (reason.empty() ? "no reason is given" : reason);
}

std::int64_t CommandStream::done() {
  const AutoreleasePool pool(objc_);
  while (!running_.empty() &&
         objc_.send(running_.front().buffer.get(), messages::status) >= kCompleted) {
    finish_oldest();
  }
  return done_;
}

bool CommandStream::is_idle() {
  done();
  return running_.empty() && !buffer_;
}

double CommandStream::wait() {
  commit();
  const AutoreleasePool pool(objc_);
  double seconds = 0;
  while (!running_.empty()) {
    objc_.send(running_.front().buffer.get(), messages::wait_until_completed);
    seconds += finish_oldest();
  }
  if (fault_.empty()) return seconds;
  const std::string fault = std::move(fault_);
  fault_.clear();
  throw Error(ErrorCode::device, fault);
}

}  // namespace hearth::metal
