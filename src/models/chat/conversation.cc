#include "models/chat/conversation.h"

#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "hearth/error.h"
#include "models/serving/prompt_limit.h"

namespace hearth::models {
namespace {

constexpr std::chrono::milliseconds kPause{20};  // between looks at whether it was stopped

}  // namespace

Conversation::Conversation(Scheduler& scheduler, ChatFormat format, ConversationOptions options)
    : scheduler_(scheduler), format_(std::move(format)), options_(std::move(options)) {
  reset();
}

void Conversation::reset() {
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
}

void Conversation::set_system(std::string system) {
  options_.system = std::move(system);
  reset();
}

GenerationPiece Conversation::say(const std::string& line, const AnswerWriter& writer) {
  return answer({{"user", line}}, writer);
}

GenerationPiece Conversation::answer(std::vector<ChatMessage> said, const AnswerWriter& writer) {
  const auto before = static_cast<std::ptrdiff_t>(messages_.size());
  messages_.insert(messages_.end(), std::make_move_iterator(said.begin()),
                   std::make_move_iterator(said.end()));
  try {
    AnswerDelta written;
    ChatPrompt prompt = within_prompt(
        scheduler_.longest_text(), options_.most_tokens, [&](const EncodeLimits& limits) {
          return format_.render(messages_, {.tools = options_.tools,
                                            .arguments = options_.template_arguments,
                                            .limits = limits});
        });
    const GenerationPiece last = write(std::move(prompt), writer, &written);
    messages_.push_back({.role = "assistant",
                         .content = std::move(written.content),
                         .tool_calls = std::move(written.tool_calls),
                         .reasoning = std::move(written.reasoning)});
    ++answers_;
    return last;
  } catch (...) {
    messages_.erase(messages_.begin() + before, messages_.end());
    throw;
  }
}

GenerationPiece Conversation::write(ChatPrompt prompt, const AnswerWriter& writer,
                                    AnswerDelta* written) {
  GenerationRequest request;
  request.tokens = prompt.tokens;
  request.most_tokens = options_.most_tokens;
  request.sampling = options_.sampling;
  request.sampling.seed += answers_;
  request.stops = options_.stops;
  request.constraint = options_.constraint;
  format_.prepare(&prompt, &request);
  AnswerParser parser = format_.parser(prompt, request.sampling.seed);
  const auto show = [&](const AnswerDelta& delta) {
    written->append(delta);
    if (!delta.reasoning.empty() && writer.reasoning) writer.reasoning(delta.reasoning);
    if (!delta.content.empty()) writer.content(delta.content);
    if (!delta.tool_calls.empty() && writer.tool_calls) writer.tool_calls(delta.tool_calls);
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
