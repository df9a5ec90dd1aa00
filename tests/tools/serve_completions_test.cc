// Texts that go on with prompts.
#include <cstdint>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;

class ServeCompletions : public ServeApi {};

TEST_F(ServeCompletions, AnEmptyPromptIsTheTokenThatTextsBeginWith) {
  document("/v1/completions", R"({"prompt": ["a", ""]})");
  ASSERT_EQ(model_->requests().size(), 2u);
  EXPECT_EQ(model_->requests()[1].tokens, std::vector<std::int32_t>{1});
}

TEST_F(ServeCompletions, PromptsThatDoNotFit) {
  const JsonValue error = refusal("/v1/chat/completions", chat("", std::string(1000, 'x')));
  EXPECT_EQ(text(error, "code"), "context_length_exceeded");
  EXPECT_EQ(text(error, "param"), "messages");
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
  refusal("/v1/completions", R"({"prompt": ["a", true, 5]})");
  EXPECT_EQ(text(refusal("/v1/completions", R"({"prompt": ["a", []]})"), "param"), "prompt[1]");
  refusal("/v1/completions", R"({})");
}

// Nobody waits for all tokens of a text of megabytes.
TEST_F(ServeCompletions, TextsThatCannotFitAreNotEncodedToTheirEnd) {
  const std::string large(std::size_t{4} << 20, 'x');
  const JsonValue error = refusal("/v1/completions", R"({"prompt": ["a", ")" + large + "\"]}");
  EXPECT_EQ(text(error, "code"), "context_length_exceeded");
  EXPECT_EQ(text(error, "param"), "prompt[1]");
  // No token has more than twelve bytes.
  EXPECT_EQ(text(error, "message"),
            "prompt[1]: is too long for the model's context; got at least " +
                std::to_string(((4 << 20) + 11) / 12) +
                " tokens, expected at most 999, which leave room for an answer");
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/chat/completions", chat("", large)},
           {"/v1/responses", R"({"input": ")" + large + "\"}"},
           {"/completion", R"({"prompt": [5, ")" + large + "\"]}"},
           {"/v1/embeddings", R"({"input": ")" + large + "\"}"}}) {
    EXPECT_NE(text(refusal(path, body), "message").find("at least 349"), std::string::npos) << path;
  }
}

TEST_F(ServeCompletions, EncodingEndsWhereNobodyWaits) {
  begin();
  const std::string large(std::size_t{3} << 20, 'x');
  int looks = 0;
  const ApiResponse response = api_->answer({.method = "POST",
                                             .path = "/tokenize",
                                             .body = R"({"content": ")" + large + "\"}",
                                             .authorization = {},
                                             .origin = {},
                                             .is_open = [&] { return ++looks < 2; }});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(looks, 2);
}

TEST_F(ServeCompletions, PlainCompletions) {
  const JsonValue answer =
      document("/v1/completions", R"({"prompt": ["ab"], "echo": true, "max_tokens": 3})");
  EXPECT_EQ(text(answer, "object"), "text_completion");
  EXPECT_EQ(text(first_choice(answer), "text"), "abHel");
  EXPECT_EQ(text(first_choice(answer), "finish_reason"), "length");
  document("/v1/completions", R"({"prompt": [5, 6]})");
  EXPECT_EQ(model_->requests().back().tokens, (std::vector<std::int32_t>{5, 6}));
  EXPECT_EQ(model_->requests().back().most_tokens, 1000);  // the context
  std::string joined;
  const auto streamed = chunks("/v1/completions", R"({"prompt": "a", "stream": true, "n": 2})");
  for (const JsonValue& chunk : streamed) {
    if (*member(first_choice(chunk), "index") == JsonValue(std::int64_t{0})) {
      joined += text(first_choice(chunk), "text");
    }
    EXPECT_EQ(member(chunk, "timings") != nullptr, &chunk == &streamed.back());
  }
  EXPECT_EQ(joined, "Hello!");
  const auto counted =
      chunks("/v1/completions",
             R"({"prompt": "a", "stream": true, "stream_options": {"include_usage": true}})");
  for (const JsonValue& chunk : counted) {
    EXPECT_EQ(member(chunk, "timings") != nullptr, &chunk == &counted.back());
  }
  EXPECT_TRUE(list(counted.back(), "choices").empty());
}

TEST_F(ServeCompletions, CompletionsWithoutTokens) {
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
  EXPECT_NE(member(streamed[0], "timings"), nullptr);
  EXPECT_TRUE(model_->requests().empty());
}

TEST_F(ServeCompletions, SeveralPromptsHaveSeveralAnswersEach) {
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

TEST_F(ServeCompletions, MoreAnswersThanMayEverWaitAreRefused) {
  const JsonValue error =
      refusal("/v1/completions", R"({"prompt": ["a", "b", "c"], "n": 3, "max_tokens": 1})");
  EXPECT_EQ(text(error, "param"), "prompt");
  EXPECT_NE(text(error, "message").find("got 9 of all prompts, expected at most 8"),
            std::string::npos);
  EXPECT_TRUE(model_->requests().empty());
  document("/v1/completions", R"({"prompt": ["a", "b", "c", "d"], "n": 2, "max_tokens": 1})");
  EXPECT_EQ(model_->requests().size(), 8u);
}

}  // namespace
}  // namespace hearth::tools::serve
