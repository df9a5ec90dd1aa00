// paged_attention of units: kernels/attention/paged_pieces.metal, paged_codes.metal and
// paged_matrix.metal.
#include <algorithm>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/attention/paged_parts.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

// Registers of a thread, where rows are loaded in vectors.
constexpr std::int64_t kPieceRegisters = 128;
constexpr std::int64_t kMatrixRegisters = 170;  // likewise, of paged_matrix()
// What the pieces of units may take before they are joined: more units than that are made in turns.
constexpr std::int64_t kMostPartBytes = std::int64_t{128} << 20;

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
           queries * (pitch(in) + kPieceKeys + sums) * size + kPieceKeys * size_of(DType::i32) >
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

// What a kernel of units has for itself; the rest is the same of all (unit_step()).
struct UnitKernel {
  const char* file;
  const char* function;
  std::vector<std::string> arguments;
  // What addresses of queries, keys and values are multiples of.
  std::int64_t query_bytes, key_bytes, value_bytes;
  std::int64_t queries;  // heads of a unit
  struct Array {
    const char* name;
    std::int64_t count;
  };
  std::vector<Array> arrays;  // of sums
  std::int64_t threads;
  std::int64_t registers;  // of a thread; 0: as the compiler likes
};

// What units are read from and their results written to.
struct UnitBuffers {
  StepArgument units, parts, row_stats;
};

Step unit_step(StepPlan& plan, const PagedInputs& in, const UnitBuffers& buffers,
               const UnitKernel& kernel, bool rare) {
  PagedAttentionParams p = in.params;
  p.blocks = ceil_div(p.group, kernel.queries);
  const std::string value = in.value();
  const auto operand = [&](int i, std::int64_t bytes) { return aligned(in.arguments[i], bytes); };
  KernelCall call(kernel.file, kernel.function, kernel.arguments);
  call.read(in.memory(), "q", operand(paged::kQ, kernel.query_bytes))
      .read(dialect_type(in.input(paged::kKeys).dtype), "keys",
            operand(paged::kKeys, kernel.key_bytes))
      .read(dialect_type(in.input(paged::kValues).dtype), "values",
            operand(paged::kValues, kernel.value_bytes))
      .read("int", "pages", in.arguments[paged::kPages])
      .read("int", "units", buffers.units)
      .write(value, "parts", buffers.parts)
      .write(value, "row_stats", buffers.row_stats)
      .constants(p);
  for (const UnitKernel::Array& array : kernel.arrays) {
    call.threadgroup(value, array.name, array.count);
  }
  const std::int64_t shares = shares_of_pieces(in, p, kernel.threads);
  const std::int64_t most_threads =
      kernel.registers == 0
          ? kernel.threads
          : register_threads(*in.signature.device, kernel.registers, kernel.threads);
  return call.threadgroup("int", "slots", kPieceKeys)
      .step(plan, {u32(p.units), u32(p.kv_heads * p.blocks), u32(shares)}, {u32(kernel.threads)},
            most_threads, rare);
}

// Arrays of kernels whose lanes share columns out, where a threadgroup makes `sums` of them.
std::vector<UnitKernel::Array> piece_arrays(const PagedInputs& in, const PieceSizes& sizes,
                                            std::int64_t sums) {
  return {{"query", std::max<std::int64_t>(sizes.queries * PieceSizes::pitch(in), 1)},
          {"weights", sizes.queries * kPieceKeys},
          {"sums", sums * sizes.queries * 8 * sizes.lanes}};
}

UnitKernel pieces_kernel(const PagedInputs& in, bool wide) {
  const PieceSizes sizes(in);
  const std::int64_t bytes = wide ? kPacketBytes : 1;
  return {.file = "attention/paged_pieces.metal",
          .function = "paged_pieces",
          .arguments = {dtype_struct(in.dtype()), dtype_struct(in.cache_dtype()),
                        std::to_string(sizes.lanes), std::to_string(sizes.queries), truth(wide),
                        truth(sizes.narrow), truth(in.has_softcap)},
          .query_bytes = 1,
          .key_bytes = bytes,
          .value_bytes = bytes,
          .queries = sizes.queries,
          .arrays = piece_arrays(in, sizes, kPieceSums),
          .threads = kPieceThreads,
          .registers = wide ? kPieceRegisters : 0};
}

// Of caches that are read differently.
UnitKernel codes_kernel(const PagedInputs& in, bool wide) {
  const PieceSizes sizes(in);
  const auto bytes = [&](paged::CacheFormat format) {
    return wide ? PagedInputs::wide_bytes(format) : 1;
  };
  return {.file = "attention/paged_codes.metal",
          .function = "paged_cache_pieces",
          .arguments = {dtype_struct(in.dtype()),
                        PagedInputs::loader(in.input(paged::kKeys), in.key_format, wide),
                        PagedInputs::loader(in.input(paged::kValues), in.value_format, wide),
                        std::to_string(sizes.lanes), std::to_string(sizes.queries),
                        truth(in.has_softcap)},
          .query_bytes = 1,
          .key_bytes = bytes(in.key_format),
          .value_bytes = bytes(in.value_format),
          .queries = sizes.queries,
          .arrays = piece_arrays(in, sizes, 1),
          .threads = kCodeThreads,
          .registers = in.dtype() == DType::f64 ? 0 : kPieceRegisters};
}

// By tensor cores. Addresses fit vectors.
UnitKernel matrix_kernel(const PagedInputs& in) {
  const PagedAttentionParams& p = in.params;
  std::int64_t queries = 1;
  while (queries < std::min<std::int64_t>(p.group, 8)) queries *= 2;
  const std::int64_t columns = std::max(p.d, p.dv) <= 64 ? 64 : kMostUnitColumns;
  return {.file = "attention/paged_matrix.metal",
          .function = "paged_matrix",
          .arguments = {dtype_struct(in.dtype()), dtype_struct(in.matrix_dtype()),
                        PagedInputs::loader(in.input(paged::kKeys), in.key_format, true),
                        PagedInputs::loader(in.input(paged::kValues), in.value_format, true),
                        std::to_string(columns), std::to_string(queries),
                        truth(p.d == columns && p.dv == columns), truth(in.has_softcap)},
          .query_bytes = PagedInputs::wide_bytes(0),
          .key_bytes = PagedInputs::wide_bytes(in.key_format),
          .value_bytes = PagedInputs::wide_bytes(in.value_format),
          .queries = queries,
          .arrays = {{"shared", kPagedSimdgroups * queries * (columns + 6)}},
          .threads = kPagedSimdgroups * kSimdWidth,
          .registers = kMatrixRegisters};
}

// The units that the list begins with, as many as in.params says.
void add_units(StepPlan& plan, const PagedInputs& in, const UnitBuffers& buffers, bool by_matrix) {
  constexpr std::int64_t kCombineThreads = kCombineSimdgroups * kSimdWidth;
  const PagedAttentionParams& p = in.params;
  plan.add_step(in.rows_fit_vectors(), [&](bool wide, bool rare) {
    const bool is_matrix = by_matrix && wide && std::max(p.d, p.dv) <= kMostUnitColumns;
    const UnitKernel kernel = is_matrix         ? matrix_kernel(in)
                              : in.is_uniform() ? pieces_kernel(in, wide)
                                                : codes_kernel(in, wide);
    return unit_step(plan, in, buffers, kernel, rare && !is_matrix);
  });
  plan.add_step(
      KernelCall("attention/paged_pieces.metal", "paged_combine", {dtype_struct(in.dtype())})
          .read(in.value(), "parts", buffers.parts)
          .read(in.value(), "row_stats", buffers.row_stats)
          .read("int", "units", buffers.units)
          .read(in.memory(), "sinks", in.arguments[paged::kSinks])
          .write(in.memory(), "out", output_argument(in.signature))
          .constants(p)
          .threadgroup(in.value(), "sums", kCombineThreads * kCombineColumns)
          .step(plan, {u32(p.units), u32(p.heads)}, {u32(kCombineThreads)}, kCombineThreads));
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
    add_units(plan, some, {at, parts, row_stats}, by_matrix);
  }
}

}  // namespace hearth::gpu
