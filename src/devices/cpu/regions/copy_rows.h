// The rows of a copy between layouts: the walk over them, and rows of a few elements.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "devices/cpu/regions/tile_copy.h"
#include "hearth/shape.h"

namespace hearth::cpu {

inline constexpr std::int64_t kLine = 64;

// Where TileTable keeps what moves elements of this size.
template <class W>
inline constexpr int kSizeIndex = std::countr_zero(sizeof(W));

// Calls run.template operator()<W>() with the unsigned integer of `size` bytes.
template <class Run>
void with_unsigned(std::int64_t size, Run run) {
  switch (size) {
    case 1:
      return run.template operator()<std::uint8_t>();
    case 2:
      return run.template operator()<std::uint16_t>();
    case 4:
      return run.template operator()<std::uint32_t>();
    default:
      return run.template operator()<std::uint64_t>();
  }
}

// Copies a dense row; `streams`: past the cache.
void copy_row(std::byte* to, const std::byte* from, std::int64_t bytes, bool streams);

// The rows of a copy one after the other: counted on, for short rows take less than divisions.
class RowWalk {
 public:
  RowWalk(std::span<const CopyPlan::Axis> axes, std::int64_t row, const std::byte* source,
          std::byte* target)
      : from(source), to(target), axes_(axes) {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const CopyPlan::Axis& axis = axes_[i];
      at_[i] = row % axis.extent;
      row /= axis.extent;
      from += at_[i] * axis.from;
      to += at_[i] * axis.to;
    }
  }

  void next() {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const CopyPlan::Axis& axis = axes_[i];
      from += axis.from;
      to += axis.to;
      if (++at_[i] < axis.extent) return;
      at_[i] = 0;
      from -= axis.extent * axis.from;
      to -= axis.extent * axis.to;
    }
  }

  const std::byte* from;
  std::byte* to;

 private:
  std::span<const CopyPlan::Axis> axes_;
  std::array<std::int64_t, kMaxRank> at_{};
};

// Rows of n elements of `size` bytes, `step` bytes apart; the target's are dense. For few elements.
void copy_few_elements(std::int64_t size, std::byte* to, std::int64_t to_step,
                       const std::byte* from, std::int64_t from_step, std::int64_t rows,
                       std::int64_t n, std::int64_t step);

// Whether beginning a row takes as long as copying it. Then copy_few() copies rows [begin, end),
// those of the last outer axis together.
bool has_few_elements(const CopyPlan& plan);
void copy_few(const CopyPlan& plan, std::int64_t begin, std::int64_t end, const std::byte* source,
              std::byte* target);

}  // namespace hearth::cpu
