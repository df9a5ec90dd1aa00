// Copies between layouts: rows as they are, transposed blocks, or element by element.
//
// A transposing copy works on blocks of one cache line by one cache line: 64 / size source rows are
// read, transposed in registers and written as whole lines, past the cache when the target is
// larger than it. Each byte moves once each way; the bound is memory.
#include "devices/cpu/regions/tile_copy.h"

#include <algorithm>
#include <cstring>

#include "core/axes.h"
#include "core/integer_math.h"
#include "core/thread_owned.h"
#include "devices/cpu/regions/copy_rows.h"
#include "devices/cpu/regions/tile_program.h"
#include "devices/cpu/regions/tile_table.h"
#include "devices/cpu/streaming.h"
#include "runtime/device/worker_pool.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hearth::cpu {
namespace {

// Up to here a copy takes less than waking another thread; and what a thread claims at a time.
constexpr std::int64_t kInlineBytes = 256 << 10;
constexpr std::int64_t kChunkBytes = 64 << 10;

template <class W>
void copy_elements(std::byte* to, const std::byte* from, std::int64_t n, std::int64_t step) {
  auto* target = reinterpret_cast<W*>(to);
  if (step == 0) {
    const W value = *reinterpret_cast<const W*>(from);
    for (std::int64_t i = 0; i < n; ++i) target[i] = value;
    return;
  }
  if (step == -static_cast<std::int64_t>(sizeof(W))) {
    return tile_table().reverse[kSizeIndex<W>](to, from, n);
  }
  for (std::int64_t i = 0; i < n; ++i) target[i] = *reinterpret_cast<const W*>(from + i * step);
}

// The same past the cache: what a few lines of the target get is gathered first.
template <class W>
void stream_elements(std::byte* to, const std::byte* from, std::int64_t n, std::int64_t step) {
  constexpr auto kPart = 32 * kLine / static_cast<std::int64_t>(sizeof(W));
  alignas(kLine) W part[kPart];
  // From here on the target begins with a line.
  const auto head = std::min<std::int64_t>(
      n, static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) % kLine / sizeof(W)));
  copy_elements<W>(to, from, head, step);
  for (std::int64_t i = head; i < n; i += kPart) {
    const std::int64_t some = std::min(kPart, n - i);
    auto* const gathered = reinterpret_cast<std::byte*>(part);
    copy_elements<W>(gathered, from + i * step, some, step);
    const auto size = static_cast<std::int64_t>(sizeof(W));
    copy_row(to + i * size, gathered, some * size, true);
  }
}

// Lines of the target that one block covers: long enough runs for the memory on both sides.
constexpr int kBlockLines = 4;

// transposed[a * width + i] = source row i, element a, for one line by one line.
template <class W>
void transpose_block(const std::byte* from, std::int64_t row_step, W* transposed, int width) {
  constexpr int kSide = static_cast<int>(kLine / static_cast<std::int64_t>(sizeof(W)));
  for (int i = 0; i < kSide; ++i) {
    const W* row = reinterpret_cast<const W*>(from + i * row_step);
    for (int a = 0; a < kSide; ++a) transposed[a * width + i] = row[a];
  }
}

template <>
void transpose_block(const std::byte* from, std::int64_t row_step, std::uint32_t* transposed,
                     int width) {
  tile_table().transpose_block32(from, row_step, transposed, width);
}
#if defined(__SSE2__)
inline __m128i load16(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
template <>
void transpose_block(const std::byte* from, std::int64_t row_step, std::uint64_t* transposed,
                     int width) {
  for (int i = 0; i < 8; i += 2) {
    const std::byte* row = from + i * row_step;
    for (int a = 0; a < 8; a += 2) {
      const __m128i r0 = load16(row + a * 8);
      const __m128i r1 = load16(row + row_step + a * 8);
      auto* to = reinterpret_cast<__m128i*>(transposed + a * width + i);
      _mm_store_si128(to, _mm_unpacklo_epi64(r0, r1));
      _mm_store_si128(to + width / 2, _mm_unpackhi_epi64(r0, r1));
    }
  }
}
template <>
void transpose_block(const std::byte* from, std::int64_t row_step, std::uint16_t* transposed,
                     int width) {
  for (int i = 0; i < 32; i += 8) {
    for (int a = 0; a < 32; a += 8) {
      __m128i x[8];
      __m128i y[8];
      for (int k = 0; k < 8; ++k) x[k] = load16(from + (i + k) * row_step + a * 2);
      for (int k = 0; k < 4; ++k) {
        y[2 * k] = _mm_unpacklo_epi16(x[k], x[k + 4]);
        y[2 * k + 1] = _mm_unpackhi_epi16(x[k], x[k + 4]);
      }
      for (int k = 0; k < 4; ++k) {
        x[2 * k] = _mm_unpacklo_epi16(y[k], y[k + 4]);
        x[2 * k + 1] = _mm_unpackhi_epi16(y[k], y[k + 4]);
      }
      for (int k = 0; k < 4; ++k) {
        y[2 * k] = _mm_unpacklo_epi16(x[k], x[k + 4]);
        y[2 * k + 1] = _mm_unpackhi_epi16(x[k], x[k + 4]);
      }
      for (int k = 0; k < 8; ++k) {
        _mm_store_si128(reinterpret_cast<__m128i*>(transposed + (a + k) * width + i), y[k]);
      }
    }
  }
}
#endif

// A block before its lines are written; threads may have small stacks.
constexpr std::int64_t kTransposedBytes = kLine * kLine * kBlockLines * kBlockLines;
struct Transposed {
  alignas(64) std::byte bytes[kTransposedBytes];
};

// One row of blocks: all of the source-dense axis, up to a block's width of the target-dense axis.
template <class W>
void transpose_strip(const CopyPlan& plan, std::byte* to, const std::byte* from, std::int64_t first,
                     std::int64_t count) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(W));
  constexpr std::int64_t kSide = kLine / kSize;
  constexpr std::int64_t kWidth = kSide * kBlockLines;
  to += first * kSize;
  from += first * plan.inner.from;
  const std::int64_t whole = count / kSide * kSide;
  std::int64_t a = 0;
  static_assert(kWidth * kWidth * kSize <= kTransposedBytes);
  auto* const transposed = reinterpret_cast<W*>(ThreadOwned<Transposed>::get().bytes);
  const TileTable& table = tile_table();
  while (whole > 0 && a + kSide <= plan.across.extent) {
    const std::int64_t tall = std::min(kWidth, (plan.across.extent - a) / kSide * kSide);
    for (std::int64_t i = 0; i < whole; i += kSide) {
      const std::byte* rows = from + i * plan.inner.from + a * kSize;
      for (std::int64_t k = 0; k < tall; k += kSide) {
        // Rows a power of two apart defeat the hardware's own prefetch.
        for (std::int64_t row = 0; row < kSide; ++row) {
          __builtin_prefetch(rows + row * plan.inner.from + (k + kWidth) * kSize, 0, 2);
        }
        transpose_block<W>(rows + k * kSize, plan.inner.from, transposed + k * kWidth + i,
                           static_cast<int>(kWidth));
      }
    }
    for (std::int64_t k = 0; k < tall; ++k) {
      std::byte* row = to + (a + k) * plan.across.to;
      const auto* line = reinterpret_cast<const std::byte*>(transposed + k * kWidth);
      if (plan.streams && reinterpret_cast<std::uintptr_t>(row) % kLine == 0) {
        table.stream_lines(row, line, whole * kSize);
      } else {
        for (std::int64_t at = 0; at < whole * kSize; at += kLine) {
          std::memcpy(row + at, line + at, static_cast<std::size_t>(kLine));
        }
      }
    }
    a += tall;
  }
  // What is less than a line in either direction.
  for (std::int64_t k = 0; k < plan.across.extent; ++k) {
    auto* row = reinterpret_cast<W*>(to + k * plan.across.to);
    for (std::int64_t i = k < a ? whole : 0; i < count; ++i) {
      row[i] = *reinterpret_cast<const W*>(from + i * plan.inner.from + k * kSize);
    }
    if (whole == count && k < a) k = a - 1;
  }
}

// Rows of a few whole lines, where a call takes as long as the copy. Those that follow along an
// outer axis, which lie far apart, are fetched ahead.
constexpr std::int64_t kShortRow = 8 * kLine;

void copy_short_rows(const CopyPlan& plan, RowWalk walk, std::int64_t rows) {
  constexpr std::int64_t kAhead = 4;
  const std::size_t axes = plan.outer.size();
  const std::int64_t bytes = plan.inner.extent * plan.size;
  const std::int64_t ahead = axes < 2 ? 0 : kAhead * plan.outer[axes - 2].from;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t at = 0; at < bytes; at += kLine) {
      if (ahead != 0) {
        __builtin_prefetch(reinterpret_cast<const void*>(
            reinterpret_cast<std::uintptr_t>(walk.from) + static_cast<std::uintptr_t>(ahead + at)));
      }
      std::memcpy(walk.to + at, walk.from + at, static_cast<std::size_t>(kLine));
    }
    walk.next();
  }
}

// Makes streamed lines visible to other threads.
void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// What threads take of a copy: a strip of blocks, a row, or a part of one.
struct CopyUnits {
  std::int64_t rows = 1, part, per_row = 1;

  explicit CopyUnits(const CopyPlan& plan) : part(plan.inner.extent) {
    for (const CopyPlan::Axis& axis : plan.outer) rows *= axis.extent;
    if (plan.transposes) {
      part = kLine / plan.size * kBlockLines;
    } else if (part * plan.size > 2 * kChunkBytes) {
      part = kChunkBytes / plan.size;
    }
    per_row = ceil_div(plan.inner.extent, part);
  }
  std::int64_t count() const { return rows * per_row; }
};

template <class W>
void copy_units(const CopyPlan& plan, const CopyUnits& units, std::int64_t begin, std::int64_t end,
                const std::byte* source, std::byte* target) {
  if (has_few_elements(plan)) return copy_few(plan, begin, end, source, target);
  RowWalk walk(plan.outer, begin / units.per_row, source, target);
  const std::int64_t row_bytes = plan.inner.extent * plan.size;
  if (!plan.transposes && !plan.streams && plan.inner.from == plan.size && row_bytes <= kShortRow &&
      row_bytes % kLine == 0) {
    return copy_short_rows(plan, walk, end - begin);
  }
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t first = unit % units.per_row * units.part;
    const std::byte* const from = walk.from;
    std::byte* const to = walk.to;
    if (first + units.part >= plan.inner.extent) walk.next();
    const std::int64_t count = std::min(units.part, plan.inner.extent - first);
    if (plan.transposes) {
      transpose_strip<W>(plan, to, from, first, count);
    } else if (plan.inner.from == plan.size) {
      copy_row(to + first * plan.size, from + first * plan.size, count * plan.size, plan.streams);
    } else {
      const auto copy = plan.streams ? stream_elements<W> : copy_elements<W>;
      copy(to + first * plan.size, from + first * plan.inner.from, count, plan.inner.from);
    }
  }
}

void copy_units(const CopyPlan& plan, const CopyUnits& units, std::int64_t begin, std::int64_t end,
                const std::byte* source, std::byte* target) {
  with_unsigned(plan.size,
                [&]<class W>() { copy_units<W>(plan, units, begin, end, source, target); });
  if (plan.streams) fence();
}

// Plans a copy all of whose axes are in `outer`.
void finish_plan(CopyPlan* plan) {
  plan->inner = {1, plan->size, plan->size};
  if (plan->outer.empty() || plan->outer.back().to != plan->size) return;
  plan->inner = plan->outer.back();
  plan->outer.pop_back();
  plan->streams = plan->bytes > kStreamBytes;
  if (plan->inner.from == plan->size || plan->inner.from == 0) return;
  for (std::size_t i = 0; i < plan->outer.size(); ++i) {
    if (plan->outer[i].from != plan->size) continue;
    plan->across = plan->outer[i];
    plan->outer.erase(plan->outer.begin() + static_cast<std::ptrdiff_t>(i));
    plan->transposes = true;
    break;
  }
}

}  // namespace

bool plan_copy(const LoweredRegion& lowered, CopyPlan* plan) {
  const Region& region = lowered.region;
  if (region.outputs.size() != 1 || !region.instructions.empty() || region.outputs[0].value != 0 ||
      region.inputs.size() > 1 || region.outputs[0].dtype != region.value_dtype(0)) {
    return false;
  }
  plan->fills = region.inputs.empty();
  plan->size = size_of(region.outputs[0].dtype);
  plan->bytes = lowered.layout.elements * plan->size;
  if (plan->bytes == 0) return true;
  for (const RegionAxis& axis : lowered.layout.axes) {
    const std::int64_t from = plan->fills ? 0 : axis.strides[0] * plan->size;
    plan->outer.push_back({axis.extent, from, axis.strides.back() * plan->size});
  }
  if (!plan->outer.empty() && plan->outer.back().to != plan->size) return false;
  finish_plan(plan);
  return true;
}

CopyPlan plan_copy(const Shape& shape, const Strides& from, const Strides& to, std::int64_t size) {
  CopyPlan plan;
  plan.size = size;
  plan.bytes = element_count(shape) * size;
  if (plan.bytes == 0) return plan;
  MergedAxes<2> axes;
  for (int i = 0; i < shape.rank(); ++i) axes.append(shape[i], {from[i], to[i]});
  for (int i = 0; i < axes.rank; ++i) {
    plan.outer.push_back({axes.extents[i], axes.strides[i][0] * size, axes.strides[i][1] * size});
  }
  finish_plan(&plan);
  return plan;
}

void launch_copy(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  if (plan.bytes == 0 || from == to) return;
  const CopyUnits units(plan);
  if (plan.bytes < kInlineBytes) return copy_units(plan, units, 0, units.count(), from, to);
  const std::int64_t grain = std::max<std::int64_t>(1, kChunkBytes * units.count() / plan.bytes);
  WorkerPool::global().parallel_for_range(
      units.count(), grain,
      [&](std::int64_t begin, std::int64_t end) { copy_units(plan, units, begin, end, from, to); });
}

std::int64_t rows_of(const CopyPlan& plan) {
  return plan.bytes == 0 || plan.transposes ? 0 : CopyUnits(plan).rows;
}

void copy_some_rows(const CopyPlan& plan, std::int64_t begin, std::int64_t end,
                    const std::byte* from, std::byte* to) {
  const CopyUnits units(plan);
  copy_units(plan, units, begin * units.per_row, end * units.per_row, from, to);
}

}  // namespace hearth::cpu
