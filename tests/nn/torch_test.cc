// Recurrent layers and Transformers give what PyTorch gives, forwards and backwards.
#include <gtest/gtest.h>

#include "hearth/grad.h"
#include "hearth/nn.h"
#include "layer_golden.h"

namespace hearth {
namespace {

using testing::expect_like;
using testing::LayerCase;

constexpr double kTolerance = 1e-12;

nn::RecurrentOptions in_f64() {
  nn::RecurrentOptions options;
  options.parameters.dtype = DType::f64;
  return options;
}

Tensor<2> way(const Array& states, std::int64_t index) {
  return Tensor<2>(squeeze(narrow(states, 0, index, 1), {0}));
}

// What a layer's states are as PyTorch has them, [ways, batch, hidden].
std::vector<Array> stacked(const Tensor<2>& state) { return {unsqueeze(state.array(), {0})}; }
std::vector<Array> stacked(const nn::Lstm::State& state) {
  return {unsqueeze(state.hidden.array(), {0}), unsqueeze(state.cell.array(), {0})};
}
template <class One>
std::vector<Array> stacked(const One& state)
  requires requires { state.ahead; }
{
  std::vector<Array> out = stacked(state.ahead);
  const std::vector<Array> back = stacked(state.back);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = cat({out[i], back[i]}, 0);
  return out;
}

template <class State>
State state_of(const LayerCase& golden, std::int64_t index) {
  if constexpr (requires(State state) { state.ahead; }) {
    return {state_of<decltype(State::ahead)>(golden, 0),
            state_of<decltype(State::back)>(golden, 1)};
  } else if constexpr (requires(State state) { state.cell; }) {
    return {way(golden["state.0"], index), way(golden["state.1"], index)};
  } else {
    return way(golden["state.0"], index);
  }
}

template <class Layer, class State>
void expect_as_torch(const std::string& name) {
  const LayerCase golden(name);
  Layer layer(3, 5, in_f64());
  load_state_dict(layer, golden.with(""), true);
  const auto x = Tensor<3>(golden["x"]).require_grad();
  const auto result = layer.forward(x, state_of<State>(golden, 0));
  expect_like(result.output.array(), golden["output"], kTolerance, name);
  Array loss = sum(square(result.output.array()));
  const std::vector<Array> last = stacked(result.state);
  for (std::size_t i = 0; i < last.size(); ++i) {
    expect_like(last[i], golden["last." + std::to_string(i)], kTolerance, name);
    loss = loss + sum(last[i]) * static_cast<double>(i + 1);
  }
  const Gradients gradients = backward(loss);
  expect_like(gradients.get(x.array()), golden["gradient.x"], kTolerance, name);
  std::size_t count = 0;
  visit(layer, [&](const std::string& key, const Array& parameter) {
    expect_like(gradients.get(parameter), golden["gradient." + key], kTolerance, name + " " + key);
    ++count;
  });
  EXPECT_EQ(count + 1, golden.with("gradient.").size());
}

TEST(TorchLayers, Recurrent) {
  expect_as_torch<nn::Rnn, nn::Rnn::State>("rnn");
  expect_as_torch<nn::Lstm, nn::Lstm::State>("lstm");
  expect_as_torch<nn::Gru, nn::Gru::State>("gru");
}

TEST(TorchLayers, RecurrentBothWays) {
  expect_as_torch<nn::BiRnn, nn::BiRnn::State>("birnn");
  expect_as_torch<nn::BiLstm, nn::BiLstm::State>("bilstm");
  expect_as_torch<nn::BiGru, nn::BiGru::State>("bigru");
}

TEST(TorchLayers, ConvOfSameExtents) {
  const LayerCase golden("conv_same");
  nn::Conv2d layer(2, 3, {4, 3}, {.dilation = {1, 2}, .same = true},
                   {.parameters = {.dtype = DType::f64}});
  load_state_dict(layer, golden.with(""), true);
  const Array x = golden["x"].require_grad();
  const Array output = layer.forward(x);
  expect_like(output, golden["output"], kTolerance, "output");
  const Gradients gradients = backward(sum(square(output)));
  expect_like(gradients.get(x), golden["gradient.x"], kTolerance, "x");
  expect_like(gradients.get(layer.weight.array()), golden["gradient.weight"], kTolerance, "weight");
}

TEST(TorchLayers, MultiHeadAttention) {
  const LayerCase golden("multi_head_attention");
  nn::MultiHeadAttention layer(8, 2, {.dropout = 0, .parameters = {.dtype = DType::f64}});
  load_state_dict(layer, golden.with("weight."));
  const auto leaf = [&](const char* key) { return golden[key].require_grad(); };
  const Array query = leaf("query"), key = leaf("key"), value = leaf("value");
  const nn::MultiHeadAttention::Call call{
      .mask = not_equal(golden["mask"], 0.0),
      .padding = reshape(greater_equal(arange(0, 10), 8), {2, 5})};
  const auto [output, weights] = layer.forward_with_weights(query, key, value, call);
  expect_like(output.array(), golden["output"], kTolerance, "output");
  expect_like(weights.array(), golden["weights"], kTolerance, "weights");
  expect_like(layer.forward(query, key, value, call), golden["output"], kTolerance, "alone");
  const Gradients gradients = backward(sum(square(output.array())) + sum(square(weights.array())));
  expect_like(gradients.get(query), golden["gradient.query"], kTolerance, "query");
  expect_like(gradients.get(key), golden["gradient.key"], kTolerance, "key");
  expect_like(gradients.get(value), golden["gradient.value"], kTolerance, "value");
}

TEST(TorchLayers, Transformer) {
  for (const bool norm_first : {false, true}) {
    const std::string name = norm_first ? "transformer_norm_first" : "transformer";
    const LayerCase golden(name);
    nn::TransformerOptions options;
    options.norm_first = norm_first;
    options.parameters.dtype = DType::f64;
    nn::TransformerEncoder encoder(8, 12, 2, 2, options);
    nn::TransformerDecoder decoder(8, 12, 2, 2, options);
    load_state_dict(encoder, golden.with("encoder."));
    load_state_dict(decoder, golden.with("decoder."));
    const auto source = Tensor<3>(golden["source"]).require_grad();
    const auto target = Tensor<3>(golden["target"]).require_grad();
    const Array places = arange(0, 10);
    const Array padding = reshape(greater_equal(places, 8), {2, 5});
    const Tensor<3> memory = encoder.forward(source, {.padding = padding, .training = false});
    // Rows that are padding are of no meaning, but the same.
    expect_like(memory.array(), golden["memory"], 1e-11, name);
    const Tensor<3> output =
        decoder.forward(target, memory, {.memory_padding = padding, .training = false});
    expect_like(output.array(), golden["output"], 1e-11, name);
    const Gradients gradients = backward(sum(square(output.array())));
    expect_like(gradients.get(source.array()), golden["gradient.source"], 1e-10, name);
    expect_like(gradients.get(target.array()), golden["gradient.target"], 1e-10, name);
  }
}

}  // namespace
}  // namespace hearth
