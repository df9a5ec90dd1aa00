// Chats, as OpenAI has them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "error_text.h"
#include "models/grammar/grammar.h"
#include "models/grammar_texts.h"
#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::contains;
using check::list;
using check::member;
using check::text;
using hearth::testing::accept_text;

class ServeChat : public ServeApi {};

const char* const kTool =
    R"("tools": [{"type": "function", "function": {"name": "add", "parameters": {
         "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"],
         "$defs": {"n": {"type": "integer"}}}}}])";

TEST_F(ServeChat, AChatIsAnObjectAsOpenAiHasIt) {
  for (const char* path : {"/v1/chat/completions", "/chat/completions"}) {
    const JsonValue answer = document(path, chat(R"("model": "mine", "seed": 3)"));
    EXPECT_EQ(text(answer, "object"), "chat.completion");
    EXPECT_EQ(text(answer, "model"), "mine");
    EXPECT_TRUE(text(answer, "id").starts_with("chatcmpl-"));
    EXPECT_EQ(text(message(answer), "content"), "Hello!");
    EXPECT_EQ(text(message(answer), "role"), "assistant");
    EXPECT_EQ(text(first_choice(answer), "finish_reason"), "stop");
    EXPECT_EQ(json_text(*member(answer, "usage")),
              R"({"prompt_tokens":21,"completion_tokens":6,"total_tokens":27,)"
              R"("prompt_tokens_details":{"cached_tokens":3}})");
  }
  // <|im_start|> is one token of the template; "user\nhi" are bytes.
  const auto requests = model_->requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(model_->tokenizer().decode(requests[0].tokens, {.show_special = true}),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(requests[0].sampling.seed, 3u);
}

TEST_F(ServeChat, AnAnswerMayGoOnWithTheLastMessage) {
  const auto talk = [](const std::string& last, const std::string& fields) {
    return R"({"messages": [{"role": "user", "content": "hi"}, )" + last + "], " + fields + "}";
  };
  const std::string begun = R"({"role": "assistant", "content": "I say "})";
  for (const char* fields : {R"("continue_final_message": true)",
                             R"("continue_final_message": true, "add_generation_prompt": false)"}) {
    const std::string body = talk(begun, fields);
    const JsonValue answer = document("/v1/chat/completions", body);
    EXPECT_EQ(text(message(answer), "content"), "Hello!");
    const std::string prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nI say ";
    EXPECT_EQ(model_->tokenizer().decode(model_->requests().back().tokens, {.show_special = true}),
              prompt);
    EXPECT_EQ(text(document("/apply-template", body), "prompt"), prompt);
  }
  const struct {
    std::string body, param;
  } refused[] = {
      {chat(R"("continue_final_message": true)"), "continue_final_message"},
      {chat(R"("continue_final_message": 1)"), "continue_final_message"},
      {talk(begun, R"("continue_final_message": true, "add_generation_prompt": true)"),
       "continue_final_message"},
      {talk(R"({"role": "assistant", "content": "a", "tool_calls": [{"id": "1", "type": "function",
               "function": {"name": "f", "arguments": "{}"}}]})",
            R"("continue_final_message": true)"),
       "continue_final_message"},
      {chat(R"("chat_template": "{{ messages }}")"), "chat_template"},
  };
  for (const auto& each : refused) {
    for (const char* path : {"/v1/chat/completions", "/apply-template"}) {
      EXPECT_EQ(text(refusal(path, each.body), "param"), each.param) << path << each.body;
    }
  }
  EXPECT_EQ(
      text(refusal("/v1/chat/completions", chat(R"("add_generation_prompt": false)")), "param"),
      "add_generation_prompt");
  refusal("/v1/chat/completions",
          talk(R"({"role": "assistant", "content": " \n"})", R"("continue_final_message": true)"));
}

TEST_F(ServeChat, ResultsAreOfCallsBefore) {
  const auto history = [](const std::string& id) {
    return R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "content": "x")" +
           id + "}]}";
  };
  for (const char* path : {"/v1/chat/completions", "/apply-template"}) {
    document(path, history(R"(, "tool_call_id": "1")"));
    document(path, history(""));
    const JsonValue error = refusal(path, history(R"(, "tool_call_id": "2")"));
    EXPECT_EQ(text(error, "param"), "messages[2].tool_call_id");
    EXPECT_TRUE(contains(text(error, "message"), "is of no call before; got \"2\""));
  }
}

TEST_F(ServeChat, TextsHaveNulsWithin) {
  document("/v1/chat/completions", chat("", "a\\u0000b"));
  const auto tokens = model_->requests().at(0).tokens;
  const auto of_text = model_->tokenizer().encode(std::string("a\0b", 3), {.add_special = false});
  EXPECT_NE(std::search(tokens.begin(), tokens.end(), of_text.begin(), of_text.end()),
            tokens.end());
  // So have messages of errors.
  const JsonValue error = refusal("/v1/chat/completions", chat(R"("grammar": "root ::= \u0000x")"));
  EXPECT_TRUE(contains(text(error, "message"), "expected")) << text(error, "message");
  const JsonValue other = refusal(
      "/v1/chat/completions", chat(R"("json_schema": {"type": "string", "pattern": "a\u0000(b"})"));
  EXPECT_TRUE(contains(text(other, "message"), "\\x00")) << text(other, "message");
}

TEST_F(ServeChat, WhatUsersWriteIsNoControlToken) {
  document("/v1/chat/completions", chat("", "<|im_end|>"));
  const auto tokens = model_->requests().at(0).tokens;
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 4), 1);
}

TEST_F(ServeChat, SeveralAnswersHaveSeedsOfTheirOwn) {
  const JsonValue answer = document("/v1/chat/completions", chat(R"("n": 3, "seed": 10)"));
  EXPECT_EQ(list(answer, "choices").size(), 3u);
  EXPECT_EQ(*member(*member(answer, "usage"), "completion_tokens"), JsonValue(std::int64_t{18}));
  std::vector<std::uint64_t> seeds;
  for (const auto& request : model_->requests()) seeds.push_back(request.sampling.seed);
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{10, 11, 12}));
}

TEST_F(ServeChat, AStreamHasTheRoleThenTextThenItsEnd) {
  model_->says = [](const auto&) { return std::string("h\xc3\xa9llo"); };
  const auto all = chunks("/v1/chat/completions",
                          chat(R"("stream": true, "stream_options": {"include_usage": true})"));
  ASSERT_GE(all.size(), 4u);
  std::string content;
  for (const JsonValue& chunk : all) {
    EXPECT_EQ(text(chunk, "object"), "chat.completion.chunk");
    EXPECT_EQ(text(chunk, "id"), text(all[0], "id"));
    for (const JsonValue& choice : list(chunk, "choices")) {
      if (const JsonValue* added = member(*member(choice, "delta"), "content")) {
        content += std::get<std::string>(*added);
      }
    }
  }
  EXPECT_EQ(content, "h\xc3\xa9llo");
  EXPECT_EQ(json_text(*member(first_choice(all[0]), "delta")),
            R"({"role":"assistant","content":""})");
  const JsonValue& last = all[all.size() - 2];
  EXPECT_EQ(json_text(*member(first_choice(last), "delta")), "{}");
  EXPECT_EQ(text(first_choice(last), "finish_reason"), "stop");
  EXPECT_EQ(*member(last, "usage"), JsonValue(nullptr));
  EXPECT_TRUE(list(all.back(), "choices").empty());
  EXPECT_EQ(*member(*member(all.back(), "usage"), "completion_tokens"), JsonValue(std::int64_t{6}));
  EXPECT_NE(member(all.back(), "timings"), nullptr);
  EXPECT_EQ(member(last, "timings"), nullptr);
}

TEST_F(ServeChat, AStreamWithoutUsageHasTimingsInItsLastChunk) {
  const auto all = chunks("/v1/chat/completions", chat(R"("stream": true, "n": 2)"));
  ASSERT_GE(all.size(), 2u);
  for (const JsonValue& chunk : all) {
    EXPECT_EQ(member(chunk, "usage"), nullptr);
    EXPECT_EQ(member(chunk, "timings") != nullptr, &chunk == &all.back());
  }
  EXPECT_EQ(text(first_choice(all.back()), "finish_reason"), "stop");
  EXPECT_EQ(*member(*member(all.back(), "timings"), "predicted_n"), JsonValue(std::int64_t{12}));
}

TEST_F(ServeChat, PartsOfTheAssistantMayBeRefusals) {
  const auto asked = [](const std::string& role, const std::string& part) {
    return R"({"messages": [{"role": "user", "content": "a"}, {"role": ")" + role +
           R"(", "content": [{"type": "text", "text": "I "}, )" + part +
           R"(]}, {"role": "user", "content": "b"}]})";
  };
  const char* const kUrl = "/v1/chat/completions";
  const std::string part = R"({"type": "refusal", "refusal": "will not"})";
  document(kUrl, asked("assistant", part));
  const auto refused = model_->requests().back().tokens;
  document(kUrl, asked("assistant", R"({"type": "text", "text": "will not"})"));
  EXPECT_EQ(refused, model_->requests().back().tokens);
  EXPECT_EQ(text(refusal(kUrl, asked("user", part)), "param"), "messages[1].content");
  EXPECT_EQ(text(refusal(kUrl, asked("assistant", R"({"type": "refusal", "text": "x"})")), "param"),
            "messages[1].content[1].refusal");
}

TEST_F(ServeChat, ReasoningIsToldApart) {
  model_->says = [](const auto&) { return std::string("<think>\nwell\n</think>\n\nyes"); };
  const JsonValue answer = document("/v1/chat/completions", chat());
  EXPECT_EQ(text(message(answer), "content"), "yes");
  EXPECT_EQ(text(message(answer), "reasoning_content"), "well");
  model_->says = [](const auto&) { return std::string("hm</think>no"); };
  const JsonValue opened =
      document("/v1/chat/completions", chat(R"("chat_template_kwargs": {"think": true})"));
  EXPECT_EQ(text(message(opened), "content"), "no");
  EXPECT_EQ(text(message(opened), "reasoning_content"), "hm");
}

TEST_F(ServeChat, ToolsThatTheModelMayCall) {
  model_->says = [](const auto&) {
    return std::string(
        "Let me see.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2}}</tool_call>");
  };
  const JsonValue answer = document("/v1/chat/completions", chat(kTool));
  EXPECT_EQ(text(first_choice(answer), "finish_reason"), "tool_calls");
  EXPECT_EQ(text(message(answer), "content"), "Let me see.");
  const JsonArray& calls = list(message(answer), "tool_calls");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(text(*member(calls[1], "function"), "name"), "add");
  EXPECT_EQ(text(*member(calls[1], "function"), "arguments"), R"({"a":2})");
  EXPECT_NE(text(calls[0], "id"), text(calls[1], "id"));
  const std::string one = std::string(kTool) + R"(, "parallel_tool_calls": false)";
  EXPECT_EQ(list(message(document("/v1/chat/completions", chat(one))), "tool_calls").size(), 1u);
  const std::string none = std::string(kTool) + R"(, "tool_choice": "none")";
  const JsonValue plain = document("/v1/chat/completions", chat(none));
  EXPECT_EQ(member(message(plain), "tool_calls"), nullptr);
  const auto tokens = model_->requests().back().tokens;
  EXPECT_EQ(model_->tokenizer().decode(tokens).find("tools:"), std::string::npos);
}

TEST_F(ServeChat, CallsThatAreRequiredAreHeldByAGrammar) {
  model_->says = [](const auto&) { return std::string(R"({"name":"add","arguments":{"a":41}})"); };
  for (const char* choice :
       {R"("required")", R"({"type": "function", "function": {"name": "add"}})"}) {
    const std::string fields = std::string(kTool) + R"(, "tool_choice": )" + choice;
    const JsonValue answer = document("/v1/chat/completions", chat(fields));
    EXPECT_EQ(text(first_choice(answer), "finish_reason"), "tool_calls");
    EXPECT_EQ(*member(message(answer), "content"), JsonValue(nullptr));
    const JsonValue& call = list(message(answer), "tool_calls").at(0);
    EXPECT_EQ(text(*member(call, "function"), "arguments"), R"({"a":41})");
    models::grammar::GrammarMatcher matcher(model_->requests().back().constraint);
    EXPECT_FALSE(accept_text(matcher, R"({"name": "sub")"));
    EXPECT_FALSE(accept_text(matcher, R"({"name": "add", "arguments": {"a": "1")"));
    EXPECT_TRUE(accept_text(matcher, R"({"name": "add", "arguments": {"a": 1}})"));
    EXPECT_TRUE(matcher.may_end());
  }
  const auto all =
      chunks("/v1/chat/completions",
             chat(std::string(kTool) + R"(, "tool_choice": "required", "stream": true)"));
  std::string arguments, name;
  for (const JsonValue& chunk : all) {
    const JsonValue* calls = member(*member(first_choice(chunk), "delta"), "tool_calls");
    if (calls == nullptr) continue;
    const JsonValue& call = std::get<JsonArray>(*calls).at(0);
    EXPECT_EQ(*member(call, "index"), JsonValue(std::int64_t{0}));
    if (member(*member(call, "function"), "name")) name += text(*member(call, "function"), "name");
    arguments += text(*member(call, "function"), "arguments");
  }
  EXPECT_EQ(name, "add");
  EXPECT_EQ(arguments, R"({"a":41})");
  EXPECT_EQ(text(first_choice(all.back()), "finish_reason"), "tool_calls");
}

// Reasoning that the prompt opens is free; what holds the answer begins behind it.
TEST_F(ServeChat, GrammarsHoldWhatComesBehindReasoning) {
  const std::string think = R"("chat_template_kwargs": {"think": true}, )";
  const std::string schema = R"("response_format": {"type": "json_schema",
      "json_schema": {"name": "x", "schema": {"type": "string"}}})";
  model_->says = [](const auto&) { return std::string("hm\n</think>\"<think>a\""); };
  const JsonValue answer = document("/v1/chat/completions", chat(think + schema));
  EXPECT_EQ(text(message(answer), "content"), "\"<think>a\"");
  EXPECT_EQ(text(message(answer), "reasoning_content"), "hm");
  const models::GenerationRequest request = model_->requests().back();
  models::grammar::GrammarMatcher matcher(request.constraint, request.trigger);
  EXPECT_TRUE(hearth::testing::accept_text(matcher, "hm"));
  EXPECT_FALSE(matcher.may_end());
  EXPECT_TRUE(hearth::testing::accept_text(matcher, "</think>"));
  EXPECT_FALSE(hearth::testing::accept_text(matcher, "hm"));
  EXPECT_TRUE(hearth::testing::accept_text(matcher, "\"a\""));
  // Calls that are required, too.
  model_->says = [](const auto&) {
    return std::string(R"(hm</think>{"name":"add","arguments":{"a":41}})");
  };
  const JsonValue call =
      document("/v1/chat/completions", chat(think + kTool + R"(, "tool_choice": "required")"));
  EXPECT_EQ(text(message(call), "reasoning_content"), "hm");
  EXPECT_EQ(*member(message(call), "content"), JsonValue(nullptr));
  EXPECT_EQ(list(message(call), "tool_calls").size(), 1u);
  EXPECT_EQ(text(first_choice(call), "finish_reason"), "tool_calls");
}

TEST_F(ServeChat, ToolsBesideASchemaMayBeCalledInstead) {
  const std::string think = R"("chat_template_kwargs": {"think": true}, )";
  const std::string both = std::string(kTool) + R"(, "response_format": {"type": "json_schema",
      "json_schema": {"name": "x", "schema": {"type": "string"}}})";
  const std::string call = R"(<tool_call>{"name":"add","arguments":{"a":41}}</tool_call>)";
  model_->says = [&](const auto&) { return "hm</think>" + call; };
  const JsonValue called = document("/v1/chat/completions", chat(think + both));
  EXPECT_EQ(model_->constraints_made, 1);
  EXPECT_EQ(text(first_choice(called), "finish_reason"), "tool_calls");
  EXPECT_EQ(*member(message(called), "content"), JsonValue(nullptr));
  EXPECT_EQ(text(message(called), "reasoning_content"), "hm");
  const JsonValue& made = list(message(called), "tool_calls").at(0);
  EXPECT_EQ(text(*member(made, "function"), "arguments"), R"({"a":41})");
  const models::GenerationRequest request = model_->requests().back();
  models::grammar::GrammarMatcher matcher(request.constraint, request.trigger);
  EXPECT_TRUE(accept_text(matcher, "so"));
  EXPECT_FALSE(matcher.may_end());
  EXPECT_TRUE(accept_text(matcher, "</think>"));
  EXPECT_FALSE(accept_text(matcher, "so"));
  EXPECT_FALSE(accept_text(matcher, "{"));
  EXPECT_FALSE(accept_text(matcher, R"(<tool_call>{"name":"sub")"));
  models::grammar::GrammarMatcher other = matcher;
  EXPECT_TRUE(accept_text(matcher, call + call));
  EXPECT_TRUE(matcher.may_end());
  EXPECT_TRUE(accept_text(other, "\"<tool_call>\""));
  EXPECT_TRUE(other.may_end());
  EXPECT_FALSE(accept_text(other, call));

  model_->says = [&](const auto&) { return std::string("\"<tool_call>\""); };
  const JsonValue said = document("/v1/chat/completions", chat(both));
  EXPECT_EQ(text(first_choice(said), "finish_reason"), "stop");
  EXPECT_EQ(text(message(said), "content"), "\"<tool_call>\"");
  EXPECT_EQ(member(message(said), "tool_calls"), nullptr);
  const std::string one = both + R"(, "parallel_tool_calls": false)";
  document("/v1/chat/completions", chat(one));
  models::grammar::GrammarMatcher single(model_->requests().back().constraint);
  EXPECT_TRUE(accept_text(single, call));
  EXPECT_FALSE(accept_text(single, call));
}

TEST_F(ServeChat, ToolsBesideASchemaOrGrammarThatDoNotGoTogether) {
  const std::string format = R"(, "response_format": {"type": "json_object"})";
  const std::string with_grammar = std::string(kTool) + R"(, "grammar": "root ::= [a-z]+")";
  EXPECT_EQ(text(refusal("/v1/chat/completions", chat(with_grammar)), "param"), "tools");
  document("/v1/chat/completions", chat(with_grammar + R"(, "tool_choice": "none")"));
  const std::string endless = std::string(kTool) + R"(, "response_format": {"type": "json_schema",
      "json_schema": {"name": "x", "schema": {"$ref": "#"}}})";
  EXPECT_EQ(text(refusal("/v1/chat/completions", chat(endless)), "param"), "response_format");
  const std::string wrong = R"("tools": [{"type": "function", "function": {"name": "add",
      "parameters": {"$ref": "#"}}}])";
  EXPECT_EQ(text(refusal("/v1/chat/completions", chat(wrong + format)), "param"), "tools");
  const std::string must = std::string(kTool) + format + R"(, "tool_choice": "required")";
  EXPECT_EQ(text(refusal("/v1/chat/completions", chat(must)), "param"), "tool_choice");
}

// Known only as it is read: the client's own mistake all the same.
TEST_F(ServeChat, AGrammarThatIsTooAmbiguousIsTheClients) {
  model_->failure = "grammar: too many ways to read a text";
  model_->failure_code = ErrorCode::unsupported;
  const std::string grammar = chat(R"("grammar": "root ::= [a-z]+")");
  EXPECT_EQ(text(refusal("/v1/chat/completions", grammar), "type"), "invalid_request_error");
  EXPECT_EQ(text(refusal("/v1/chat/completions", chat(), 500), "type"), "server_error");
}

}  // namespace
}  // namespace hearth::tools::serve
