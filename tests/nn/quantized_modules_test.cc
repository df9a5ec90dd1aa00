// Modules with quantized parameters: what they compute, keep, save and load.
#include "hearth/nn/quantized.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/io.h"
#include "hearth/nn.h"
#include "hearth/optim.h"
#include "hearth/tensor/quantized.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

QuantScheme q8s() { return QuantScheme().with_value(QuantValue::q8s); }
QuantScheme q4s() { return QuantScheme().with_value(QuantValue::q4s); }

struct Counts {
  Array counts = ints({1, 2}, {2});
  Array forward(const Array& x) const { return x + cast(counts, x.dtype()); }
  static void members(auto& self, auto&& visitor) { visitor("counts", self.counts); }
};

struct Tied {
  nn::Embedding table = nn::Embedding(12, 8);
  Tensor<2> head = table.weight;
  Array forward(const Array& ids) const {
    return linear(table.forward(ids), head.array(), Array());
  }
  static void members(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("head", self.head);
  }
};

struct Scores {
  QuantizedTensor<2> codes = quantize_dynamic(Tensor<2>::ones({4, 8}), q4s());
  Tensor<2> forward(const Tensor<2>& x) const { return matmul(x, codes.transpose()); }
  static void members(auto& self, auto&& visitor) { visitor("codes", self.codes); }
};

// A module with float parameters that are what `quantized` stands for.
template <class Module>
Module rounded(Module module, const nn::Quantized<Module>& quantized) {
  std::size_t next = 0;
  visit(module, [&](const std::string& name, Array& array) {
    if (next == quantized.weights().size() || quantized.weights()[next].name != name) return;
    const QuantizedArray& codes = quantized.weights()[next++].array;
    array = Array::from_data(dequantize(codes, DType::f32).to_vector<float>(), array.shape());
  });
  EXPECT_EQ(next, quantized.weights().size());
  return module;
}

template <class Module, class... Inputs>
void expect_rounded(const Module& module, const nn::Quantizer& quantizer, double off,
                    const Inputs&... inputs) {
  const nn::Quantized quantized = nn::quantize_weights(module, quantizer);
  const Array got = quantized.forward(inputs...);
  expect_close(got, rounded(module, quantized).forward(inputs...).to_doubles(), 1e-5);
  const Array exact = module.forward(inputs...);
  EXPECT_LT(max(abs(got - exact)).item(), off * max(abs(exact)).item());
  EXPECT_GT(max(abs(got - exact)).item(), 0);
}

TEST(QuantizedModules, ComputeWithWhatTheirCodesStandFor) {
  const nn::Quantizer all = {.scheme = q8s()};
  const nn::Quantizer blocks = {.scheme = q4s().per_block({16}), .takes = nn::of_matrices};
  const Array x = random_array({5, 32}, DType::f32);
  expect_rounded(nn::Linear(32, 48), all, 0.02, x);
  expect_rounded(nn::Linear(32, 48), blocks, 0.2, x);
  expect_rounded(nn::Linear(32, 48), {.calibration = Calibration::abs_mean, .scheme = q8s()}, 0.9,
                 x);
  expect_rounded(nn::Conv2d(3, 8, 3), all, 0.03, random_array({2, 3, 9, 7}, DType::f32));
  expect_rounded(nn::ConvTranspose2d(3, 8, 3), all, 0.03, random_array({2, 3, 5, 7}, DType::f32));
  expect_rounded(nn::Embedding(10, 32), blocks, 0.2, ints({0, 9, 3, 3}, {2, 2}));
  expect_rounded(nn::MultiHeadAttention(32, 4, {.dropout = 0}), blocks, 0.4,
                 random_array({2, 6, 32}, DType::f32));
}

TEST(QuantizedModules, TakeTypedInputsAndOptionsOfForward) {
  nn::Sequential model(nn::Linear(8, 16), nn::Relu(), nn::Dropout{0.5}, nn::Linear(16, 2));
  const nn::Quantized quantized(model, {.scheme = q8s()});
  const Tensor<2> x(random_array({3, 8}, DType::f32));
  const Tensor<2> scores = quantized.evaluate(x);
  expect_close(scores.array(), model.evaluate(x).array().to_doubles(), 0.02);
  EXPECT_EQ(quantized.forward(x, false).array().to_doubles(), scores.array().to_doubles());
  // As a layer of others.
  const nn::Sequential outer(nn::quantize_weights(nn::Linear(8, 4), {.scheme = q8s()}), nn::Relu());
  EXPECT_EQ(outer.forward(x).shape(), Shape({3, 4}));
  EXPECT_EQ(state_dict(outer)[0].name, "0.weight.payload");
  // BatchNorm's statistics are taken too, as in Burn, and stay what they were.
  const nn::Quantized norm(nn::BatchNorm(8), {.scheme = q8s()});
  const std::vector<double> before = state_dict(norm)[4].array.to_doubles();
  EXPECT_EQ(norm.forward(x.array()).shape(), x.shape());
  EXPECT_EQ(state_dict(norm)[4].array.to_doubles(), before);
}

// Quantized or not.
TEST(QuantizedModules, BuffersStayBuffers) {
  const auto buffers = [](const nn::Quantizer& quantizer) {
    nn::Quantized model(nn::Sequential(nn::Linear(8, 8), nn::BatchNorm(8)), quantizer);
    unfreeze(model);
    std::vector<std::string> names;
    for (const Parameter& each : parameters(model)) {
      if (!each.is_buffer) continue;
      names.push_back(each.name);
      EXPECT_FALSE(each.array->is_require_grad()) << each.name;
    }
    return names;
  };
  EXPECT_EQ(buffers({.scheme = q8s(), .takes = nn::of_matrices}),
            std::vector<std::string>({"1.running_mean", "1.running_var"}));
  EXPECT_EQ(buffers({.scheme = q8s()}),
            std::vector<std::string>({"1.running_mean.payload", "1.running_mean.scales",
                                      "1.running_var.payload", "1.running_var.scales"}));
}

TEST(QuantizedModules, TakeEveryFloatParameterUnlessAsked) {
  const nn::Quantized all(nn::Linear(32, 8), {.scheme = q8s()});
  ASSERT_EQ(all.weights().size(), 2U);
  EXPECT_EQ(all.weights()[0].name, "weight");
  EXPECT_EQ(all.weights()[1].name, "bias");
  const nn::Quantized matrices(nn::Linear(32, 8), {.scheme = q8s(), .takes = nn::of_matrices});
  ASSERT_EQ(matrices.weights().size(), 1U);
  std::vector<std::string> names;
  for (const NamedArray& each : state_dict(matrices)) names.push_back(each.name);
  EXPECT_EQ(names, std::vector<std::string>({"weight.payload", "weight.scales", "bias"}));
  const nn::Quantizer named = {
      .takes = [](const std::string& name, const Array&) { return name == "bias"; }};
  EXPECT_EQ(nn::quantize_weights(nn::Linear(32, 8), named).weights()[0].name, "bias");
  // A bias that is not there is no parameter, and integers are none to quantize.
  EXPECT_EQ(nn::quantize_weights(nn::Linear(4, 4, {.bias = false})).weights().size(), 1U);
  EXPECT_TRUE(nn::quantize_weights(Counts()).weights().empty());
  EXPECT_EQ(nn::Quantized<nn::Linear>().weights().size(), 0U);
}

// 64 x 128: a byte, half or a quarter of one for an element, and scales.
TEST(QuantizedModules, KeepNothingButCodesAndScales) {
  const auto bytes = [](const QuantScheme& scheme) {
    std::int64_t sum = 0;
    const nn::Quantized module(nn::Linear(128, 64), {.scheme = scheme, .takes = nn::of_matrices});
    for (const NamedArray& each : state_dict(module)) {
      if (each.name == "bias") continue;
      EXPECT_TRUE(each.array.is_evaluated());
      sum += each.array.size() * size_of(each.array.dtype());
    }
    EXPECT_EQ(module.weights()[0].array.bytes(), sum);
    return sum;
  };
  EXPECT_EQ(bytes(q8s()), 8192 + 4);
  EXPECT_EQ(bytes(q4s()), 4096 + 4);
  EXPECT_EQ(bytes(QuantScheme().with_value(QuantValue::q2s)), 2048 + 4);
  EXPECT_EQ(bytes(q4s().per_block({32}, ScaleDType::f16)), 4096 + 256 * 2);
  EXPECT_EQ(bytes(q8s().with_store(QuantStore::native()).per_block({64, 1})), 8192 + 128 * 4);
  EXPECT_EQ(bytes(QuantScheme()
                      .with_value(QuantValue::e2m1)
                      .with_store(QuantStore::packed_native())
                      .per_block({16}, ScaleDType::ue4m3)
                      .per_tensor()),
            4096 + 512 + 4);
}

TEST(QuantizedModules, TiedParametersShareCodes) {
  const nn::Quantized model(Tied(), {.scheme = q4s().per_block({8})});
  ASSERT_EQ(model.weights().size(), 2U);
  EXPECT_EQ(model.weights()[0].array.payload().identity(),
            model.weights()[1].array.payload().identity());
  EXPECT_EQ(parameter_count(model), 12 + 12);  // words of eight codes, scales of eight elements
  EXPECT_EQ(model.forward(ints({1, 2}, {2})).shape(), Shape({2, 12}));
}

TEST(QuantizedModules, AreSavedAndLoaded) {
  const auto path = std::filesystem::temp_directory_path() / "hearth_quantized_modules.safetensors";
  for (const QuantScheme& scheme :
       {q8s(), q4s().per_block({8}, ScaleDType::f16),
        QuantScheme().with_value(QuantValue::e4m3).with_store(QuantStore::native()),
        q4s().per_block({8}, ScaleDType::ue4m3).per_tensor()}) {
    const nn::Quantizer quantizer = {.scheme = scheme, .takes = nn::of_matrices};
    const nn::Sequential model(nn::Linear(16, 24), nn::Tanh(), nn::Linear(24, 8));
    const nn::Quantized saved(model, quantizer);
    save_safetensors(path.string(), state_dict(saved));
    nn::Quantized<nn::Sequential<nn::Linear, nn::Tanh, nn::Linear>> loaded(
        nn::Sequential(nn::Linear(16, 24), nn::Tanh(), nn::Linear(24, 8)), quantizer);
    const Array x = random_array({3, 16}, DType::f32);
    EXPECT_NE(loaded.evaluate(x).to_doubles(), saved.evaluate(x).to_doubles());
    load_state_dict(loaded, load_safetensors(path.string()));
    EXPECT_EQ(loaded.evaluate(x).to_doubles(), saved.evaluate(x).to_doubles());
    const nn::Sequential other(nn::Linear(16, 16), nn::Tanh(), nn::Linear(16, 8));
    nn::Quantized smaller(other, quantizer);
    expect_error(ErrorCode::shape,
                 [&] { load_state_dict(smaller, load_safetensors(path.string())); });
  }
  std::filesystem::remove(path);
}

// Values that were loaded for another device than the module was made on.
TEST(QuantizedModules, ComputeWhereTheirCodesAre) {
  const nn::Quantizer quantizer = {.scheme = q4s().per_block({8}), .takes = nn::of_matrices};
  nn::Quantized model(nn::Linear(16, 24), quantizer);
  const Array x = random_array({3, 16}, DType::f32);
  const Values expected = model.forward(x).to_doubles();
  for (const Device device : devices_under_test()) {
    NamedArrays values = state_dict(model);
    for (NamedArray& each : values) each.array = to_device(each.array, device);
    load_state_dict(model, values);
    EXPECT_TRUE(model.weights()[0].array.device() == device);
    expect_close(model.forward(to_device(x, device)), expected, 1e-5);
  }
}

// A quantized array is a member like others.
TEST(QuantizedModules, HaveQuantizedMembers) {
  Scores scores;
  const NamedArrays values = state_dict(scores);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].name, "codes.payload");
  EXPECT_EQ(values[1].name, "codes.scales");
  Scores other;
  other.codes = quantize_dynamic(Tensor<2>::zeros({4, 8}), q4s());
  load_state_dict(other, values);
  EXPECT_EQ(other.forward(Tensor<2>::ones({1, 8})).array().to_doubles(), Values(4, 8));
}

TEST(QuantizedModules, InputsHaveGradients) {
  const nn::Linear layer(16, 24);
  const nn::Quantized quantized(layer, {.scheme = q8s()});
  const Array x = random_array({3, 16}, DType::f32).require_grad();
  const Array seed = random_array({3, 24}, DType::f32, -1, 1, 5);
  const Gradients gradients = backward(sum(quantized.forward(x) * seed));
  const Array weight = dequantize(quantized.weights()[0].array);
  expect_close(gradients.get(x), matmul(seed, weight).to_doubles(), 1e-5);
}

TEST(QuantizedModules, TrainThroughRounding) {
  const nn::Quantizer quantizer = {.scheme = q4s(), .takes = nn::of_matrices};
  nn::Linear layer(8, 4);
  const Array x = random_array({64, 8}, DType::f32);
  const Array target = matmul(x, random_array({8, 4}, DType::f32, -1, 1, 3));
  const auto loss = [&] {
    const nn::Linear rounded = nn::fake_quantized(layer, quantizer);
    return mean(square(rounded.forward(x) - target));
  };
  EXPECT_EQ(nn::fake_quantized(layer, quantizer).weight.array().to_doubles(),
            nn::quantize_weights(layer, quantizer).dequantized().weight.array().to_doubles());
  const double before = loss().item();
  optim::Adam adam;
  for (int step = 0; step < 100; ++step) adam.step(layer, backward(loss()), 0.03);
  const double after = loss().item();
  EXPECT_LT(after, 0.1 * before);
  // What was trained is what quantizing gives.
  const nn::Quantized quantized(layer, quantizer);
  EXPECT_NEAR(mean(square(quantized.forward(x) - target)).item(), after, 1e-5);
}

TEST(QuantizedModules, ErrorsNameTheParameterAndTheLine) {
  const nn::Sequential model(nn::Linear(32, 8), nn::Linear(8, 7));
  const std::string message = error_of(ErrorCode::shape, [&] {
    (void)nn::quantize_weights(model, {.scheme = q4s().per_block({32}), .takes = nn::of_matrices});
  });
  EXPECT_TRUE(message.starts_with("quantize_weights: of 1.weight: no whole blocks; got [7, 8]"))
      << message;
  EXPECT_NE(message.find("quantized_modules_test.cc"), std::string::npos) << message;
  const std::string fake = error_of(ErrorCode::shape, [&] {
    (void)nn::fake_quantized(model, {.scheme = q4s().per_block({64})});
  });
  EXPECT_TRUE(fake.starts_with("fake_quantized: of 0.weight: ")) << fake;
  const nn::Quantized quantized(nn::Linear(4, 4));
  const std::string applied =
      error_of(ErrorCode::shape, [&] { (void)quantized.forward(ones({2, 3})); });
  EXPECT_TRUE(applied.starts_with("linear: ")) << applied;
  EXPECT_NE(applied.find("quantized_modules_test.cc"), std::string::npos) << applied;
}

}  // namespace
}  // namespace hearth
