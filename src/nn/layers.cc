#include <string>

#include "core/throw_as.h"
#include "hearth/nn.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

// A parameter in the dtype of the activations, where both have a value: the op that gets them
// refuses what has none.
Array as_dtype_of(const auto& parameter, const Array& x) {
  return parameter.defined() && x.defined() ? cast(parameter.array(), x.dtype())
                                            : parameter.array();
}

void require_sizes(const char* layer, std::int64_t in, std::int64_t out) {
  if (in < 0 || out < 0) {
    throw Error(ErrorCode::invalid_argument, std::string(layer) + ": negative size; got " +
                                                 std::to_string(in) + " and " +
                                                 std::to_string(out) + ", expected sizes >= 0");
  }
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, const Options& options) {
  require_sizes("linear", in, out);
  weight = Tensor<2>(options.initializer.make({out, in}, in, out, options.parameters));
  if (options.bias) bias = Tensor<1>(options.initializer.make({out}, in, out, options.parameters));
}

Array Linear::forward(const Array& x) const {
  return linear(x, as_dtype_of(weight, x), as_dtype_of(bias, x));
}

Embedding::Embedding(std::int64_t entries, std::int64_t dim, const Options& options) {
  require_sizes("embedding", entries, dim);
  weight = Tensor<2>(options.initializer.make({entries, dim}, entries, dim, options.parameters));
}

Array Embedding::forward(const Array& indices) const { return embedding(weight.array(), indices); }

RmsNorm::RmsNorm(std::int64_t dim, double eps, const ParameterOptions& options) : epsilon(eps) {
  require_sizes("rms_norm", dim, dim);
  weight = Tensor<1>(Initializer::ones().make({dim}, dim, dim, options));
}

Array RmsNorm::forward(const Array& x) const {
  return rms_norm(x, as_dtype_of(weight, x), epsilon);
}

LayerNorm::LayerNorm(std::int64_t dim, double eps, bool with_bias, const ParameterOptions& options)
    : epsilon(eps) {
  require_sizes("layer_norm", dim, dim);
  weight = Tensor<1>(Initializer::ones().make({dim}, dim, dim, options));
  if (with_bias) bias = Tensor<1>(Initializer::zeros().make({dim}, dim, dim, options));
}

Array LayerNorm::forward(const Array& x) const {
  return layer_norm(x, as_dtype_of(weight, x), as_dtype_of(bias, x), epsilon);
}

Array Dropout::forward(const Array& x, bool training, Generator* source) const {
  return dropout(x, probability, training, source);
}

Array activate(Activation activation, const Array& x) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu(x, true);
    case Activation::silu:
      return silu(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return tanh(x);
  }
  throw Error(ErrorCode::invalid_argument, "activate: no such activation; got " +
                                               std::to_string(static_cast<int>(activation)) +
                                               ", expected one of Activation");
}

std::string_view name(Activation activation) noexcept {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::silu:
      return "silu";
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::tanh:
      return "tanh";
  }
  return "";
}

FeedForward::FeedForward(std::int64_t dim, std::int64_t hidden, const Options& options)
    : activation(options.activation) {
  const Linear::Options inner{options.bias, options.initializer, options.parameters};
  const Linear::Options outer{
      options.bias, options.output_initializer.value_or(options.initializer), options.parameters};
  gate_proj = Linear(dim, hidden, inner);
  up_proj = Linear(dim, hidden, inner);
  down_proj = Linear(hidden, dim, outer);
}

Array FeedForward::forward(const Array& x) const try {
  // One row a token: that way the projections share what they read.
  const Array tokens = x.rank() > 2 ? flatten(x, 0, -2) : x;
  const Array out =
      down_proj.forward(activate(activation, gate_proj.forward(tokens)) * up_proj.forward(tokens));
  if (x.rank() <= 2) return out;
  Shape shape = x.shape();
  shape[x.rank() - 1] = out.shape(1);
  return reshape(out, shape);
} catch (const Error& error) {
  throw_as("feed_forward", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
