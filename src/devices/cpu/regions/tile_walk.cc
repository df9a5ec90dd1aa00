#include "devices/cpu/regions/tile_walk.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/thread_owned.h"
#include "devices/cpu/regions/copy_rows.h"

namespace hearth::cpu {

void convert_scalar(std::uint64_t word, DType dtype, bool exact, std::uint64_t* out) {
  const auto put = [out](auto value) { std::memcpy(out, &value, sizeof(value)); };
  const double real = std::bit_cast<double>(word);
  switch (dtype) {
    case DType::f64:
      return put(real);
    case DType::f32:
      return put(static_cast<float>(real));
    case DType::f16: {
      const auto value = static_cast<float>(real);
      return put(exact ? static_cast<float>(float16(value)) : value);
    }
    case DType::bf16: {
      const auto value = static_cast<float>(real);
      return put(exact ? static_cast<float>(bfloat16(value)) : value);
    }
    case DType::i64:
    case DType::u64:
      return put(word);
    case DType::u32:
      return put(static_cast<std::int64_t>(static_cast<std::uint32_t>(word)));
    case DType::i32:
      return put(static_cast<std::int32_t>(word));
    case DType::i16:
      return put(static_cast<std::int32_t>(static_cast<std::int16_t>(word)));
    case DType::i8:
      return put(static_cast<std::int32_t>(static_cast<std::int8_t>(word)));
    case DType::u16:
      return put(static_cast<std::int32_t>(static_cast<std::uint16_t>(word)));
    case DType::u8:
      return put(static_cast<std::int32_t>(static_cast<std::uint8_t>(word)));
    case DType::bool_:
    default:
      return put(static_cast<std::int32_t>(word != 0 ? 1 : 0));
  }
}

TileScalars::TileScalars(const TileProgram& program, const Launch& launch) {
  const std::size_t count = program.scalars.size();
  if (count > kInPlace) {
    heap_ = std::make_unique<std::uint64_t[]>(count);
    words_ = heap_.get();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const RegionScalar& scalar = program.scalars[i];
    convert_scalar(launch.dynamics[scalar.dynamic], scalar.dtype, program.exact, words_ + i);
  }
}

TileWalk::TileWalk(const TileProgram& program, const Launch& launch, TileScalars& scalars)
    : program_(program), operands_(static_cast<int>(program.operands.size())) {
  if (program.slots + operands_ > kInPlaceSlots) {
    heap_slots_ =
        std::make_unique<std::byte*[]>(static_cast<std::size_t>(program.slots + operands_));
    slots_ = heap_slots_.get();
  }
  bases_ = slots_ + program.slots;
  std::byte* scratch = in_place_scratch_;
  const std::int64_t singles = static_cast<std::int64_t>(program.singles.size()) * 8;
  const std::int64_t needed = program.scratch_bytes + singles + 64;
  if (needed > kOwnScratch) {
    heap_scratch_ =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(needed + 64));
    scratch = heap_scratch_.get();
    scratch += (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
  } else if (needed > kInPlaceScratch) {
    scratch = ThreadOwned<OwnScratch>::get().bytes;
  }
  for (int i = 0; i < operands_; ++i) {
    bases_[i] = launch.operands[i] + program.operands[static_cast<std::size_t>(i)].offset;
    slots_[i] = bases_[i];
  }
  for (std::size_t i = 0; i < program.scalars.size(); ++i) {
    slots_[program.first_single + static_cast<int>(i)] = scalars.at(static_cast<int>(i));
  }
  std::byte* tile = scratch;
  for (int i = program.first_tile; i < program.slots; ++i, tile += program.tile_bytes) {
    slots_[i] = tile;
  }
  for (const TileSingle& single : program.singles) {
    slots_[single.slot] = tile;
    tile += 8;
  }
  for (std::size_t i = 0; i < program.outer.size(); ++i) index_[i] = 0;
  if (singles > 0) convert_singles();
}

void TileWalk::convert_singles() {
  for (const TileSingle& single : program_.singles) {
    single.load(slots_[single.slot], bases_[single.operand], 1, 1);
  }
}

void TileWalk::seek(std::int64_t row) {
  for (std::size_t axis = program_.outer.size(); axis-- > 0;) {
    const std::int64_t extent = program_.outer[axis];
    const std::int64_t at = row % extent;
    row /= extent;
    const std::int64_t move = at - index_[axis];
    index_[axis] = at;
    if (move == 0) continue;
    for (int i = 0; i < operands_; ++i) {
      bases_[i] += move * program_.operands[static_cast<std::size_t>(i)].outer_strides[axis];
    }
  }
  if (!program_.singles.empty()) convert_singles();
}

void TileWalk::next_row() {
  for (std::size_t axis = program_.outer.size(); axis-- > 0;) {
    const std::int64_t extent = program_.outer[axis];
    if (++index_[axis] < extent) {
      for (int i = 0; i < operands_; ++i) {
        bases_[i] += program_.operands[static_cast<std::size_t>(i)].outer_strides[axis];
      }
      break;
    }
    index_[axis] = 0;
    for (int i = 0; i < operands_; ++i) {
      bases_[i] -=
          (extent - 1) * program_.operands[static_cast<std::size_t>(i)].outer_strides[axis];
    }
  }
  if (!program_.singles.empty()) convert_singles();
}

void TileWalk::to_column(std::int64_t column) {
  column_ = column;
  for (int i = 0; i < operands_; ++i) {
    const TileOperand& operand = program_.operands[static_cast<std::size_t>(i)];
    slots_[i] = bases_[i];
    if (!operand.uneven) slots_[i] += column * operand.line_stride * operand.size;
  }
}

void TileWalk::gather(std::int64_t n) {
  constexpr std::int64_t kShortRun = 16;
  const bool short_runs =
      program_.inner.size() > 1 && program_.inner.back() <= kShortRun && n <= kTileElements;
  for (const TileGather& gather : program_.gathers) {
    if (short_runs) {
      gather_short_runs(gather, n);
    } else {
      gather_runs(gather, n);
    }
  }
}

// Where column `column` of a line lies in an operand: the index along each inner axis, and the
// offset in elements.
std::int64_t TileWalk::find_column(const TileOperand& operand, std::int64_t* index) const {
  std::int64_t left = column_;
  std::int64_t offset = 0;
  for (std::size_t axis = program_.inner.size(); axis-- > 0;) {
    index[axis] = left % program_.inner[axis];
    left /= program_.inner[axis];
    offset += index[axis] * operand.inner_strides[axis];
  }
  return offset;
}

void TileWalk::gather_runs(const TileGather& gather, std::int64_t n) {
  const int axes = static_cast<int>(program_.inner.size());
  const TileOperand& operand = program_.operands[static_cast<std::size_t>(gather.operand)];
  const std::int64_t tile_size = size_of(compute_class(operand.dtype));
  std::int64_t index[kMaxRank];
  std::int64_t offset = find_column(operand, index);
  const int last = axes - 1;
  const std::int64_t extent = program_.inner[static_cast<std::size_t>(last)];
  const std::int64_t stride = operand.inner_strides[last];
  std::byte* tile = slots_[gather.slot];
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t run = extent - index[last] < n - done ? extent - index[last] : n - done;
    gather.load(tile + done * tile_size, bases_[gather.operand] + offset * operand.size, run,
                stride);
    done += run;
    if (done >= n) break;
    // To the beginning of the next run.
    offset -= index[last] * stride;
    index[last] = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      offset += operand.inner_strides[axis];
      if (++index[axis] < program_.inner[static_cast<std::size_t>(axis)]) break;
      offset -= index[axis] * operand.inner_strides[axis];
      index[axis] = 0;
    }
  }
}

// Runs of a few elements: those of the last two axes are collected together, then converted.
void TileWalk::gather_short_runs(const TileGather& gather, std::int64_t n) {
  const TileOperand& operand = program_.operands[static_cast<std::size_t>(gather.operand)];
  const std::int64_t size = operand.size;
  const std::size_t last = program_.inner.size() - 1;
  std::int64_t index[kMaxRank];
  std::int64_t offset = find_column(operand, index);
  const std::int64_t extent = program_.inner[last], rows = program_.inner[last - 1];
  const std::int64_t step = operand.inner_strides[last] * size;
  const std::int64_t row_step = operand.inner_strides[last - 1] * size;
  alignas(64) std::byte collected[kTileElements * 8];
  std::byte* const to = is_native(operand.dtype) ? slots_[gather.slot] : collected;
  for (std::int64_t done = 0; done < n;) {
    const std::byte* const from = bases_[gather.operand] + offset * size;
    const bool begins = index[last] == 0 && n - done >= extent;
    const std::int64_t some = begins ? std::min(rows - index[last - 1], (n - done) / extent) : 1;
    const std::int64_t run = begins ? extent : std::min(extent - index[last], n - done);
    copy_few_elements(size, to + done * size, run * size, from, row_step, some, run, step);
    done += some * run;
    if (done >= n) break;
    // To the beginning of the next row.
    offset += some * operand.inner_strides[last - 1] - index[last] * operand.inner_strides[last];
    index[last] = 0;
    index[last - 1] += some;
    for (std::size_t axis = last - 1; index[axis] == program_.inner[axis] && axis > 0; --axis) {
      offset += operand.inner_strides[axis - 1] - index[axis] * operand.inner_strides[axis];
      index[axis] = 0;
      ++index[axis - 1];
    }
  }
  if (to == collected) gather.load(slots_[gather.slot], collected, n, 1);
}

}  // namespace hearth::cpu
