#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/models.h"
#include "models/chat/conversation.h"
#include "models/loaded_text_model.h"

namespace hearth {
inline namespace v0 {
namespace {

// Of an option that holds JSON of one kind; nothing of an empty text.
template <class T>
T json_option(const std::string& text, const char* name, const char* expected) {
  if (text.empty()) return {};
  const std::optional<JsonValue> value = parse_json(text);
  if (value && std::holds_alternative<T>(*value)) return std::get<T>(*value);
  throw Error(ErrorCode::invalid_argument, std::string("chat session: ") + name +
                                               " are no JSON of their kind; got " +
                                               hearth::quoted(text) + ", expected " + expected);
}

models::ChatFormat format_of(const models::LoadedModel& model, const ChatSessionOptions& options) {
  if (options.chat_template.empty()) return models::ChatFormat(model);
  return models::ChatFormat(model.tokenizer, options.chat_template);
}

}  // namespace

struct ChatSession::State {
  std::shared_ptr<TextModel::Loaded> loaded;  // outlives the session
  models::Conversation session;
};

ChatSession::ChatSession(const TextModel& model, const ChatSessionOptions& options) {
  const std::shared_ptr<TextModel::Loaded>& loaded = model.loaded_;
  loaded->require_scores("conversations");
  models::ConversationOptions own{
      .system = options.system,
      .most_tokens = options.tokens,
      .sampling = options.sampling,
      .stops = options.stops,
      .constraint = loaded->constraint(options.grammar, options.json_schema),
      .template_arguments =
          json_option<JsonObject>(options.template_arguments, "template arguments", "an object")};
  if (!options.tools.empty()) {
    own.tools = json_option<JsonArray>(options.tools, "tools", "an array");
  }
  state_ = std::make_unique<State>(
      loaded, models::Conversation(loaded->scheduler(), format_of(loaded->model(), options),
                                   std::move(own)));
}

ChatSession::ChatSession(ChatSession&&) noexcept = default;
ChatSession& ChatSession::operator=(ChatSession&&) noexcept = default;
ChatSession::~ChatSession() = default;

ChatAnswer ChatSession::say(std::string_view line, const Write& write) {
  return answer({{"user", std::string(line)}}, write);
}

ChatAnswer ChatSession::answer(std::vector<ChatMessage> messages, const Write& write) {
  bool is_stopped = false;
  const auto show = [&](const ChatPart& part) {
    if (write && !is_stopped) is_stopped = !write(part);
  };
  const models::AnswerWriter writer{
      .content = [&](std::string_view text) { show({.content = text}); },
      .reasoning = [&](std::string_view text) { show({.reasoning = text}); },
      .tool_calls = [&](const std::vector<ToolCall>& calls) { show({.tool_calls = calls}); },
      .is_stopped = [&] { return is_stopped; }};
  const models::GenerationPiece last = state_->session.answer(std::move(messages), writer);
  return {state_->session.messages().back(), last.finish, last.prompt_tokens, last.cached_tokens,
          last.new_tokens};
}

const std::vector<ChatMessage>& ChatSession::messages() const noexcept {
  return state_->session.messages();
}

void ChatSession::reset() { state_->session.reset(); }

}  // namespace v0
}  // namespace hearth
