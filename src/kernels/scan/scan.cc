// Scans: kernels/scan/scan.metal.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/row_split.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/scan/params.h"

namespace scans {
namespace {

constexpr const char* kFile = "scan/scan.metal";
// Threads of a row: more have too few registers for what they hold.
constexpr std::int64_t kMaxScanLanes = 512;
// Of a chunk of a row that is cut.
constexpr std::int64_t kChunkLanes = 256;
// Rows are cut that would fill less than this part of a device, and have at least so many tiles: a
// second read costs more elsewhere.
constexpr std::int64_t kFewRows = 8;
constexpr std::int64_t kMinTiles = 4;
// Threads of a threadgroup over columns, at least, and at most where states are one word and where
// they are more.
constexpr std::int64_t kMinColumnThreads = 128;
constexpr std::int64_t kMaxColumnThreads = 1024;
constexpr std::int64_t kMaxWideColumnThreads = 512;

// A rule of kernels/scan/rules.metal.
struct Rule {
  const char* name;
  int values = 1, words = 0;  // of a state
  int carries = 1;            // of floats: states of a carry
  bool indexed = false;
};
constexpr Rule kSum{.name = "CumSum", .carries = 2};
constexpr Rule kProduct{.name = "CumProduct", .words = 1};
constexpr Rule kLargest{.name = "CumLargest", .words = 1};
constexpr Rule kSmallest{.name = "CumSmallest", .words = 1};
constexpr Rule kLargestIndexed{.name = "CumLargestIndexed", .words = 1, .indexed = true};
constexpr Rule kSmallestIndexed{.name = "CumSmallestIndexed", .words = 1, .indexed = true};
constexpr Rule kLogSum{.name = "CumLogSum", .values = 2};
constexpr Rule kLinear{.name = "CumLinear", .values = 2};

std::int64_t value_words(DType dtype) {
  const bool is_long = dtype == DType::u32 || size_of(dtype) == 8;
  return is_long ? 2 : 1;
}
std::int64_t state_words(const Rule& rule, DType dtype) {
  return value_words(dtype) * rule.values + rule.words;
}

bool is_reverse(const Signature& signature) {
  ParamReader statics(signature.statics);
  statics.i64();
  return signature.op->params.size() > 1 && statics.boolean();
}

std::vector<std::string> arguments(const Rule& rule, const Signature& signature, int held,
                                   const std::string& rank) {
  return {dtype_struct(signature.output.dtype), rule.name, std::to_string(held),
          truth(is_reverse(signature)), rank};
}

// Packets of a thread: at most 16 elements.
int held_packets(DType dtype) {
  return static_cast<int>(std::clamp<std::int64_t>(size_of(dtype), 1, 4));
}

bool along_rows(const Signature& signature) {
  const Shape& shape = signature.output.shape;
  return axis_of(signature) == shape.rank() - 1 && fits_rows(shape);
}

RowSplit scan_split(const TensorSpec& x) {
  return split_rows(row_count(x.shape), x.shape.back(), x.dtype, kMaxScanLanes,
                    held_packets(x.dtype));
}

// What a call reads and writes, with "_indexed" or "_paired" in the function's name.
KernelCall scan_call(const Rule& rule, const Signature& signature, const char* over, int held,
                     const std::string& rank) {
  const bool is_paired = signature.inputs.size() > 1, is_indexed = signature.output_count() > 1;
  const char* const form = is_paired ? "paired_" : is_indexed ? "indexed_" : "";
  KernelCall call(kFile, std::string("scan_") + form + over,
                  arguments(rule, signature, held, rank));
  const char* const type = dialect_type(signature.output.dtype);
  call.read(type, "x", input_argument(signature, 0));
  if (is_paired) call.read(type, "second", input_argument(signature, 1));
  call.write(type, "y", output_argument(signature));
  if (is_indexed) call.write("long", "places", output_argument(signature, 1));
  return call;
}

template <const Rule& kRule>
Prepared prepare_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs.front();
  const TensorSpec& second = signature.inputs.back();
  if (element_count(x.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(x.shape, {&x, &second});
  const RowSplit split = scan_split(x);
  const int last = static_cast<int>(signature.inputs.size()) - 1;
  plan->add_step(
      scan_call(kRule, signature, "rows", split.held, axes.rank())
          .constants(ScanRowParams<kRuntimeRank>{
              .split = split.params(),
              .chunks = 1,
              .chunk_tiles = 0,
              .x = {strided_operand(x, 0).base, &axes.shape, &axes.strides[0]},
              .second = {strided_operand(second, last).base, &axes.shape, &axes.strides[1]}})
          .threadgroup("uint", "shared",
                       split.held * (kMaxScanLanes / kSimdWidth) * state_words(kRule, x.dtype))
          .step(*plan, split.groups, split.threads, kMaxScanLanes));
  return prepared_steps(std::move(plan));
}

// How rows are cut that are too few to fill a device.
struct Chunks {
  explicit Chunks(const Signature& signature) {
    const TensorSpec& x = signature.inputs[0];
    const std::int64_t count = kPacketBytes / size_of(x.dtype);
    rows = std::max<std::int64_t>(row_count(x.shape), 1);
    tiles = ceil_div(x.shape.back(), count * kChunkLanes * held_packets(x.dtype));
    const std::int64_t groups = resident_groups(*signature.device, kChunkLanes);
    wanted = rows > groups / kFewRows ? 1 : std::min(tiles, groups / rows);
    if (tiles < kMinTiles) wanted = 1;
    chunk_tiles = ceil_div(tiles, std::max<std::int64_t>(wanted, 1));
    chunks = ceil_div(tiles, std::max<std::int64_t>(chunk_tiles, 1));
  }
  std::int64_t rows, tiles, wanted, chunk_tiles, chunks;
};

bool along_cut_rows(const Signature& signature) {
  if (!along_rows(signature) || element_count(signature.output.shape) == 0) return false;
  const Chunks cut(signature);
  return cut.chunks > 1 && cut.chunks <= kMaxLayers;
}

template <const Rule& kRule>
Prepared prepare_chunks(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const Chunks cut(signature);
  const RowAxes axes(x.shape, {&x});
  const int held = held_packets(x.dtype);
  RowSplit split = scan_split(x);
  split.lanes = kChunkLanes;
  const StridedOperand from = strided_operand(x, 0);
  const ScanRowParams<kRuntimeRank> params{.split = split.params(),
                                           .chunks = cut.chunks,
                                           .chunk_tiles = cut.chunk_tiles,
                                           .x = {from.base, &axes.shape, &axes.strides[0]},
                                           .second = {from.base, &axes.shape, &axes.strides[0]}};
  const std::int64_t words = state_words(kRule, x.dtype);
  const std::int64_t carry_words = is_float(x.dtype) ? words * kRule.carries : words;
  const StepArgument totals =
      workspace(*plan, cut.rows * cut.chunks * carry_words *
                           static_cast<std::int64_t>(sizeof(std::uint32_t)));
  const Size3 groups = {static_cast<std::uint32_t>(cut.rows),
                        static_cast<std::uint32_t>(cut.chunks)};
  const char* const type = dialect_type(x.dtype);
  const std::int64_t shared = held * (kChunkLanes / kSimdWidth) * words;
  const auto add = [&](KernelCall& call) {
    plan->add_step(call.constants(params)
                       .threadgroup("uint", "shared", shared)
                       .step(*plan, groups, {kChunkLanes}, kChunkLanes));
  };
  KernelCall sums(kFile, "scan_totals", arguments(kRule, signature, held, axes.rank()));
  add(sums.read(type, "x", from.argument).write("uint", "totals", totals));
  KernelCall scans(kFile, "scan_chunks", arguments(kRule, signature, held, axes.rank()));
  add(scans.read(type, "x", from.argument)
          .read("uint", "totals", totals)
          .write(type, "y", output_argument(signature)));
  return prepared_steps(std::move(plan));
}

// The simdgroups of a column, and the threads of a threadgroup.
struct ColumnSplit {
  ColumnSplit(const Signature& signature, std::int64_t columns, std::int64_t length,
              std::int64_t words, std::int64_t held) {
    most = words > 1 ? kMaxWideColumnThreads : kMaxColumnThreads;
    most = std::min<std::int64_t>(most, signature.device->max_threads);
    const std::int64_t runs = ceil_div(columns, kSimdWidth);
    const std::int64_t wanted =
        std::min(resident_threads(*signature.device) / (runs * kSimdWidth), length / held);
    sharing = std::min(floor_power_of_two(wanted), floor_power_of_two(most / kSimdWidth));
    threads = std::max(kMinColumnThreads, sharing * kSimdWidth);
    groups = ceil_div(runs, threads / kSimdWidth / sharing);
  }
  std::int64_t most, sharing, threads, groups;
};

// Places along the axis have 32 bits.
bool has_short_columns(const Signature& signature) {
  return signature.output.shape[axis_of(signature)] <= std::numeric_limits<std::int32_t>::max();
}

template <const Rule& kRule>
Prepared prepare_columns(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs.front();
  const TensorSpec& second = signature.inputs.back();
  if (element_count(x.shape) == 0) return prepared_steps(std::move(plan));
  const int axis = axis_of(signature), last = static_cast<int>(signature.inputs.size()) - 1;
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
  Shape shape = x.shape;
  shape[axis] = 1;
  Strides x_strides = x.strides, second_strides = second.strides;
  merge_kernel_axes(&shape, {&x_strides, &second_strides});
  const std::int64_t words = state_words(kRule, x.dtype);
  // Elements that a thread holds: few enough for its registers.
  const std::int64_t held = words == 1 ? 8 : words == 2 ? 4 : 2;
  const std::int64_t columns = element_count(shape);
  const ColumnSplit split(signature, columns, x.shape[axis], words, held);
  plan->add_step(
      scan_call(kRule, signature, "columns", static_cast<int>(held), std::to_string(shape.rank()))
          .constants(ScanColumnParams<kRuntimeRank>{
              .columns = columns,
              .length = x.shape[axis],
              .inner = inner,
              .sharing = split.sharing,
              .x_step = x.strides[axis],
              .second_step = second.strides[axis],
              .x = {strided_operand(x, 0).base, &shape, &x_strides},
              .second = {strided_operand(second, last).base, &shape, &second_strides}})
          .threadgroup("uint", "shared", split.most * words)
          .step(*plan, {static_cast<std::uint32_t>(split.groups)},
                {static_cast<std::uint32_t>(split.threads)}, split.most));
  return prepared_steps(std::move(plan));
}

using Prepare = Prepared (*)(const Signature&);

constexpr Implementation along_last(const char* name, const OpDef& op,
                                    bool (*accepts)(const Signature&), Prepare prepare) {
  return {.name = name,
          .op = &op,
          .accepts = accepts,
          .layout = LayoutNeed::last_axis_dense,
          .prepare = prepare,
          .launch = launch_steps};
}
template <const Rule& kRule>
constexpr Implementation chunks(const OpDef& op) {
  return along_last("chunks", op, along_cut_rows, prepare_chunks<kRule>);
}
template <const Rule& kRule>
constexpr Implementation rows(const OpDef& op) {
  return along_last("rows", op, along_rows, prepare_rows<kRule>);
}
template <const Rule& kRule>
constexpr Implementation columns(const OpDef& op) {
  return {.name = "columns",
          .op = &op,
          .accepts = kRule.indexed ? has_short_columns : nullptr,
          .prepare = prepare_columns<kRule>,
          .launch = launch_steps};
}

constexpr Implementation kFamily[] = {
    chunks<kSum>(defs::cumsum_op),
    rows<kSum>(defs::cumsum_op),
    columns<kSum>(defs::cumsum_op),
    chunks<kProduct>(defs::cumprod_op),
    rows<kProduct>(defs::cumprod_op),
    columns<kProduct>(defs::cumprod_op),
    chunks<kLargest>(defs::cummax_op),
    rows<kLargest>(defs::cummax_op),
    columns<kLargest>(defs::cummax_op),
    chunks<kSmallest>(defs::cummin_op),
    rows<kSmallest>(defs::cummin_op),
    columns<kSmallest>(defs::cummin_op),
    rows<kLargestIndexed>(defs::cummax_with_indices_op),
    columns<kLargestIndexed>(defs::cummax_with_indices_op),
    rows<kSmallestIndexed>(defs::cummin_with_indices_op),
    columns<kSmallestIndexed>(defs::cummin_with_indices_op),
    chunks<kLogSum>(defs::logcumsumexp_op),
    rows<kLogSum>(defs::logcumsumexp_op),
    columns<kLogSum>(defs::logcumsumexp_op),
    rows<kLinear>(defs::linear_scan_op),
    columns<kLinear>(defs::linear_scan_op),
};

}  // namespace
}  // namespace scans

Family scan_family() { return scans::kFamily; }

}  // namespace hearth::gpu
