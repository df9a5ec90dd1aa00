#include "kernels/regions/reduction_text.h"

#include <algorithm>
#include <bit>

#include "codegen/dialect_types.h"
#include "codegen/text_builder.h"
#include "graph/op_def.h"
#include "kernels/launch/fast_divmod.h"

namespace hearth::gpu {
namespace {

using runtime::KernelParameter;
using Kind = KernelParameter::Kind;

constexpr int kPacketBytes = 16;
constexpr int kMostUnrolled = 4;
constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kSimd = 32;
constexpr int kLongRegion = 512;
// Bytes of accumulators that a thread holds for a row of a vector; along rows a vector's are short
// lived, as long as each is a plain value.
constexpr int kAccumulatorBytes = 64;
constexpr int kPartBytes = 128;
// Threadgroups that fill a large GPU: rows a few times over. Columns end with more work of their
// own, and take fewer, but more where each thread has little in flight.
constexpr std::int64_t kRowGroups = 2048;
constexpr std::int64_t kColumnGroups = 512;
constexpr std::int64_t kElementColumnGroups = 1024;
// Threadgroups of half the threads, up to which all are under way at once on a large GPU. Of whole
// ones it holds about half as many, and what comes second finds it half empty.
constexpr std::int64_t kHalfColumnGroups = 1280;
// Partial results that a thread combines one after the other, where there are threads enough.
constexpr std::int64_t kCombinedAtOnce = 4;
// A chunk is worth its partial result from so many elements a thread on.
constexpr std::int64_t kChunkElements = 32;
constexpr std::int64_t kManyResults = 1 << 24;
// Rows for which one simdgroup each fills a large GPU, and vectors up to which it does best.
constexpr std::int64_t kManyRows = 8192;
constexpr std::int64_t kSimdVectors = 2048;

std::int64_t power_of_two(std::int64_t x) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}
std::int64_t bits_of(std::int64_t power) {
  return std::countr_zero(static_cast<std::uint64_t>(power));
}
std::uint32_t u32(std::int64_t x) { return static_cast<std::uint32_t>(x); }

int operands_of(const Region& region) {
  return region.first_scalar() + static_cast<int>(region.outputs.size());
}

// The dtype that memory of a class has.
DType class_dtype(DType dtype) {
  constexpr DType kClass[kDTypeCount] = {DType::f64, DType::f32, DType::f32, DType::f32, DType::i64,
                                         DType::i32, DType::i32, DType::i32, DType::u64, DType::i64,
                                         DType::i32, DType::i32, DType::i32};
  return kClass[static_cast<int>(dtype)];
}

// What is accumulated, and what it is called in kernel text.
struct Accumulation {
  explicit Accumulation(const Region& region)
      : op(*region.reduction.op),
        dtype(region.reduction.dtype),
        reduced(reduced_dtype(region)),
        finds(finds_index(op)),
        pairs(region.reduction.precise && dtype == DType::f32 &&
              std::string_view(op.name.text) == "sum") {}
  const OpDef& op;
  DType dtype;    // of the result
  DType reduced;  // of the values
  bool finds;     // an index, which is kept beside the value
  bool pairs;     // two floats (kernels/reduce/compensated_sum.metal)

  // Of an accumulator in memory.
  std::int64_t bytes(bool wide) const {
    const std::int64_t value = size_of(class_dtype(reduced));
    if (pairs) return 2 * value;
    return finds ? (wide || value == 8 ? 16 : 8) : value;
  }
  std::string kept(bool wide) const {
    if (pairs) return "float2";
    if (!finds) return value_type(dtype);
    return bytes(wide) == 16 ? "ulong2" : "uint2";
  }
  // Behind the definition of `position`. With `partial`, what is stored is an accumulator; with
  // `within_words`, elements of a vector are combined with each other.
  std::string text(bool wide, bool partial, bool within_words) const;
};

struct Axes {
  std::vector<int> kept, reduced;
  bool columns = false;  // the innermost axis is kept
};
Axes axes_of(const RegionLayout& layout) {
  Axes axes;
  for (std::size_t i = 0; i < layout.axes.size(); ++i) {
    (layout.axes[i].reduced ? axes.reduced : axes.kept).push_back(static_cast<int>(i));
  }
  axes.columns = !layout.axes.empty() && !layout.axes.back().reduced;
  return axes;
}

// How threads share the work, for vectors of a width.
struct Split {
  std::int64_t across = 1;  // rows: threads of a row; columns: threads side by side
  std::int64_t threads = kThreads;
  std::int64_t groups = 1;  // threadgroups without chunks
  std::int64_t chunks = 1;
  std::int64_t chunk = 1;   // vectors of a row, or rows
  bool short_rows = false;  // of one vector a thread
};

// Rounds chunks to whole steps of a threadgroup.
void cut(Split* split, std::int64_t length, std::int64_t step, std::int64_t at_most) {
  split->chunk = std::max<std::int64_t>(parts(parts(length, at_most), step) * step, 1);
  split->chunks = std::max<std::int64_t>(parts(length, split->chunk), 1);
}

Split split_rows(const RegionLayout& layout, int width, int unroll, std::int64_t most_chunks) {
  const std::int64_t vectors = layout.reduced_elements() / width;
  const std::int64_t rows = layout.results;
  Split split;
  if (vectors <= kSimd) {
    split.across = power_of_two(vectors);
    split.short_rows = true;
  } else {
    split.across = rows >= kManyRows && vectors <= kSimdVectors ? kSimd : kThreads;
    if (split.across == kThreads && vectors < 2 * kThreads) {
      split.across = std::max(kSimd, power_of_two(vectors) / 4);
    }
  }
  if (split.short_rows) {
    split.groups = parts(rows, kThreads / split.across * unroll);
    return split;
  }
  if (split.across > kSimd) split.threads = split.across;
  split.groups = parts(rows, split.threads / split.across);
  const bool whole = split.across == kThreads;
  cut(&split, vectors, kThreads, whole ? most_chunks : 1);
  return split;
}

Split split_columns(const RegionLayout& layout, int width, int unroll, std::int64_t most_chunks) {
  const std::int64_t columns = layout.results / width;
  const std::int64_t rows = layout.reduced_elements();
  Split split;
  const std::int64_t fewest = std::min(kSimd, power_of_two(columns));
  const std::int64_t high = std::min(kThreads / fewest, power_of_two(parts(rows, unroll)));
  split.across = kThreads / high;
  split.groups = parts(columns, split.across);
  if (high > 1 && split.groups >= kColumnGroups && split.groups <= kHalfColumnGroups) {
    split.threads = kThreads / 2;
  }
  cut(&split, rows, split.threads / split.across, most_chunks);
  return split;
}

// Chunks that the workspace has room for: by the widest vectors, so that narrower ones fit.
std::int64_t most_chunks(const RegionLayout& layout, bool columns, int width) {
  const RegionOperand& result = layout.operands.back();
  // Partial results lie like the result.
  if (result.span != layout.results || layout.results > kManyResults) return 1;
  std::int64_t groups = layout.results;
  std::int64_t wanted = kRowGroups;
  std::int64_t worthwhile = layout.reduced_elements() / (kThreads * kChunkElements);
  if (columns) {
    const Split whole = split_columns(layout, width, kMostUnrolled, 1);
    groups = whole.groups;
    wanted = width > 1 ? kColumnGroups : kElementColumnGroups;
    worthwhile = layout.reduced_elements() / (whole.threads / whole.across * kChunkElements);
  }
  return std::clamp<std::int64_t>(parts(wanted, std::max<std::int64_t>(groups, 1)), 1,
                                  std::max<std::int64_t>(worthwhile, 1));
}

std::string Accumulation::text(bool wide, bool partial, bool within_words) const {
  if (finds) {
    const bool smallest = std::string_view(op.name.text) == "argmin";
    return joined("typedef ", value_type(reduced), " Compared;\ntypedef ",
                  size_of(class_dtype(reduced)) == 8 ? "ulong" : "uint", " Bits;\ntypedef ",
                  bytes(wide) == 16 ? "ulong" : "uint", " Word;\ntypedef ", kept(wide),
                  " Kept;\ntypedef ", dtype_struct(dtype),
                  " Index;\nconstexpr constant bool kSmallest = ", smallest ? "true" : "false",
                  ";\nHEARTH_INLINE Compared region_worst() { return ", identity_value(op, reduced),
                  "; }\n#include \"kernels/reduce/arg_reduce.metal\"\n", "typedef ",
                  partial ? "Partial" : "Found", " Target;\n");
  }
  if (pairs) {
    return joined("#include \"kernels/reduce/compensated_sum.metal\"\ntypedef ",
                  partial ? "Partial" : "Rounded", " Target;\n");
  }
  const DType target = partial ? class_dtype(dtype) : dtype;
  return joined(
      "typedef ", value_type(dtype), " Accumulator;\ntypedef ", dtype_struct(target),
      " Target;\nHEARTH_INLINE Accumulator region_identity() { return ", identity_value(op, dtype),
      "; }\nHEARTH_INLINE Accumulator region_lift(Accumulator x, position) { return x; }\n"
      "typedef Accumulator Kept;\n"
      "HEARTH_INLINE Kept region_keep(Accumulator x) { return x; }\n"
      "HEARTH_INLINE Accumulator region_kept(Kept x) { return x; }\n"
      "HEARTH_INLINE Accumulator region_combine(Accumulator a, Accumulator b) {\n  return ",
      combine_formula(op, within_words), "(a, b);\n}\n");
}

constexpr const char* kIncludes =
    "#include \"kernels/formulas/formulas.h\"\n#include \"kernels/blocks/elements.h\"\n";

BuiltKernel combine_kernel(const Region& region, const RegionLayout& layout, std::int64_t chunks) {
  const Accumulation accumulation(region);
  const DType dtype = accumulation.dtype;
  BuiltKernel built;
  built.source.name = joined("region_combine_", accumulation.op.name.text, "_", name(dtype),
                             accumulation.pairs ? "_precise" : "");
  built.source.text = joined(kIncludes, "typedef ", layout.wide ? "ulong" : "uint", " position;\n",
                             accumulation.text(layout.wide, false, false),
                             "#include \"kernels/reduce/combine.metal\"\n");
  built.source.function = "region_combine_chunks";
  built.source.max_threads = static_cast<int>(kThreads);
  built.source.parameters = {
      {Kind::read, accumulation.kept(layout.wide), "partial"},
      {Kind::write, dialect_type(dtype), "result"},
      {Kind::constant, "CombineParams", "p"},
      {Kind::threadgroup, accumulation.kept(layout.wide), "shared", kThreads}};
  const std::int64_t size = size_of(dtype);
  const RegionOperand& result = layout.operands.back();
  built.operands = {
      {kWorkspaceOperand, 0, chunks * layout.results * accumulation.bytes(layout.wide), 1},
      {operands_of(region), result.lowest * size, result.span * size, 1}};
  const std::int64_t high =
      std::clamp(power_of_two(chunks / kCombinedAtOnce), kThreads / kSimd, kThreads);
  const std::int64_t wide = std::min(kThreads / high, power_of_two(layout.results));
  KernelConstants constants(false);
  constants.add_u32("results", layout.results);
  constants.add_u32("splits", chunks);
  constants.add_u32("wide", wide);
  constants.add_u32("wide_bits", bits_of(wide));
  built.constants = constants.bytes();
  built.has_f64 = accumulation.reduced == DType::f64;
  built.groups = {u32(parts(layout.results, wide)), 1, 1};
  built.threads = {u32(kThreads), 1, 1};
  return built;
}

}  // namespace

int reduction_width(const Region& region, const RegionLayout& layout, const RegionValues& values) {
  int limit = kPacketBytes / widest_operand(region, layout, values);
  const Axes axes = axes_of(layout);
  while (limit > 1 && limit * values.instructions() > kLongRegion) limit /= 2;
  const Accumulation accumulation(region);
  const bool parts_only = !axes.columns && !accumulation.finds;
  const std::int64_t bytes = accumulation.bytes(layout.wide);
  while (limit * bytes > (parts_only ? kPartBytes : kAccumulatorBytes)) limit /= 2;
  return vector_width(layout, operands_of(region), limit,
                      !axes.columns && axes.reduced.size() <= 1);
}

BuiltReduction reduction_kernels(const Region& region, const RegionLayout& layout,
                                 const RegionValues& values, int width, std::uint64_t aliased) {
  const Axes axes = axes_of(layout);
  RegionAccess access(region, layout, values, width, aliased);
  KernelConstants& constants = access.constants();
  const int accumulators = axes.columns ? width : 1;
  int unroll = access.unroll(kMostUnrolled);
  const Accumulation accumulation(region);
  const std::int64_t accumulator_bytes = accumulation.bytes(layout.wide);
  while (unroll > 1 && unroll * accumulators * accumulator_bytes > 2 * kAccumulatorBytes)
    unroll /= 2;

  const std::int64_t room =
      most_chunks(layout, axes.columns, reduction_width(region, layout, values));
  const Split split = axes.columns ? split_columns(layout, width, unroll, room)
                                   : split_rows(layout, width, unroll, room);
  const bool chunked = split.chunks > 1;
  const bool tail = !axes.columns && axes.reduced.size() <= 1 && width > 1;

  if (axes.columns) {
    constants.add_positions("columns", {layout.results / width});
    constants.add_positions("rows", {layout.reduced_elements()});
    constants.add_u32("wide", split.across);
    constants.add_u32("wide_bits", bits_of(split.across));
    constants.add_offsets("result_inner", {layout.axes.back().strides.back()});
  } else {
    constants.add_positions("rows", {layout.results});
    constants.add_positions("vectors", {layout.reduced_elements() / width});
    constants.add_u32("lanes", split.across);
    constants.add_u32("lane_bits", bits_of(split.across));
    if (tail) constants.add_u32("tail", layout.reduced_elements() % width);
  }
  constants.add_positions("chunk", {split.chunk});
  constants.add_offsets("split_step", {chunked ? layout.results : 0});

  std::string functions = access.offsets_function("kept_at", axes.kept, axes.columns, false);
  functions += access.offsets_function("reduced_at", axes.reduced, !axes.columns, true);
  functions +=
      access.position_function("region_result", operands_of(region), axes.kept, axes.columns);
  functions += accumulation.text(layout.wide, chunked, !axes.columns);
  if (tail) functions += access.tail_function(true);

  BuiltReduction built;
  const std::string stored =
      chunked ? accumulation.kept(layout.wide) : dialect_type(accumulation.dtype);
  const KernelParameter result{Kind::write, stored, "result"};
  access.describe(&built.reduce, &result);
  if (!split.short_rows) {
    built.reduce.source.parameters.push_back({Kind::threadgroup, accumulation.kept(layout.wide),
                                              "shared", axes.columns ? kThreads * width : kSimd});
  }
  built.reduce.source.name = joined(region_name(region, axes.columns ? "columns" : "rows"),
                                    accumulation.pairs ? "_precise" : "");
  const std::string body = axes.columns ? "columns" : split.short_rows ? "short_rows" : "rows";
  built.reduce.source.text =
      joined(kIncludes, access.text(), functions, "#define HEARTH_REGION_TAIL ", tail ? 1 : 0,
             "\n#include \"kernels/reduce/", body, ".metal\"\n",
             access.entry_begin(joined("device ", result.type, "* result"),
                                split.short_rows ? "" : "threadgroup Kept* shared, "),
             "  region_", body, "<", width, ", ", unroll, ">(o, p, result, ",
             split.short_rows ? "" : "shared, ", "ctx);\n}\n");
  built.reduce.source.function = "region";
  built.reduce.source.max_threads = static_cast<int>(kThreads);
  built.reduce.groups = {u32(split.groups), u32(split.chunks), 1};
  built.reduce.threads = {u32(split.threads), 1, 1};
  if (chunked) {
    const std::int64_t bytes = split.chunks * layout.results * accumulator_bytes;
    built.reduce.operands.push_back({kWorkspaceOperand, 0, bytes, 1});
    built.combine = combine_kernel(region, layout, split.chunks);
  } else {
    const RegionOperand& operand = layout.operands.back();
    const std::int64_t size = size_of(operand.dtype);
    built.reduce.operands.push_back(
        {operands_of(region), operand.lowest * size, operand.span * size, 1});
  }
  if (room > 1) built.workspace_bytes = room * layout.results * accumulator_bytes;
  return built;
}

}  // namespace hearth::gpu
