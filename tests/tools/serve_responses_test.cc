// OpenAI's Responses API in process: a scripted model, no sockets.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/grammar_texts.h"
#include "tools/json_check.h"
#include "tools/scripted_model.h"
#include "tools/serve/api.h"
#include "tools/serve/response_request.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;
using hearth::testing::accept_text;
using hearth::testing::ScriptedModel;

class KeptEvents final : public Sink {
 public:
  bool write(std::string_view bytes) override {
    all += bytes;
    return true;
  }
  std::string all;
};

struct Event {
  std::string name;
  JsonValue data;
};

class ServeResponses : public ::testing::Test {
 protected:
  void SetUp() override { api_.set_model(model_); }

  ApiResponse ask(const std::string& body) {
    return api_.answer({.method = "POST",
                        .path = "/v1/responses",
                        .body = body,
                        .authorization = {},
                        .origin = {},
                        .is_open = {}});
  }
  JsonValue document(const std::string& body) {
    const ApiResponse response = ask(body);
    EXPECT_EQ(response.status, 200) << response.body;
    return parse_json(response.body).value_or(nullptr);
  }
  std::string refused_field(const std::string& body) {
    const ApiResponse response = ask(body);
    EXPECT_EQ(response.status, 400) << response.body;
    return text(*member(parse_json(response.body).value_or(nullptr), "error"), "param");
  }
  std::vector<Event> events(const std::string& body) {
    const ApiResponse response = ask(body);
    EXPECT_EQ(response.status, 200) << response.body;
    if (!response.stream) return {};
    KeptEvents sink;
    response.stream(sink);
    std::vector<Event> all;
    for (std::size_t at = 0; at < sink.all.size();) {
      const std::size_t line = sink.all.find('\n', at), end = sink.all.find("\n\n", at);
      EXPECT_EQ(sink.all.compare(at, 7, "event: "), 0);
      EXPECT_EQ(sink.all.compare(line + 1, 6, "data: "), 0);
      Event event{sink.all.substr(at + 7, line - at - 7),
                  parse_json(sink.all.substr(line + 7, end - line - 7)).value_or(nullptr)};
      EXPECT_EQ(text(event.data, "type"), event.name);
      EXPECT_EQ(*member(event.data, "sequence_number"),
                JsonValue(static_cast<std::int64_t>(all.size())));
      all.push_back(std::move(event));
      at = end + 2;
    }
    return all;
  }
  std::string prompt() const {
    return model_->tokenizer().decode(model_->requests().back().tokens, {.show_special = true});
  }

  std::shared_ptr<ScriptedModel> model_ = std::make_shared<ScriptedModel>();
  Api api_{{}};
};

const char* const kFlatTool =
    R"("tools": [{"type": "function", "name": "add", "strict": true, "parameters": {
         "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}])";

TEST_F(ServeResponses, ATextBecomesAMessage) {
  const JsonValue answer = document(
      R"({"model": "m", "input": "hi", "instructions": "Be brief.", "temperature": 0.5,
          "metadata": {"a": "b"}})");
  EXPECT_EQ(prompt(),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(text(answer, "object"), "response");
  EXPECT_EQ(text(answer, "status"), "completed");
  EXPECT_EQ(text(answer, "model"), "m");
  EXPECT_TRUE(text(answer, "id").starts_with("resp_"));
  EXPECT_EQ(*member(answer, "incomplete_details"), JsonValue(nullptr));
  EXPECT_EQ(*member(answer, "temperature"), JsonValue(0.5));
  EXPECT_EQ(json_text(*member(answer, "metadata")), R"({"a":"b"})");
  ASSERT_EQ(list(answer, "output").size(), 1u);
  const JsonValue& item = list(answer, "output")[0];
  EXPECT_EQ(text(item, "type"), "message");
  EXPECT_EQ(text(item, "role"), "assistant");
  EXPECT_EQ(text(item, "status"), "completed");
  EXPECT_EQ(json_text(*member(item, "content")),
            R"([{"type":"output_text","text":"Hello!","annotations":[],"logprobs":[]}])");
  EXPECT_EQ(json_text(*member(answer, "usage")),
            R"({"input_tokens":40,"input_tokens_details":{"cached_tokens":3},"output_tokens":6,)"
            R"("output_tokens_details":{"reasoning_tokens":0},"total_tokens":46})");
}

TEST_F(ServeResponses, ItemsAreMessages) {
  document(R"({"input": [
    {"role": "developer", "content": [{"type": "input_text", "text": "s"}]},
    {"type": "message", "role": "user", "content": "u"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "content": [
      {"type": "reasoning_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
    {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "one"},
    {"type": "function_call_output", "call_id": "2", "output": [
      {"type": "input_text", "text": "two"}]},
    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
      {"type": "output_text", "text": "a", "annotations": []}]},
    {"role": "user", "content": "v"}]})");
  // The template writes roles, contents and calls alone.
  EXPECT_EQ(prompt(),
            "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
            "<|im_start|>assistant\n"
            R"([{"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}}, )"
            R"({"id": "2", "type": "function", "function": {"name": "g", "arguments": {}}}])"
            "<|im_end|>\n<|im_start|>tool\none<|im_end|>\n"
            "<|im_start|>tool\ntwo<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n"
            "<|im_start|>user\nv<|im_end|>\n<|im_start|>assistant\n");
}

// What was thought between an answer and a call is of the call's message, not of a later one.
TEST(ResponseRequest, ThoughtsBehindAnAnswerGoWithTheCall) {
  const JsonValue body = *parse_json(R"({"input": [
    {"role": "assistant", "content": "a"},
    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "1", "name": "f"},
    {"type": "function_call", "call_id": "2", "name": "g"},
    {"role": "assistant", "content": "b"}]})");
  const JsonValue chat = chat_of_response(Fields(std::get<JsonObject>(body))).fields;
  const JsonArray& messages = list(chat, "messages");
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(text(messages[0], "content"), "a");
  EXPECT_EQ(member(messages[0], "tool_calls"), nullptr);
  EXPECT_EQ(text(messages[1], "reasoning_content"), "hm");
  EXPECT_EQ(list(messages[1], "tool_calls").size(), 2u);
  EXPECT_EQ(text(messages[2], "content"), "b");
  EXPECT_EQ(member(messages[2], "reasoning_content"), nullptr);
}

// Thoughts that another's turn cuts off are not of the next answer; without a text of their own
// they are their summary.
TEST(ResponseRequest, ThoughtsEndWithTheTurnAndMayBeSummaries) {
  const JsonValue body = *parse_json(R"({"input": [
    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "lost"}]},
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "a"},
    {"type": "reasoning", "content": [], "summary": [{"type": "summary_text", "text": "short"}]},
    {"role": "assistant", "content": "b"}]})");
  const JsonValue chat = chat_of_response(Fields(std::get<JsonObject>(body))).fields;
  const JsonArray& messages = list(chat, "messages");
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(member(messages[1], "reasoning_content"), nullptr);
  EXPECT_EQ(text(messages[2], "reasoning_content"), "short");
}

TEST_F(ServeResponses, CallsAndReasoningAreItemsOfTheirOwn) {
  model_->says = [](const auto&) {
    return std::string(
        "<think>\nwell\n</think>\n\nLet me see.\n<tool_call>\n"
        "{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>");
  };
  const JsonValue answer = document(R"({"input": "x", )" + std::string(kFlatTool) + "}");
  EXPECT_NE(prompt().find("tools:"), std::string::npos);
  const JsonArray& output = list(answer, "output");
  ASSERT_EQ(output.size(), 3u);
  EXPECT_EQ(text(output[0], "type"), "reasoning");
  EXPECT_EQ(text(list(output[0], "content")[0], "text"), "well");
  EXPECT_EQ(text(list(output[1], "content")[0], "text"), "Let me see.");
  EXPECT_EQ(text(output[2], "type"), "function_call");
  EXPECT_EQ(text(output[2], "name"), "add");
  EXPECT_EQ(text(output[2], "arguments"), R"({"a":1})");
  EXPECT_FALSE(text(output[2], "call_id").empty());
  const JsonValue& details = *member(*member(answer, "usage"), "output_tokens_details");
  EXPECT_GT(std::get<std::int64_t>(*member(details, "reasoning_tokens")), 0);
}

TEST_F(ServeResponses, CallsThatAreRequiredAndFormatsAreGrammars) {
  model_->says = [](const auto&) { return std::string(R"({"name":"add","arguments":{"a":41}})"); };
  for (const char* choice : {R"("required")", R"({"type": "function", "name": "add"})"}) {
    const JsonValue answer = document(R"({"input": "x", )" + std::string(kFlatTool) +
                                      R"(, "tool_choice": )" + choice + "}");
    ASSERT_EQ(list(answer, "output").size(), 1u);
    EXPECT_EQ(text(list(answer, "output")[0], "arguments"), R"({"a":41})");
  }
  document(R"({"input": "x", "text": {"format": {"type": "json_schema", "name": "n",
               "schema": {"enum": ["yes"]}}}})");
  models::grammar::GrammarMatcher matcher(model_->requests().back().constraint);
  EXPECT_FALSE(accept_text(matcher, "\"no"));
  EXPECT_TRUE(accept_text(matcher, "\"yes\""));
}

TEST_F(ServeResponses, WhatIsCutOffIsIncomplete) {
  const JsonValue answer = document(R"({"input": "x", "max_output_tokens": 2})");
  EXPECT_EQ(text(answer, "status"), "incomplete");
  EXPECT_EQ(text(*member(answer, "incomplete_details"), "reason"), "max_output_tokens");
  EXPECT_EQ(text(list(answer, "output")[0], "status"), "incomplete");
  EXPECT_EQ(text(list(list(answer, "output")[0], "content")[0], "text"), "He");
  EXPECT_EQ(events(R"({"input": "x", "max_output_tokens": 2, "stream": true})").back().name,
            "response.incomplete");
}

TEST_F(ServeResponses, AStreamTellsOfEachItem) {
  model_->says = [](const auto&) {
    return std::string(
        "<think>\nwell\n</think>\n\nHi.\n<tool_call>\n"
        "{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>");
  };
  const auto all = events(R"({"input": "x", "stream": true, )" + std::string(kFlatTool) + "}");
  ASSERT_GT(all.size(), 10u);
  std::vector<std::string> names;  // without those of deltas after the first
  std::string reasoning, content, arguments;
  for (const Event& event : all) {
    if (names.empty() || names.back() != event.name) names.push_back(event.name);
    if (event.name == "response.reasoning_text.delta") reasoning += text(event.data, "delta");
    if (event.name == "response.output_text.delta") content += text(event.data, "delta");
    if (event.name == "response.function_call_arguments.delta") {
      arguments += text(event.data, "delta");
    }
  }
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "response.created", "response.in_progress", "response.output_item.added",
          "response.content_part.added", "response.reasoning_text.delta",
          "response.reasoning_text.done", "response.content_part.done", "response.output_item.done",
          "response.output_item.added", "response.content_part.added", "response.output_text.delta",
          "response.output_text.done", "response.content_part.done", "response.output_item.done",
          "response.output_item.added", "response.function_call_arguments.delta",
          "response.function_call_arguments.done", "response.output_item.done",
          "response.completed"}));
  EXPECT_EQ(reasoning, "well");
  EXPECT_EQ(content, "Hi.");
  EXPECT_EQ(arguments, R"({"a":1})");
  // The items of the events are those of the response, in their places.
  const JsonArray& output = list(*member(all.back().data, "response"), "output");
  ASSERT_EQ(output.size(), 3u);
  std::size_t done = 0;
  for (const Event& event : all) {
    if (event.name != "response.output_item.done") continue;
    EXPECT_EQ(*member(event.data, "output_index"), JsonValue(static_cast<std::int64_t>(done)));
    EXPECT_EQ(*member(event.data, "item"), output[done++]);
  }
  EXPECT_EQ(done, 3u);
}

TEST_F(ServeResponses, AnAnswerWithoutAWordIsAMessage) {
  model_->says = [](const auto&) { return std::string(); };
  const JsonValue answer = document(R"({"input": "x"})");
  ASSERT_EQ(list(answer, "output").size(), 1u);
  EXPECT_EQ(text(list(list(answer, "output")[0], "content")[0], "text"), "");
  EXPECT_EQ(events(R"({"input": "x", "stream": true})").back().name, "response.completed");
}

// Whatever reads the chat that a response is read as.
TEST_F(ServeResponses, RefusalsNameTheFieldsOfTheResponse) {
  const struct {
    const char* body;
    const char* param;
  } kRefused[] = {
      {R"({"input": [{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]})",
       "input[1].role"},
      {R"({"instructions": "x", "input": [{"role": "robot", "content": "b"}]})", "input[0].role"},
      {R"({"input": "x", "tools": [{"type": "function", "name": "a b"}]})", "tools[0].name"},
      {R"({"input": "x", "tools": [{"type": "function"}]})", "tools[0].name"},
      {R"({"input": "x", "tools": [{"type": "function", "name": "f", "parameters": 3}]})",
       "tools[0].parameters"},
      {R"({"input": "x", "reasoning": {"effort": 3}})", "reasoning.effort"},
      {R"({"input": "x", "temperature": "hot"})", "temperature"},
      {R"({"input": "x", "min_tokens": 5, "max_output_tokens": 4})", "min_tokens"},
  };
  for (const auto& [body, param] : kRefused) EXPECT_EQ(refused_field(body), param) << body;
  EXPECT_EQ(refused_field(R"({"input": ")" + std::string(1000, 'x') + "\"}"), "input");
  std::string calls = R"({"input": [{"role": "user", "content": "a"})";
  for (int i = 0; i < 129; ++i) {
    calls += R"(, {"type": "function_call", "call_id": "1", "name": "f"})";
  }
  EXPECT_EQ(refused_field(calls + "]}"), "input");
}

TEST(ResponseRequest, FieldsOfChatsAreNamedAsTheResponseHasThem) {
  const JsonValue body = *parse_json(R"({"instructions": "s", "input": [
    {"role": "user", "content": "q"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "1", "name": "f"},
    {"type": "function_call", "call_id": "2", "name": "g"},
    {"type": "function_call_output", "call_id": "1", "output": "one"}]})");
  const ChatOfResponse chat = chat_of_response(Fields(std::get<JsonObject>(body)));
  const struct {
    const char* read;
    const char* given;
  } kNames[] = {
      {"messages", "input"},
      {"messages[0]", "instructions"},
      {"messages[0].content", "instructions"},
      {"messages[1].content[2].text", "input[0].content[2].text"},
      {"messages[2].reasoning_content", "input[1].summary"},
      {"messages[2].tool_calls", "input"},
      {"messages[2].tool_calls[0].function.name", "input[2].name"},
      {"messages[2].tool_calls[1].id", "input[3].call_id"},
      {"messages[2].tool_calls[1].function.arguments", "input[3].arguments"},
      {"messages[3].tool_call_id", "input[4].call_id"},
      {"messages[3].content", "input[4].output"},
      {"max_completion_tokens", "max_output_tokens"},
      {"response_format.type", "text.format.type"},
      {"response_format.json_schema.schema", "text.format.schema"},
      {"tool_choice.function.name", "tool_choice.name"},
      {"stop", "stop"},
      {"", ""},
  };
  for (const auto& [read, given] : kNames) EXPECT_EQ(chat.names.name_of(read), given) << read;
}

// What is not a chat's, or of another meaning there, is not read as a chat's.
TEST_F(ServeResponses, OtherFieldsAreThoseOfChats) {
  document(R"({"input": "x", "top_k": 7, "stop": ["a"], "seed": 5, "ignore_eos": true,
               "stream_options": {"include_obfuscation": false}, "top_logprobs": 0,
               "store": true, "unknown": 1})");
  const models::GenerationRequest request = model_->requests().back();
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.seed, 5u);
  EXPECT_EQ(request.stops, std::vector<std::string>{"a"});
  EXPECT_TRUE(request.ignores_end);
  EXPECT_EQ(request.logprobs, -1);
}

TEST_F(ServeResponses, WhatIsNotSupportedIsRefused) {
  const struct {
    const char* fields;
    const char* param;
  } kRefused[] = {
      {R"("input": "x", "previous_response_id": "resp_1")", "previous_response_id"},
      {R"("input": "x", "conversation": "c")", "conversation"},
      {R"("input": "x", "prompt": {"id": "p"})", "prompt"},
      {R"("input": "x", "background": true)", "background"},
      {R"("input": "x", "tools": [{"type": "web_search"}])", "tools[0].type"},
      {R"("input": "x", "tools": [3])", "tools[0]"},
      {R"("input": "x", "tool_choice": {"type": "file_search"})", "tool_choice"},
      {R"("input": "x", "text": {"format": {"type": "json_schema"}})", "text.format.schema"},
      {R"("input": "x", "text": {"format": {"type": "xml"}})", "text.format.type"},
      {R"("input": "x", "text": {"format": {"type": "json_schema", "schema": {"type": "no"}}})",
       "text.format"},
      {R"("input": "x", "max_output_tokens": 0)", "max_output_tokens"},
      {R"("input": "x", "n": 2)", "n"},
      {R"("input": "x", "logprobs": true)", "logprobs"},
      {R"("input": "x", "include": ["message.output_text.logprobs"])", "include"},
      {R"("input": "x", "truncation": "auto")", "truncation"},
      {R"("input": "x", "max_tool_calls": 3)", "max_tool_calls"},
      {R"("input": [])", "input"},
      {R"("input": 3)", "input"},
      {R"("instructions": "x")", "input"},
      {R"("input": [5])", "input[0]"},
      {R"("input": [{"role": "user", "content": [{"type": "input_image"}]}])", "input[0].content"},
      {R"("input": [{"role": "user", "content": [{"type": "input_text"}]}])",
       "input[0].content[0].text"},
      {R"("input": [{"type": "item_reference", "id": "x"}])", "input[0].type"},
      {R"("input": [{"type": "function_call", "name": "f"}])", "input[0].call_id"},
      {R"("input": [{"type": "function_call", "call_id": "1", "name": "f"},
           {"type": "function_call_output", "call_id": "1"}])",
       "input[1].output"},
      {R"("input": [{"type": "function_call", "call_id": "1", "name": "f"},
           {"type": "function_call_output", "call_id": "2", "output": "x"}])",
       "input[1].call_id"},
  };
  for (const auto& [fields, param] : kRefused) {
    EXPECT_EQ(refused_field("{" + std::string(fields) + "}"), param) << fields;
  }
  EXPECT_TRUE(model_->requests().empty());
  document(R"({"input": "x", "n": 1, "logprobs": false, "truncation": "disabled",
               "include": ["reasoning.encrypted_content"], "max_tool_calls": null})");
}

}  // namespace
}  // namespace hearth::tools::serve
