#include "ops/definition/call.h"

namespace hearth {

namespace {

std::string text(DType dtype) { return std::string(name(dtype)); }

bool is_index(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

std::string no_indices(const char* what, DType dtype) {
  return std::string(what) + " have the wrong dtype; got " + text(dtype) +
         ", expected i64 or i32 indices";
}

}  // namespace

Array sum_to(const Array& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int extra = x.rank() - shape.rank();
  Dims axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < extra || (shape[i - extra] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  return reshape(axes.empty() ? x : sum(x, axes, true), shape);
}

Array with_zero_gradients(const Array& value, std::initializer_list<const Array*> inputs) {
  Array result = value;
  for (const Array* input : inputs) {
    if (grad_of(*input) == nullptr) continue;
    const Array chosen = full({}, true, DType::bool_, value.device());
    result = where(chosen, result, cast(sum(*input), value.dtype()));
  }
  return result;
}

void require_float(const Inference& inference, int input, const char* what) {
  const DType dtype = inference.input(input).dtype();
  if (is_float(dtype)) return;
  inference.fail(ErrorCode::dtype, std::string(what) + " is not a float array; got " + text(dtype) +
                                       ", expected f64, f32, f16 or bf16");
}

void require_numeric(const Inference& inference, int input, const char* what) {
  if (!is_bool(inference.input(input).dtype())) return;
  inference.fail(
      ErrorCode::dtype,
      std::string(what) + " is not numeric; got bool, expected a float or integer dtype");
}

void require_indices(const Inference& inference, int input, const char* what) {
  const DType dtype = inference.input(input).dtype();
  if (!is_index(dtype)) inference.fail(ErrorCode::dtype, no_indices(what, dtype));
}

void require_indices(const char* op, const char* what, const Array& x) {
  if (is_index(x.dtype())) return;
  throw Error(ErrorCode::dtype, std::string(op) + ": " + no_indices(what, x.dtype()));
}

void require_rank(const Inference& inference, int input, int rank, const char* what) {
  const Shape& shape = inference.input(input).shape();
  if (shape.rank() == rank) return;
  inference.fail(ErrorCode::shape, std::string(what) + " has the wrong rank; got shape " +
                                       to_string(shape) + ", expected rank " +
                                       std::to_string(rank));
}

int require_axis(const Inference& inference, std::int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return static_cast<int>(axis);
  inference.fail(ErrorCode::invalid_argument, "axis out of range; got " + std::to_string(axis) +
                                                  ", expected one in [0, " + std::to_string(rank) +
                                                  ")");
}

}  // namespace hearth
