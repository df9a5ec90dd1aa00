// What llama.cpp's own clients ask for: /completion, /embedding, /props and timings.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;

class ServeLlamaCpp : public ServeApi {
 protected:
  static std::int64_t integer(const JsonValue& object, const std::string& name) {
    return std::get<std::int64_t>(*member(object, name));
  }
  static double number(const JsonValue& object, const std::string& name) {
    return std::get<double>(*member(object, name));
  }
  // The events of a stream that no [DONE] ends.
  std::vector<JsonValue> events(const std::string& body) {
    const ApiResponse response = ask("POST", "/completion", body);
    EXPECT_EQ(response.content_type, "text/event-stream") << response.body;
    TextSink sink;
    if (response.stream) response.stream(sink);
    std::vector<JsonValue> all;
    for (std::size_t at = 0; at < sink.all.size();) {
      const std::size_t end = sink.all.find("\n\n", at);
      EXPECT_EQ(sink.all.compare(at, 6, "data: "), 0) << sink.all;
      all.push_back(parse_json(sink.all.substr(at + 6, end - at - 6)).value_or(nullptr));
      at = end + 2;
    }
    return all;
  }
};

TEST_F(ServeLlamaCpp, ACompletionIsOneObject) {
  const JsonValue answer = document(
      "/completion",
      R"({"prompt": "ab", "n_predict": 3, "seed": 5, "top_k": 7, "stop": ["x"], "return_tokens": true,
          "samplers": ["typ_p", "temp"]})");
  EXPECT_EQ(text(answer, "content"), "Hel");
  EXPECT_EQ(text(answer, "prompt"), "ab");
  EXPECT_EQ(text(answer, "model"), "scripted");
  EXPECT_EQ(*member(answer, "stop"), JsonValue(true));
  EXPECT_EQ(text(answer, "stop_type"), "limit");
  EXPECT_EQ(text(answer, "stopping_word"), "");
  EXPECT_EQ(*member(answer, "truncated"), JsonValue(false));
  EXPECT_EQ(integer(answer, "index"), 0);
  EXPECT_EQ(integer(answer, "tokens_predicted"), 3);
  EXPECT_EQ(integer(answer, "tokens_evaluated"), 2);
  EXPECT_EQ(integer(answer, "tokens_cached"), 5);
  EXPECT_EQ(json_text(*member(answer, "tokens")), "[77,106,113]");
  const JsonValue& settings = *member(answer, "generation_settings");
  EXPECT_EQ(integer(settings, "top_k"), 7);
  EXPECT_EQ(integer(settings, "n_predict"), 3);
  EXPECT_EQ(json_text(*member(settings, "samplers")), R"(["typical_p","temperature"])");
  EXPECT_EQ(json_text(*member(settings, "stop")), "[\"x\"]");
  EXPECT_EQ(model_->requests().at(0).sampling.top_k, 7);
  EXPECT_EQ(model_->requests().at(0).stops, std::vector<std::string>{"x"});
}

TEST_F(ServeLlamaCpp, WhatEndsACompletionIsSaid) {
  model_->says = [](const auto&) { return std::string("a\nb"); };
  const JsonValue ended = document("/completion", R"({"prompt": "a"})");
  EXPECT_EQ(text(ended, "stop_type"), "eos");
  EXPECT_EQ(*member(ended, "has_new_line"), JsonValue(true));
  EXPECT_TRUE(list(ended, "tokens").empty());
  model_->stop = "END";
  const JsonValue stopped = document("/completion", R"({"prompt": "a", "stop": ["END"]})");
  EXPECT_EQ(text(stopped, "stop_type"), "word");
  EXPECT_EQ(text(stopped, "stopping_word"), "END");
  const JsonValue none = document("/completion", R"({"prompt": "abc", "n_predict": 0})");
  EXPECT_EQ(text(none, "content"), "");
  EXPECT_EQ(text(none, "stop_type"), "limit");
  EXPECT_EQ(integer(none, "tokens_evaluated"), 3);
}

TEST_F(ServeLlamaCpp, SeveralPromptsAreAnArray) {
  const ApiResponse response =
      ask("POST", "/completion", R"({"prompt": ["a", [5, 6]], "n_predict": 2})");
  const JsonValue all = parse_json(response.body).value_or(nullptr);
  const auto& answers = std::get<JsonArray>(all);
  ASSERT_EQ(answers.size(), 2u);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(integer(answers[i], "index"), static_cast<std::int64_t>(i));
    EXPECT_EQ(text(answers[i], "content"), "He");
  }
  EXPECT_EQ(integer(answers[1], "tokens_evaluated"), 2);
}

TEST_F(ServeLlamaCpp, TokensMayStandBetweenTexts) {
  document("/completion", R"({"prompt": ["ab", 3, 12, "c", 261], "n_predict": 1})");
  ASSERT_EQ(model_->requests().size(), 1u);
  EXPECT_EQ(model_->requests()[0].tokens, (std::vector<std::int32_t>{102, 103, 3, 12, 104, 261}));
  ask("POST", "/completion", R"({"prompt": ["ab", [5, "c"], [6]], "n_predict": 1})");
  ASSERT_EQ(model_->requests().size(), 4u);
  EXPECT_EQ(model_->requests()[1].tokens, (std::vector<std::int32_t>{102, 103}));
  EXPECT_EQ(model_->requests()[2].tokens, (std::vector<std::int32_t>{5, 104}));
  EXPECT_EQ(model_->requests()[3].tokens, (std::vector<std::int32_t>{6}));
}

TEST_F(ServeLlamaCpp, ProbabilitiesHaveTheFormOfLlamaCpp) {
  const JsonValue answer =
      document("/completion", R"({"prompt": "a", "n_predict": 2, "n_probs": 3})");
  EXPECT_EQ(model_->requests().at(0).logprobs, 3);
  const auto& all = list(answer, "completion_probabilities");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(json_text(*member(all[0], "bytes")), "[72]");
  EXPECT_EQ(text(all[0], "token"), "H");
  EXPECT_EQ(integer(all[0], "id"), 77);
  EXPECT_EQ(number(all[0], "logprob"), -0.5);
  const auto& best = list(all[1], "top_logprobs");
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(json_text(best[2]), R"({"id":106,"token":"e","bytes":[101],"logprob":-2.5})");
  EXPECT_EQ(member(document("/completion", R"({"prompt": "a", "n_probs": 0})"),
                   "completion_probabilities"),
            nullptr);
  const auto stream = events(R"({"prompt": "a", "stream": true, "n_probs": 1})");
  std::size_t tokens = 0;
  for (std::size_t i = 0; i + 1 < stream.size(); ++i) {
    tokens += list(stream[i], "completion_probabilities").size();
  }
  EXPECT_EQ(tokens, 6u);
  EXPECT_EQ(member(stream.back(), "completion_probabilities"), nullptr);
}

TEST_F(ServeLlamaCpp, AStreamEndsWithTheWholeAnswerButItsText) {
  const auto all = events(
      R"({"prompt": "a", "stream": true, "return_tokens": true, "timings_per_token": true})");
  ASSERT_GE(all.size(), 2u);
  std::string content;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size();
    content += text(all[i], "content");
    tokens += list(all[i], "tokens").size();
    EXPECT_EQ(*member(all[i], "stop"), JsonValue(is_last));
    EXPECT_NE(member(all[i], "timings"), nullptr);
    EXPECT_EQ(member(all[i], "stop_type") != nullptr, is_last);
  }
  EXPECT_EQ(content, "Hello!");
  EXPECT_EQ(tokens, 6u);
  EXPECT_EQ(text(all.back(), "content"), "");
  EXPECT_EQ(integer(all.back(), "tokens_predicted"), 6);
  const auto none = events(R"({"prompt": "a", "stream": true, "n_predict": 0})");
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(text(none[0], "stop_type"), "limit");
}

TEST_F(ServeLlamaCpp, WrongFieldsOfCompletionsAreNamed) {
  for (const auto& [body, param] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "prompt"},
           {R"({"prompt": ["a", 5, []]})", "prompt"},
           {R"({"prompt": ["a", 5, 999]})", "prompt"},
           {R"({"prompt": "a", "n": 2})", "n"},
           {R"({"prompt": "a", "n_probs": 101})", "n_probs"},
           {R"({"prompt": "a", "n_probs": 2, "post_sampling_probs": true})", "post_sampling_probs"},
           {R"({"prompt": "a", "logprobs": 3})", "logprobs"},
           {R"({"prompt": "a", "logprobs": true})", "logprobs"},
           {R"({"prompt": "a", "return_tokens": 1})", "return_tokens"},
           {R"({"prompt": "a", "grammar": "root ::= nothing"})", "grammar"}}) {
    EXPECT_EQ(text(refusal("/completion", body), "param"), param) << body;
  }
}

TEST_F(ServeLlamaCpp, AnEmbeddingIsAListOfOneVector) {
  const std::string both = R"([{"index":0,"embedding":[[)";
  for (const char* body : {R"({"content": ["ab", "c"]})", R"({"input": ["ab", "c"]})"}) {
    const ApiResponse response = ask("POST", "/embedding", body);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_TRUE(response.body.starts_with(both)) << response.body;
    const JsonValue all = parse_json(response.body).value_or(nullptr);
    const JsonValue& second = std::get<JsonArray>(all).at(1);
    const auto& vector = std::get<JsonArray>(list(second, "embedding").at(0));
    EXPECT_EQ(vector.size(), 5u);
    EXPECT_EQ(vector[1], JsonValue(double{-0.8f}));
  }
  EXPECT_EQ(text(refusal("/embedding", "{}"), "param"), "content");
  EXPECT_EQ(text(refusal("/embedding", R"({"content": ["a", ""]})"), "param"), "content[1]");
}

TEST_F(ServeLlamaCpp, TimesOfPromptsAndAnswersAreApart) {
  const auto timings = [&](const std::string& fields) {
    return *member(document("/v1/completions", R"({"prompt": "abcdefgh", )" + fields + "}"),
                   "timings");
  };
  for (const char* fields : {R"("max_tokens": 1)", R"("max_tokens": 6)", R"("max_tokens": 0)"}) {
    SCOPED_TRACE(fields);
    const JsonValue all = timings(fields);
    for (const std::string phase : {"prompt", "predicted"}) {
      const double speed = number(all, phase + "_per_second");
      EXPECT_NEAR(speed * number(all, phase + "_per_token_ms"), speed > 0 ? 1000 : 0, 1e-6);
      EXPECT_EQ(speed > 0, number(all, phase + "_ms") > 0);
    }
  }
  // What was known of the prompt is not read again.
  const JsonValue one = timings(R"("max_tokens": 1)");
  EXPECT_EQ(integer(one, "cache_n"), 3);
  EXPECT_EQ(integer(one, "prompt_n"), 5);
  EXPECT_NEAR(number(one, "prompt_per_second"), 5000 / number(one, "prompt_ms"), 1e-6);
  // The first token is the prompt's: nothing is known of the speed of others.
  EXPECT_EQ(integer(one, "predicted_n"), 1);
  EXPECT_EQ(number(one, "predicted_ms"), 0);
  EXPECT_EQ(number(one, "predicted_per_second"), 0);
  // All of an answer without a token is the prompt's, too.
  model_->says = [](const auto&) { return std::string(); };
  model_->pause = std::chrono::milliseconds(1);
  const JsonValue none = timings(R"("max_tokens": 5)");
  EXPECT_EQ(integer(none, "predicted_n"), 0);
  EXPECT_EQ(number(none, "predicted_ms"), 0);
  EXPECT_GT(number(none, "prompt_ms"), 0);
}

TEST_F(ServeLlamaCpp, PropertiesHaveTheNamesOfLlamaCpp) {
  const JsonValue props = parse_json(ask("GET", "/props").body).value_or(nullptr);
  EXPECT_EQ(text(props, "chat_template"), hearth::testing::ScriptedModel::kTemplate);
  EXPECT_EQ(text(props, "model_alias"), "scripted");
  EXPECT_EQ(text(props, "bos_token"), "<s>");
  EXPECT_EQ(text(props, "eos_token"), "</s>");
  const JsonValue& defaults = *member(props, "default_generation_settings");
  EXPECT_EQ(number(*member(defaults, "params"), "temperature"), 1);
}

TEST_F(ServeLlamaCpp, PathsOfOtherServersAreShownTheWay) {
  const struct {
    const char* path;
    const char* instead;
  } cases[] = {{"/rerank", "/v1/embeddings"},
               {"/v1/rerank", "/v1/embeddings"},
               {"/infill", "/v1/completions"},
               {"/v1/messages", "/v1/chat/completions"},
               {"/api/chat", "/v1/chat/completions"},
               {"/api/tags", "/v1/models"},
               {"/v1/v1/chat/completions", "has /v1 once"},
               {"/slots/0", "kept by itself"},
               {"/v1/chat/completion", "expected perhaps /chat/completions"},
               {"/v1/model", "expected perhaps /models"}};
  for (const auto& each : cases) {
    const JsonValue error = refusal(each.path, "{}", 404);
    EXPECT_NE(text(error, "message").find(each.instead), std::string::npos)
        << each.path << ": " << text(error, "message");
  }
  EXPECT_EQ(text(refusal("/something/else", "{}", 404), "message"), "there is no /something/else");
}

TEST_F(ServeLlamaCpp, TemplatesTakeAnotherTime) {
  EXPECT_EQ(text(document("/apply-template", chat(R"("now": 5)")), "prompt"),
            text(document("/apply-template", chat()), "prompt"));
  EXPECT_EQ(text(refusal("/apply-template", chat(R"("now": "today")")), "param"), "now");
}

}  // namespace
}  // namespace hearth::tools::serve
