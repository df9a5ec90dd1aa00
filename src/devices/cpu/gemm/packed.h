// Products of bf16 on this thread, of a matrix B that is packed once and multiplied several times.
#pragma once

#include <cstdint>

#include "core/integer_math.h"
#include "devices/cpu/gemm/kernels.h"

namespace hearth::cpu {

class PackedPairs {
 public:
  // What A is padded to with zeros: rows, and values of a row.
  static constexpr std::int64_t kRowUnit = 16;
  static constexpr std::int64_t kDepthUnit = 32;

  // Whether the processor multiplies pairs.
  static bool exist() { return best() != nullptr; }

  explicit PackedPairs(const Bf16Gemm* how = best()) : how_(*how) {}

  // Elements that `panels` needs.
  std::int64_t size(std::int64_t k, std::int64_t n) const {
    return height(k) * round_up(n, panel());
  }

  void pack(const bfloat16* b, std::int64_t row_stride, std::int64_t col_stride, std::int64_t k,
            std::int64_t n, std::uint32_t* panels) {
    panels_ = panels;
    height_ = height(k);
    n_ = n;
    how_.copies.pack(b, row_stride, col_stride, k, n, height_, 0, 0, 0, panels);
  }

  // The least number of columns, `cols` or more, that can be multiplied alone.
  std::int64_t whole_columns(std::int64_t cols) const {
    const std::int64_t whole = round_up(cols, panel()), lanes = how_.kernels.lanes;
    // The last two panels share what is left.
    return whole + lanes < n_ ? whole : n_;
  }

  // C [m, n] = A [m, k] * B, or C += A * B, of the first k rows and n columns of B, n one of
  // whole_columns().
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const bfloat16* a,
                std::int64_t a_stride, float* c, std::int64_t c_stride, bool accumulate) const {
    const GemmBlocking& blocking = how_.kernels.blocking;
    GemmBlock<bfloat16, std::uint32_t, float> block{};
    block.m = m;
    block.n = n;
    block.k = round_up(k, 2 * blocking.group_unit);
    block.a = a;
    block.a_row_stride = a_stride;
    block.a_panel_stride = blocking.row_panel * a_stride;
    block.a_step = 2 * blocking.group_unit;
    block.b = panels_;
    block.b_panel_stride = height_;
    block.b_packed = true;
    block.c = c;
    block.c_row_stride = c_stride;
    block.accumulate = accumulate;
    how_.kernels.block(block);
  }

 private:
  static const Bf16Gemm* best() { return amx_gemm() != nullptr ? amx_gemm() : bf16_gemm(); }

  std::int64_t panel() const { return how_.kernels.lanes * how_.kernels.vectors; }
  std::int64_t height(std::int64_t k) const {
    return round_up(k, 2 * how_.kernels.blocking.group_unit) / 2;
  }

  const Bf16Gemm& how_;
  std::uint32_t* panels_ = nullptr;
  std::int64_t height_ = 0, n_ = 0;
};

}  // namespace hearth::cpu
