#include "models/chat/chat_session.h"

#include <chrono>
#include <optional>
#include <utility>

#include "hearth/error.h"

namespace hearth::models {
namespace {

constexpr std::chrono::milliseconds kPause{20};  // between looks at whether it was stopped

}  // namespace

ChatSession::ChatSession(Scheduler& scheduler, ChatFormat format, ChatSessionOptions options)
    : scheduler_(scheduler), format_(std::move(format)), options_(std::move(options)) {
  reset();
}

void ChatSession::reset() {
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
}

GenerationPiece ChatSession::say(const std::string& line, const AnswerWriter& writer) {
  messages_.push_back({"user", line});
  try {
    ChatMessage message{"assistant", ""};
    const GenerationPiece last = answer(format_.render(messages_), writer, &message);
    messages_.push_back(std::move(message));
    return last;
  } catch (...) {
    messages_.pop_back();
    throw;
  }
}

GenerationPiece ChatSession::answer(const ChatPrompt& prompt, const AnswerWriter& writer,
                                    ChatMessage* message) {
  GenerationRequest request;
  request.tokens = prompt.tokens;
  request.most_tokens = options_.most_tokens;
  request.sampling = options_.sampling;
  request.sampling.seed += answers_++;
  request.stops = options_.stops;
  request.constraint = options_.constraint;
  request.shows_special = format_.shows_special(prompt);
  AnswerParser parser = format_.parser(prompt);
  const auto show = [&](const AnswerDelta& delta) {
    message->reasoning += delta.reasoning;
    message->content += delta.content;
    if (!delta.reasoning.empty() && writer.reasoning) writer.reasoning(delta.reasoning);
    if (!delta.content.empty()) writer.content(delta.content);
  };
  const auto stream = scheduler_.submit(std::move(request));
  while (true) {
    const std::optional<GenerationPiece> piece = stream->next_for(kPause);
    if (writer.is_stopped && writer.is_stopped()) stream->cancel();
    if (!piece) continue;
    show(parser.push(piece->text));
    if (piece->finish == FinishReason::failed) throw Error(piece->error_code, piece->error);
    if (piece->finish == FinishReason::none) continue;
    show(parser.finish());
    return *piece;
  }
}

}  // namespace hearth::models
