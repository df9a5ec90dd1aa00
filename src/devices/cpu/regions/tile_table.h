// The vector operations that tile programs are made of, and the table that finds them.
//
// A tile is a run of at most kTileElements values in one compute class, held in the first-level
// cache. A step applies one operation to whole tiles. Its operands are slots: pointers to memory,
// to tiles, or to a single value in the class of the step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/compute_class.h"
#include "graph/combine.h"

namespace hearth::cpu {

inline constexpr std::int64_t kTileElements = 256;
// Steps between tiles run over a multiple of this, so that only memory needs masked ends.
inline constexpr std::int64_t kTileQuantum = 16;

// The elementwise ops, by name, and fused forms: a*b+c, a*b-c, c-a*b with one rounding; the sum and
// the difference of a*b and the rounded c*d; -(a*b).
enum class TileOp : std::uint8_t {
#define UNARY(name) name,
#define BINARY(name) name,
#define COMPARISON(name) name,
#define LOGICAL(name) name,
#define TERNARY(name) name,
#define PREDICATE(name) name,
#include "ops/op_list.def"
  fma,
  fms,
  fnma,
  fma_mul,
  fms_mul,
  nmul,
  count
};
inline constexpr int kTileOps = static_cast<int>(TileOp::count);

struct TileStep;
using Slots = std::byte* const*;
using TileFunction = void (*)(const TileStep& step, Slots slots, std::int64_t n);

struct TileStep {
  TileFunction function;
  std::uint16_t target, a, b, c, d;  // slots
  bool whole;                        // no operand is memory: n is rounded up to kTileQuantum
  bool spills;                       // the target is a tile: its last vector may be written whole
  std::int64_t stride;               // of strided loads and stores, in elements
};

// From memory of a dtype to a tile and back; strides in elements, 0 repeats one element. Narrowing
// integers wrap, half floats round.
using LoadFunction = void (*)(std::byte* tile, const std::byte* memory, std::int64_t n,
                              std::int64_t stride);
using StoreFunction = void (*)(std::byte* memory, const std::byte* tile, std::int64_t n,
                               std::int64_t stride);

// Partial results that a row is folded into; a multiple of every vector.
inline constexpr std::int64_t kFoldLanes = 64;

// How many times TileTable::repeat repeats an element at most.
inline constexpr int kMaxRepeats = 4;

struct FoldFunctions {
  // lanes[i % kFoldLanes] combined with values[i], for i < n.
  void (*row)(std::byte* lanes, const std::byte* values, std::int64_t n);
  // lanes[0] = all of lanes, halves with halves.
  void (*lanes)(std::byte* lanes);
  // into[i] combined with values[i + r * stride] for i < n, r < rows in order; stride in elements.
  void (*columns)(std::byte* into, const std::byte* values, std::int64_t n, std::int64_t rows,
                  std::int64_t stride);
  // results[r] = all of values[r * length ... + length), for r < rows.
  void (*segments)(std::byte* results, const std::byte* values, std::int64_t length,
                   std::int64_t rows);
};

struct TileTable {
  // By op, class of the arguments, and which arguments are single values (bit i = argument i). Null
  // where there is no such form; the form without single values exists wherever the op does.
  TileFunction op[kTileOps][kComputeClasses][16];
  TileFunction cast[kComputeClasses][kComputeClasses];  // saturating from floats, NaN to 0
  TileFunction cast_to_odd[kComputeClasses];  // to f32, inexact values get an odd last bit
  TileFunction to_bool[kComputeClasses];
  TileFunction narrow[kDTypeCount];    // wraps to a narrow integer, rounds to a half float
  TileFunction saturate[kDTypeCount];  // clamps to a narrow integer
  TileFunction copy[kComputeClasses];
  TileFunction fill[kComputeClasses];    // repeats a single value
  TileFunction stream[kComputeClasses];  // copies past the cache
  TileFunction load_dense[kDTypeCount];
  TileFunction load_strided[kDTypeCount];
  TileFunction store_dense[kDTypeCount];
  TileFunction store_strided[kDTypeCount];
  LoadFunction load[kDTypeCount];
  StoreFunction store[kDTypeCount];
  FoldFunctions fold[kCombines][kComputeClasses];  // by Combine
  FoldFunctions fold_bf16[kCombines];  // values are bf16 as they lie in memory, lanes f32
  // Whole cache lines to an aligned target, past the cache. A fence is up to the caller.
  void (*stream_lines)(std::byte* to, const std::byte* from, std::int64_t bytes);
  // Moves of n elements of 1, 2, 4 and 8 bytes: the one at `from` first, then those before it; each
  // twice, three or four times.
  void (*reverse[4])(std::byte* to, const std::byte* from, std::int64_t n);
  void (*repeat[4][kMaxRepeats - 1])(std::byte* to, const std::byte* from, std::int64_t n);
  // Whether every index exists in an axis of that extent.
  bool (*all_inside)(const std::int64_t* indices, std::int64_t n, std::int64_t extent);
  // transposed[a * width + i] = word a of source row i, for 16 rows of 16 words.
  void (*transpose_block32)(const std::byte* from, std::int64_t row_step, std::uint32_t* transposed,
                            std::int64_t width);
};

// The table for this processor.
const TileTable& tile_table();

// Each fills its part of the table for this processor.
void fill_tile_f32(TileTable& table);
void fill_tile_f64(TileTable& table);
void fill_tile_integers(TileTable& table);
void fill_tile_moves(TileTable& table);
void fill_tile_folds(TileTable& table);

}  // namespace hearth::cpu
