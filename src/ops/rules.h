// What op definitions share: inference rules, dtype classes, gradients, samples.
#pragma once

#include <utility>

#include "graph/node.h"
#include "graph/op_def.h"

namespace hearth {

// The parameters of ops without any.
inline const Params kNoParams{};

// Classes of dtypes an op accepts, for OpDef::accepts_dtype.
inline bool float_dtype(DType dtype) { return is_float(dtype); }
inline bool numeric_dtype(DType dtype) { return !is_bool(dtype); }
inline bool bool_dtype(DType dtype) { return is_bool(dtype); }
inline bool int_dtype(DType dtype) { return is_int(dtype); }

// Throws Error{invalid_argument} if input `i` was not given.
void require_input(const Inference& inference, int i);
// Throws Error{dtype} unless the op's accepts_dtype takes `dtype`.
// Throws Error{dtype} for a number that the integers beside it cannot hold; a fractional one is
// refused when it is recorded.
void require_number_fits(const char* op, const Node& number, DType dtype);
void require_accepted(const Inference& inference, DType dtype);

// The dtype that scalars take in an op of `inputs` [first, last]. Among weak scalars only, numbers
// in an op of floats are f32.
DType operand_dtype(const Inference& inference, int first, int last);

// Element by element over any number of broadcast inputs of one dtype.
void infer_elementwise(Inference& inference);       // the same dtype
void infer_elementwise_bool(Inference& inference);  // bool

template <class... Arrays>
Grads grads(Arrays&&... arrays) {
  Grads list;
  list.reserve(sizeof...(arrays));
  (list.push_back(std::forward<Arrays>(arrays)), ...);
  return list;
}

// Samples for elementwise ops of `arity` inputs with elements in [lo, hi].
std::vector<SampleCase> elementwise_samples(int arity, double lo, double hi);
template <int arity, int lo_tenths = -20, int hi_tenths = 20>
std::vector<SampleCase> elementwise_samples() {
  return elementwise_samples(arity, lo_tenths / 10.0, hi_tenths / 10.0);
}

}  // namespace hearth
