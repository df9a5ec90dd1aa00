#include "models/serving/generation_stream.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace hearth::models {
namespace {

void append_tokens(std::vector<GenerationToken>& all, std::vector<GenerationToken>& next) {
  all.insert(all.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
}

// Leaves the text and the counts of `all` as they are where it throws.
void join(GenerationPiece& all, GenerationPiece piece) {
  all.text.reserve(all.text.size() + piece.text.size());
  append_tokens(all.tokens, piece.tokens);
  append_tokens(all.prompt, piece.prompt);
  piece.text = std::move(all.text.append(piece.text));
  piece.tokens = std::move(all.tokens);
  piece.prompt = std::move(all.prompt);
  all = std::move(piece);
}

}  // namespace

void GenerationStream::Channel::write(GenerationPiece piece) {
  {
    const std::lock_guard lock(mutex);
    if (waiting.finish != FinishReason::none) return;
    join(waiting, std::move(piece));
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
