// paged_attention of units: kernels/attention/paged_pieces.metal, paged_codes.metal and
// paged_matrix.metal.
#include <algorithm>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/attention/paged_parts.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

// Of the texts.
constexpr std::int64_t kPieceThreads = 256, kPieceSums = 4;
// Threads that a processor shall have registers for, where rows are loaded in vectors.
constexpr std::int64_t kPieceRoom = 512;
// Of paged_matrix(): its threads, those that a processor shall have registers for, and columns.
constexpr std::int64_t kMatrixThreads = 128, kMatrixRoom = 384;
constexpr std::int64_t kCombineThreads = 256, kCombineSums = 8 * 128;
// What the pieces of units may take before they are joined: more units than that are made in turns.
constexpr std::int64_t kMostPartBytes = std::int64_t{128} << 20;

std::uint32_t extent(std::int64_t x) { return static_cast<std::uint32_t>(x); }

// How the heads of a unit are shared out.
struct PieceSizes {
  std::int64_t lanes, queries;
  bool narrow;  // lanes read a row at once

  explicit PieceSizes(const PagedInputs& in) {
    const PagedAttentionParams& p = in.params;
    const std::int64_t columns = std::max(p.d, p.dv);
    lanes = columns <= 64 ? 8 : columns <= 128 ? 16 : 32;
    narrow = p.d <= 8 * lanes;
    const std::int64_t most = in.dtype() == DType::f64 ? 2 : 8;
    queries = 1;
    while (queries < std::min<std::int64_t>(p.group, most)) queries *= 2;
    const std::int64_t size = in.dtype() == DType::f64 ? 8 : 4;
    const std::int64_t memory = runtime::common_traits().threadgroup_memory;
    const std::int64_t sums = kPieceSums * 8 * lanes;
    while (queries > 1 &&
           queries * (pitch(in) + kPagedPiece + sums) * size + kPagedPiece * size_of(DType::i32) >
               memory) {
      queries /= 2;
    }
  }
  static std::int64_t pitch(const PagedInputs& in) {
    return ceil_div<std::int64_t>(in.params.d, 8) * 8;
  }
};

// How many threadgroups share the pieces of a row: several where rows are few.
std::int64_t shares_of_pieces(const PagedInputs& in, const PagedAttentionParams& p,
                              std::int64_t threads) {
  const std::int64_t lines = std::max<std::int64_t>(p.units * p.kv_heads * p.blocks, 1);
  const std::int64_t enough = 4 * resident_groups(*in.signature.device, threads);
  return std::clamp<std::int64_t>(ceil_div(enough, lines), 1,
                                  std::min<std::int64_t>(p.pieces, kMaxLayers));
}

Step pieces_step(StepPlan& plan, const PagedInputs& in, const PieceSizes& sizes,
                 const StepArgument& units, const StepArgument& parts,
                 const StepArgument& row_stats, bool wide, bool rare) {
  PagedAttentionParams p = in.params;
  p.blocks = ceil_div(p.group, sizes.queries);
  const std::string value = in.value();
  const std::string cache = in.cache_memory();
  const std::int64_t bytes = wide ? kPacketBytes : 1;
  const std::int64_t shares = shares_of_pieces(in, p, kPieceThreads);
  return KernelCall("attention/paged_pieces.metal", "paged_pieces",
                    {dtype_struct(in.dtype()), dtype_struct(in.cache_dtype()),
                     std::to_string(sizes.lanes), std::to_string(sizes.queries), truth(wide),
                     truth(sizes.narrow), truth(in.has_softcap)})
      .read(in.memory(), "q", in.arguments[paged::kQ])
      .read(cache, "keys", aligned(in.arguments[paged::kKeys], bytes))
      .read(cache, "values", aligned(in.arguments[paged::kValues], bytes))
      .read("int", "pages", in.arguments[paged::kPages])
      .read("int", "units", units)
      .write(value, "parts", parts)
      .write(value, "row_stats", row_stats)
      .constants(p)
      .threadgroup(value, "query", std::max<std::int64_t>(sizes.queries * PieceSizes::pitch(in), 1))
      .threadgroup(value, "weights", sizes.queries * kPagedPiece)
      .threadgroup(value, "sums", kPieceSums * sizes.queries * 8 * sizes.lanes)
      .threadgroup("int", "slots", kPagedPiece)
      .step(plan, {extent(p.units), extent(p.kv_heads * p.blocks), extent(shares)},
            {extent(kPieceThreads)}, wide ? kPieceRoom : kPieceThreads, rare);
}

// The same by tensor cores. Addresses fit vectors.
Step matrix_step(StepPlan& plan, const PagedInputs& in, const StepArgument& units,
                 const StepArgument& parts, const StepArgument& row_stats) {
  PagedAttentionParams p = in.params;
  std::int64_t queries = 1;
  while (queries < std::min<std::int64_t>(p.group, 8)) queries *= 2;
  p.blocks = ceil_div(p.group, queries);
  const std::int64_t columns = std::max(p.d, p.dv) <= 64 ? 64 : kMostUnitColumns;
  const std::int64_t simdgroups = kMatrixThreads / kSimdWidth;
  const std::int64_t shares = shares_of_pieces(in, p, kMatrixThreads);
  const TensorSpec &keys = in.input(paged::kKeys), &values = in.input(paged::kValues);
  const auto vectors = [&](int i, paged::CacheFormat format) {
    return aligned(in.arguments[i], PagedInputs::wide_bytes(format));
  };
  return KernelCall("attention/paged_matrix.metal", "paged_matrix",
                    {dtype_struct(in.dtype()), dtype_struct(in.matrix_dtype()),
                     PagedInputs::loader(keys, in.key_format, true),
                     PagedInputs::loader(values, in.value_format, true), std::to_string(columns),
                     std::to_string(queries), truth(p.d == columns && p.dv == columns),
                     truth(in.has_softcap)})
      .read(in.memory(), "q", vectors(paged::kQ, 0))
      .read(dialect_type(keys.dtype), "keys", vectors(paged::kKeys, in.key_format))
      .read(dialect_type(values.dtype), "values", vectors(paged::kValues, in.value_format))
      .read("int", "pages", in.arguments[paged::kPages])
      .read("int", "units", units)
      .write("float", "parts", parts)
      .write("float", "row_stats", row_stats)
      .constants(p)
      .threadgroup("float", "shared", simdgroups * queries * (columns + 6))
      .threadgroup("int", "slots", kPagedPiece)
      .step(plan, {extent(p.units), extent(p.kv_heads * p.blocks), extent(shares)},
            {extent(kMatrixThreads)}, kMatrixRoom);
}

// The same of caches that are read differently.
Step codes_step(StepPlan& plan, const PagedInputs& in, const PieceSizes& sizes,
                const StepArgument& units, const StepArgument& parts, const StepArgument& row_stats,
                bool wide, bool rare) {
  constexpr std::int64_t kCodeThreads = 128;  // of the text
  PagedAttentionParams p = in.params;
  p.blocks = ceil_div(p.group, sizes.queries);
  const std::string value = in.value();
  const TensorSpec &keys = in.input(paged::kKeys), &values = in.input(paged::kValues);
  const auto bytes = [&](paged::CacheFormat format) {
    return wide ? PagedInputs::wide_bytes(format) : 1;
  };
  const std::int64_t shares = shares_of_pieces(in, p, kCodeThreads);
  return KernelCall(
             "attention/paged_codes.metal", "paged_cache_pieces",
             {dtype_struct(in.dtype()), PagedInputs::loader(keys, in.key_format, wide),
              PagedInputs::loader(values, in.value_format, wide), std::to_string(sizes.lanes),
              std::to_string(sizes.queries), truth(in.has_softcap)})
      .read(in.memory(), "q", in.arguments[paged::kQ])
      .read(dialect_type(keys.dtype), "keys",
            aligned(in.arguments[paged::kKeys], bytes(in.key_format)))
      .read(dialect_type(values.dtype), "values",
            aligned(in.arguments[paged::kValues], bytes(in.value_format)))
      .read("int", "pages", in.arguments[paged::kPages])
      .read("int", "units", units)
      .write(value, "parts", parts)
      .write(value, "row_stats", row_stats)
      .constants(p)
      .threadgroup(value, "query", std::max<std::int64_t>(sizes.queries * PieceSizes::pitch(in), 1))
      .threadgroup(value, "weights", sizes.queries * kPagedPiece)
      .threadgroup(value, "sums", sizes.queries * 8 * sizes.lanes)
      .threadgroup("int", "slots", kPagedPiece)
      .step(plan, {extent(p.units), extent(p.kv_heads * p.blocks), extent(shares)},
            {extent(kCodeThreads)}, in.dtype() == DType::f64 ? kCodeThreads : kPieceRoom, rare);
}

// The units that the list at `units` begins with, as many as in.params says.
void add_units(StepPlan& plan, const PagedInputs& in, const StepArgument& units,
               const StepArgument& parts, const StepArgument& row_stats, bool by_matrix) {
  const PagedAttentionParams& p = in.params;
  const PieceSizes sizes(in);
  plan.add_step(in.rows_fit_vectors(), [&](bool wide, bool rare) {
    if (by_matrix && wide && std::max(p.d, p.dv) <= kMostUnitColumns) {
      return matrix_step(plan, in, units, parts, row_stats);
    }
    const auto step = in.is_uniform() ? pieces_step : codes_step;
    return step(plan, in, sizes, units, parts, row_stats, wide, rare);
  });
  plan.add_step(
      KernelCall("attention/paged_pieces.metal", "paged_combine", {dtype_struct(in.dtype())})
          .read(in.value(), "parts", parts)
          .read(in.value(), "row_stats", row_stats)
          .read("int", "units", units)
          .read(in.memory(), "sinks", in.arguments[paged::kSinks])
          .write(in.memory(), "out", output_argument(in.signature))
          .constants(p)
          .threadgroup(in.value(), "sums", kCombineSums)
          .step(plan, {extent(p.units), extent(p.heads)}, {extent(kCombineThreads)},
                kCombineThreads));
}

}  // namespace

void add_paged_units(StepPlan& plan, const PagedInputs& in, const StepArgument& units,
                     bool by_matrix) {
  const PagedAttentionParams& p = in.params;
  if (p.units == 0) return;
  const std::int64_t lines = p.heads * p.pieces, size = sum_bytes(in.dtype());
  const std::int64_t most = std::clamp<std::int64_t>(
      kMostPartBytes / std::max<std::int64_t>(lines * (p.dv + 2) * size, 1), 1, p.units);
  const StepArgument parts = workspace(plan, most * lines * p.dv * size);
  const StepArgument row_stats = workspace(plan, most * lines * 2 * size);
  for (std::int64_t first = 0; first < p.units; first += most) {
    PagedInputs some = in;
    some.params.units = std::min(most, p.units - first);
    StepArgument at = units;
    at.offset += first * kPagedEntryBytes;
    at.bytes = some.params.units * kPagedEntryBytes;
    add_units(plan, some, at, parts, row_stats, by_matrix);
  }
}

}  // namespace hearth::gpu
