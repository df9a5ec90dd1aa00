#include "devices/cpu/ops/experts/groups.h"

#include <algorithm>
#include <cstring>

#include "core/integer_math.h"

namespace hearth::cpu {
namespace {

template <class T>
void copy_strided(Address from, std::int64_t stride, std::int64_t count, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)),
                from + i * stride * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  }
}

}  // namespace

std::int64_t ExpertGroups::bytes(const ExpertExtents& extents) {
  return round_up(8 * (2 * extents.expert_count + 3 + extents.pairs()), std::int64_t{64});
}

ExpertGroups::ExpertGroups(const ExpertExtents& extents, const Operand& experts, std::byte* memory)
    : expert_count_(extents.expert_count),
      firsts_(reinterpret_cast<std::int64_t*>(memory)),
      tasks_(firsts_ + expert_count_ + 2),
      pairs_(tasks_ + expert_count_ + 1) {
  const std::int64_t row_stride = experts.stride(0), stride = experts.stride(1);
  const auto group_of = [&](std::int64_t row, std::int64_t u) {
    std::int32_t expert;
    std::memcpy(&expert, experts.at(row * row_stride + u * stride), sizeof(expert));
    return expert >= 0 && expert < expert_count_ ? std::int64_t{expert} : expert_count_;
  };
  // Counts, one place further than where they end as beginnings.
  std::fill_n(firsts_, expert_count_ + 2, std::int64_t{0});
  for (std::int64_t row = 0; row < extents.rows; ++row) {
    for (std::int64_t u = 0; u < extents.used; ++u) ++firsts_[group_of(row, u) + 1];
  }
  for (std::int64_t e = 0; e < expert_count_; ++e) chosen_ += firsts_[e + 1] > 0 ? 1 : 0;
  for (std::int64_t e = 0; e <= expert_count_; ++e) firsts_[e + 1] += firsts_[e];
  for (std::int64_t row = extents.rows; row-- > 0;) {
    for (std::int64_t u = extents.used; u-- > 0;) {
      pairs_[--firsts_[group_of(row, u) + 1]] = row * extents.used + u;
    }
  }
  // Each end has become its group's beginning, one place too far.
  for (std::int64_t e = 0; e <= expert_count_; ++e) firsts_[e] = firsts_[e + 1];
  firsts_[expert_count_ + 1] = extents.pairs();
}

void clear_without_expert(const ExpertGroups& groups, const Operand& output) {
  const std::int64_t none = groups.expert_count();
  const std::int64_t n = output.shape().back();
  const auto bytes = static_cast<std::size_t>(n * size_of(output.dtype()));
  for (std::int64_t i = 0; i < groups.count(none); ++i) {
    std::memset(output.at(groups.pairs(none)[i] * n), 0, bytes);
  }
}

void gather_expert_rows(const ExpertGroups& groups, const Operand& from, std::int64_t shared,
                        std::byte* to) {
  const int last = from.shape().rank() - 1;
  const OffsetMap offsets(from.shape(), from.strides(), 0, last);
  const std::int64_t n = from.shape()[last], stride = from.stride(last);
  const std::int64_t size = size_of(from.dtype());
  for_chunks(groups.first(groups.expert_count()), n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Address row = from.at(offsets.at(groups.pair(i) / shared));
      std::byte* const copy = to + i * n * size;
      if (stride == 1 || n == 1) {
        std::memcpy(copy, row, static_cast<std::size_t>(n * size));
      } else if (size == 2) {
        copy_strided<std::uint16_t>(row, stride, n, copy);
      } else if (size == 4) {
        copy_strided<std::uint32_t>(row, stride, n, copy);
      } else {
        copy_strided<std::uint64_t>(row, stride, n, copy);
      }
    }
  });
}

}  // namespace hearth::cpu
