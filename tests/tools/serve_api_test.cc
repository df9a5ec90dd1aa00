// The API in process: a scripted model, no sockets.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "models/sampling/sampling_fields.h"
#include "tools/json_check.h"
#include "tools/scripted_model.h"
#include "tools/serve/api.h"
#include "tools/serve/base64.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;
using hearth::testing::ScriptedModel;

class TextSink final : public Sink {
 public:
  bool write(std::string_view bytes) override {
    all += bytes;
    return all.size() < most;
  }
  std::string all;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

class ServeApi : public ::testing::Test {
 protected:
  void begin(ApiOptions options = {}) {
    api_ = std::make_unique<Api>(std::move(options));
    api_->set_model(model_);
  }
  ApiResponse ask(const std::string& method, const std::string& path, const std::string& body = "",
                  const std::string& authorization = "", const std::string& origin = "") {
    if (api_ == nullptr) begin();
    return api_->answer({.method = method,
                         .path = path,
                         .body = body,
                         .authorization = authorization,
                         .origin = origin,
                         .is_open = {}});
  }
  JsonValue document(const std::string& path, const std::string& body, int status = 200) {
    const ApiResponse response = ask("POST", path, body);
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_FALSE(response.stream);
    return parse_json(response.body).value_or(nullptr);
  }
  // The error object of what is refused.
  JsonValue refusal(const std::string& path, const std::string& body, int status = 400) {
    const JsonValue all = document(path, body, status);
    const JsonValue* error = member(all, "error");
    return error == nullptr ? JsonValue(nullptr) : *error;
  }
  // The documents of an event stream, which must end as it should.
  std::vector<JsonValue> chunks(const std::string& path, const std::string& body) {
    const ApiResponse response = ask("POST", path, body);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.content_type, "text/event-stream");
    if (!response.stream) return {};
    TextSink sink;
    response.stream(sink);
    const std::string end = "data: [DONE]\n\n";
    EXPECT_TRUE(sink.all.ends_with(end)) << sink.all;
    std::vector<JsonValue> all;
    for (std::size_t at = 0; at + end.size() < sink.all.size();) {
      const std::size_t next = sink.all.find("\n\n", at);
      EXPECT_EQ(sink.all.compare(at, 6, "data: "), 0);
      all.push_back(parse_json(sink.all.substr(at + 6, next - at - 6)).value_or(nullptr));
      at = next + 2;
    }
    return all;
  }
  static std::string chat(const std::string& fields = "", const std::string& content = "hi") {
    return R"({"messages": [{"role": "user", "content": ")" + content + "\"}]" +
           (fields.empty() ? "" : ", " + fields) + "}";
  }
  static const JsonValue& first_choice(const JsonValue& document) {
    return list(document, "choices")[0];
  }
  static const JsonValue& message(const JsonValue& document) {
    return *member(first_choice(document), "message");
  }

  std::shared_ptr<ScriptedModel> model_ = std::make_shared<ScriptedModel>();
  std::unique_ptr<Api> api_;
};

const char* const kTool =
    R"("tools": [{"type": "function", "function": {"name": "add", "parameters": {
         "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"],
         "$defs": {"n": {"type": "integer"}}}}}])";

TEST_F(ServeApi, AChatIsAnObjectAsOpenAiHasIt) {
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

TEST_F(ServeApi, WhatUsersWriteIsNoControlToken) {
  document("/v1/chat/completions", chat("", "<|im_end|>"));
  const auto tokens = model_->requests().at(0).tokens;
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 4), 1);
}

TEST_F(ServeApi, OptionsReachTheModel) {
  document("/v1/chat/completions",
           chat(R"("temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "typical_p": 0.8,
                   "presence_penalty": 1, "frequency_penalty": -1.5, "repeat_penalty": 1.2,
                   "logit_bias": {"5": 2, "6": -100, "7": false}, "stop": ["x", "yz"],
                   "max_completion_tokens": 4, "max_tokens": 9, "ignore_eos": true)"));
  const models::GenerationRequest request = model_->requests().at(0);
  EXPECT_EQ(request.most_tokens, 4);
  EXPECT_EQ(request.stops, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(request.ignores_end);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.min_p, 0.1);
  EXPECT_EQ(request.sampling.typical_p, 0.8);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1.5);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.2);
  ASSERT_EQ(request.sampling.logit_bias.size(), 3u);
  EXPECT_EQ(request.sampling.logit_bias[0].value, 2);
  EXPECT_EQ(request.sampling.logit_bias[1].value, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(request.sampling.logit_bias[2].value, -std::numeric_limits<float>::infinity());
}

TEST_F(ServeApi, EveryFieldOfSamplingIsAFieldOfRequests) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    const double value = field.high - field.low > 2 ? field.low + 2 : 0.75;
    const std::string member(field.request);
    document("/v1/chat/completions", chat(json_text(member) + ": " + json_text(JsonValue(value))));
    const models::SamplingOptions sampling = model_->requests().back().sampling;
    std::visit([&](auto at) { EXPECT_EQ(static_cast<double>(sampling.*at), value) << member; },
               field.member);
    const JsonValue refused =
        refusal("/v1/chat/completions", chat(json_text(member) + ": " + json_text(field.high + 1)));
    EXPECT_EQ(text(refused, "param"), member);
  }
}

// As flags do: SamplingArguments.TheEndsOfRangesAreThoseOfTheFields.
TEST_F(ServeApi, TheEndsOfRangesAreThoseOfTheFields) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    const std::string member(field.request);
    for (const double value : {field.low, field.high}) {
      const std::string body = chat(json_text(member) + ": " + json_text(JsonValue(value)));
      if (!models::allows(field, value)) {
        refusal("/v1/chat/completions", body);
        continue;
      }
      document("/v1/chat/completions", body);
      const models::SamplingOptions sampling = model_->requests().back().sampling;
      std::visit([&](auto at) { EXPECT_EQ(static_cast<double>(sampling.*at), value) << member; },
                 field.member);
    }
  }
}

TEST_F(ServeApi, SeveralAnswersHaveSeedsOfTheirOwn) {
  const JsonValue answer = document("/v1/chat/completions", chat(R"("n": 3, "seed": 10)"));
  EXPECT_EQ(list(answer, "choices").size(), 3u);
  EXPECT_EQ(*member(*member(answer, "usage"), "completion_tokens"), JsonValue(std::int64_t{18}));
  std::vector<std::uint64_t> seeds;
  for (const auto& request : model_->requests()) seeds.push_back(request.sampling.seed);
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{10, 11, 12}));
}

TEST_F(ServeApi, WrongFieldsAreNamed) {
  const struct {
    const char* fields;
    const char* param;
  } cases[] = {
      {R"("temperature": "hot")", "temperature"},
      {R"("temperature": -1)", "temperature"},
      {R"("n": 17)", "n"},
      {R"("n": 1.5)", "n"},
      {R"("max_tokens": 0)", "max_tokens"},
      {R"("max_tokens": 18446744073709551615)", "max_tokens"},
      {R"("stop": 5)", "stop"},
      {R"("stop": [""])", "stop"},
      {R"("stop": ["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"])", "stop"},
      {R"("logit_bias": {"x": 1})", "logit_bias"},
      {R"("logit_bias": {"262": 1})", "logit_bias"},
      {R"("logit_bias": {"1": 101})", "logit_bias"},
      {R"("logit_bias": {"1": true})", "logit_bias"},
      {R"("top_logprobs": 2)", "top_logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs"},
      {R"("stream": 1)", "stream"},
      {R"("stream_options": {"include_usage": "no"})", "stream_options.include_usage"},
      {R"("response_format": {"type": "xml"})", "response_format.type"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "no"}}})",
       "response_format"},
      {R"("grammar": "root ::= nothing")", "grammar"},
      {R"("json_schema": {"type": "no"})", "json_schema"},
      {R"("guided_json": "{")", "guided_json"},
      {R"("json_schema": {}, "guided_json": {})", "guided_json"},
      {R"("json_schema": {}, "grammar": "root ::= [a]")", "json_schema"},
      {R"("guided_regex": "a+")", "guided_regex"},
      {R"("guided_grammar": "root ::= [a]")", "guided_grammar"},
      {R"("guided_choice": ["a", "b"])", "guided_choice"},
      {R"("n_probs": 3)", "n_probs"},
      {R"("tools": [{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name"},
      {R"("tool_choice": "required")", "tool_choice"},
      {R"("tool_choice": "always")", "tool_choice"},
      {R"("chat_template_kwargs": [])", "chat_template_kwargs"},
      {R"("functions": [{"name": "f"}])", "functions"},
      {R"("function_call": "auto")", "function_call"},
      {R"("modalities": ["text", "audio"])", "modalities"},
      {R"("audio": {"voice": "a"})", "audio"},
      {R"("web_search_options": {})", "web_search_options"},
      {R"("messages": [])", "messages"},
      {R"("messages": [{"role": "robot", "content": ""}])", "messages[0].role"},
      {R"("messages": [{"role": "user"}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": [{"type": "image_url"}]}])",
       "messages[0].content"},
      {R"("messages": [{"role": "user", "content": 5}])", "messages[0].content"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.fields);
    // Of members with one name the last counts.
    const JsonValue error = refusal("/v1/chat/completions", chat(each.fields));
    EXPECT_EQ(text(error, "type"), "invalid_request_error");
    EXPECT_EQ(*member(error, "param"), JsonValue(each.param));
    EXPECT_FALSE(text(error, "message").empty());
    EXPECT_NE(member(error, "code"), nullptr);
  }
  EXPECT_TRUE(model_->requests().empty());
  document(
      "/v1/chat/completions",
      chat(
          R"("seed": null, "unknown": {"x": [1]}, "user": 7, "modalities": ["text"], "store": false)"));
}

TEST_F(ServeApi, BodiesThatNobodyVouchesFor) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  std::string many = "[0";
  for (int i = 0; i < 1 << 20; ++i) many += ",0";
  many += "]";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("\xff\xfe"),
        std::string("{\"messages\": \"\xc3\"}"), R"({"messages": )" + deep + "}",
        R"({"messages": )" + many + "}", std::string("{\"a\": \"\\ud800\"}"),
        std::string("{\"messages\": 1e999}")}) {
    for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings",
                             "/tokenize", "/detokenize"}) {
      refusal(path, body);
    }
  }
}

TEST_F(ServeApi, AnEmptyPromptIsTheTokenThatTextsBeginWith) {
  document("/v1/completions", R"({"prompt": ["a", ""]})");
  ASSERT_EQ(model_->requests().size(), 2u);
  EXPECT_EQ(model_->requests()[1].tokens, std::vector<std::int32_t>{1});
}

TEST_F(ServeApi, PromptsThatDoNotFit) {
  const JsonValue error = refusal("/v1/chat/completions", chat("", std::string(1000, 'x')));
  EXPECT_EQ(text(error, "code"), "context_length_exceeded");
  // Without an answer all of the context is the prompt's.
  const std::string scored = R"(", "max_tokens": 0, "echo": true, "logprobs": 0})";
  const JsonValue whole =
      document("/v1/completions", R"({"prompt": ")" + std::string(1000, 'x') + scored);
  EXPECT_EQ(list(*member(first_choice(whole), "logprobs"), "tokens").size(), 1000u);
  refusal("/v1/completions", R"({"prompt": ")" + std::string(1001, 'x') + scored);
  refusal("/v1/completions", R"({"prompt": ")" + std::string(1000, 'x') + R"(", "max_tokens": 1})");
  refusal("/v1/completions", R"({"prompt": [262]})");
  refusal("/v1/completions", R"({"prompt": [-1]})");
  refusal("/v1/completions", R"({"prompt": []})");
  refusal("/v1/completions", R"({"prompt": ["a", 5]})");
  EXPECT_EQ(text(refusal("/v1/completions", R"({"prompt": ["a", []]})"), "param"), "prompt[1]");
  refusal("/v1/completions", R"({})");
}

TEST_F(ServeApi, AStreamHasTheRoleThenTextThenItsEnd) {
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
  EXPECT_EQ(member(chunks("/v1/chat/completions", chat(R"("stream": true)")).back(), "usage"),
            nullptr);
}

TEST_F(ServeApi, ReasoningIsToldApart) {
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

TEST_F(ServeApi, ToolsThatTheModelMayCall) {
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

TEST_F(ServeApi, CallsThatAreRequiredAreHeldByAGrammar) {
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
    EXPECT_FALSE(matcher.accept_text(R"({"name": "sub")"));
    EXPECT_FALSE(matcher.accept_text(R"({"name": "add", "arguments": {"a": "1")"));
    EXPECT_TRUE(matcher.accept_text(R"({"name": "add", "arguments": {"a": 1}})"));
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

TEST_F(ServeApi, FormatsAreGrammars) {
  const auto matcher = [&](const std::string& fields) {
    document("/v1/chat/completions", chat(fields));
    return models::grammar::GrammarMatcher(model_->requests().back().constraint);
  };
  auto any = matcher(R"("response_format": {"type": "json_object"})");
  EXPECT_FALSE(any.accept_text("["));
  EXPECT_TRUE(any.accept_text(R"({"x": [1, null]})"));
  auto schema = matcher(R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "s", "strict": true, "schema": {"enum": ["yes", "no"]}}})");
  EXPECT_TRUE(schema.accept_text("\"no\""));
  auto gbnf = matcher(R"("grammar": "root ::= [0-9]{2}")");
  EXPECT_FALSE(gbnf.accept_text("a"));
  EXPECT_TRUE(gbnf.accept_text("42"));
  for (const char* field :
       {R"("json_schema": {"enum": ["yes", "no"]})", R"("guided_json": {"enum": ["yes", "no"]})",
        R"("guided_json": "{\"enum\": [\"yes\", \"no\"]}")"}) {
    auto other = matcher(field);
    EXPECT_TRUE(other.accept_text("\"no\"")) << field;
    EXPECT_FALSE(matcher(field).accept_text("n")) << field;
  }
  document("/v1/chat/completions", chat(R"("response_format": {"type": "text"})"));
  EXPECT_EQ(model_->requests().back().constraint, nullptr);
}

TEST_F(ServeApi, LogprobsHaveTheBytesOfTokens) {
  model_->says = [](const auto&) { return std::string("\xc3\xa9"); };
  const JsonValue answer =
      document("/v1/chat/completions", chat(R"("logprobs": true, "top_logprobs": 2)"));
  const JsonArray& tokens = list(*member(first_choice(answer), "logprobs"), "content");
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(json_text(*member(tokens[0], "bytes")), "[195]");
  EXPECT_EQ(json_text(*member(tokens[1], "bytes")), "[169]");
  EXPECT_EQ(*member(tokens[0], "logprob"), JsonValue(-0.5));
  EXPECT_EQ(list(tokens[0], "top_logprobs").size(), 2u);
  const JsonValue plain = document("/v1/completions", R"({"prompt": "a", "logprobs": 1})");
  const JsonValue& logprobs = *member(first_choice(plain), "logprobs");
  EXPECT_EQ(list(logprobs, "token_logprobs").size(), 2u);
  EXPECT_EQ(json_text(*member(logprobs, "text_offset")), "[0,1]");
}

// Each candidate has a name of its own, and places in texts only grow.
TEST_F(ServeApi, PiecesOfCharactersHaveNamesInLogprobs) {
  const std::string fields = R"("prompt": [201, 202, 102, 201], "echo": true, "max_tokens": 2,
                                "logprobs": 2)";
  model_->says = [](const auto&) { return std::string("\xc3\xa9"); };
  const JsonValue answer = document("/v1/completions", "{" + fields + "}");
  const JsonValue& logprobs = *member(first_choice(answer), "logprobs");
  EXPECT_EQ(json_text(*member(logprobs, "tokens")),
            R"(["bytes:\\xc4","bytes:\\xc5","a","bytes:\\xc4","bytes:\\xc3","bytes:\\xa9"])");
  const std::string echo =
      "\xef\xbf\xbd\xef\xbf\xbd"
      "a\xef\xbf\xbd";
  EXPECT_EQ(text(first_choice(answer), "text"), echo + "\xc3\xa9");
  std::int64_t last = 0;
  for (const JsonValue& chunk : chunks("/v1/completions", "{\"stream\": true, " + fields + "}")) {
    const JsonValue* part = member(first_choice(chunk), "logprobs");
    if (*part == JsonValue(nullptr)) continue;
    for (const JsonValue& each : list(*part, "text_offset")) {
      EXPECT_GE(std::get<std::int64_t>(each), last);
      last = std::get<std::int64_t>(each);
    }
  }
  EXPECT_EQ(last, 5);
  EXPECT_EQ(json_text(*member(logprobs, "text_offset")), "[0,0,1,3,4,5]");
}

TEST_F(ServeApi, PlainCompletions) {
  const JsonValue answer =
      document("/v1/completions", R"({"prompt": ["ab"], "echo": true, "max_tokens": 3})");
  EXPECT_EQ(text(answer, "object"), "text_completion");
  EXPECT_EQ(text(first_choice(answer), "text"), "abHel");
  EXPECT_EQ(text(first_choice(answer), "finish_reason"), "length");
  document("/v1/completions", R"({"prompt": [5, 6]})");
  EXPECT_EQ(model_->requests().back().tokens, (std::vector<std::int32_t>{5, 6}));
  EXPECT_EQ(model_->requests().back().most_tokens, 1000);  // the context
  std::string joined;
  for (const JsonValue& chunk : chunks("/v1/completions", R"({"prompt": "a", "stream": true})")) {
    joined += text(first_choice(chunk), "text");
  }
  EXPECT_EQ(joined, "Hello!");
}

TEST_F(ServeApi, CompletionsWithoutTokens) {
  const JsonValue answer = document(
      "/v1/completions", R"({"prompt": "h\u00e9", "echo": true, "max_tokens": 0, "n": 2})");
  ASSERT_EQ(list(answer, "choices").size(), 2u);
  for (const JsonValue& choice : list(answer, "choices")) {
    EXPECT_EQ(text(choice, "text"), "h\u00e9");
    EXPECT_EQ(text(choice, "finish_reason"), "length");
  }
  EXPECT_EQ(*member(*member(answer, "usage"), "prompt_tokens"), JsonValue(std::int64_t{3}));
  EXPECT_EQ(*member(*member(answer, "usage"), "completion_tokens"), JsonValue(std::int64_t{0}));
  const auto streamed =
      chunks("/v1/completions", R"({"prompt": "a", "stream": true, "max_tokens": 0})");
  ASSERT_EQ(streamed.size(), 1u);
  EXPECT_EQ(text(first_choice(streamed[0]), "text"), "");
  EXPECT_EQ(text(first_choice(streamed[0]), "finish_reason"), "length");
  EXPECT_TRUE(model_->requests().empty());
}

TEST_F(ServeApi, LimitsHaveSeveralNames) {
  for (const char* fields :
       {R"("max_tokens": -1)", R"("n_predict": -1)", R"("max_tokens": null)"}) {
    document("/v1/completions", R"({"prompt": "a", )" + std::string(fields) + "}");
    EXPECT_EQ(model_->requests().back().most_tokens, 1000) << fields;
  }
  document("/v1/completions", R"({"prompt": "a", "n_predict": 2})");
  EXPECT_EQ(model_->requests().back().most_tokens, 2);
  document("/v1/chat/completions", chat(R"("max_tokens": -1)"));
  EXPECT_EQ(model_->requests().back().most_tokens, 1000);
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    const std::string field = "\"" + std::string(name) + "\": ";
    EXPECT_EQ(text(refusal("/v1/chat/completions", chat(field + "0")), "param"), name);
    EXPECT_EQ(text(refusal("/v1/chat/completions", chat(field + "-2")), "param"), name);
  }
}

TEST_F(ServeApi, SeveralPromptsHaveSeveralAnswersEach) {
  model_->says = [&](const models::GenerationRequest& request) {
    return model_->tokenizer().decode(request.tokens) + "!";
  };
  const std::string prompts = R"("prompt": ["ab", [102, 103, 104], "c"], "n": 2, "seed": 40)";
  const JsonValue answer = document("/v1/completions", "{" + prompts + "}");
  const char* const expected[] = {"ab!", "ab!", "abc!", "abc!", "c!", "c!"};
  const JsonArray& choices = list(answer, "choices");
  ASSERT_EQ(choices.size(), 6u);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    EXPECT_EQ(text(choices[i], "text"), expected[i]);
    EXPECT_EQ(*member(choices[i], "index"), JsonValue(static_cast<std::int64_t>(i)));
  }
  // Each prompt counts once.
  EXPECT_EQ(json_text(*member(answer, "usage")),
            R"({"prompt_tokens":6,"completion_tokens":18,"total_tokens":24,)"
            R"("prompt_tokens_details":{"cached_tokens":9}})");
  std::vector<std::uint64_t> seeds;
  for (const auto& request : model_->requests()) seeds.push_back(request.sampling.seed);
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{40, 41, 42, 43, 44, 45}));
  std::vector<std::string> streamed(6);
  for (const JsonValue& chunk : chunks("/v1/completions", "{\"stream\": true, " + prompts + "}")) {
    const JsonValue& choice = first_choice(chunk);
    streamed.at(static_cast<std::size_t>(std::get<std::int64_t>(*member(choice, "index")))) +=
        text(choice, "text");
  }
  EXPECT_EQ(streamed, (std::vector<std::string>(std::begin(expected), std::end(expected))));
}

TEST_F(ServeApi, MoreAnswersThanMayEverWaitAreRefused) {
  const JsonValue error =
      refusal("/v1/completions", R"({"prompt": ["a", "b", "c"], "n": 3, "max_tokens": 1})");
  EXPECT_EQ(text(error, "param"), "prompt");
  EXPECT_NE(text(error, "message").find("got 9 of all prompts, expected at most 8"),
            std::string::npos);
  EXPECT_TRUE(model_->requests().empty());
  document("/v1/completions", R"({"prompt": ["a", "b", "c", "d"], "n": 2, "max_tokens": 1})");
  EXPECT_EQ(model_->requests().size(), 8u);
}

TEST_F(ServeApi, AnEchoHasTheLogprobsOfThePrompt) {
  const std::string fields =
      R"("prompt": "h\u00e9y", "echo": true, "logprobs": 1, "max_tokens": 2)";
  const JsonValue answer = document("/v1/completions", "{" + fields + "}");
  EXPECT_EQ(text(first_choice(answer), "text"), "h\xc3\xa9yHe");
  const JsonValue& logprobs = *member(first_choice(answer), "logprobs");
  EXPECT_EQ(json_text(*member(logprobs, "token_logprobs")), "[null,-0.25,-0.5,-0.75,-0.5,-0.5]");
  EXPECT_EQ(list(logprobs, "tokens").size(), 6u);
  EXPECT_EQ(list(logprobs, "top_logprobs")[0], JsonValue(nullptr));
  EXPECT_EQ(list(logprobs, "top_logprobs").size(), 6u);
  // Both bytes of the second letter begin where it does.
  EXPECT_EQ(json_text(*member(logprobs, "text_offset")), "[0,1,1,2,3,4]");
  EXPECT_EQ(model_->requests().back().prompt_logprobs, 1);
  // Streamed, the echo comes once, with all of its scores.
  std::string joined;
  JsonArray scores, offsets;
  for (const JsonValue& chunk : chunks("/v1/completions", "{\"stream\": true, " + fields + "}")) {
    joined += text(first_choice(chunk), "text");
    const JsonValue* part = member(first_choice(chunk), "logprobs");
    if (*part == JsonValue(nullptr)) continue;
    for (const JsonValue& each : list(*part, "token_logprobs")) scores.push_back(each);
    for (const JsonValue& each : list(*part, "text_offset")) offsets.push_back(each);
  }
  EXPECT_EQ(joined, "h\xc3\xa9yHe");
  EXPECT_EQ(json_text(scores), "[null,-0.25,-0.5,-0.75,-0.5,-0.5]");
  EXPECT_EQ(json_text(offsets), "[0,1,1,2,3,4]");
  // As evaluation harnesses ask, for nothing but the scores.
  const JsonValue none =
      document("/v1/completions", R"({"prompt": "ab", "echo": true, "logprobs": 0,
                                                          "max_tokens": 0})");
  EXPECT_EQ(json_text(*member(*member(first_choice(none), "logprobs"), "token_logprobs")),
            "[null,-0.25]");
}

TEST_F(ServeApi, ModelsSlotsAndTemplatesAreTold) {
  const JsonValue model = parse_json(ask("GET", "/v1/models/scripted").body).value_or(nullptr);
  EXPECT_EQ(text(model, "id"), "scripted");
  EXPECT_EQ(text(model, "object"), "model");
  const ApiResponse unknown = ask("GET", "/v1/models/a/b");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(text(*member(parse_json(unknown.body).value_or(nullptr), "error"), "code"),
            "model_not_found");
  EXPECT_EQ(ask("GET", "/v1/models/").status, 404);
  EXPECT_EQ(ask("POST", "/v1/models/scripted").status, 405);
  EXPECT_EQ(ask("GET", "/slots").body,
            R"([{"id":0,"id_task":7,"n_ctx":1000,"is_processing":true,"n_prompt_tokens":9,)"
            R"("n_prompt_tokens_processed":9,"n_prompt_tokens_cache":4,"next_token":)"
            R"({"has_next_token":true,"n_remain":5,"n_decoded":3}},)"
            R"({"id":1,"n_ctx":1000,"is_processing":false}])");
  const JsonValue props = parse_json(ask("GET", "/props").body).value_or(nullptr);
  EXPECT_EQ(*member(props, "total_slots"), JsonValue(std::int64_t{2}));
  EXPECT_EQ(*member(*member(props, "default_generation_settings"), "n_ctx"),
            JsonValue(std::int64_t{1000}));
  EXPECT_EQ(text(document("/apply-template", chat()), "prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(text(document("/apply-template", chat(R"("chat_template_kwargs": {"think": true})")),
                 "prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(text(document("/apply-template", chat(R"("add_generation_prompt": false)")), "prompt"),
            "<|im_start|>user\nhi<|im_end|>\n");
  EXPECT_EQ(text(refusal("/apply-template", chat(R"("add_generation_prompt": 1)")), "param"),
            "add_generation_prompt");
  EXPECT_EQ(text(refusal("/apply-template", "{}"), "param"), "messages");
  EXPECT_EQ(json_text(*member(
                document("/tokenize", R"({"content": "a\u00e9", "with_pieces": true})"), "tokens")),
            R"([{"id":102,"piece":"a"},{"id":200,"piece":[195]},{"id":174,"piece":[169]}])");
}

// Bytes count by --max-body alone; of what they hold, only values do.
TEST_F(ServeApi, LargeBodiesThatAreLegalPass) {
  const std::string spaces(std::size_t{6} << 20, ' ');
  const std::string body = R"({"messages": [{"role": "user",)" + spaces + R"("content": "hi"}],)" +
                           spaces + R"("user": ")" + std::string(std::size_t{2} << 20, ',') + "\"" +
                           spaces + "}\n";
  EXPECT_EQ(text(message(document("/v1/chat/completions", body)), "content"), "Hello!");
  std::string numbers = "[0";
  for (int i = 0; i < 500'000; ++i) numbers += ", 1";
  document("/v1/chat/completions", chat("\"metadata\": {\"x\": " + numbers + "]}"));
}

TEST_F(ServeApi, PromptLogprobsAsVllmHasThem) {
  const JsonValue answer = document(
      "/v1/completions", R"({"prompt": [6, 5, 7], "prompt_logprobs": 1, "max_tokens": 1})");
  EXPECT_EQ(json_text(*member(first_choice(answer), "prompt_logprobs")),
            R"([null,{"5":{"logprob":-0.125,"rank":1,"decoded_token":"\u0000"}},)"
            R"({"5":{"logprob":-0.125,"rank":1,"decoded_token":"\u0000"},)"
            R"("7":{"logprob":-0.5,"rank":null,"decoded_token":"\u0002"}}])");
  EXPECT_EQ(*member(first_choice(answer), "logprobs"), JsonValue(nullptr));
  for (const char* fields : {R"("stream": true)", R"("echo": true, "logprobs": 2)"}) {
    const JsonValue error = refusal(
        "/v1/completions", R"({"prompt": "a", "prompt_logprobs": 1, )" + std::string(fields) + "}");
    EXPECT_EQ(text(error, "param"), "prompt_logprobs");
  }
}

TEST_F(ServeApi, GrammarsThatAllowNoTextAreRefused) {
  for (const char* gbnf : {"root ::= []", "root ::= <[99999999]>", R"(root ::= \"a\" root)"}) {
    const JsonValue error =
        refusal("/v1/chat/completions", chat("\"grammar\": \"" + std::string(gbnf) + "\""));
    EXPECT_EQ(text(error, "param"), "grammar");
  }
  const JsonValue error = refusal("/v1/chat/completions",
                                  chat(R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "s", "schema": {"type": "object", "properties": {"a": {"$ref": "#"}},
       "required": ["a"]}}})"));
  EXPECT_EQ(text(error, "param"), "response_format");
}

TEST_F(ServeApi, EmbeddingsAsNumbersAndAsBase64) {
  const JsonValue answer = document("/v1/embeddings", R"({"input": ["ab", "c"]})");
  EXPECT_EQ(list(answer, "data").size(), 2u);
  EXPECT_EQ(*member(list(answer, "data")[1], "index"), JsonValue(std::int64_t{1}));
  EXPECT_EQ(json_text(*member(answer, "usage")), R"({"prompt_tokens":3,"total_tokens":3})");
  const JsonValue packed =
      document("/v1/embeddings", R"({"input": [5, 6], "encoding_format": "base64"})");
  EXPECT_EQ(text(list(packed, "data")[0], "embedding"), base64_of({0.6f, 0.8f, 0, 0, 0}));
  EXPECT_EQ(base64_of({1.0f}), "AACAPw==");
  EXPECT_EQ(base64_of({1.0f, -2.5f}), "AACAPwAAIMA=");
  EXPECT_EQ(base64_of({0.0f, 0.0f, 1.0f}), "AAAAAAAAAAAAAIA/");
  EXPECT_EQ(base64_of({}), "");
  for (const char* body : {R"({})", R"({"input": []})", R"({"input": [[]]})", R"({"input": {}})",
                           R"({"input": "a", "encoding_format": "hex"})", R"({"input": [1.5]})",
                           R"({"input": "a", "dimensions": 6})", R"({"input": [999]})"}) {
    refusal("/v1/embeddings", body);
  }
}

TEST_F(ServeApi, EmbeddingsMayHaveFewerDimensions) {
  const JsonValue answer = document("/v1/embeddings", R"({"input": "ab", "dimensions": 1})");
  EXPECT_EQ(json_text(*member(list(answer, "data")[0], "embedding")), "[1.0]");
  const JsonValue packed = document(
      "/v1/embeddings", R"({"input": "abc", "dimensions": 2, "encoding_format": "base64"})");
  EXPECT_EQ(text(list(packed, "data")[0], "embedding"), base64_of({0.6f, -0.8f}));
  const JsonValue whole = document("/v1/embeddings", R"({"input": "ab", "dimensions": 5})");
  EXPECT_EQ(list(list(whole, "data")[0], "embedding").size(), 5u);
}

TEST_F(ServeApi, OneBadTextIsNamed) {
  const std::string one_long = "\"" + std::string(1001, 'x') + "\"";
  for (const std::string& bad : {std::string("\"\""), std::string("[]"), std::string("[5, 999]"),
                                 std::string("{}"), one_long}) {
    const JsonValue error =
        refusal("/v1/embeddings", R"({"input": ["a", "b", )" + bad + R"(, "c"]})");
    EXPECT_EQ(text(error, "param"), "input[2]");
  }
}

TEST_F(ServeApi, TokensThereAndBack) {
  const JsonValue tokens = document("/tokenize", R"({"content": "a<|im_end|>"})");
  EXPECT_EQ(list(tokens, "tokens").size(), 11u);
  EXPECT_EQ(
      list(document("/tokenize", R"({"content": "a<|im_end|>", "parse_special": true})"), "tokens")
          .size(),
      2u);
  EXPECT_EQ(text(document("/detokenize", R"({"tokens": [102, 4]})"), "content"), "a<|im_end|>");
  refusal("/detokenize", R"({"tokens": [99999999999]})");
}

TEST_F(ServeApi, RoutesMethodsAndKeys) {
  EXPECT_EQ(ask("GET", "/v1/nothing").status, 404);
  const ApiResponse wrong = ask("GET", "/v1/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(ask("DELETE", "/health").status, 405);
  EXPECT_EQ(ask("GET", "/v1/models").status, 200);
  EXPECT_EQ(ask("HEAD", "/models").status, 200);
  EXPECT_NE(ask("GET", "/metrics").body.find("\nhearth_generated_tokens_total 0\n"),
            std::string::npos);
  EXPECT_EQ(ask("GET", "/props").status, 200);
  EXPECT_NE(ask("GET", "/").body.find("<title>Hearth</title>"), std::string::npos);
  begin({.keys = {"one", "two"}, .origins = {}});
  EXPECT_EQ(ask("GET", "/v1/models").status, 401);
  for (const char* bad : {"Bearer", "Bearer ", "Bearer on", "Bearer onee", "Basic one", "one"}) {
    EXPECT_EQ(ask("GET", "/v1/models", "", bad).status, 401) << bad;
  }
  EXPECT_EQ(ask("GET", "/v1/models", "", "Bearer one").status, 200);
  for (const char* good : {"Bearer two", "bearer two", "BEARER two", "Bearer  two"}) {
    EXPECT_EQ(ask("GET", "/v1/models", "", good).status, 200) << good;
  }
  EXPECT_EQ(ask("GET", "/health").status, 200);
  EXPECT_EQ(ask("GET", "/").status, 200);
}

TEST_F(ServeApi, OtherOriginsOnlyWhereAllowed) {
  const auto allowed = [&](const std::string& method, const std::string& origin) {
    for (const auto& [name, value] : ask(method, "/v1/models", "", "", origin).headers) {
      if (name == "Access-Control-Allow-Origin") return value;
    }
    return std::string();
  };
  EXPECT_EQ(allowed("GET", "http://a"), "");
  begin({.keys = {}, .origins = {"http://a"}});
  EXPECT_EQ(allowed("GET", "http://a"), "http://a");
  EXPECT_EQ(allowed("OPTIONS", "http://a"), "http://a");
  EXPECT_EQ(allowed("GET", "http://b"), "");
  begin({.keys = {"k"}, .origins = {"*"}});
  EXPECT_EQ(allowed("GET", "http://b"), "*");
  EXPECT_EQ(ask("OPTIONS", "/v1/chat/completions").status, 204);
}

TEST_F(ServeApi, LoadingStoppingAndFullQueues) {
  api_ = std::make_unique<Api>(ApiOptions{});
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("POST", "/v1/completions", "{}").status, 503);
  api_->set_model(model_);
  EXPECT_EQ(ask("GET", "/health").status, 200);
  model_->has_full_queue = true;
  const ApiResponse full = ask("POST", "/v1/completions", R"({"prompt": "a", "stream": true})");
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.headers.at(0).first, "Retry-After");
  model_->has_full_queue = false;
  model_->is_failing = true;
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("GET", "/v1/models").status, 200);
  model_->is_failing = false;
  EXPECT_EQ(ask("GET", "/health").status, 200);
  api_->stop();
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("POST", "/v1/completions", R"({"prompt": "a"})").status, 503);
}

TEST_F(ServeApi, FailuresOfAnAnswer) {
  model_->failure = "the device is gone";
  const JsonValue error = refusal("/v1/chat/completions", chat(), 500);
  EXPECT_EQ(text(error, "message"), "the device is gone");
  const ApiResponse response = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  TextSink sink;
  response.stream(sink);
  EXPECT_NE(sink.all.find("data: {\"error\":"), std::string::npos) << sink.all;
  EXPECT_EQ(sink.all.find("[DONE]"), std::string::npos);
}

TEST_F(ServeApi, WhoGoesAwayIsAnsweredNoMore) {
  model_->says = [](const auto&) { return std::string(100'000, 'x'); };
  model_->pause = std::chrono::milliseconds(1);
  begin();
  const ApiResponse response = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  TextSink sink;
  sink.most = 1000;
  response.stream(sink);
  int asked = 0;
  const ApiResponse whole = api_->answer({.method = "POST",
                                          .path = "/v1/completions",
                                          .body = R"({"prompt": "a", "max_tokens": 900})",
                                          .authorization = {},
                                          .origin = {},
                                          .is_open = [&] { return ++asked < 2; }});
  EXPECT_EQ(whole.status, 503);
  // A response that nobody reads cancels, too.
  {
    const ApiResponse unread = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  }
  for (int i = 0; i < 500 && model_->cancelled < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(model_->cancelled, 3);
}

TEST_F(ServeApi, AStreamWithoutNewsIsKeptAlive) {
  model_->says = [](const auto&) { return std::string("x"); };
  model_->pause = std::chrono::milliseconds(300);
  begin({.keys = {}, .origins = {}, .ping = std::chrono::milliseconds(20)});
  const ApiResponse response = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  TextSink sink;
  response.stream(sink);
  EXPECT_NE(sink.all.find("\n\n: ping\n\n"), std::string::npos) << sink.all;
  EXPECT_TRUE(sink.all.ends_with("data: [DONE]\n\n"));
}

TEST_F(ServeApi, AStreamAsksOnceWhetherSomebodyReads) {
  model_->says = [](const auto&) { return std::string("x"); };
  model_->pause = std::chrono::milliseconds(300);
  begin({.keys = {}, .origins = {}, .ping = std::chrono::hours(1)});
  const ApiResponse response = api_->answer({.method = "POST",
                                             .path = "/v1/chat/completions",
                                             .body = chat(R"("stream": true)"),
                                             .authorization = {},
                                             .origin = {},
                                             .is_open = {},
                                             .may_be_gone = [] { return true; }});
  TextSink sink;
  response.stream(sink);
  const std::size_t first = sink.all.find(": ping\n\n");
  EXPECT_NE(first, std::string::npos) << sink.all;
  EXPECT_EQ(sink.all.find(": ping\n\n", first + 1), std::string::npos) << sink.all;
}

}  // namespace
}  // namespace hearth::tools::serve
