#include "models/serving/generation_stream.h"

#include <utility>

namespace hearth::models {
namespace {

void join(GenerationPiece& all, GenerationPiece piece) {
  std::string text = std::move(all.text) + piece.text;
  std::vector<GenerationToken> tokens = std::move(all.tokens);
  for (GenerationToken& token : piece.tokens) tokens.push_back(std::move(token));
  std::vector<GenerationToken> prompt = std::move(all.prompt);
  for (GenerationToken& token : piece.prompt) prompt.push_back(std::move(token));
  all = std::move(piece);
  all.text = std::move(text);
  all.tokens = std::move(tokens);
  all.prompt = std::move(prompt);
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
