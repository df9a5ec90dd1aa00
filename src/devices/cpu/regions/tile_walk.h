// Running a tile program: slots, scratch memory and the walk over rows and tiles.
#pragma once

#include <cstdint>
#include <memory>

#include "devices/cpu/regions/tile_program.h"
#include "graph/implementation.h"

namespace hearth::cpu {

// The dynamic scalars of one launch, in the classes that steps read.
class TileScalars {
 public:
  TileScalars(const TileProgram& program, const Launch& launch);
  std::byte* at(int i) { return reinterpret_cast<std::byte*>(words_ + i); }

 private:
  static constexpr int kInPlace = 16;
  std::uint64_t in_place_[kInPlace];
  std::unique_ptr<std::uint64_t[]> heap_;
  std::uint64_t* words_ = in_place_;
};

// One thread's walk. Move it with seek() and to_tile(), then run().
class TileWalk {
 public:
  TileWalk(const TileProgram& program, const Launch& launch, TileScalars& scalars);
  TileWalk(const TileWalk&) = delete;
  TileWalk& operator=(const TileWalk&) = delete;

  // To row `row` of the outer axes, in their order.
  void seek(std::int64_t row);
  void next_row();
  // To the tile that begins `column` elements into the line. Then run().
  void to_column(std::int64_t column);
  // Gathers and runs the steps on n elements from the column on.
  void run(std::int64_t n) {
    if (!program_.gathers.empty()) gather(n);
    const std::int64_t lengths[2] = {n, (n + kTileQuantum - 1) / kTileQuantum * kTileQuantum};
    const TileStep* const end = program_.steps.data() + program_.steps.size();
    for (const TileStep* step = program_.steps.data(); step != end; ++step) {
      step->function(*step, slots_, lengths[step->whole ? 1 : 0]);
    }
  }
  // The value to reduce, after run().
  const std::byte* result() const { return slots_[program_.result_slot]; }
  // Where an operand's tile begins, in memory.
  const std::byte* memory(int operand) const { return slots_[operand]; }

 private:
  // On the stack, which may be small; a thread keeps kOwnScratch more, and what is longer than that
  // is allocated.
  static constexpr int kInPlaceSlots = 96;
  static constexpr std::int64_t kInPlaceScratch = 8 << 10;
  static constexpr std::int64_t kOwnScratch = 48 << 10;
  struct OwnScratch {  // of the one walk that a thread has at a time
    alignas(64) std::byte bytes[kOwnScratch];
  };

  void gather(std::int64_t n);
  std::int64_t find_column(const TileOperand& operand, std::int64_t* index) const;
  void gather_runs(const TileGather& gather, std::int64_t n);
  void gather_short_runs(const TileGather& gather, std::int64_t n);
  void convert_singles();

  const TileProgram& program_;
  const int operands_;
  std::int64_t column_ = 0;
  std::byte** slots_ = in_place_slots_;
  std::byte** bases_;  // after the slots
  std::int64_t index_[kMaxRank];
  std::unique_ptr<std::byte*[]> heap_slots_;
  std::unique_ptr<std::byte[]> heap_scratch_;
  std::byte* in_place_slots_[kInPlaceSlots];
  alignas(64) std::byte in_place_scratch_[kInPlaceScratch];
};

// How many elements of a class one value of a scalar word becomes.
void convert_scalar(std::uint64_t word, DType dtype, bool exact, std::uint64_t* out);

}  // namespace hearth::cpu
