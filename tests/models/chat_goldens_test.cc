// Conversations turn by turn, against the ids of transformers: tests/golden/chats.json, which
// scripts/generate_chat_goldens.py writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/chat/chat_format.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/serving/scheduler.h"
#include "models/tokenizer/encoded_text.h"
#include "models/tokenizer/from_json.h"
#include "source_dir.h"

namespace hearth::models {
namespace {

using Ids = std::vector<std::int32_t>;

JsonValue member_or_null(const JsonValue& object, const std::string& name) {
  for (const auto& [key, value] : std::get<JsonObject>(object)) {
    if (key == name) return value;
  }
  return nullptr;
}
std::string text_or_empty(const JsonValue& object, const std::string& name) {
  const JsonValue value = member_or_null(object, name);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}
JsonArray list_or_empty(const JsonValue& object, const std::string& name) {
  const JsonValue value = member_or_null(object, name);
  const auto* list = std::get_if<JsonArray>(&value);
  return list == nullptr ? JsonArray() : *list;
}
Ids ids_of(const JsonValue& object, const std::string& name) {
  Ids ids;
  for (const JsonValue& id : list_or_empty(object, name)) {
    ids.push_back(static_cast<std::int32_t>(std::get<std::int64_t>(id)));
  }
  return ids;
}

ChatMessage message_of(const JsonValue& json) {
  ChatMessage message{text_or_empty(json, "role"), text_or_empty(json, "content")};
  message.name = text_or_empty(json, "name");
  message.tool_call_id = text_or_empty(json, "tool_call_id");
  message.reasoning = text_or_empty(json, "reasoning_content");
  for (const JsonValue& call : list_or_empty(json, "tool_calls")) {
    const JsonValue function = member_or_null(call, "function");
    message.tool_calls.push_back({text_or_empty(call, "id"), text_or_empty(function, "name"),
                                  json_text(member_or_null(function, "arguments"))});
  }
  return message;
}

JsonArray conversations() {
  std::ifstream file(check::source_dir() / "tests/golden/chats.json");
  std::stringstream text;
  text << file.rdbuf();
  const std::optional<JsonValue> document = parse_json(text.str());
  return document ? list_or_empty(*document, "conversations") : JsonArray();
}

Tokenizer tokenizer_of(const JsonValue& conversation) {
  return tokenizer_from_json(json_text(member_or_null(conversation, "tokenizer")), "test",
                             json_text(member_or_null(conversation, "config")));
}

ChatOptions options_of(const JsonValue& conversation) {
  ChatOptions options;
  options.tools = member_or_null(conversation, "tools");
  options.arguments = std::get<JsonObject>(member_or_null(conversation, "arguments"));
  return options;
}

std::int64_t common_run(const Ids& left, const Ids& right) {
  const auto ends = std::ranges::mismatch(left, right);
  return ends.in1 - left.begin();
}

// What an answer is taken for, told as its tokens come.
ChatMessage parsed(const Tokenizer& tokenizer, const ChatFormat& format, ChatPrompt prompt,
                   Ids written) {
  if (written.back() == tokenizer.special().eos) written.pop_back();
  GenerationRequest request;
  format.prepare(&prompt, &request);
  AnswerParser parser = format.parser(prompt);
  ChatMessage message{"assistant", ""};
  const auto take = [&](const AnswerDelta& delta) {
    message.content += delta.content;
    message.reasoning += delta.reasoning;
    message.tool_calls.insert(message.tool_calls.end(), delta.tool_calls.begin(),
                              delta.tool_calls.end());
  };
  take(parser.push(tokenizer.decode(written, {.show_special = request.shows_special})));
  take(parser.finish());
  return message;
}

TEST(ChatGoldens, PromptsAreThoseOfTransformersTurnByTurn) {
  const JsonArray all = conversations();
  ASSERT_EQ(all.size(), 5u);
  for (const JsonValue& conversation : all) {
    SCOPED_TRACE(text_or_empty(conversation, "name"));
    const Tokenizer tokenizer = tokenizer_of(conversation);
    const ChatFormat format(tokenizer, text_or_empty(conversation, "template"));
    std::vector<ChatMessage> messages = {{"system", text_or_empty(conversation, "system")}};
    for (const JsonValue& turn : list_or_empty(conversation, "turns")) {
      SCOPED_TRACE(text_or_empty(turn, "answer"));
      for (const JsonValue& line : list_or_empty(turn, "said")) {
        messages.push_back(message_of(line));
      }
      const ChatPrompt prompt = format.render(messages, options_of(conversation));
      EXPECT_EQ(prompt.tokens, ids_of(turn, "prompt"))
          << tokenizer.decode(prompt.tokens, {.show_special = true});
      const Ids written = ids_of(turn, "written");
      EXPECT_EQ(tokenizer.encode(text_or_empty(turn, "answer"),
                                 {.add_special = false, .parse_special = true}),
                written);
      const ChatMessage message = parsed(tokenizer, format, prompt, written);
      const ChatMessage expected = message_of(member_or_null(turn, "message"));
      EXPECT_EQ(message.content, expected.content);
      EXPECT_EQ(message.reasoning, expected.reasoning);
      ASSERT_EQ(message.tool_calls.size(), expected.tool_calls.size());
      for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
        EXPECT_EQ(message.tool_calls[i].name, expected.tool_calls[i].name);
        EXPECT_EQ(parse_json(message.tool_calls[i].arguments),
                  parse_json(expected.tool_calls[i].arguments));
      }
      messages.push_back(message);
    }
  }
}

// Whether templates write what came before as before or not, with reasoning and calls of tools.
TEST(ChatGoldens, TheFirstMessagesHaveTheTokensThatTheyHaveAlone) {
  for (const JsonValue& conversation : conversations()) {
    SCOPED_TRACE(text_or_empty(conversation, "name"));
    const ChatFormat format(tokenizer_of(conversation), text_or_empty(conversation, "template"));
    std::vector<ChatMessage> messages = {{"system", text_or_empty(conversation, "system")}};
    for (const JsonValue& turn : list_or_empty(conversation, "turns")) {
      for (const JsonValue& line : list_or_empty(turn, "said")) {
        messages.push_back(message_of(line));
      }
      messages.push_back(message_of(member_or_null(turn, "message")));
    }
    ChatOptions options = options_of(conversation);
    options.add_generation_prompt = false;
    EncodedText first;
    EXPECT_EQ(format.render(messages, options, first).tokens,
              format.render(messages, options).tokens);
    for (std::size_t i = 2; i <= messages.size(); ++i) {
      for (const bool asks : {false, true}) {
        options.add_generation_prompt = asks;
        const std::span<const ChatMessage> some = std::span(messages).first(i);
        EXPECT_EQ(format.render(some, options, first).tokens, format.render(some, options).tokens)
            << i;
      }
    }
  }
}

// Templates leave out or move what was said, so that a prompt goes on from where it first differs
// from the texts before it; all up to there is known.
TEST(ChatGoldens, TheLongestCommonRunIsKnown) {
  constexpr std::int64_t kLongest = 256;
  for (const JsonValue& conversation : conversations()) {
    SCOPED_TRACE(text_or_empty(conversation, "name"));
    const Tokenizer tokenizer = tokenizer_of(conversation);
    LanguageModel model =
        testing::golden_language_model(testing::read_golden_model("llama"), DType::f32, kLongest);
    model.config.context = kLongest;
    const LoadedModel loaded{std::move(model), tokenizer};
    Scheduler scheduler(loaded, {.pages = 200, .page_size = 8, .parallel = 1});
    const auto cached_of = [&](const Ids& tokens) {
      GenerationRequest request;
      request.tokens = tokens;
      request.most_tokens = 1;
      request.sampling.temperature = 0;
      request.ignores_end = true;
      const auto stream = scheduler.submit(std::move(request));
      GenerationPiece piece;
      while (piece.finish == FinishReason::none) piece = stream->next();
      EXPECT_EQ(piece.finish, FinishReason::length) << piece.error;
      return piece.cached_tokens;
    };
    std::vector<Ids> texts;
    for (const JsonValue& turn : list_or_empty(conversation, "turns")) {
      SCOPED_TRACE(text_or_empty(turn, "answer"));
      const Ids prompt = ids_of(turn, "prompt"), written = ids_of(turn, "written");
      const auto known = std::get<std::int64_t>(member_or_null(turn, "known"));
      EXPECT_EQ(texts.empty() ? 0 : common_run(texts.back(), prompt), known);
      std::int64_t longest = 0;
      for (const Ids& text : texts) longest = std::max(longest, common_run(text, prompt));
      EXPECT_EQ(cached_of(prompt), longest);
      Ids whole = prompt;
      whole.insert(whole.end(), written.begin(), written.end());
      EXPECT_EQ(cached_of(whole), static_cast<std::int64_t>(prompt.size()));
      texts.push_back(std::move(whole));
    }
  }
}

}  // namespace
}  // namespace hearth::models
