// Matrices of any layout, and products of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/element.h"

namespace hearth::cpu::products {

// A matrix inside a larger buffer, reached through any strides.
struct Operand {
  std::vector<unsigned char> bytes;
  std::int64_t offset = 0;  // elements
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  DType dtype = DType::f32;

  const void* data() const { return bytes.data() + offset * size_of(dtype); }
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  double value(DType dtype) {
    if (is_float(dtype)) return std::uniform_real_distribution<double>(-1, 1)(engine_);
    return static_cast<double>(between(info(dtype).is_signed ? -3 : 0, 3));
  }

 private:
  std::mt19937 engine_;
};

enum class Layout { plain, transposed, padded, strided, zero_row, zero_col, negative };
inline constexpr int kLayouts = 7;

inline Operand operand(Random& random, std::int64_t rows, std::int64_t cols, DType dtype,
                       Layout layout) {
  Operand o;
  o.dtype = dtype;
  switch (layout) {
    case Layout::plain:
      o.row_stride = cols;
      o.col_stride = 1;
      break;
    case Layout::transposed:
      o.row_stride = 1;
      o.col_stride = rows;
      break;
    case Layout::padded:
      o.row_stride = cols + 5;
      o.col_stride = 1;
      break;
    case Layout::strided:
      o.row_stride = 3 * cols + 1;
      o.col_stride = 3;
      break;
    case Layout::zero_row:
      o.row_stride = 0;
      o.col_stride = 1;
      break;
    case Layout::zero_col:
      o.row_stride = 1;
      o.col_stride = 0;
      break;
    case Layout::negative:
      o.row_stride = -cols;
      o.col_stride = -1;
      break;
  }
  const std::int64_t down = std::max<std::int64_t>(rows - 1, 0) * std::abs(o.row_stride);
  const std::int64_t right = std::max<std::int64_t>(cols - 1, 0) * std::abs(o.col_stride);
  if (layout == Layout::negative) o.offset = down + right;
  // No slack after the last element: an address sanitizer sees a read past the end.
  const std::int64_t elements = rows > 0 && cols > 0 ? down + right + 1 : 0;
  o.bytes.resize(static_cast<std::size_t>(elements * size_of(dtype)));
  for (std::int64_t i = 0; i < elements; ++i)
    set_element(o.bytes.data(), i, dtype, random.value(dtype));
  return o;
}

// As matmul does it.
inline void multiply(const GemmArgs& g, const GemmBatch& batch = {}) {
  is_skinny(g) ? gemm_skinny(g, batch) : gemm(g, batch);
}

inline const std::vector<std::pair<DType, DType>>& float_types() {
  static const std::vector<std::pair<DType, DType>> types = {
      {DType::f32, DType::f32},   {DType::f64, DType::f64}, {DType::f16, DType::f16},
      {DType::bf16, DType::bf16}, {DType::f16, DType::f32}, {DType::bf16, DType::f32}};
  return types;
}

}  // namespace hearth::cpu::products
