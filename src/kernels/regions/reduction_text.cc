#include "kernels/regions/reduction_text.h"
#include "kernels/launch/occupancy.h"

#include <algorithm>
#include <bit>

#include "codegen/dialect_types.h"
#include "codegen/text/text_builder.h"
#include "core/compute_class.h"
#include "graph/op_def.h"
#include "kernels/launch/divisor.h"

namespace hearth::gpu {
namespace {

using runtime::KernelParameter;
using Kind = KernelParameter::Kind;

constexpr int kMaxUnrolled = 4;
constexpr std::int64_t kReductionThreads = 256;
constexpr int kLongReduction = 512;
// Bytes of accumulators that a thread holds for a row of a vector; along rows a vector's are short
// lived, as long as each is a plain value.
constexpr int kAccumulatorBytes = 64;
constexpr int kPartBytes = 128;
// Partial results that a thread combines one after the other, where there are threads enough.
constexpr std::int64_t kCombinedAtOnce = 4;
// Elements of a thread from which on a chunk is worth its partial result.
constexpr std::int64_t kChunkElements = 32;
constexpr std::int64_t kManyResults = 1 << 24;
// Vectors of a row up to which one simdgroup for each does best, if rows fill the device.
constexpr std::int64_t kSimdVectors = 2048;

// Threadgroups that a device is to have. Rows fill it a few times over. Columns end with more work
// of their own, and take fewer, but more where each thread has little in flight.
struct Fillings {
  explicit Fillings(const runtime::DeviceTraits& device)
      : simdgroups(resident_groups(device, kSimdWidth) * 7 / 8),
        row_groups(2 * resident_groups(device, kReductionThreads)),
        column_groups(resident_groups(device, 2 * kReductionThreads)),
        element_column_groups(resident_groups(device, kReductionThreads)),
        half_column_groups(resident_groups(device, kReductionThreads) * 5 / 4) {}

  std::int64_t simdgroups;  // of a row each, which leave few places empty
  std::int64_t row_groups, column_groups, element_column_groups;
  // Threadgroups of half the threads, up to which all are under way at the same time. Of whole ones
  // the device holds about half as many, and what comes second finds it half empty.
  std::int64_t half_column_groups;
};

std::int64_t power_bits(std::int64_t power) {
  return std::countr_zero(static_cast<std::uint64_t>(power));
}

// What is accumulated, and what it is called in kernel text.
struct Accumulation {
  explicit Accumulation(const LoweredRegion& lowered)
      : reduction(lowered.region.reduction),
        dtype(reduction.dtype),
        reduced(lowered.reduced_dtype()),
        finds(reduction.op->finds_index),
        pairs(reduction.precise && dtype == DType::f32 && reduction.op->combine == Combine::sum),
        by_row(reduction.by_row && is_float(dtype) &&
               (reduction.op->combine == Combine::sum || reduction.op->combine == Combine::prod)) {}
  const RegionReduction& reduction;
  DType dtype;    // of the result
  DType reduced;  // of the values
  bool finds;     // an index, which is kept with the value
  bool pairs;     // two floats (kernels/reduce/compensated_sum.metal)
  // The order follows from what is added up only: one element at a time, no parts by how full the
  // device is.
  bool by_row;

  // Of an accumulator in memory.
  std::int64_t bytes(bool wide) const {
    const std::int64_t value = size_of(compute_class(reduced));
    if (pairs) return 2 * value;
    return finds ? (wide || value == 8 ? 16 : 8) : value;
  }
  std::string kept(bool wide) const {
    if (pairs) return "float2";
    if (!finds) return value_type(dtype);
    return bytes(wide) == 16 ? "ulong2" : "uint2";
  }
  // After the definition of `position`. With `partial`, what is stored is an accumulator; with
  // `within_words`, elements of a vector are combined with each other.
  std::string text(bool wide, bool partial, bool within_words) const;
};

struct RegionAxes {
  std::vector<int> kept, reduced;
  bool columns = false;  // the innermost axis is kept
};
RegionAxes axes_of(const RegionLayout& layout) {
  RegionAxes axes;
  for (std::size_t i = 0; i < layout.axes.size(); ++i) {
    (layout.axes[i].reduced ? axes.reduced : axes.kept).push_back(static_cast<int>(i));
  }
  axes.columns = !layout.axes.empty() && !layout.axes.back().reduced;
  return axes;
}

// How threads share the work, for vectors of a width.
struct Split {
  std::int64_t across = 1;  // rows: threads of a row; columns: threads side by side
  std::int64_t threads = kReductionThreads;
  std::int64_t groups = 1;  // threadgroups without chunks
  std::int64_t chunks = 1;
  std::int64_t chunk = 1;   // vectors of a row, or rows
  bool short_rows = false;  // of one vector a thread
};

// Rounds chunks to whole steps of a threadgroup.
void cut(Split* split, std::int64_t length, std::int64_t step, std::int64_t at_most) {
  split->chunk = std::max<std::int64_t>(ceil_div(ceil_div(length, at_most), step) * step, 1);
  split->chunks = std::max<std::int64_t>(ceil_div(length, split->chunk), 1);
}

Split split_rows(const Fillings& fillings, const RegionLayout& layout, int width, int unroll,
                 std::int64_t most_chunks, bool by_row) {
  const std::int64_t vectors = layout.reduced_elements() / width;
  const std::int64_t rows = layout.results;
  Split split;
  if (vectors <= kSimdWidth) {
    split.across = ceil_power_of_two(vectors);
    split.short_rows = true;
  } else {
    split.across = (by_row || rows >= fillings.simdgroups) && vectors <= kSimdVectors
                       ? kSimdWidth
                       : kReductionThreads;
    if (split.across == kReductionThreads && vectors < 2 * kReductionThreads) {
      split.across = std::max(kSimdWidth, ceil_power_of_two(vectors) / 4);
    }
  }
  if (split.short_rows) {
    split.groups = ceil_div(rows, kReductionThreads / split.across * unroll);
    return split;
  }
  if (split.across > kSimdWidth) split.threads = split.across;
  split.groups = ceil_div(rows, split.threads / split.across);
  const bool whole = split.across == kReductionThreads;
  cut(&split, vectors, kReductionThreads, whole ? most_chunks : 1);
  return split;
}

Split split_columns(const Fillings& fillings, const RegionLayout& layout, int width, int unroll,
                    std::int64_t most_chunks, bool by_row) {
  const std::int64_t columns = layout.results / width;
  const std::int64_t rows = layout.reduced_elements();
  Split split;
  const std::int64_t fewest =
      by_row ? kSimdWidth : std::min(kSimdWidth, ceil_power_of_two(columns));
  const std::int64_t high =
      std::min(kReductionThreads / fewest, ceil_power_of_two(ceil_div(rows, unroll)));
  split.across = kReductionThreads / high;
  split.groups = ceil_div(columns, split.across);
  if (!by_row && high > 1 && split.groups >= fillings.column_groups &&
      split.groups <= fillings.half_column_groups) {
    split.threads = kReductionThreads / 2;
  }
  cut(&split, rows, split.threads / split.across, most_chunks);
  return split;
}

// Chunks of each of `groups` threadgroups of columns, for a device that runs `places` at the same
// time: one fewer than would fill it where that leaves at most a quarter of the places empty, since
// what is left over runs after all others.
std::int64_t column_chunks(std::int64_t groups, std::int64_t places) {
  const std::int64_t chunks = ceil_div(places, groups);
  const std::int64_t fewer = chunks - 1;
  const bool is_over = chunks * groups > places;
  return is_over && fewer > 1 && fewer * groups >= places * 3 / 4 ? fewer : chunks;
}

// Chunks that fit the workspace: by the widest vectors, so that narrower ones fit too.
std::int64_t most_chunks(const Fillings& fillings, const RegionLayout& layout, bool columns,
                         int width) {
  const RegionOperand& result = layout.operands.back();
  // Partial results lie like the result.
  if (result.span != layout.results || layout.results > kManyResults) return 1;
  std::int64_t chunks = ceil_div(fillings.row_groups, std::max<std::int64_t>(layout.results, 1));
  std::int64_t worthwhile = layout.reduced_elements() / (kReductionThreads * kChunkElements);
  if (columns) {
    const Split whole = split_columns(fillings, layout, width, kMaxUnrolled, 1, false);
    chunks = column_chunks(std::max<std::int64_t>(whole.groups, 1),
                           width > 1 ? fillings.column_groups : fillings.element_column_groups);
    worthwhile = layout.reduced_elements() / (whole.threads / whole.across * kChunkElements);
  }
  return std::clamp<std::int64_t>(chunks, 1, std::max<std::int64_t>(worthwhile, 1));
}

std::string Accumulation::text(bool wide, bool partial, bool within_words) const {
  if (finds) {
    const bool smallest = reduction.op->combine == Combine::min;
    return joined("typedef ", value_type(reduced), " Compared;\ntypedef ",
                  size_of(compute_class(reduced)) == 8 ? "ulong" : "uint", " Bits;\ntypedef ",
                  bytes(wide) == 16 ? "ulong" : "uint", " Word;\ntypedef ", kept(wide),
                  " Kept;\ntypedef ", dtype_struct(dtype),
                  " Index;\nconstexpr constant bool kSmallest = ", smallest ? "true" : "false",
                  ";\nHEARTH_INLINE Compared region_worst() { return ",
                  identity_value(reduction.op->combine, reduced),
                  "; }\n#include \"kernels/reduce/arg_reduce.metal\"\n", "typedef ",
                  partial ? "Partial" : "Found", " Target;\n");
  }
  if (pairs) {
    return joined("#include \"kernels/reduce/compensated_sum.metal\"\ntypedef ",
                  partial ? "Partial" : "Rounded", " Target;\n");
  }
  const DType target = partial ? class_dtype(compute_class(dtype)) : dtype;
  return joined(
      "typedef ", value_type(dtype), " Accumulator;\ntypedef ", dtype_struct(target),
      " Target;\nHEARTH_INLINE Accumulator region_identity() { return ",
      identity_value(reduction.op->combine, dtype),
      "; }\nHEARTH_INLINE Accumulator region_lift(Accumulator x, position) { return x; }\n"
      "typedef Accumulator Kept;\n"
      "HEARTH_INLINE Kept region_keep(Accumulator x) { return x; }\n"
      "HEARTH_INLINE Accumulator region_kept(Kept x) { return x; }\n"
      "HEARTH_INLINE Accumulator region_combine(Accumulator a, Accumulator b) {\n  return ",
      combine_formula(reduction, within_words), "(a, b);\n}\n");
}

constexpr const char* kIncludes =
    "#include \"kernels/formulas/formulas.h\"\n#include \"kernels/blocks/elements.h\"\n";

BuiltKernel combine_kernel(const LoweredRegion& lowered, std::int64_t chunks) {
  const RegionLayout& layout = lowered.layout;
  const Accumulation accumulation(lowered);
  const DType dtype = accumulation.dtype;
  BuiltKernel built;
  built.source.name = joined("region_combine_", accumulation.reduction.op->name.text, "_",
                             name(dtype), accumulation.pairs ? "_precise" : "");
  built.source.text = joined(kIncludes, "typedef ", layout.wide ? "ulong" : "uint", " position;\n",
                             accumulation.text(layout.wide, false, false),
                             "#include \"kernels/reduce/combine.metal\"\n");
  built.source.function = "region_combine_chunks";
  built.source.max_threads = static_cast<int>(kReductionThreads);
  built.source.parameters = {
      {Kind::read, accumulation.kept(layout.wide), "partial"},
      {Kind::write, dialect_type(dtype), "result"},
      {Kind::constant, "CombineParams", "p"},
      {Kind::threadgroup, accumulation.kept(layout.wide), "shared", kReductionThreads}};
  const std::int64_t size = size_of(dtype);
  const RegionOperand& result = layout.operands.back();
  built.operands = {
      {kWorkspaceOperand, 0, chunks * layout.results * accumulation.bytes(layout.wide), 1},
      {lowered.region.operand_count(), result.lowest * size, result.span * size, 1}};
  const std::int64_t high = std::clamp(ceil_power_of_two(chunks / kCombinedAtOnce),
                                       kReductionThreads / kSimdWidth, kReductionThreads);
  const std::int64_t wide = std::min(kReductionThreads / high, ceil_power_of_two(layout.results));
  KernelConstants constants(false);
  constants.add_u32("results", layout.results);
  constants.add_u32("splits", chunks);
  constants.add_u32("wide", wide);
  constants.add_u32("wide_bits", power_bits(wide));
  built.constants = constants.bytes();
  built.has_f64 = accumulation.reduced == DType::f64;
  built.groups = {u32(ceil_div(layout.results, wide)), 1, 1};
  built.threads = {u32(kReductionThreads), 1, 1};
  return built;
}

}  // namespace

int reduction_width(const LoweredRegion& lowered, const RegionValues& values) {
  const RegionLayout& layout = lowered.layout;
  int limit = kPacketBytes / widest_operand(lowered, values);
  const RegionAxes axes = axes_of(layout);
  const Accumulation accumulation(lowered);
  // Rows side by side lie at any address, whatever a row alone does.
  if (accumulation.by_row && !axes.columns) return 1;
  while (limit > 1 && limit * values.instructions() > kLongReduction) limit /= 2;
  const bool parts_only = !axes.columns && !accumulation.finds;
  const std::int64_t bytes = accumulation.bytes(layout.wide);
  while (limit * bytes > (parts_only ? kPartBytes : kAccumulatorBytes)) limit /= 2;
  return vector_width(layout, lowered.region.operand_count(), limit,
                      !axes.columns && axes.reduced.size() <= 1);
}

BuiltReduction reduction_kernels(const LoweredRegion& lowered, const RegionValues& values,
                                 int width, std::uint64_t aliased) {
  const Region& region = lowered.region;
  const RegionLayout& layout = lowered.layout;
  const RegionAxes axes = axes_of(layout);
  RegionAccess access(lowered, values, width, aliased);
  KernelConstants& constants = access.constants();
  const int accumulators = axes.columns ? width : 1;
  int unroll = access.unroll(kMaxUnrolled);
  const Accumulation accumulation(lowered);
  const std::int64_t accumulator_bytes = accumulation.bytes(layout.wide);
  while (unroll > 1 && unroll * accumulators * accumulator_bytes > 2 * kAccumulatorBytes)
    unroll /= 2;
  if (accumulation.by_row) unroll = 1;

  const Fillings fillings(*lowered.device);
  const std::int64_t room = accumulation.by_row ? 1
                                                : most_chunks(fillings, layout, axes.columns,
                                                              reduction_width(lowered, values));
  const Split split =
      axes.columns ? split_columns(fillings, layout, width, unroll, room, accumulation.by_row)
                   : split_rows(fillings, layout, width, unroll, room, accumulation.by_row);
  const bool chunked = split.chunks > 1;
  const bool tail = !axes.columns && axes.reduced.size() <= 1 && width > 1;

  if (axes.columns) {
    constants.add_positions("columns", {layout.results / width});
    constants.add_positions("rows", {layout.reduced_elements()});
    constants.add_u32("wide", split.across);
    constants.add_u32("wide_bits", power_bits(split.across));
    constants.add_offsets("result_inner", {layout.axes.back().strides.back()});
  } else {
    constants.add_positions("rows", {layout.results});
    constants.add_positions("vectors", {layout.reduced_elements() / width});
    constants.add_u32("lanes", split.across);
    constants.add_u32("lane_bits", power_bits(split.across));
    if (tail) constants.add_u32("tail", layout.reduced_elements() % width);
  }
  constants.add_positions("chunk", {split.chunk});
  constants.add_offsets("split_step", {chunked ? layout.results : 0});

  std::string functions = access.offsets_function("kept_at", axes.kept, axes.columns, false);
  functions += access.offsets_function("reduced_at", axes.reduced, !axes.columns, true);
  functions +=
      access.position_function("region_result", region.operand_count(), axes.kept, axes.columns);
  functions += accumulation.text(layout.wide, chunked, !axes.columns);
  if (tail) functions += access.tail_function(true);

  BuiltReduction built;
  const std::string stored =
      chunked ? accumulation.kept(layout.wide) : dialect_type(accumulation.dtype);
  const KernelParameter result{Kind::write, stored, "result"};
  access.describe(&built.reduce, &result);
  if (!split.short_rows) {
    built.reduce.source.parameters.push_back(
        {Kind::threadgroup, accumulation.kept(layout.wide), "shared",
         axes.columns ? kReductionThreads * width : kSimdWidth});
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
  built.reduce.source.max_threads = static_cast<int>(kReductionThreads);
  built.reduce.groups = {u32(split.groups), u32(split.chunks), 1};
  built.reduce.threads = {u32(split.threads), 1, 1};
  if (chunked) {
    const std::int64_t bytes = split.chunks * layout.results * accumulator_bytes;
    built.reduce.operands.push_back({kWorkspaceOperand, 0, bytes, 1});
    built.combine = combine_kernel(lowered, split.chunks);
  } else {
    const RegionOperand& operand = layout.operands.back();
    const std::int64_t size = size_of(operand.dtype);
    built.reduce.operands.push_back(
        {region.operand_count(), operand.lowest * size, operand.span * size, 1});
  }
  if (room > 1) built.workspace_bytes = room * layout.results * accumulator_bytes;
  return built;
}

}  // namespace hearth::gpu
