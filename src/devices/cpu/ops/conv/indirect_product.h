// Products that read one factor through tables of offsets, for convolutions without patches: what
// multiplies a dtype, and how columns and memory are cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/gemm/kernels.h"

namespace hearth::cpu {

// What multiplies, packs and transposes: in f64, in f32 whatever the dtype, and in pairs of bf16.
struct IndirectDoubles {
  static const auto& kernels() { return cpu_gemm().f64; }
  static const auto& copies() { return cpu_gemm().from_f64; }
  static constexpr auto transpose = [](auto... args) { cpu_gemm().from_f64.copy(args...); };
};
struct IndirectFloats {
  static const auto& kernels() { return cpu_gemm().f32; }
  static const auto& copies() { return cpu_gemm().from_f32; }
  static constexpr auto transpose = [](auto... args) { cpu_gemm().from_f32.copy(args...); };
};
struct IndirectPairs {
  static const auto& kernels() { return bf16_gemm()->kernels; }
  static const auto& copies() { return bf16_gemm()->copies; }
  static constexpr auto transpose = IndirectFloats::transpose;
};

// Calls run.template operator()<How>() with the one of these that a dtype is multiplied by here.
template <class Run>
auto with_indirect_kernels(DType dtype, const Run& run) {
  if (dtype == DType::f64) return run.template operator()<IndirectDoubles>();
  if (dtype == DType::bf16 && bf16_gemm() != nullptr) {
    return run.template operator()<IndirectPairs>();
  }
  return run.template operator()<IndirectFloats>();
}

// A product [rows, columns], whose columns are cut into equal parts for tasks.
template <class How>
class IndirectProduct {
 public:
  using Kernels = std::remove_cvref_t<decltype(How::kernels())>;
  using X = typename Kernels::X;  // of the factor that is read through offsets
  using P = typename Kernels::P;  // of the packed factor: kGroup values of k each
  using T = typename Kernels::T;  // of sums
  static constexpr std::int64_t kGroup = sizeof(P) / sizeof(X);
  static constexpr std::int64_t kLeastColumns = 8;  // fewer are not worth a product

  explicit IndirectProduct(std::int64_t columns)
      : columns_(columns),
        parts_(std::max<std::int64_t>(ceil_div(columns, kMostOfPart), 1)),
        part_(round_up(ceil_div(columns, parts_), How::kernels().lanes * How::kernels().vectors)) {}

  std::int64_t parts() const { return parts_; }
  std::int64_t part() const { return part_; }            // columns of a part, whole vectors
  std::int64_t width() const { return parts_ * part_; }  // of all parts
  // Columns of the part that begins at `column`; 0 or less where the parts before it have all.
  std::int64_t columns_from(std::int64_t column) const {
    return std::min(part_, columns_ - column);
  }

  // Bytes of so many values, in whole lines of a cache.
  template <class V>
  static std::int64_t bytes_of(std::int64_t values) {
    return round_up(values * static_cast<std::int64_t>(sizeof(V)), 64);
  }
  // How many of `count` images, of so many bytes each, are worked on at a time: a last-level cache
  // holds some of them.
  static std::int64_t images_at_once(std::int64_t bytes, std::int64_t count) {
    constexpr std::int64_t kImageBytes = std::int64_t{8} << 20;
    return std::clamp<std::int64_t>(kImageBytes / bytes, 1, std::max<std::int64_t>(count, 1));
  }

  // sums [m, n], rows `stride` apart, or added to what they hold. Row i begins at x + rows[i], and
  // value or group p of it is offsets[p] further, of `depth`; `panels` hold the n columns.
  static void multiply(const X* x, const std::int64_t* rows,
                       const std::vector<std::int64_t>& offsets, std::int64_t m, const P* panels,
                       std::int64_t n, std::int64_t depth, bool accumulate, T* sums,
                       std::int64_t stride) {
    const std::int64_t some =
        How::kernels().blocking.depth_bytes / static_cast<std::int64_t>(sizeof(P));
    GemmBlock<X, P, T> block{};
    block.m = m;
    block.n = n;
    block.a = x;
    block.a_rows = rows;
    block.b = panels;
    block.b_packed = true;
    block.b_panel_stride = depth;
    block.c = sums;
    block.c_row_stride = stride;
    for (std::int64_t first = 0; first < depth; first += some) {
      block.k = std::min(some, depth - first) * kGroup;
      block.a_offsets = offsets.data() + first;
      block.b_first = first;
      block.accumulate = accumulate || first > 0;
      How::kernels().block(block);
    }
  }

 private:
  static constexpr std::int64_t kMostOfPart = 256;

  std::int64_t columns_, parts_, part_;
};

}  // namespace hearth::cpu
