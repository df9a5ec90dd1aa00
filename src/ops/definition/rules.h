// What op definitions share: inference rules, dtype classes, gradients, samples.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "graph/record/node.h"

namespace hearth {

// The parameters of ops without any.
inline const Params kNoParams{};
// Those of ops along one axis.
inline constexpr ParamSpec kAxis[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"}};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// For OpDef::accepts_dtype, beside is_float() and its like.
inline bool numeric_dtype(DType dtype) { return !is_bool(dtype); }

// Throws Error{invalid_argument} unless there is a value.
inline void require_defined(const char* op, const Array& x) {
  if (x.defined()) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(op) + ": no value; got an undefined array, expected a defined one");
}

// Throws Error{invalid_argument} if input `i` was not given.
void require_input(const Inference& inference, int i);
// Throws Error{dtype} for a number that the integers beside it cannot hold; a fractional one is
// refused when it is recorded.
void require_number_fits(const char* op, const Node& number, DType dtype);
// Throws Error{dtype} unless the op's accepts_dtype takes `dtype`.
void require_accepted(const Inference& inference, DType dtype);

// Throws Error{dtype} unless x is of a float dtype: for functions that record several ops.
void require_float_array(const char* op, const Array& x);

// The dtype that scalars take in an op of `inputs` [first, last]. Among weak scalars only, numbers
// in an op of floats are f32.
DType operand_dtype(const Inference& inference, int first, int last);

// Element by element over any number of broadcast inputs of one dtype.
void infer_elementwise(Inference& inference);       // the same dtype
void infer_elementwise_bool(Inference& inference);  // bool

// The least and the highest value of an integer dtype, as far as i64 holds them.
struct IntegerLimits {
  std::int64_t least;
  std::int64_t highest;
};
IntegerLimits integer_limits(DType dtype);

// The axes of a list as bits; Error{invalid_argument} if one is out of range or named twice.
std::uint32_t axis_bits(const char* op, const Dims& axes, int rank);

// Of a shape of matrices, of rank 2 or more: the leading axes; and those with two more extents.
Shape batch_of(const Shape& shape);
Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t cols);

// What composites are made of: the values in the dtype they are computed in; all of them in a row.
Array wide(const Array& x);
Array flat(const Array& x);

template <class... Arrays>
Grads grads(Arrays&&... arrays) {
  Grads list;
  list.reserve(sizeof...(arrays));
  (list.push_back(std::forward<Arrays>(arrays)), ...);
  return list;
}

// What samples say: the error that a case must give, the dtype of an input that does not vary.
inline constexpr int kShapeError = static_cast<int>(ErrorCode::shape);
inline constexpr int kDTypeError = static_cast<int>(ErrorCode::dtype);
inline constexpr int kArgumentError = static_cast<int>(ErrorCode::invalid_argument);
inline constexpr int kI64 = static_cast<int>(DType::i64);
inline constexpr int kI32 = static_cast<int>(DType::i32);
inline constexpr int kBool = static_cast<int>(DType::bool_);

// Samples for elementwise ops of `arity` inputs with elements in [lo, hi].
std::vector<SampleCase> elementwise_samples(int arity, double lo, double hi);
template <int arity, int lo_tenths = -20, int hi_tenths = 20>
std::vector<SampleCase> elementwise_samples() {
  return elementwise_samples(arity, lo_tenths / 10.0, hi_tenths / 10.0);
}

// Where HEARTH_CHECK_INDICES asks for it: reads the indices, and throws Error{invalid_argument} for
// one that is not in [0, extent). `op` is in front of the text.
void require_indices(const OpDef& op, const Array& indices, std::int64_t extent);

// An elementwise op: of what `own` leaves out, what most of them have.
constexpr OpDef elementwise(OpDef own) {
  constexpr decltype(own.samples) kSamples[] = {elementwise_samples<1>, elementwise_samples<2>,
                                                elementwise_samples<3>};
  own.kind = OpKind::elementwise;
  own.max_inputs = own.min_inputs;
  if (own.infer == nullptr) own.infer = infer_elementwise;
  if (own.formula == Formula::none) own.formula = Formula::arithmetic;
  if (own.samples == nullptr) own.samples = kSamples[own.min_inputs - 1];
  return own;
}

}  // namespace hearth
