// --pooling: vectors of models whose files name no pooling, and of others in another way.
#include "tools/lm/pooling_option.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "error_text.h"
#include "models/encoded_tokens.h"
#include "models/loading/load_model.h"
#include "tools/json_check.h"
#include "tools/serve/api.h"
#include "tools/serve/loaded_service.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

using check::contains;
using check::error_of;
using testing::encode_tokens;

const std::string kSigns = sign(5) + sign(9) + sign(30);

// The vector of a text, of length 1, by its rows behind the last norm.
std::vector<double> plain_vector(const models::LoadedModel& loaded, const std::string& pooling) {
  const std::vector<std::int32_t> tokens = loaded.tokenizer.encode(kSigns);
  EXPECT_EQ(tokens.size(), 4u);  // <s> before the signs
  const std::vector<double> rows = encode_tokens(loaded.model, {tokens}).to_doubles();
  const auto dim = static_cast<std::size_t>(loaded.model.config.dim);
  std::vector<double> vector(dim);
  double squares = 0;
  for (std::size_t j = 0; j < dim; ++j) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool counts =
          pooling == "mean" || i == (pooling == "last" ? tokens.size() - 1 : std::size_t{0});
      if (counts) vector[j] += rows[i * dim + j];
    }
    squares += vector[j] * vector[j];
  }
  for (double& each : vector) each /= std::sqrt(squares);
  return vector;
}

void expect_near(const JsonValue& got, const std::vector<double>& expected) {
  const auto& numbers = std::get<JsonArray>(got);
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(std::get<double>(numbers[i]), expected[i], 2e-5);
  }
}

class PoolingOption : public ToolFolder {
 protected:
  // tests/golden/models/NAME.json, whose scores are transformers' and whose file says no pooling.
  std::string model(const std::string& name, const GgufMetadata& more = {}) const {
    write_signs_model(path(name), name, "", more);
    return path(name);
  }
};

TEST_F(PoolingOption, SaysWhatServersMakeVectorsOf) {
  for (const char* name : {"qwen3", "gemma3", "phi3"}) {
    for (const char* pooling : {"mean", "last", "cls"}) {
      SCOPED_TRACE(std::string(name) + " " + pooling);
      models::LoadedModel loaded = models::load_language_model(model(name));
      const std::vector<double> expected = plain_vector(loaded, pooling);
      set_pooling(loaded.model.config, pooling, "serve");
      require_pooling(loaded.model.config, "serve");
      serve::Api api({});
      api.set_model(std::make_shared<serve::LoadedService>(
          std::move(loaded), "m", models::SchedulerOptions{.cache_bytes = 16 << 20}));
      const serve::ApiResponse response = api.answer({.method = "POST",
                                                      .path = "/v1/embeddings",
                                                      .body = R"({"input": ")" + kSigns + R"("})",
                                                      .authorization = {},
                                                      .origin = {},
                                                      .is_open = {}});
      ASSERT_EQ(response.status, 200) << response.body;
      const JsonValue answer = parse_json(response.body).value_or(nullptr);
      expect_near(*check::member(check::list(answer, "data")[0], "embedding"), expected);
    }
  }
}

TEST_F(PoolingOption, OfFilesStaysWhereNothingIsSaid) {
  models::LanguageConfig config;
  config.vectors.pooling = models::Pooling::weighted_mean;
  set_pooling(config, "", "embed");
  EXPECT_EQ(config.vectors.pooling, models::Pooling::weighted_mean);
  set_pooling(config, "last", "embed");
  EXPECT_EQ(config.vectors.pooling, models::Pooling::last);
}

TEST_F(PoolingOption, IsNamedWhereAModelNeedsIt) {
  models::LanguageConfig config;
  config.architecture = "qwen3";
  const auto refused = [&](const auto& act) { return error_of(ErrorCode::unsupported, act); };
  EXPECT_TRUE(contains(refused([&] { require_pooling(config, "embed"); }),
                       "embed: a model whose files name no pooling; got one of the family qwen3, "
                       "expected --pooling mean, last or cls"));
  config.layers.emplace_back().mixer = models::Mixer::scan;
  for (const char* pooling : {"", "mean"}) {
    EXPECT_TRUE(contains(refused([&] {
                           set_pooling(config, pooling, "embed");
                           require_pooling(config, "embed");
                         }),
                         "recurrent layers"));
  }
}

#ifdef HEARTH_TOOL

TEST_F(PoolingOption, OfEmbedIsThatOfLlamaCpp) {
  const std::string file = model("qwen3");
  const models::LoadedModel loaded = models::load_language_model(file);
  for (const char* pooling : {"mean", "last", "cls"}) {
    const Outcome outcome = run({"embed", "--model", file, "--pooling", pooling, "-p", kSigns});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    expect_near(parse_json(outcome.out).value_or(nullptr), plain_vector(loaded, pooling));
  }
  const std::vector<std::string> bare = {"embed", "--model", file, "-p", kSigns};
  const Outcome without = run(bare);
  expect_refused(without);
  EXPECT_TRUE(contains(without.err, "expected --pooling mean, last or cls")) << without.err;
  auto unknown = bare;
  unknown.insert(unknown.end(), {"--pooling", "rank"});
  expect_refused(run(unknown));
  // The file's own, and another in its place.
  const std::string named = model("qwen3", {{"qwen3.pooling_type", std::uint32_t{3}}});
  const Outcome own = run(bare);
  ASSERT_EQ(own.status, 0) << own.err;
  expect_near(parse_json(own.out).value_or(nullptr), plain_vector(loaded, "last"));
  const Outcome other = run({"embed", "--model", named, "--pooling", "mean", "-p", kSigns});
  ASSERT_EQ(other.status, 0) << other.err;
  expect_near(parse_json(other.out).value_or(nullptr), plain_vector(loaded, "mean"));
  expect_refused(run({"embed", "--model", model("mamba2"), "--pooling", "mean", "-p", kSigns}));
  expect_refused(run({"serve", model("mamba2"), "--port", "0", "--pooling", "mean"}));
}

#endif

}  // namespace
}  // namespace hearth::tools
