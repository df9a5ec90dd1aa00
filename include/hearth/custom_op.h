// Ops of your own: recorded, planned, replayed and differentiated like the built-in ones. The CPU
// runs a function, every GPU a kernel.
//
//   const CustomOp square({
//       .name = "my_lib.square",
//       .compute = [](std::span<const HostTensor> in, HostTensor out) { ... },
//       .kernel = R"(kernel void square(device const float* x, device float* y,
//                                       uint i [[thread_position_in_grid]]) {
//                      y[i] = x[i] * x[i];
//                    })",
//   });
//   Array y = square(x);
//
// A number beside arrays is an input like any other: a HostTensor of rank 0, `constant float& a` in
// a kernel. It has the dtype of the first result, and changing it never rebuilds a plan.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/runtime.h"

namespace hearth {
inline namespace v0 {

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// A tensor in host memory while compute() runs. Element (i, j, ...) is at
// data + (i * strides[0] + j * strides[1] + ...) * size_of(dtype). An input that was not given, an
// undefined Array, has no data, and the rest says nothing.
struct HostTensor {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements; inputs may be any view, outputs are dense row-major

  // Element number `i` of the row-major order, which of rank 1 is element (i); at(i, j, ...): the
  // element of these indices, one for each axis. Throws Error{dtype} unless T stores the dtype, and
  // Error{invalid_argument} for an element that is not there.
  template <class T, std::integral... Index>
  T& at(std::int64_t i, Index... more) const {
    if (dtype != dtype_of_v<T>) refuse_type(dtype_of_v<T>);
    if constexpr (sizeof...(more) == 0) {
      return reinterpret_cast<T*>(data)[offset_of(i)];
    } else {
      static_assert(sizeof...(more) < kMaxRank, "a tensor has at most 8 dimensions");
      return reinterpret_cast<T*>(data)[offset_of(Dims{i, static_cast<std::int64_t>(more)...})];
    }
  }

 private:
  std::int64_t offset_of(std::int64_t number) const {
    auto rest = static_cast<std::uint64_t>(number);  // what is below 0 is beyond every extent
    std::int64_t offset = 0;
    int axis = shape.rank() - 1;
    for (; axis > 0 && shape[axis] > 0; --axis) {
      const auto extent = static_cast<std::uint64_t>(shape[axis]);
      offset += static_cast<std::int64_t>(rest % extent) * strides[axis];
      rest /= extent;
    }
    const std::int64_t extent = axis < 0 ? 1 : shape[axis];
    if (rest >= static_cast<std::uint64_t>(extent) || data == nullptr) {
      refuse_element({&number, 1});
    }
    return axis < 0 ? 0 : offset + static_cast<std::int64_t>(rest) * strides[axis];
  }
  std::int64_t offset_of(const Dims& indices) const {
    bool is_there = data != nullptr && indices.rank() == shape.rank();
    std::int64_t offset = 0;
    for (int axis = 0; is_there && axis < shape.rank(); ++axis) {
      is_there = indices[axis] >= 0 && indices[axis] < shape[axis];
      if (is_there) offset += indices[axis] * strides[axis];
    }
    if (!is_there) refuse_element(indices.span());
    return offset;
  }
  [[noreturn]] HEARTH_API void refuse_type(DType asked) const;
  [[noreturn]] HEARTH_API void refuse_element(std::span<const std::int64_t> indices) const;
};

// What a kernel's parameter `constant T&` gets, by the parameter's name: a number that T holds, or
// a struct that has T's layout.
struct KernelConstant {
  template <class T>
  KernelConstant(std::string parameter, const T& given) : name(std::move(parameter)) {
    static_assert(std::is_trivially_copyable_v<T>);
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<double>(given);
    } else if constexpr (std::is_unsigned_v<T>) {  // and bool
      value = static_cast<std::uint64_t>(given);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<std::int64_t>(given);
    } else {
      std::vector<std::byte> bytes(sizeof(T));
      std::memcpy(bytes.data(), &given, sizeof(T));
      value = std::move(bytes);
    }
  }

  std::string name;
  std::variant<std::int64_t, std::uint64_t, double, std::vector<std::byte>> value;
};

// How a kernel is launched.
struct KernelLaunch {
  // Threads in all; without it, one for each element of the first result, and Error where another
  // result is larger.
  std::optional<runtime::Size3> grid = {};
  runtime::Size3 threads = {256};  // of a threadgroup: a multiple of 32, up to 1024
  std::vector<KernelConstant> constants = {};
  // Bytes of parameters `threadgroup T*`, by name.
  std::map<std::string, std::int64_t> threadgroup_bytes = {};
};

struct CustomOpSpec {
  std::string name = {};  // unique among ops: put your library in front
  std::string summary = {};
  int min_inputs = 1;
  int max_inputs = 1;
  int outputs = 1;  // results, up to 8
  // The type of the result, or of all results; throws Error for inputs it does not take. Called
  // when the op is recorded, and may not ask for values. Neither: each result has the dtype and
  // shape of the first input with an axis, or, where none has one, of the first array.
  TensorType (*infer)(std::span<const Array> inputs) = nullptr;
  std::vector<TensorType> (*infer_outputs)(std::span<const Array> inputs) = nullptr;
  // What the CPU runs: fills `output`, or all of `outputs`. `inputs` are those of the call in their
  // places, also those that were not given. Runs on the thread that evaluates; must not touch
  // Arrays. What it throws becomes the results' Error, which names the op. Deterministic functions
  // only: results may be shared.
  void (*compute)(std::span<const HostTensor> inputs, HostTensor output) = nullptr;
  void (*compute_outputs)(std::span<const HostTensor> inputs,
                          std::span<const HostTensor> outputs) = nullptr;
  // What GPUs run: a text in Metal's own form, as runtime::metal_kernel() takes it. What a kernel
  // reads (`device const T*`, and `constant T&` that `launch` gives no value) are the inputs that
  // were given, in order, as if there were no others; what it writes (`device T*`) are the results.
  // All are dense row-major, and results are uninitialised. Of several entry points the first that
  // has the operands' dtypes runs; the types of a template's arguments follow from them. Compiled
  // when the op is first recorded on a device: Error{device} with the compiler's messages.
  std::string kernel = {};
  // The only entry point to consider: "square", "tiled<float, 4>".
  std::string kernel_entry = {};
  // Instead of a text: kernels of the dialect, of metal_kernel(), or both, of which the first that
  // has the operands' dtypes runs. A launch of the dialect's is of whole threadgroups.
  std::vector<runtime::KernelSource> kernels = {};
  // Names of the kernel's parameters for the inputs and results, which then may stand in any order.
  // Of several entry points the first runs whose parameters are the inputs that were given.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};
  // How the kernel is launched for operands of these types; depends on nothing else. Inputs that
  // were not given are left out. Null: KernelLaunch{}.
  KernelLaunch (*launch)(std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) = nullptr;
  // One gradient per input, of its shape and dtype, undefined where there is none; else backward()
  // throws Error{invalid_argument}. Records ordinary ops. The second form is for ops of several
  // results: gradients of those that nothing depends on are zeros, of integers undefined. Neither:
  // the op has no gradient, and backward() throws Error{unsupported} where it comes through the op
  // to an array of require_grad(), unless the op is a constant or its result passes detach().
  std::vector<Array> (*vjp)(std::span<const Array> inputs, const Array& output,
                            const Array& grad) = nullptr;
  std::vector<Array> (*vjp_outputs)(std::span<const Array> inputs, std::span<const Array> outputs,
                                    std::span<const Array> grads) = nullptr;
  // Instead of a vjp: the result depends on no input as far as backward() goes, as that of sign()
  // or of a comparison.
  bool is_constant = false;
};

namespace custom_op_detail {

template <class T>
concept Typed = requires(const T& tensor) { T(tensor.array()); };
template <class T>
concept Operand = Typed<T> || std::convertible_to<const T&, Array>;

}  // namespace custom_op_detail

// A registered op. Define it once, at namespace scope or in a function-local static. Thread-safe.
// Calls throw what infer() throws; Error{unsupported} on the CPU without a function, and on a GPU
// without a kernel; Error{dtype} where no kernel has the operands' dtypes; Error{invalid_argument}
// where a kernel's parameters are not the op's inputs and results.
class HEARTH_API CustomOp {
 public:
  // Throws Error{invalid_argument} when the name is taken, there is neither function nor kernel, a
  // kernel's parameters cannot be the op's inputs and results, both forms of a function are given
  // or the wrong one for the number of results, a constant has a vjp, min_inputs is negative, or
  // max_inputs is less than min_inputs.
  explicit CustomOp(const CustomOpSpec& spec);
  // The first result.
  Array operator()(std::span<const Array> inputs) const;
  Array operator()(std::initializer_list<Array> inputs) const {
    return (*this)(std::span<const Array>(inputs.begin(), inputs.size()));
  }
  template <class... Rest>
    requires(std::is_convertible_v<const Rest&, Array> && ...)
  Array operator()(const Array& first, const Rest&... rest) const {
    return (*this)({first, Array(rest)...});
  }
  // Of typed tensors and numbers: the result has rank and kind of the first tensor. Errors of calls
  // of up to four operands say the caller's line; behind more there is no room for `site`.
  template <custom_op_detail::Typed First>
  First operator()(const First& first, CallSite site = CallSite::here()) const {
    return typed<First>(site, {first.array()});
  }
  template <custom_op_detail::Typed First, custom_op_detail::Operand A>
  First operator()(const First& first, const A& a, CallSite site = CallSite::here()) const {
    return typed<First>(site, {first.array(), array_of(a)});
  }
  template <custom_op_detail::Typed First, custom_op_detail::Operand A, custom_op_detail::Operand B>
  First operator()(const First& first, const A& a, const B& b,
                   CallSite site = CallSite::here()) const {
    return typed<First>(site, {first.array(), array_of(a), array_of(b)});
  }
  template <custom_op_detail::Typed First, custom_op_detail::Operand A, custom_op_detail::Operand B,
            custom_op_detail::Operand C>
  First operator()(const First& first, const A& a, const B& b, const C& c,
                   CallSite site = CallSite::here()) const {
    return typed<First>(site, {first.array(), array_of(a), array_of(b), array_of(c)});
  }
  template <custom_op_detail::Typed First, custom_op_detail::Operand... Rest>
    requires(sizeof...(Rest) > 3)
  First operator()(const First& first, const Rest&... rest) const {
    return First((*this)({first.array(), array_of(rest)...}));
  }
  // All results.
  std::vector<Array> outputs(std::span<const Array> inputs) const;
  std::vector<Array> outputs(std::initializer_list<Array> inputs) const {
    return outputs(std::span<const Array>(inputs.begin(), inputs.size()));
  }

 private:
  template <class First>
  First typed(CallSite site, std::initializer_list<Array> inputs) const {
    return located(site, [&] { return First((*this)(inputs)); });
  }
  template <class T>
  static Array array_of(const T& value) {
    if constexpr (requires { value.array(); }) {
      return value.array();
    } else {
      return value;
    }
  }

  const void* op_;
};

}  // namespace v0
}  // namespace hearth
