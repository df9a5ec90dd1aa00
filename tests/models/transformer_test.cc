#include "models/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "models/language/model/sequences.h"
#include "models/loading/load_model.h"
#include "models/sampling/draw_tokens.h"
#include "models/serving/read_text.h"
#include "models/serving/scheduler.h"
#include "models/serving/text_generation.h"
#include "models/tokenizer/byte_tokenizer.h"
#include "models/tokenizer/from_json.h"
#include "models/trained_language_model.h"

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

// As a folder of it is loaded. `config.vocabulary` is 256.
LoadedModel loaded(const Transformer& model, DType compute = DType::f32) {
  return {testing::language_model_of(model, compute),
          tokenizer_from_json(byte_tokenizer_json(), "bytes", byte_tokenizer_config_json())};
}

TransformerConfig of_bytes(bool is_tied = true) {
  TransformerConfig config = small();
  config.vocabulary = 256;
  config.tied = is_tied;
  config.rope_base = 500;
  config.norm_epsilon = 0x1p-10;  // what f32 holds as it is
  return config;
}

// The scores behind the last of the tokens, of a text by itself.
std::vector<double> scores(const Transformer& model, std::span<const std::int32_t> text) {
  const NoGrad no_grad;
  const auto rows = std::ssize(text);
  const Array all = model.logits(model.hidden(Array::from_data(text, {1, rows})));
  return narrow(all, 1, rows - 1, 1).to_doubles();
}

TEST(TrainedModel, HasTheScoresOfTheTransformer) {
  for (const bool is_tied : {true, false}) {
    const Transformer model = make(of_bytes(is_tied), DType::f64);
    const LoadedModel read = loaded(model, DType::f64);
    EXPECT_EQ(read.model.config.context, 12);
    Sequences sequences(read.model,
                        {.pages = 4, .page_size = 4, .keys = DType::f64, .values = DType::f64});
    Sequence sequence = sequences.begin();
    const std::vector<std::int32_t> text = {1, 200, 3, 17, 255, 0, 9, 8, 7, 6, 5, 4};
    std::size_t done = 0;
    for (const std::size_t end : {1, 5, 6, 7, 12}) {
      const std::span piece = std::span(text).subspan(done, end - done);
      const SequenceRows rows{&sequence, piece, 1};
      const std::vector<double> got = sequences.step({&rows, 1}).to_doubles();
      const std::vector<double> expected = scores(model, std::span(text).first(end));
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-9) << end;
      done = end;
    }
  }
}

TEST(TrainedModel, ReusesPlansFromTokenToToken) {
  const LoadedModel read = loaded(make(of_bytes()));
  Sequences sequences(read.model, {.pages = 2, .page_size = 16});
  Sequence sequence = sequences.begin();
  SamplingState state({}, read.model.vocabulary());
  std::vector<std::int32_t> next = {1};
  const auto draw = [&] {
    const SequenceRows rows{&sequence, next, 1};
    SamplingState* states = &state;
    next = {draw_tokens(sequences.step({&rows, 1}), {&states, 1})[0].token};
    state.accept(next[0]);
  };
  for (int i = 0; i < 3; ++i) draw();
  const Statistics before = statistics();
  for (int i = 0; i < 6; ++i) draw();
  const Statistics after = statistics();
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_GT(after.plan_hits, before.plan_hits);
}

// What is written behind "abc", where the context has 12 tokens.
std::vector<std::int32_t> written(const LoadedModel& model, const SamplingOptions& sampling,
                                  std::int64_t drafts = 0, std::int64_t kept = 0) {
  GenerationRequest request;
  request.kept_tokens = kept;
  request.tokens = {'a', 'b', 'c'};
  request.sampling = sampling;
  request.most_tokens = 30;
  request.goes_on = true;
  request.ignores_end = true;
  Scheduler scheduler(model, {.pages = 4, .page_size = 4, .drafts = drafts});
  const GeneratedText made = read_text(*scheduler.submit(std::move(request)), {});
  EXPECT_EQ(made.finish, FinishReason::length);
  EXPECT_EQ(made.prompt_tokens, 3);
  return made.tokens;
}

TEST(TrainedModel, AFullContextGoesOnFromItsLastHalf) {
  const Transformer model = make(of_bytes());
  const LoadedModel read = loaded(model);
  for (const auto& [drafts, kept] : {std::pair{0, 0}, {3, 0}, {0, 2}, {3, 2}, {0, 100}}) {
    const std::vector<std::int32_t> got = written(read, {.temperature = 0}, drafts, kept);
    ASSERT_EQ(got.size(), 30u);
    std::vector<std::int32_t> text = {'a', 'b', 'c'};
    for (const std::int32_t token : got) {
      const std::vector<double> expected = scores(model, text);
      EXPECT_EQ(token, std::ranges::max_element(expected) - expected.begin()) << text.size();
      text.push_back(token);
      if (text.size() < 12) continue;
      const std::ptrdiff_t first = std::min(kept, 3);
      text.erase(text.begin() + first, text.end() - (12 - first) / 2);
    }
  }
}

TEST(TrainedModel, TextsAreAFunctionOfTheirSeed) {
  const LoadedModel read = loaded(make(of_bytes()));
  EXPECT_EQ(written(read, {.seed = 5}), written(read, {.seed = 5}));
  EXPECT_NE(written(read, {.seed = 5}), written(read, {.seed = 6}));
}

TEST(TrainedModel, ATextWithoutAPromptBeginsBehindALineBreak) {
  const LoadedModel read = loaded(make(of_bytes()));
  const auto text = [&](const std::string& prompt) {
    std::string all;
    generate_text(read, prompt, {.tokens = 20, .sampling = {.seed = 2}, .goes_on = true},
                  [&](std::string_view piece) {
                    all += piece;
                    return true;
                  });
    return all;
  };
  EXPECT_EQ(text(""), text("\n"));
  EXPECT_FALSE(text("").empty());
}

}  // namespace
}  // namespace hearth::models
