// Ops with kernels of their own, and what tests of them share.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "graph/record/element.h"
#include "hearth/custom_op.h"
#include "hearth/ops.h"

namespace hearth::user_ops {

inline const std::string kMetal = "#include <metal_stdlib>\nusing namespace metal;\n";

// Elements of a host tensor, in row-major order.
inline std::vector<double> elements(const HostTensor& tensor) {
  std::vector<double> all;
  const std::int64_t count = element_count(tensor.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0;
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) {
      at += rest % tensor.shape[axis] * tensor.strides[axis];
      rest /= tensor.shape[axis];
    }
    all.push_back(with_element(tensor.data + at * size_of(tensor.dtype), tensor.dtype,
                               [](auto value) { return static_cast<double>(value); }));
  }
  return all;
}

inline void store(const HostTensor& tensor, std::size_t i, float value) {
  reinterpret_cast<float*>(tensor.data)[i] = value;
}

// a x + y element by element; `a` is a number.
inline const CustomOp& axpy() {
  static const CustomOp op({
      .name = "test.axpy",
      .min_inputs = 3,
      .max_inputs = 3,
      .compute =
          [](std::span<const HostTensor> in, HostTensor out) {
            const auto a = elements(in[0]), x = elements(in[1]), y = elements(in[2]);
            for (std::size_t i = 0; i < x.size(); ++i) {
              store(out, i, static_cast<float>(a[0] * x[i] + y[i]));
            }
          },
      .kernel = kMetal + R"(
template <typename T>
kernel void axpy(constant T& a [[buffer(0)]], device const T* x [[buffer(1)]],
                 device const T* y [[buffer(2)]], device T* out [[buffer(3)]],
                 uint i [[thread_position_in_grid]]) {
  out[i] = T(a * x[i] + y[i]);
}
)",
      .vjp = [](std::span<const Array> in, const Array&,
                const Array& grad) { return std::vector<Array>{Array(), mul(grad, in[0]), grad}; },
  });
  return op;
}

// The sine and the cosine of each element.
inline const CustomOp& circle() {
  static const CustomOp op({
      .name = "test.circle",
      .outputs = 2,
      .compute_outputs =
          [](std::span<const HostTensor> in, std::span<const HostTensor> out) {
            const auto x = elements(in[0]);
            for (std::size_t i = 0; i < x.size(); ++i) {
              store(out[0], i, static_cast<float>(std::sin(x[i])));
              store(out[1], i, static_cast<float>(std::cos(x[i])));
            }
          },
      .kernel = kMetal + R"(
kernel void circle(device const float* x, device float* s, device float* c,
                   uint i [[thread_position_in_grid]]) {
  s[i] = sin(x[i]);
  c[i] = cos(x[i]);
}
)",
      .vjp_outputs =
          [](std::span<const Array>, std::span<const Array> out, std::span<const Array> grads) {
            return std::vector<Array>{sub(mul(grads[0], out[1]), mul(grads[1], out[0]))};
          },
  });
  return op;
}

// Sums of rows, a threadgroup each, which adds up `columns` numbers in its memory.
inline const CustomOp& row_sums() {
  static const CustomOp op({
      .name = "test.row_sums",
      .infer = [](std::span<const Array> in) { return TensorType{DType::f32, {in[0].shape(0)}}; },
      .compute =
          [](std::span<const HostTensor> in, HostTensor out) {
            const auto x = elements(in[0]);
            const auto rows = static_cast<std::size_t>(in[0].shape[0]);
            for (std::size_t i = 0; i < rows; ++i) {
              double sum = 0;
              for (std::size_t k = 0; k < x.size() / rows; ++k) sum += x[i * x.size() / rows + k];
              store(out, i, static_cast<float>(sum));
            }
          },
      .kernel = kMetal + R"(
struct Extents { uint rows; uint columns; };

kernel void row_sums(device float* sums [[buffer(0)]], device const float* x [[buffer(1)]],
                     constant Extents& extents [[buffer(2)]], constant float& first [[buffer(3)]],
                     threadgroup float* parts [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]]) {
  float sum = first;
  for (uint k = t; k < extents.columns; k += threads) sum += x[row * extents.columns + k];
  parts[t] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t > 0) return;
  for (uint k = 1; k < threads; ++k) sum += parts[k];
  sums[row] = sum;
}
)",
      .input_names = {"x"},
      .output_names = {"sums"},
      .launch =
          [](std::span<const TensorType> in, std::span<const TensorType>) {
            struct Extents {
              std::uint32_t rows, columns;
            };
            const auto rows = static_cast<std::uint32_t>(in[0].shape[0]);
            const auto columns = static_cast<std::uint32_t>(in[0].shape[1]);
            return KernelLaunch{.grid = {{64 * rows}},
                                .threads = {64},
                                .constants = {{"extents", Extents{rows, columns}}, {"first", 0}},
                                .threadgroup_bytes = {{"parts", 64 * sizeof(float)}}};
          },
  });
  return op;
}

}  // namespace hearth::user_ops
