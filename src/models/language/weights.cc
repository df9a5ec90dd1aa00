#include "models/language/weights.h"

#include <utility>

#include "core/compute_class.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "ops/linalg/half_linear.h"

namespace hearth::models {

Array Projection::product(const Array& x) const {
  if (is_packed(weight.dtype()) || weight.dtype() == x.dtype()) return linear(x, weight, bias);
  if (is_half(weight.dtype()) && x.dtype() == DType::f32) return half_linear(x, weight, bias);
  const Array y = cast(linear(cast(x, weight.dtype()), weight), x.dtype());
  return bias.defined() ? y + bias : y;
}

Array Projection::forward(const Array& x) const {
  Array y = product(x);
  for (const auto& each : added) y = y + each->forward(x, first_added, weight.shape(0));
  return y;
}

Array Projection::wide(const Array& x) const {
  const bool is_wider = !is_packed(weight.dtype()) && size_of(weight.dtype()) > size_of(x.dtype());
  if (!is_wider) return forward(x);
  Projection same = *this;
  if (bias.defined()) same.bias = cast(bias, weight.dtype());
  return same.forward(cast(x, weight.dtype()));
}

Projection Projection::columns(std::int64_t first, std::int64_t count) const {
  Projection made = *this;
  made.weight = narrow(weight, 0, first, count);
  if (bias.defined()) made.bias = narrow(bias, 0, first, count);
  made.first_added += first;
  return made;
}

Array Norm::forward(const Array& x) const {
  if (!defined()) return x;
  if (weight.rank() == 2) {
    const Array bare =
        kind == NormKind::layer ? layer_norm(x, {}, {}, epsilon) : rms_norm(x, {}, epsilon);
    return bare * weight;
  }
  return kind == NormKind::layer ? layer_norm(x, weight, bias, epsilon)
                                 : rms_norm(x, weight, epsilon);
}

Weights::Weights(const NamedArrays& arrays, DType compute, Device device, FindLowRank low_rank,
                 std::function<void(double)> progress)
    : compute_(compute),
      device_(device),
      low_rank_(std::move(low_rank)),
      progress_(std::move(progress)) {
  for (const NamedArray& each : arrays) {
    if (!arrays_.emplace(each.name, each.array).second) {
      throw Error(ErrorCode::invalid_argument, "model: a tensor is there twice; got two called " +
                                                   hearth::quoted(each.name) +
                                                   ", expected names of their own");
    }
    bytes_ += bytes_of(each.array.dtype(), each.array.size());
  }
}

const Array& Weights::find(const std::string& name) const {
  const auto at = arrays_.find(name);
  if (at == arrays_.end()) {
    throw Error(ErrorCode::invalid_argument, "model: a tensor is missing; got no " +
                                                 hearth::quoted(name) +
                                                 ", expected all that the family has");
  }
  return at->second;
}

const Shape& Weights::shape(const std::string& name) const { return find(name).shape(); }

Array Weights::take(const std::string& name, const Shape& shape) {
  Array array = find(name);
  bool fits = array.rank() == shape.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) {
    fits = shape[i] == -1 || shape[i] == array.shape(i);
  }
  if (!fits) {
    throw Error(ErrorCode::shape, "model: " + hearth::quoted(name) + " does not fit; got " +
                                      to_string(array.shape()) + ", expected " + to_string(shape));
  }
  arrays_.erase(name);
  bytes_taken_ += bytes_of(array.dtype(), array.size());
  if (progress_) progress_(static_cast<double>(bytes_taken_) / static_cast<double>(bytes_));
  return array;
}

Array Weights::vector(const std::string& name, std::int64_t size) {
  const Array array = take(name, {size});
  return to_device(cast(is_packed(array.dtype()) ? dequantize(array) : array, compute_), device_);
}

Array Weights::optional_vector(const std::string& name, std::int64_t size) {
  return has(name) ? vector(name, size) : Array();
}

Array Weights::matrix(const std::string& name, const Shape& shape) {
  const Array array = take(name, shape);
  const bool is_wide = compute_ == DType::f64;
  if (is_wide && is_packed(array.dtype())) return to_device(dequantize(array, compute_), device_);
  if (is_wide) return to_device(cast(array, compute_), device_);
  return to_device(array, device_);
}

Array Weights::optional_matrix(const std::string& name, const Shape& shape) {
  return has(name) ? matrix(name, shape) : Array();
}

Projection Weights::projection(const std::string& name, std::int64_t out, std::int64_t in) {
  Projection made;
  made.weight = matrix(name + ".weight", {out, in});
  made.bias = optional_vector(name + ".bias", out);
  if (low_rank_) made.added = low_rank_(name, out, in);
  return made;
}

Projection Weights::optional_projection(const std::string& name, std::int64_t out,
                                        std::int64_t in) {
  return has(name + ".weight") ? projection(name, out, in) : Projection();
}

Norm Weights::norm(const std::string& name, std::int64_t size, double epsilon, NormKind kind) {
  Norm made{vector(name + ".weight", size), epsilon, kind};
  if (kind == NormKind::layer) made.bias = optional_vector(name + ".bias", size);
  return made;
}

void Weights::ignore_layer(std::int64_t layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  std::erase_if(arrays_, [&](const auto& each) { return each.first.starts_with(prefix); });
}

void Weights::require_empty() const {
  if (arrays_.empty()) return;
  std::string names;
  int shown = 0;
  for (const auto& [name, array] : arrays_) {
    if (shown++ == 4) break;
    names += (names.empty() ? "" : ", ") + hearth::quoted(name);
  }
  throw Error(
      ErrorCode::unsupported,
      "model: tensors that its family does not have; got " + names +
          (arrays_.size() > 4 ? " and " + std::to_string(arrays_.size() - 4) + " more" : "") +
          ", expected those of the family only");
}

}  // namespace hearth::models
