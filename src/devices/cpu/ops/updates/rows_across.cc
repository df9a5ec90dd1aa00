#include "devices/cpu/ops/updates/rows_across.h"

#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/row_math.h"

namespace hearth::cpu {

void RowsAcross::load_spread(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
                             std::byte* row) const {
  const DType dtype = operand.dtype();
  if (inner.linear() && widens) {
    const std::int64_t stride = inner.stride();
    return load_row(dtype, operand.at(offset + begin * stride), stride, n,
                    reinterpret_cast<float*>(row));
  }
  with_storage_type(dtype, [&]<class E>() {
    const auto* const from = reinterpret_cast<const E*>(operand.at(offset));
    if (inner.linear()) {
      const std::int64_t stride = inner.stride();
      E* const to = reinterpret_cast<E*>(row);
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[(begin + i) * stride];
      return;
    }
    E* const to = widens ? scratch<E>(11, n) : reinterpret_cast<E*>(row);
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[inner.at(begin + i)];
    if (widens) load_row(dtype, to, 1, n, reinterpret_cast<float*>(row));
  });
}

void RowsAcross::store_spread(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
                              const std::byte* row) const {
  const DType dtype = operand.dtype();
  with_storage_type(dtype, [&]<class E>() {
    const E* from = reinterpret_cast<const E*>(row);
    if (widens) {
      E* const rounded = scratch<E>(11, n);
      store_row(dtype, reinterpret_cast<const float*>(row), n, rounded);
      from = rounded;
    }
    auto* const to = reinterpret_cast<E*>(operand.at(offset));
    for (std::int64_t i = 0; i < n; ++i) to[inner.at(begin + i)] = from[i];
  });
}

const std::int64_t* RowsAcross::read_indices(std::int64_t offset, std::int64_t begin,
                                             std::int64_t n, std::int64_t* row) const {
  if (inner.linear()) {
    const std::int64_t stride = inner.stride();
    return cpu::read_indices(operand, offset + begin * stride, stride, n, row);
  }
  for (std::int64_t i = 0; i < n; ++i) row[i] = index_at(operand, offset + inner.at(begin + i));
  return row;
}

void RowsAcross::fetch(std::int64_t offset, std::int64_t begin, std::int64_t n) const {
  if (!dense()) return;
  const std::byte* const from = operand.at(offset + begin);
  const std::int64_t bytes = n * size_of(operand.dtype());
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at);
}

}  // namespace hearth::cpu
