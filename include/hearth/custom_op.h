// Ops of your own: recorded, planned, replayed and differentiated like the built-in ones.
//
//   const CustomOp scaled_sum({
//       .name = "my_lib.scaled_sum",
//       .min_inputs = 2,
//       .max_inputs = 2,
//       .infer = [](std::span<const Array> in) { return TensorType{DType::f32, in[0].shape()}; },
//       .compute = [](std::span<const HostTensor> in, HostTensor out) { ... },
//   });
//   Array y = scaled_sum({a, b});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
};

// A tensor in host memory while compute() runs. Element (i, j, ...) is at
// data + (i * strides[0] + j * strides[1] + ...) * size_of(dtype).
struct HostTensor {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements; inputs may be any view, the output is dense row-major
};

struct CustomOpSpec {
  // A constant that lives as long as the process, unique among ops: put your library in front.
  const char* name = nullptr;
  const char* summary = "";
  int min_inputs = 1;
  int max_inputs = 1;
  // The type of the result, of which there is one; throws Error for inputs it does not take. Called
  // when the op is recorded.
  TensorType (*infer)(std::span<const Array> inputs) = nullptr;
  // Fills `output`. Runs on the thread that evaluates; must not touch Arrays and must not throw
  // anything but Error. Deterministic functions only: results may be shared.
  void (*compute)(std::span<const HostTensor> inputs, HostTensor output) = nullptr;
  // One gradient per input, of its shape and dtype, undefined where there is none; else backward()
  // throws Error{invalid_argument}. Records ordinary ops. Null: the op has no gradient, and
  // backward() throws Error{unsupported} where it comes through the op to an array of
  // require_grad(), unless the op is a constant or its result passes detach().
  std::vector<Array> (*vjp)(std::span<const Array> inputs, const Array& output,
                            const Array& grad) = nullptr;
  // Instead of vjp: the result depends on no input as far as backward() goes, as that of sign() or
  // of a comparison.
  bool is_constant = false;
};

// A registered op. Define it once, at namespace scope or in a function-local static. Thread-safe.
class HEARTH_API CustomOp {
 public:
  // Throws Error{invalid_argument} when the name is taken, infer or compute is missing, a constant
  // has a vjp, or max_inputs is less than min_inputs.
  explicit CustomOp(const CustomOpSpec& spec);
  Array operator()(std::span<const Array> inputs) const;
  Array operator()(std::initializer_list<Array> inputs) const {
    return (*this)(std::span<const Array>(inputs.begin(), inputs.size()));
  }

 private:
  const void* op_;
};

}  // namespace v0
}  // namespace hearth
