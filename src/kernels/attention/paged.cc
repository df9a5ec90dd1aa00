// paged_attention: kernels/attention/paged.metal, paged_pieces.metal, paged_matrix.metal and
// paged_tiles.metal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/attention/attention.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "ops/attention/paged.h"

namespace hearth::gpu {

#include "kernels/attention/params.h"

namespace {

// Of the texts.
constexpr std::int64_t kPieceKeys = 256, kPieceThreads = 256, kPieceSums = 4, kPagedTile = 64;
// Threads that a processor shall have registers for, where rows are loaded in vectors.
constexpr std::int64_t kPieceRoom = 512;
// Of paged_matrix(): its threads, those that a processor shall have registers for, and columns.
constexpr std::int64_t kMatrixThreads = 128, kMatrixRoom = 384, kMatrixVector = 8,
                       kMostMatrixColumns = 128;
constexpr std::int64_t kCombineThreads = 256, kCombineSums = 8 * 128;
constexpr std::int64_t kEntryBytes = 16;  // of a unit or tile
// Rows of a sequence up to which they are units.
constexpr std::int64_t kFewPagedRows = 4;
constexpr std::int64_t kMaxPagedColumns = 1024;  // of a row of q
constexpr std::int64_t kMostTileColumns = 128;   // that a threadgroup makes

std::uint32_t extent(std::int64_t x) { return static_cast<std::uint32_t>(x); }

// The inputs of a launch and what its kernels know of them.
struct PagedInputs {
  const Signature& signature;
  PagedAttentionParams params{};
  StepArgument arguments[paged::kInputs];
  paged::CacheFormat key_format, value_format;
  bool has_softcap;

  PagedInputs(const Signature& from, bool with_tiles) : signature(from) {
    const paged::Settings s = paged::settings_of(ParamReader(from.statics));
    const Shape& q = input(paged::kQ).shape;
    const Shape& keys = input(paged::kKeys).shape;
    const auto bits = [](double x) { return std::bit_cast<std::int64_t>(x); };
    const double log2e = 1 / std::log(2.0);
    has_softcap = s.softcap > 0;
    key_format = s.key_format;
    value_format = s.value_format;
    params.rows = q[0];
    params.heads = q[1];
    params.kv_heads = keys[1];
    params.group = q[1] / keys[1];
    params.d = q[2];
    params.dv = paged::columns_of(value_format, input(paged::kValues).shape[2]);
    params.sequences = input(paged::kPages).shape[0];
    params.most = input(paged::kPages).shape[1];
    params.page_size = s.page_size;
    params.page_count = keys[0] / s.page_size;
    // What reaches past all keys hides nothing.
    const std::int64_t most = params.most * s.page_size;
    params.window = s.window > most ? 0 : s.window;
    params.scale = bits(has_softcap ? s.scale / s.softcap : s.scale * log2e);
    params.softcap = bits(s.softcap * log2e);
    params.log2e = bits(log2e);
    params.q = rows_of(paged::kQ);
    params.keys = rows_of(paged::kKeys);
    params.values = rows_of(paged::kValues);
    params.pages = numbers_of(paged::kPages);
    params.starts = numbers_of(paged::kStarts);
    params.lengths = numbers_of(paged::kLengths);
    arguments[paged::kSinks] = arguments[paged::kQ];
    if (has(paged::kSinks)) {
      const StridedOperand sinks = strided_operand(input(paged::kSinks), paged::kSinks);
      arguments[paged::kSinks] = sinks.argument;
      params.sinks = 1;
      params.sink_base = sinks.base;
      params.sink_step = input(paged::kSinks).strides[0];
    }
    params.few = with_tiles ? kFewPagedRows : std::numeric_limits<std::int32_t>::max();
    params.units = with_tiles ? std::min(q[0], params.sequences * kFewPagedRows) : q[0];
    // Each sequence may end in a tile that is not whole, and rows of none before and after them.
    params.tiles = with_tiles ? ceil_div(q[0], kPagedTile) + params.sequences + 2 : 0;
    params.pieces = std::max<std::int64_t>(ceil_div(most, kPieceKeys), 1);
  }

  const TensorSpec& input(int i) const { return signature.inputs[static_cast<std::size_t>(i)]; }
  bool has(int i) const {
    return static_cast<std::size_t>(i) < signature.inputs.size() && !input(i).absent;
  }
  DType dtype() const { return input(paged::kQ).dtype; }
  DType cache_dtype() const { return input(paged::kKeys).dtype; }
  // What tensor cores multiply.
  DType matrix_dtype() const {
    return key_format != 0 || value_format != 0 ? DType::f16 : cache_dtype();
  }
  std::string memory() const { return dialect_type(dtype()); }
  std::string cache_memory() const { return dialect_type(cache_dtype()); }
  std::string value() const { return sum_type(dtype()); }

  // Whether a kernel reads keys and values alike, as floats.
  bool is_uniform() const {
    return key_format == 0 && value_format == 0 && cache_dtype() == input(paged::kValues).dtype;
  }
  // What a row of a cache is aligned to where it is loaded in vectors, or codes in words.
  static std::int64_t wide_bytes(paged::CacheFormat format) {
    return format == 0 ? kPacketBytes : is_turbo_bits(format) ? 4 : 2;
  }
  // The loader of a cache in kernels/attention/paged_codes.metal.
  static std::string loader(const TensorSpec& cache, paged::CacheFormat format, bool wide) {
    const std::string name = format == 0 ? std::string("FloatCache") + dtype_struct(cache.dtype)
                             : is_turbo_bits(format)
                                 ? "CodeCacheTurbo" + std::to_string(format)
                                 : "CodeCache" + format_struct(static_cast<DType>(format));
    return wide ? name + "Wide" : name;
  }

  // Whether rows of the caches can be loaded in vectors where the addresses fit.
  bool rows_fit_vectors() const {
    for (const int i : {paged::kKeys, paged::kValues}) {
      const TensorSpec& spec = input(i);
      const paged::CacheFormat format = i == paged::kKeys ? key_format : value_format;
      if (format != 0) {
        for (int axis = 0; axis < 2; ++axis) {
          if (spec.shape[axis] != 1 && spec.strides[axis] % wide_bytes(format) != 0) return false;
        }
        continue;
      }
      if (spec.shape[2] % 8 != 0 || spec.strides[2] != 1) return false;
      for (int axis = 0; axis < 2; ++axis) {
        if (spec.shape[axis] != 1 && spec.strides[axis] % 8 != 0) return false;
      }
    }
    return true;
  }

 private:
  PagedOperand rows_of(int i) {
    const StridedOperand operand = strided_operand(input(i), i);
    arguments[i] = operand.argument;
    const Strides& strides = input(i).strides;
    return {.base = operand.base, .row = strides[0], .head = strides[1], .column = strides[2]};
  }
  PagedNumbers numbers_of(int i) {
    const TensorSpec& spec = input(i);
    const StridedOperand operand = strided_operand(spec, i);
    arguments[i] = operand.argument;
    // In words of 32 bits, the lower of an i64 first.
    const std::int64_t words = size_of(spec.dtype) / size_of(DType::i32);
    const int last = spec.shape.rank() - 1;
    return {.words = words,
            .base = operand.base * words,
            .row = last > 0 ? spec.strides[0] * words : 0,
            .column = spec.strides[last] * words};
  }
};

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
      .threadgroup(value, "weights", sizes.queries * kPieceKeys)
      .threadgroup(value, "sums", kPieceSums * sizes.queries * 8 * sizes.lanes)
      .threadgroup("int", "slots", kPieceKeys)
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
  const std::int64_t columns = std::max(p.d, p.dv) <= 64 ? 64 : kMostMatrixColumns;
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
      .threadgroup("int", "slots", kPieceKeys)
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
      .threadgroup(value, "weights", sizes.queries * kPieceKeys)
      .threadgroup(value, "sums", sizes.queries * 8 * sizes.lanes)
      .threadgroup("int", "slots", kPieceKeys)
      .step(plan, {extent(p.units), extent(p.kv_heads * p.blocks), extent(shares)},
            {extent(kCodeThreads)}, kCodeThreads, rare);
}

void add_units(StepPlan& plan, const PagedInputs& in, const StepArgument& units, bool by_matrix) {
  const PagedAttentionParams& p = in.params;
  if (p.units == 0) return;
  const std::int64_t lines = p.units * p.heads * p.pieces, size = sum_bytes(in.dtype());
  const StepArgument parts = workspace(plan, lines * p.dv * size);
  const StepArgument row_stats = workspace(plan, lines * 2 * size);
  const PieceSizes sizes(in);
  plan.add_step(in.rows_fit_vectors(), [&](bool wide, bool rare) {
    if (by_matrix && wide) return matrix_step(plan, in, units, parts, row_stats);
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

void add_tiles(StepPlan& plan, const PagedInputs& in, const StepArgument& tiles) {
  // Of kernels/attention/tiles.metal.
  constexpr std::int64_t kDepth = 32, kPitch = kPagedTile + 4, kValues = 2048, kTileThreads = 128;
  PagedAttentionParams p = in.params;
  const std::int64_t columns = p.dv <= 64 ? 64 : kMostTileColumns;
  p.blocks = ceil_div(p.dv, columns);
  const std::string cache = in.cache_memory();
  plan.add_step(KernelCall("attention/paged_tiles.metal", "paged_tiles",
                           {dtype_struct(in.dtype()), dtype_struct(in.cache_dtype()),
                            std::to_string(columns), truth(in.has_softcap)})
                    .read(in.memory(), "q", in.arguments[paged::kQ])
                    .read(cache, "keys", in.arguments[paged::kKeys])
                    .read(cache, "values", in.arguments[paged::kValues])
                    .read("int", "pages", in.arguments[paged::kPages])
                    .read("int", "tiles", tiles)
                    .read(in.memory(), "sinks", in.arguments[paged::kSinks])
                    .write(in.memory(), "out", output_argument(in.signature))
                    .constants(p)
                    .threadgroup("float", "slices", 2 * kDepth * kPitch)
                    .threadgroup("float", "value_slice", kValues)
                    .threadgroup("int", "slots", kPagedTile)
                    .step(plan, {extent(p.tiles), extent(p.heads * p.blocks)},
                          {extent(kTileThreads)}, kTileThreads));
}

Prepared prepare_paged(const Signature& signature, bool with_tiles, bool by_matrix) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  // No sequence has more rows than there are.
  with_tiles = with_tiles && signature.inputs[paged::kQ].shape[0] > kFewPagedRows;
  const PagedInputs in(signature, with_tiles);
  const auto entries = [&](std::int64_t count) {
    return workspace(*plan, std::max<std::int64_t>(count, 1) * kEntryBytes);
  };
  const StepArgument units = entries(in.params.units), tiles = entries(in.params.tiles);
  plan->add_step(KernelCall("attention/paged.metal", "paged_plan", {truth(with_tiles)})
                     .read("int", "starts", in.arguments[paged::kStarts])
                     .read("int", "lengths", in.arguments[paged::kLengths])
                     .write("int", "units", units)
                     .write("int", "tiles", tiles)
                     .constants(in.params)
                     .step(*plan, {1}, {extent(kSimdWidth)}, kSimdWidth));
  add_units(*plan, in, units, by_matrix);
  if (with_tiles) add_tiles(*plan, in, tiles);
  return prepared_steps(std::move(plan));
}

}  // namespace

namespace {

bool fits_pieces(const Signature& signature) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const Shape& q = signature.inputs[paged::kQ].shape;
  const Shape& values = signature.inputs[paged::kValues].shape;
  return q[0] <= kMost && values[0] <= kMost && q[2] <= kMaxPagedColumns &&
         q[1] * ceil_div<std::int64_t>(signature.output.shape[2], 64) <= kMaxLayers;
}

}  // namespace

bool accepts_paged_pieces(const Signature& signature) {
  return !paged::has_codes(ParamReader(signature.statics)) && fits_pieces(signature);
}

bool accepts_paged_codes(const Signature& signature) { return fits_pieces(signature); }

bool accepts_paged_tiles(const Signature& signature) {
  const DType keys = signature.inputs[paged::kKeys].dtype;
  return signature.output.dtype != DType::f64 && is_float(keys) && keys != DType::f64 &&
         signature.inputs[paged::kValues].dtype == keys && accepts_paged_pieces(signature);
}

namespace {

// Whether q becomes `keys` without a loss: few of f16 are bf16.
bool fits_matrix(const Signature& signature, DType keys) {
  const TensorSpec& q = signature.inputs[paged::kQ];
  const std::int64_t dv = signature.output.shape[2];
  const bool fits_keys = q.dtype == keys || (q.dtype == DType::bf16 && keys == DType::f16);
  return size_of(q.dtype) == 2 && fits_keys && q.shape[2] % kMatrixVector == 0 &&
         dv % kMatrixVector == 0 && std::max(q.shape[2], dv) <= kMostMatrixColumns &&
         element_count(signature.output.shape) > 0;
}

}  // namespace

bool accepts_paged_matrix(const Signature& signature) {
  return accepts_paged_tiles(signature) &&
         fits_matrix(signature, signature.inputs[paged::kKeys].dtype);
}

bool accepts_paged_code_matrix(const Signature& signature) {
  const paged::Settings s = paged::settings_of(ParamReader(signature.statics));
  const auto fits = [&](int i, paged::CacheFormat format) {
    return format != 0 || signature.inputs[static_cast<std::size_t>(i)].dtype == DType::f16;
  };
  return paged::has_codes(ParamReader(signature.statics)) && fits(paged::kKeys, s.key_format) &&
         fits(paged::kValues, s.value_format) && fits_pieces(signature) &&
         fits_matrix(signature, DType::f16);
}

bool fits_paged_matrix(const Signature& signature) {
  const TensorSpec& q = signature.inputs[paged::kQ];
  for (int axis = 0; axis < 2; ++axis) {
    if (q.shape[axis] != 1 && q.strides[axis] % kMatrixVector != 0) return false;
  }
  return q.strides[2] == 1 && PagedInputs(signature, false).rows_fit_vectors();
}

Prepared prepare_paged_pieces(const Signature& signature) {
  return prepare_paged(signature, false, false);
}
Prepared prepare_paged_tiles(const Signature& signature) {
  return prepare_paged(signature, true, false);
}
Prepared prepare_paged_matrix(const Signature& signature) {
  return prepare_paged(signature, true, true);
}
Prepared prepare_paged_code_matrix(const Signature& signature) {
  return prepare_paged(signature, false, true);
}

}  // namespace hearth::gpu
