#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "error_text.h"
#include "hearth/nn.h"
#include "hearth/optim.h"

namespace hearth {
namespace {

double largest_difference(const Array& a, const Array& b) {
  return max(abs(cast(a, DType::f64) - cast(b, DType::f64))).item();
}

struct Block {
  nn::Linear first{3, 4};
  std::vector<nn::RmsNorm> norms{nn::RmsNorm(4), nn::RmsNorm(4)};

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("first", self.first);
    visitor("norms", self.norms);
  }
};

TEST(Parameters, AreVisitedByName) {
  Block block;
  std::vector<std::string> names;
  visit(block, [&](const std::string& name, Array&) { names.push_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "first.bias", "norms.0.weight",
                                             "norms.1.weight"}));
  EXPECT_EQ(parameter_count(block), 3 * 4 + 4 + 4 + 4);
  block.first.bias = Tensor<1>();
  EXPECT_EQ(parameters(block).size(), 3u);
}

struct Scaled {
  Tensor<1> scale = Tensor<1>::ones({3}).require_grad();
  std::optional<nn::Linear> head;
  std::unique_ptr<nn::RmsNorm> norm = std::make_unique<nn::RmsNorm>(3);
  std::vector<Tensor<2>> tables{Tensor<2>::zeros({2, 3}).require_grad()};
  nn::RmsNorm both[2] = {nn::RmsNorm(2), nn::RmsNorm(2)};

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("scale", self.scale);
    visitor("head", self.head);
    visitor("norm", self.norm);
    visitor("tables", self.tables);
    visitor("both", self.both);
  }
};

TEST(Parameters, AreTypedTensorsOptionalsAndPointersToo) {
  Scaled module;
  const auto names = [&] {
    std::vector<std::string> out;
    for (const Parameter& parameter : parameters(module)) out.push_back(parameter.name);
    return out;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"scale", "norm.weight", "tables.0", "both.0.weight",
                                               "both.1.weight"}));
  module.head = nn::Linear(3, 1);
  EXPECT_EQ(names().size(), 7u);
  NamedArrays state = state_dict(module);
  state[0].array = full({3}, 2.0);
  load_state_dict(module, state);
  EXPECT_EQ(module.scale.array().to_doubles(), (std::vector<double>{2, 2, 2}));
  EXPECT_TRUE(module.scale.is_require_grad());
  const Tensor<2> x{{1, 2, 3}};
  optim::Sgd optimizer;
  optimizer.step(module, (x * module.scale.unsqueeze<2>()).sum().backward(), 1.0);
  EXPECT_EQ(module.scale.array().to_doubles(), (std::vector<double>{1, 0, -1}));
}

TEST(Parameters, AreSummedUp) {
  const std::string text = summary(Block());
  EXPECT_NE(text.find("first.weight    f32   [4, 3]  12\n"), std::string::npos) << text;
  EXPECT_NE(text.find("total           4 arrays, 24 elements, 96 bytes\n"), std::string::npos)
      << text;
}

struct TiedTable {
  nn::Embedding table{5, 4};
  nn::Linear head{4, 5, {.bias = false}};
  Tensor<1, Int> steps = Tensor<1, Int>::zeros({1});
  Tensor<1, Bool> seen = Tensor<1, Bool>::zeros({2});
  TiedTable() { head.weight = table.weight; }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("table", self.table);
    visitor("head", self.head);
    visitor("steps", self.steps);
    visitor("seen", self.seen);
  }
};

TEST(Parameters, TiedOnesCountOnce) {
  TiedTable model;
  EXPECT_EQ(parameter_count(model), 5 * 4 + 1 + 2);
  const auto expect_tied = [&] {
    const std::string text = summary(model);
    EXPECT_NE(text.find("table.weight  f32   [5, 4]  20\n"), std::string::npos) << text;
    EXPECT_NE(text.find("head.weight   f32   [5, 4]  tied to table.weight\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("total         3 arrays, 23 elements, 90 bytes\n"), std::string::npos)
        << text;
  };
  expect_tied();
  optim::Sgd().step(
      model, backward(sum(model.table.weight.array()) + sum(model.head.weight.array())), 0.5);
  expect_tied();
}

TEST(Parameters, UnfreezeSkipsWhatHasNoGradientAndKeepsTies) {
  TiedTable model;
  const std::uint64_t before = gradient_id(model.table.weight.array());
  unfreeze(model);
  EXPECT_EQ(gradient_id(model.table.weight.array()), before) << "it was never frozen";
  freeze(model);
  EXPECT_FALSE(model.table.weight.is_require_grad());
  unfreeze(model);
  EXPECT_TRUE(model.table.weight.is_require_grad());
  EXPECT_EQ(gradient_id(model.table.weight.array()), gradient_id(model.head.weight.array()));
  EXPECT_FALSE(model.steps.is_require_grad());
  EXPECT_FALSE(model.seen.is_require_grad());
}

TEST(Layers, AreTyped) {
  const nn::Embedding table(5, 4);
  const Tensor<2> rows = table.forward(Tensor<1, Int>{1, 2, 3});
  const Tensor<3> batch = table.forward(Tensor<2, Int>{{1, 2}, {3, 4}});
  EXPECT_EQ(rows.dims(), (std::array<std::int64_t, 2>{3, 4}));
  const nn::MultiHeadAttention attention(4, 2, {});
  EXPECT_EQ(attention.forward(batch).dims(), batch.dims());
}

TEST(Parameters, FreezeAndUnfreeze) {
  Block block;
  EXPECT_TRUE(block.first.weight.is_require_grad());
  freeze(block);
  EXPECT_FALSE(block.first.weight.is_require_grad());
  unfreeze(block);
  EXPECT_TRUE(block.norms[1].weight.is_require_grad());
}

TEST(StateDict, LoadsAndKeepsIds) {
  Block source;
  Block target;
  const std::uint64_t id = gradient_id(target.first.weight.array());
  load_state_dict(target, state_dict(source));
  EXPECT_EQ(gradient_id(target.first.weight.array()), id);
  EXPECT_EQ(target.first.weight.array().to_doubles(), source.first.weight.array().to_doubles());
}

TEST(StateDict, NamesWhatIsWrong) {
  Block block;
  const auto message = [&](const NamedArrays& values) {
    try {
      load_state_dict(block, values);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  NamedArrays values = state_dict(block);
  const NamedArrays complete = values;
  values.erase(values.begin());
  values.push_back({"extra", zeros({1})});
  EXPECT_NE(message(values).find("none for first.weight"), std::string::npos);
  EXPECT_NE(message(values).find("unexpected extra"), std::string::npos);
  values = complete;
  values[0].array = zeros({4, 4});
  EXPECT_NE(message(values).find("first.weight has another shape; got [4, 4], expected [4, 3]"),
            std::string::npos);
  values[0].array = zeros({4, 3}, DType::f64);
  EXPECT_NE(message(values).find("another dtype"), std::string::npos);
  EXPECT_EQ(message(complete), "");
}

TEST(Initializer, KaimingUniformIsTheDefaultOfLinear) {
  seed(3);
  const nn::Linear layer(64, 500);
  const auto weight = layer.weight.array().to_doubles();
  const double bound = 1 / std::sqrt(64.0);
  const double largest = *std::max_element(weight.begin(), weight.end());
  EXPECT_LT(largest, bound);
  EXPECT_GT(largest, 0.98 * bound);
  double squares = 0;
  for (const double w : weight) squares += w * w;
  EXPECT_NEAR(squares / static_cast<double>(weight.size()), bound * bound / 3,
              0.02 * bound * bound);
}

TEST(Initializer, IsAFunctionOfTheGenerator) {
  Generator one{5, 0};
  Generator two{5, 0};
  nn::Linear::Options options;
  options.parameters.generator = &one;
  const nn::Linear a(3, 3, options);
  options.parameters.generator = &two;
  const nn::Linear b(3, 3, options);
  EXPECT_EQ(a.weight.array().to_doubles(), b.weight.array().to_doubles());
  EXPECT_EQ(one, two);
  EXPECT_EQ(one.counter, 2u);
}

TEST(Linear, IsXWeightTransposedPlusBias) {
  nn::Linear layer(2, 1);
  layer.weight = {{2, 3}};
  layer.bias = {10};
  const auto y = layer.forward(Tensor<2>::from_data({{1, 1}, {0, 2}}));
  EXPECT_EQ(y.array().to_doubles(), (std::vector<double>{15, 16}));
}

TEST(Linear, MixedPrecisionGivesF32Gradients) {
  nn::Linear layer(8, 4);
  const Array x = random_normal({3, 8}, 0, 1, DType::bf16);
  const Array y = layer.forward(x);
  EXPECT_EQ(y.dtype(), DType::bf16);
  const Gradients gradients = backward(sum(cast(y, DType::f32)));
  const Array gradient = gradients.get(layer.weight.array());
  EXPECT_EQ(gradient.dtype(), DType::f32);
  EXPECT_LT(largest_difference(gradient, expand(sum(x, {0}, true), {4, 8})), 0.05);
}

TEST(Norms, FollowTheirFormulas) {
  const Array x = Array::from_data(std::vector<float>{1, 2, 3, 6}, {1, 4});
  const nn::LayerNorm layer_norm(4, 0.0);
  EXPECT_NEAR(sum(layer_norm.forward(x)).item(), 0, 1e-5);
  EXPECT_NEAR(sum(square(layer_norm.forward(x))).item(), 4, 1e-4);
  const nn::RmsNorm rms_norm(4, 0.0);
  EXPECT_NEAR(sum(square(rms_norm.forward(x))).item(), 4, 1e-4);
  EXPECT_FALSE(nn::LayerNorm(4, 1e-5, false).bias.defined());
}

TEST(Dropout, OnlyWhileTraining) {
  const Array x = ones({1000});
  const nn::Dropout layer{0.25};
  EXPECT_EQ(sum(layer.forward(x, false)).item(), 1000);
  const auto dropped = layer.forward(x).to_doubles();
  const auto zeroes = std::count(dropped.begin(), dropped.end(), 0.0);
  EXPECT_GT(zeroes, 180);
  EXPECT_LT(zeroes, 320);
}

nn::MultiHeadAttention make_attention(std::int64_t kv_heads) {
  nn::MultiHeadAttention::Options options;
  options.kv_heads = kv_heads;
  options.rope_base = 10000;
  options.dropout = 0;
  return nn::MultiHeadAttention(16, 4, options);
}

TEST(Attention, CausalRowsDoNotSeeTheFuture) {
  seed(1);
  const nn::MultiHeadAttention layer = make_attention(2);
  const Array x = random_normal({2, 5, 16});
  nn::MultiHeadAttention::Call causal;
  causal.causal = true;
  const Array whole = layer.forward(x, causal);
  const Array part = layer.forward(narrow(x, 1, 0, 3), causal);
  EXPECT_LT(largest_difference(narrow(whole, 1, 0, 3), part), 1e-5);
}

TEST(Attention, CacheGivesWhatTheWholeSequenceGives) {
  seed(2);
  const NoGrad no_grad;
  const nn::MultiHeadAttention layer = make_attention(1);
  const Array x = random_normal({2, 6, 16});
  nn::MultiHeadAttention::Call causal;
  causal.causal = true;
  const Array whole = layer.forward(x, causal);
  nn::KvCache cache(2, 1, 6, 4);
  causal.cache = &cache;
  std::vector<Array> parts;
  parts.push_back(layer.forward(narrow(x, 1, 0, 3), causal));
  for (int i = 3; i < 6; ++i) parts.push_back(layer.forward(narrow(x, 1, i, 1), causal));
  EXPECT_LT(largest_difference(cat(parts, 1), whole), 1e-5);
  EXPECT_EQ(cache.length, 6);
  EXPECT_THROW((void)layer.forward(narrow(x, 1, 0, 1), causal), Error);
}

TEST(Layers, RefuseNegativeSizesByTheirNames) {
  const auto message = [](auto make) {
    return check::error_of(ErrorCode::invalid_argument, [&] { (void)make(); });
  };
  EXPECT_EQ(message([] { return nn::LayerNorm(-2); }),
            "layer_norm: negative size; got -2 and -2, expected sizes >= 0");
  EXPECT_EQ(message([] { return nn::RmsNorm(-2); }),
            "rms_norm: negative size; got -2 and -2, expected sizes >= 0");
}

TEST(Layers, ParametersAreTensors) {
  nn::Linear layer(2, 3);
  const Tensor<2> x = {{1, 2}};
  const Gradients gradients =
      (layer.forward(x).sum() + layer.weight.square().sum() * 0.5).backward();
  const Tensor<2> gradient = layer.weight.grad(gradients).value();
  EXPECT_LT(largest_difference(gradient.array(), (layer.weight + x.expand({3, 2})).array()), 1e-6);
  layer.weight.assign(Tensor<2>::ones({3, 2}));
  EXPECT_TRUE(layer.weight.is_require_grad());
  layer.bias = {};
  EXPECT_EQ(parameters(layer).size(), 1U);
}

TEST(Attention, CacheIsWrittenInPlace) {
  nn::KvCache cache(1, 2, 32, 4);
  const auto row = Tensor<4>::ones({1, 2, 1, 4});
  cache.append(row, row);
  eval(std::vector<Array>{cache.keys.array(), cache.values.array()});
  const Statistics before = statistics();
  for (int i = 0; i < 4; ++i) {
    cache.append(row, row);
    eval(std::vector<Array>{cache.keys.array(), cache.values.array()});
  }
  EXPECT_EQ(statistics().donations - before.donations, 8);
  EXPECT_EQ(sum(cache.keys).item(), 5 * 8);
}

TEST(Attention, RefusesNumbersThatDoNotDivide) {
  nn::MultiHeadAttention::Options options;
  EXPECT_THROW(nn::MultiHeadAttention(16, 3, options), Error);
  options.kv_heads = 3;
  EXPECT_THROW(nn::MultiHeadAttention(16, 4, options), Error);
  options = {};
  options.rope_base = 10000;
  EXPECT_THROW(nn::MultiHeadAttention(12, 4, options), Error);
  EXPECT_THROW((void)make_attention(2).forward(ones({3, 16})), Error);
}

TEST(FeedForward, IsSwiGlu) {
  seed(4);
  const nn::FeedForward layer(4, 8);
  const Array x = random_normal({2, 4});
  const Array expected = linear(
      silu(linear(x, layer.gate_proj.weight.array())) * linear(x, layer.up_proj.weight.array()),
      layer.down_proj.weight.array());
  EXPECT_LT(largest_difference(layer.forward(x), expected), 1e-6);
}

}  // namespace
}  // namespace hearth
