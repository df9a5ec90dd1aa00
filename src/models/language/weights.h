// The tensors of a model on their way into its blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/array.h"
#include "hearth/parameter.h"
#include "models/language/config.h"
#include "models/language/low_rank.h"

namespace hearth::models {

// y = x weight^T + bias over the last axis, and what adapters add. Weights may be packed, or of
// another float dtype than x; y has x's.
struct Projection {
  Array forward(const Array& x) const;
  // As forward(), but y has the weight's dtype where that is a wider float than x's.
  Array wide(const Array& x) const;
  // The projection to columns [first, first + count) of y.
  Projection columns(std::int64_t first, std::int64_t count) const;
  bool defined() const { return weight.defined(); }

  Array weight;  // [out, in]
  Array bias;    // [out], in what the model computes in, or undefined
  std::vector<std::shared_ptr<const LowRank>> added = {};
  std::int64_t first_added = 0;  // the row of `added` that is the first of weight

 private:
  Array product(const Array& x) const;
};

struct Norm {
  // x [..., dim] to the same shape; x itself where there is no such norm.
  Array forward(const Array& x) const;
  bool defined() const { return weight.defined(); }

  Array weight;  // [dim], or [heads, dim] where each head has its own
  double epsilon = 1e-5;
  NormKind kind = NormKind::rms;
  Array bias = {};  // [dim], of layer norms, or undefined
};

// Arrays by name, each of which is taken once. All must have been: what is left belongs to a model
// that is not understood. Vectors become `compute`; matrices stay what they are, but that all
// floats become f64 for it.
class Weights {
 public:
  // `low_rank` gives what projections have beside their weights; `progress`, which may be empty,
  // gets the share of the bytes that were taken. Throws Error{invalid_argument} for a name that is
  // there twice.
  Weights(const NamedArrays& arrays, DType compute, Device device, FindLowRank low_rank = {},
          std::function<void(double)> progress = {});

  DType compute() const noexcept { return compute_; }
  Device device() const noexcept { return device_; }
  bool has(const std::string& name) const { return arrays_.count(name) != 0; }
  // Where nothing is read from what has the name; throws as take() where there is none.
  const Shape& shape(const std::string& name) const;

  // Throw Error{invalid_argument} for what is missing, Error{shape} for another shape. A -1 stands
  // for any extent. The `optional` ones give undefined arrays where there is none.
  Array vector(const std::string& name, std::int64_t size);
  Array optional_vector(const std::string& name, std::int64_t size);
  Array matrix(const std::string& name, const Shape& shape);
  Array optional_matrix(const std::string& name, const Shape& shape);
  // name + ".weight" [out, in], and name + ".bias" where there is one.
  Projection projection(const std::string& name, std::int64_t out, std::int64_t in);
  Projection optional_projection(const std::string& name, std::int64_t out, std::int64_t in);
  // name + ".weight" [size], and of layer norms name + ".bias" where there is one.
  Norm norm(const std::string& name, std::int64_t size, double epsilon,
            NormKind kind = NormKind::rms);

  // Drops what is there but not used.
  void ignore(const std::string& name) { arrays_.erase(name); }
  // The same of all that are of a layer.
  void ignore_layer(std::int64_t layer);
  // Throws Error{unsupported} naming tensors that nobody took.
  void require_empty() const;

 private:
  const Array& find(const std::string& name) const;
  Array take(const std::string& name, const Shape& shape);

  std::map<std::string, Array> arrays_;
  DType compute_;
  Device device_;
  FindLowRank low_rank_;
  std::function<void(double)> progress_;
  std::int64_t bytes_ = 0, bytes_taken_ = 0;
};

}  // namespace hearth::models
