#include "devices/cpu/regions/copy_rows.h"

#include <algorithm>
#include <cstring>

#include "devices/cpu/regions/tile_table.h"

namespace hearth::cpu {
namespace {

// What rows that belong together take of the target at once: it stays in the first-level cache.
constexpr std::int64_t kPartBytes = 4096;

template <class W>
void copy_part(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
               std::int64_t rows, std::int64_t n, std::int64_t step) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(W));
  const auto put = [=](std::int64_t row, std::int64_t i) {
    *reinterpret_cast<W*>(to + row * to_step + i * kSize) =
        *reinterpret_cast<const W*>(from + row * from_step + i * step);
  };
  if (step == 0 && from_step == kSize && to_step == n * kSize && n > 1 && n <= kMaxRepeats) {
    return tile_table().repeat[kSizeIndex<W>][n - 2](to, from, rows);
  }
  if (rows < n) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < n; ++i) put(row, i);
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t row = 0; row < rows; ++row) put(row, i);
  }
}

template <class W>
void copy_rows(const CopyPlan& plan, std::int64_t begin, std::int64_t end, const std::byte* source,
               std::byte* target) {
  const CopyPlan::Axis& along = plan.outer.back();
  const std::int64_t n = plan.inner.extent, bytes = n * plan.size;
  const std::int64_t rows_of_part = kPartBytes / bytes;
  const bool streams = plan.streams && along.to == bytes;
  RowWalk walk({plan.outer.data(), plan.outer.size() - 1}, begin / along.extent, source, target);
  alignas(kLine) std::byte part[kPartBytes];
  std::int64_t at = begin % along.extent;
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t count = std::min({end - row, along.extent - at, rows_of_part});
    const std::byte* const from = walk.from + at * along.from;
    std::byte* const to = walk.to + at * along.to;
    if (streams) {
      copy_part<W>(part, bytes, from, along.from, count, n, plan.inner.from);
      copy_row(to, part, count * bytes, true);
    } else {
      copy_part<W>(to, along.to, from, along.from, count, n, plan.inner.from);
    }
    row += count;
    at += count;
    if (at < along.extent) continue;
    at = 0;
    walk.next();
  }
}

}  // namespace

void copy_row(std::byte* to, const std::byte* from, std::int64_t bytes, bool streams) {
  if (streams && bytes >= 4 * kLine) {
    const auto head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) % kLine);
    std::memcpy(to, from, static_cast<std::size_t>(head));
    const std::int64_t body = (bytes - head) / kLine * kLine;
    tile_table().stream_lines(to + head, from + head, body);
    to += head + body;
    from += head + body;
    bytes -= head + body;
  }
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void copy_few_elements(std::int64_t size, std::byte* to, std::int64_t to_step,
                       const std::byte* from, std::int64_t from_step, std::int64_t rows,
                       std::int64_t n, std::int64_t step) {
  with_unsigned(size,
                [&]<class W>() { copy_part<W>(to, to_step, from, from_step, rows, n, step); });
}

bool has_few_elements(const CopyPlan& plan) {
  const std::int64_t bytes = plan.inner.extent * plan.size;
  const std::int64_t most = plan.inner.from == plan.size ? kLine : 2 * kLine;
  return !plan.transposes && !plan.outer.empty() && bytes < most;
}

void copy_few(const CopyPlan& plan, std::int64_t begin, std::int64_t end, const std::byte* source,
              std::byte* target) {
  with_unsigned(plan.size, [&]<class W>() { copy_rows<W>(plan, begin, end, source, target); });
}

}  // namespace hearth::cpu
