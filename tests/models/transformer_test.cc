#include "models/transformer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "models/config_json.h"
#include "models/generation.h"

namespace hearth::models {
namespace {

TransformerConfig small() {
  TransformerConfig config;
  config.vocabulary = 11;
  config.dim = 16;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.context = 12;
  return config;
}

Transformer make(const TransformerConfig& config, DType compute = DType::f32) {
  Generator generator{9, 0};
  return Transformer(config, compute, Device(), &generator);
}

Array tokens(std::int64_t batch, std::int64_t rows) {
  Generator source{4, 0};
  return random_integers({batch, rows}, 0, 11, DType::i32, Device(), &source);
}

double largest_difference(const Array& a, const Array& b) { return max(abs(a - b)).item(); }

TEST(Transformer, HasTheNamesOfLlama) {
  const Transformer model = make(small());
  std::vector<std::string> names;
  visit(model, [&](const std::string& name, const Array&) { names.push_back(name); });
  EXPECT_EQ(names.front(), "model.embed_tokens.weight");
  EXPECT_EQ(names[1], "model.layers.0.input_layernorm.weight");
  EXPECT_EQ(names[2], "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(names.back(), "model.norm.weight");
  EXPECT_EQ(names.size(), 2u + 2u * 9u);
  TransformerConfig untied = small();
  untied.tied = false;
  EXPECT_EQ(parameters(*std::make_unique<Transformer>(make(untied))).back().name, "lm_head.weight");
}

TEST(Transformer, StartsNearUniform) {
  const Transformer model = make(small());
  EXPECT_NEAR(model.loss(tokens(4, 12), tokens(4, 12)).item(), std::log(11.0), 0.3);
}

TEST(Transformer, CachesGiveWhatTheWholeSequenceGives) {
  const NoGrad no_grad;
  const Transformer model = make(small());
  const Array input = tokens(2, 12);
  const Array whole = model.logits(model.hidden(input));
  KvCaches caches = model.make_caches(2);
  std::vector<Array> parts = {model.logits(model.hidden(narrow(input, 1, 0, 5), &caches))};
  for (int i = 5; i < 12; ++i) {
    parts.push_back(model.logits(model.hidden(narrow(input, 1, i, 1), &caches)));
  }
  EXPECT_LT(largest_difference(cat(parts, 1), whole), 2e-5);
}

TEST(Transformer, EveryParameterGetsAGradientInF32) {
  for (const DType compute : {DType::f32, DType::bf16}) {
    Transformer model = make(small(), compute);
    const Gradients gradients = backward(model.loss(tokens(2, 6), tokens(2, 6)));
    visit(model, [&](const std::string& name, const Array& parameter) {
      const Array gradient = gradients.get(parameter);
      ASSERT_TRUE(gradient.defined()) << name;
      EXPECT_EQ(gradient.dtype(), DType::f32) << name;
      EXPECT_GT(sum(square(gradient)).item(), 0) << name;
    });
  }
}

TEST(Transformer, RefusesWhatMakesNoModel) {
  TransformerConfig config = small();
  config.heads = 3;
  EXPECT_THROW(make(config), Error);
  config = small();
  config.kv_heads = 3;
  EXPECT_THROW(make(config), Error);
  config = small();
  config.dim = std::int64_t{1} << 40;
  EXPECT_THROW(make(config), Error);
  const Transformer model = make(small());
  EXPECT_THROW((void)model.hidden(tokens(1, 13)), Error);
  EXPECT_THROW((void)model.hidden(zeros({3}, DType::i32)), Error);
}

TEST(Config, ReadsWhatItWrites) {
  TransformerConfig config = small().resolved();
  config.norm_epsilon = 1.25e-6;
  EXPECT_EQ(parse_config(config_json(config), "config"), config);
}

TEST(Config, RefusesOtherModels) {
  const auto code = [](const std::string& text) {
    try {
      parse_config(text, "config");
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code(""), ErrorCode::corrupt_file);
  EXPECT_EQ(code("[1]"), ErrorCode::corrupt_file);
  EXPECT_EQ(code("{\"vocab_size\": "), ErrorCode::corrupt_file);
  EXPECT_EQ(code(std::string(100000, '[')), ErrorCode::corrupt_file);
  EXPECT_EQ(code("{}"), ErrorCode::invalid_argument);
  EXPECT_EQ(code("{\"model_type\": \"mamba\"}"), ErrorCode::unsupported);
  EXPECT_EQ(code("{\"model_type\": 3}"), ErrorCode::invalid_argument);
  EXPECT_EQ(code("{\"rope_scaling\": {\"type\": \"yarn\"}}"), ErrorCode::unsupported);
}

TEST(Generation, IsAFunctionOfSeedAndPromptBeyondTheContext) {
  const Transformer model = make(small());
  const std::vector<std::int32_t> prompt = {1, 2, 3};
  SamplingOptions options;
  options.seed = 5;
  Generation one(model, prompt, options);
  Generation two(model, prompt, options);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(one.next(), two.next());
  EXPECT_EQ(one.tokens().size(), 33u);
  EXPECT_THROW(Generation(model, std::vector<std::int32_t>{}, options), Error);
  EXPECT_THROW(Generation(model, std::vector<std::int32_t>{11}, options), Error);
}

TEST(Generation, GreedyChoosesTheHighestScore) {
  const NoGrad no_grad;
  const Transformer model = make(small());
  const std::vector<std::int32_t> prompt = {1, 2, 3};
  SamplingOptions options;
  options.temperature = 0;
  Generation generation(model, prompt, options);
  std::vector<std::int32_t> sequence = prompt;
  for (int i = 0; i < 6; ++i) {
    const auto rows = static_cast<std::int64_t>(sequence.size());
    const Array scores = model.logits(model.hidden(Array::from_data(sequence, {1, rows})));
    const Array best = argmax(narrow(scores, 1, rows - 1, 1), -1);
    sequence.push_back(static_cast<std::int32_t>(best.item()));
    EXPECT_EQ(generation.next(), sequence.back());
  }
}

TEST(Generation, ReusesPlansFromTokenToToken) {
  const Transformer model = make(small());
  Generation generation(model, std::vector<std::int32_t>{1}, {});
  for (int i = 0; i < 3; ++i) generation.next();
  const Statistics before = statistics();
  for (int i = 0; i < 6; ++i) generation.next();
  EXPECT_EQ(statistics().plan_misses, before.plan_misses);
}

}  // namespace
}  // namespace hearth::models
