// Texts as vectors.
#include <cstdint>
#include <string>
#include <utility>

#include "tools/serve/base64.h"
#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;

class ServeEmbeddings : public ServeApi {};

TEST_F(ServeEmbeddings, EmbeddingsAsNumbersAndAsBase64) {
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

TEST_F(ServeEmbeddings, EmbeddingsMayHaveFewerDimensions) {
  const JsonValue answer = document("/v1/embeddings", R"({"input": "ab", "dimensions": 1})");
  EXPECT_EQ(json_text(*member(list(answer, "data")[0], "embedding")), "[1.0]");
  const JsonValue packed = document(
      "/v1/embeddings", R"({"input": "abc", "dimensions": 2, "encoding_format": "base64"})");
  EXPECT_EQ(text(list(packed, "data")[0], "embedding"), base64_of({0.6f, -0.8f}));
  const JsonValue whole = document("/v1/embeddings", R"({"input": "ab", "dimensions": 5})");
  EXPECT_EQ(list(list(whole, "data")[0], "embedding").size(), 5u);
}

TEST_F(ServeEmbeddings, MoreDimensionsThanThereAreAreRefusedBeforeTheTexts) {
  for (const char* body :
       {R"({"input": "ab", "dimensions": 6})", R"({"input": [], "dimensions": 6})"}) {
    const JsonValue error = refusal("/v1/embeddings", body);
    EXPECT_EQ(text(error, "message"), "dimensions: is out of range; got 6, expected 1 to 5");
    EXPECT_EQ(text(error, "param"), "dimensions");
  }
  EXPECT_EQ(model_->embedded, 0);
}

// While they are computed: the model is asked for no more.
TEST_F(ServeEmbeddings, EndWhereNobodyWaitsOrTheServerStops) {
  for (const auto& [path, field] :
       {std::pair("/v1/embeddings", "input"), std::pair("/embedding", "content")}) {
    for (const bool stops : {false, true}) {
      begin();
      model_->embedded = 0;
      const ApiResponse response =
          api_->answer({.method = "POST",
                        .path = path,
                        .body = R"({")" + std::string(field) + R"(": ["a", "b", "c", "d"]})",
                        .authorization = {},
                        .origin = {},
                        .is_open = [&] {
                          const bool is_time = model_->embedded == 2;
                          if (is_time && stops) api_->stop();
                          return !is_time || stops;
                        }});
      EXPECT_EQ(response.status, 503) << path;
      EXPECT_NE(response.body.find(stops ? "the server is stopping" : "cancelled"),
                std::string::npos)
          << response.body;
      // The word of the end is heard at the next look.
      EXPECT_EQ(model_->embedded, stops ? 3 : 2);
    }
  }
}

TEST_F(ServeEmbeddings, OneBadTextIsNamed) {
  const std::string one_long = "\"" + std::string(1001, 'x') + "\"";
  for (const std::string& bad : {std::string("\"\""), std::string("[]"), std::string("[5, 999]"),
                                 std::string("{}"), one_long}) {
    const JsonValue error =
        refusal("/v1/embeddings", R"({"input": ["a", "b", )" + bad + R"(, "c"]})");
    EXPECT_EQ(text(error, "param"), "input[2]");
  }
}

}  // namespace
}  // namespace hearth::tools::serve
