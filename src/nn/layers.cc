#include <string>

#include "core/require.h"
#include "core/throw_as.h"
#include "hearth/nn/distance.h"
#include "hearth/nn/layer_norm.h"
#include "hearth/nn/linear.h"
#include "hearth/nn/noise.h"
#include "nn/options.h"
#include "nn/parameter_dtype.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

void require_layer_sizes(const char* layer, std::int64_t in, std::int64_t out) {
  if (in < 0 || out < 0) {
    throw Error(ErrorCode::invalid_argument, std::string(layer) + ": negative size; got " +
                                                 std::to_string(in) + " and " +
                                                 std::to_string(out) + ", expected sizes >= 0");
  }
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, const Options& options) try {
  require_layer_sizes("linear", in, out);
  weight = Tensor<2>(options.initializer.make({out, in}, in, out, options.parameters));
  if (options.bias) bias = Tensor<1>(options.initializer.make({out}, in, out, options.parameters));
} catch (const Error& error) {
  throw_as("linear", error);
}

Array Linear::forward(const Array& x) const {
  return linear(x, nn_detail::as_dtype_of("linear", weight, x),
                nn_detail::as_dtype_of("linear", bias, x));
}

Embedding::Embedding(std::int64_t entries, std::int64_t dim, const Options& options) try {
  require_layer_sizes("embedding", entries, dim);
  weight = Tensor<2>(options.initializer.make({entries, dim}, entries, dim, options.parameters));
} catch (const Error& error) {
  throw_as("embedding", error);
}

Array Embedding::forward(const Array& indices) const { return embedding(weight.array(), indices); }

RmsNorm::RmsNorm(std::int64_t dim, double eps, const ParameterOptions& options) try : epsilon(eps) {
  require_layer_sizes("rms_norm", dim, dim);
  require_non_negative("rms_norm", "epsilon", eps);
  weight = Tensor<1>(Initializer::ones().make({dim}, dim, dim, options));
} catch (const Error& error) {
  throw_as("rms_norm", error);
}

Array RmsNorm::forward(const Array& x) const {
  return rms_norm(x, nn_detail::as_dtype_of("rms_norm", weight, x), epsilon);
}

LayerNorm::LayerNorm(std::int64_t dim, double eps, bool with_bias,
                     const ParameterOptions& options) try
    : epsilon(eps) {
  require_layer_sizes("layer_norm", dim, dim);
  require_non_negative("layer_norm", "epsilon", eps);
  weight = Tensor<1>(Initializer::ones().make({dim}, dim, dim, options));
  if (with_bias) bias = Tensor<1>(Initializer::zeros().make({dim}, dim, dim, options));
} catch (const Error& error) {
  throw_as("layer_norm", error);
}

Array LayerNorm::forward(const Array& x) const {
  return layer_norm(x, nn_detail::as_dtype_of("layer_norm", weight, x),
                    nn_detail::as_dtype_of("layer_norm", bias, x), epsilon);
}

Array Dropout::forward(const Array& x, bool training, Generator* source) const {
  return dropout(x, probability, training, source);
}

GaussianNoise::GaussianNoise(double its_deviation) : deviation(its_deviation) {
  require_non_negative("gaussian_noise", "deviation", deviation);
}

Array GaussianNoise::forward(const Array& x, bool training, Generator* source) const try {
  if (!training || deviation == 0) return x;
  return x + random_normal(x.shape(), 0, deviation, x.dtype(), x.device(), source);
} catch (const Error& error) {
  throw_as("gaussian_noise", error);
}

Array CosineSimilarity::forward(const Array& a, const Array& b) const {
  return cosine_similarity(a, b, axis, false, epsilon);
}

Array PairwiseDistance::forward(const Array& a, const Array& b) const try {
  return vector_norm(a - b + epsilon, p, {-1});
} catch (const Error& error) {
  throw_as("pairwise_distance", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
