// Answers that are JSON of a schema or calls of tools: what the grammar allows is read as that.
#include "models/chat/call_grammar.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "models/chat/chat_format.h"
#include "models/grammar/token_constraints.h"
#include "models/tokenizer/from_gguf.h"

namespace hearth::models {
namespace {

JsonValue json_of_text(const char* text) { return *parse_json(text); }

// Bytes, and the control tokens of all formats.
Tokenizer marks_and_bytes() {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  for (const char* mark :
       {"<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "</think>",
        "<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581calls\u2581end\uff5c>",
        "<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581end\uff5c>",
        "<\uff5ctool\u2581sep\uff5c>"}) {
    texts.emplace_back(mark);
    types.push_back(3);
  }
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    texts.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">");
    types.push_back(6);
  }
  texts.emplace_back("\u2581");
  types.push_back(1);
  return tokenizer_from_gguf({{"tokenizer.ggml.model", "llama"},
                              {"tokenizer.ggml.tokens", texts},
                              {"tokenizer.ggml.token_type", types},
                              {"tokenizer.ggml.scores", std::vector<float>(texts.size())},
                              {"tokenizer.ggml.add_space_prefix", false}},
                             "test");
}

const std::string kToolsAnd = "{% if tools %}tools{% endif %}{{ messages[0].content }}";
const JsonValue kColor = json_of_text(R"({"type": "object", "properties": {"color": {"type":
    "string"}}, "required": ["color"], "additionalProperties": false})");

class CallGrammar : public testing::Test {
 protected:
  struct Read {
    bool is_allowed = false;
    AnswerDelta answer;
  };

  // What is made of an answer to a template that ends with this, where the grammar allows it.
  Read read(const std::string& end, const std::string& text, bool several = true) const {
    const ChatFormat format(tokenizer_, kToolsAnd + end);
    ChatPrompt prompt = format.render(messages_, {.tools = JsonArray{JsonObject{}}});
    prompt.allows_calls = true;
    GenerationRequest request;
    request.constraint = grammar::TokenConstraints(tokenizer_)
                             .from_gbnf(format.grammar_of_answer_or_calls(kColor, tools_, several));
    format.prepare(&prompt, &request);
    grammar::GrammarMatcher matcher(request.constraint, request.trigger);
    AnswerParser parser = format.parser(prompt);
    Read made;
    const auto join = [&](AnswerDelta delta) {
      made.answer.content += delta.content;
      made.answer.reasoning += delta.reasoning;
      for (ToolCall& call : delta.tool_calls) made.answer.tool_calls.push_back(std::move(call));
    };
    TokenStream stream(tokenizer_, {.show_special = request.shows_special});
    for (const std::int32_t id :
         tokenizer_.encode(text, {.add_special = false, .parse_special = true})) {
      if (!matcher.accept(id)) return made;
      join(parser.push(stream.push(id)));
    }
    join(parser.finish());
    made.is_allowed = matcher.may_end() && matcher.allows(tokenizer_.special().eos);
    return made;
  }

  void expect_calls(const std::string& end, const std::string& text, std::size_t count) const {
    SCOPED_TRACE(text);
    const Read made = read(end, text);
    EXPECT_TRUE(made.is_allowed);
    EXPECT_EQ(made.answer.content, "");
    ASSERT_EQ(made.answer.tool_calls.size(), count);
    for (const ToolCall& call : made.answer.tool_calls) {
      EXPECT_TRUE(call.name == "add" || call.name == "now") << call.name;
      EXPECT_EQ(call.arguments, call.name == "add" ? R"({"a":1})" : "{}");
    }
    EXPECT_EQ(read(end, text, false).is_allowed, count == 1);
    EXPECT_FALSE(read(end, "so " + text).is_allowed);
    EXPECT_FALSE(read(end, R"({"color":"red"})" + text).is_allowed);
  }

  void expect_text(const std::string& end, const std::string& text) const {
    const Read made = read(end, text);
    EXPECT_TRUE(made.is_allowed) << text;
    EXPECT_EQ(made.answer.content, text);
    EXPECT_TRUE(made.answer.tool_calls.empty());
  }

  const Tokenizer tokenizer_ = marks_and_bytes();
  const std::vector<ChatMessage> messages_ = {{"user", "hi"}};
  const std::vector<CallableTool> tools_ = {
      {"add", json_of_text(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/one"}},
          "required": ["a"], "additionalProperties": false, "$defs": {"one": {"const": 1}}})")},
      {"now", json_of_text(R"({"type": "object", "additionalProperties": false})")}};
};

TEST_F(CallGrammar, HermesMarksBothEnds) {
  const std::string end = "{# <tool_call> #}";
  const std::string add =
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  expect_calls(end, add, 1);
  expect_calls(end, add + "\n<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>", 2);
  expect_text(end, R"({"color":"red"})");
  for (const char* wrong : {"<tool_call>{\"name\":\"sub\",\"arguments\":{}}</tool_call>",
                            "<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":2}}</tool_call>",
                            "<tool_call>{\"name\":\"now\",\"arguments\":{}}", "so", ""}) {
    EXPECT_FALSE(read(end, wrong).is_allowed) << wrong;
  }
}

// Models may write marks with their usual tokens.
TEST_F(CallGrammar, MarksInJsonAreText) {
  const ChatFormat format(tokenizer_, kToolsAnd + "{# <tool_call> #}");
  AnswerParser parser(format.answer_format(), reasoning_marks_of(format.source()),
                      {.has_tools = true, .is_constrained = true});
  const std::string json =
      R"({"color":"<think><tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>"})";
  std::string content;
  for (const char c : json) {
    const AnswerDelta delta = parser.push(std::string(1, c));
    EXPECT_TRUE(delta.tool_calls.empty());
    content += delta.content;
  }
  EXPECT_EQ(content + parser.finish().content, json);
}

TEST_F(CallGrammar, MistralHasAListOrNames) {
  const std::string list = "{# [TOOL_CALLS] #}", named = "{# [TOOL_CALLS] [ARGS] #}";
  const std::string with_ids = "{# [TOOL_CALLS] [CALL_ID] [ARGS] #}";
  expect_calls(list, "[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {\"a\": 1}}]", 1);
  expect_calls(list,
               "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 1}}, {\"name\": \"now\", "
               "\"arguments\": {}}]",
               2);
  expect_calls(named, "[TOOL_CALLS]now[ARGS]{}", 1);
  expect_calls(named, "[TOOL_CALLS]add[ARGS]{\"a\": 1}[TOOL_CALLS]now[ARGS]{}", 2);
  expect_calls(with_ids, "[TOOL_CALLS]add[CALL_ID]abcdefgh9[ARGS]{\"a\": 1}", 1);
  expect_calls(with_ids, "[TOOL_CALLS]add[ARGS]{\"a\": 1}", 1);
  EXPECT_FALSE(read(named, "[TOOL_CALLS]add[CALL_ID]abcdefgh9[ARGS]{\"a\": 1}").is_allowed);
  EXPECT_FALSE(read(named, "[TOOL_CALLS]add{\"a\": 1}").is_allowed);
  for (const std::string& end : {list, named, with_ids}) expect_text(end, R"({"color": "[ARGS"})");
}

TEST_F(CallGrammar, DeepSeekSeparatesNamesFromArguments) {
  const std::string begin = "<\uff5ctool\u2581calls\u2581begin\uff5c>";
  const std::string end = "<\uff5ctool\u2581calls\u2581end\uff5c>";
  const auto call = [](const std::string& inside) {
    return "<\uff5ctool\u2581call\u2581begin\uff5c>" + inside +
           "<\uff5ctool\u2581call\u2581end\uff5c>";
  };
  const std::string separator = "<\uff5ctool\u2581sep\uff5c>";
  const std::string fenced = "{# " + begin + " ```json #}", plain = "{# " + begin + " #}";
  const std::string add = call("function" + separator + "add\n```json\n{\"a\": 1}\n```");
  const std::string now = call("function" + separator + "now\n```json\n{}\n```");
  expect_calls(fenced, begin + add + end, 1);
  expect_calls(fenced, begin + add + "\n" + now + end, 2);
  expect_calls(plain, begin + call("add" + separator + "{\"a\": 1}") + end, 1);
  EXPECT_FALSE(read(plain, begin + add + end).is_allowed);
  EXPECT_FALSE(read(plain, begin + end).is_allowed);
  expect_text(fenced, R"({"color":""})");
}

TEST_F(CallGrammar, BeginsBehindReasoning) {
  const std::string end = "{# <tool_call> #}<think>\n";
  const Read call =
      read(end, "so </think><tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>");
  EXPECT_TRUE(call.is_allowed);
  EXPECT_EQ(call.answer.reasoning, "so");
  EXPECT_EQ(call.answer.tool_calls.size(), 1u);
  const Read text = read(end, R"(<tool_call></think>{"color":"red"})");
  EXPECT_TRUE(text.is_allowed);
  EXPECT_EQ(text.answer.content, R"({"color":"red"})");
  EXPECT_TRUE(text.answer.tool_calls.empty());
}

TEST_F(CallGrammar, RefusesFormatsWhoseCallsHaveNoMark) {
  for (const char* end : {"", "{# dictionary of argument name #}", "{# <|channel|> #}"}) {
    const ChatFormat format(tokenizer_, kToolsAnd + end);
    EXPECT_NE(check::error_of([&] {
                format.grammar_of_answer_or_calls(kColor, tools_, true);
              }).find("calls have no mark of their own"),
              std::string::npos)
        << end;
  }
}

}  // namespace
}  // namespace hearth::models
