#include "models/serving/generation_stream.h"

#include <utility>

namespace hearth::models {

void GenerationStream::Channel::write(GenerationPiece piece) {
  {
    const std::lock_guard lock(mutex);
    if (waiting.finish != FinishReason::none) return;
    waiting.append(std::move(piece));
    has_news = true;
  }
  changed.notify_all();
}

void GenerationStream::Channel::break_off() noexcept {
  {
    const std::lock_guard lock(mutex);
    if (waiting.finish != FinishReason::none) return;
    waiting.finish = FinishReason::failed;
    waiting.error = "out of memory";  // short enough to lie in the string itself
    waiting.error_code = ErrorCode::out_of_memory;
    has_news = true;
  }
  changed.notify_all();
}

GenerationStream::GenerationStream() : channel_(std::make_shared<Channel>()) {}

GenerationStream::~GenerationStream() { cancel(); }

GenerationPiece GenerationStream::take() {
  GenerationPiece taken = channel_->waiting;
  channel_->waiting.text.clear();
  channel_->waiting.tokens.clear();
  channel_->waiting.prompt.clear();
  // The end stays news.
  channel_->has_news = taken.finish != FinishReason::none;
  return taken;
}

GenerationPiece GenerationStream::next() {
  std::unique_lock lock(channel_->mutex);
  channel_->changed.wait(lock, [&] { return channel_->has_news; });
  return take();
}

std::optional<GenerationPiece> GenerationStream::next_for(std::chrono::milliseconds time) {
  std::unique_lock lock(channel_->mutex);
  if (!channel_->changed.wait_for(lock, time, [&] { return channel_->has_news; })) {
    return std::nullopt;
  }
  return take();
}

void GenerationStream::cancel() noexcept { channel_->is_cancelled = true; }

}  // namespace hearth::models
