// Logarithms of probabilities, of answers and of prompts.
#include <cstdint>
#include <string>
#include <variant>

#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;

class ServeLogprobs : public ServeApi {};

TEST_F(ServeLogprobs, LogprobsHaveTheBytesOfTokens) {
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
TEST_F(ServeLogprobs, PiecesOfCharactersHaveNamesInLogprobs) {
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

TEST_F(ServeLogprobs, AnEchoHasTheLogprobsOfThePrompt) {
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

TEST_F(ServeLogprobs, PromptLogprobsAsVllmHasThem) {
  const JsonValue answer = document(
      "/v1/completions", R"({"prompt": [6, 5, 7], "prompt_logprobs": 1, "max_tokens": 1})");
  EXPECT_EQ(json_text(*member(first_choice(answer), "prompt_logprobs")),
            R"([null,{"5":{"logprob":-0.125,"rank":1,"decoded_token":"\u0000"}},)"
            R"({"5":{"logprob":-0.125,"rank":1,"decoded_token":"\u0000"},)"
            R"("7":{"logprob":-0.5,"rank":9,"decoded_token":"\u0002"}}])");
  EXPECT_EQ(*member(first_choice(answer), "logprobs"), JsonValue(nullptr));
  for (const char* fields : {R"("stream": true)", R"("echo": true, "logprobs": 2)"}) {
    const JsonValue error = refusal(
        "/v1/completions", R"({"prompt": "a", "prompt_logprobs": 1, )" + std::string(fields) + "}");
    EXPECT_EQ(text(error, "param"), "prompt_logprobs");
  }
}

}  // namespace
}  // namespace hearth::tools::serve
