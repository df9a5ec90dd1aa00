// Updates by index: kernels/indexing/segmented_sum.metal, scatter_serial.metal and
// scatter_atomics.metal.
#include "kernels/indexing/scatter.h"
#include "kernels/indexing/indexing.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "graph/switches.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/sort/radix_sort.h"
#include "ops/definition/defs.h"
#include "ops/indexing/update_rule.h"

namespace hearth::gpu {
namespace {

// Of kernels/indexing/segmented_sum.metal.
constexpr std::int64_t kBlock = 32;
// Of kernels/indexing/ordered_warp_update.metal.
constexpr std::int64_t kMaxPlaces = 1024;
// The largest ratio of an axis's extent to the length of a line of indices at which summing lines
// pays.
constexpr std::int64_t kSparsest = 32;
// Up to here a thread takes a line sooner than its indices are sorted; or where every thread that
// a device runs has a line.
constexpr std::int64_t kShortLine = 32;
constexpr std::int64_t kMaxKeys = std::int64_t{1} << 31;
constexpr std::int64_t kMaxScatterThreads = (std::int64_t{1} << 32) - kThreads;

// `shape` with one element for each of its lines along `axis`.
Shape lines_along(int axis, Shape shape) {
  shape[axis] = 1;
  return shape;
}

// One conversion of the whole output, to or from the type that sums are kept in.
void add_convert(StepPlan& plan, std::int64_t count, const char* from_type, StepArgument from,
                 const char* to_type, StepArgument to) {
  plan.add_step(KernelCall("indexing/scatter_serial.metal", "convert", {from_type, to_type})
                    .read(from_type, "x", from)
                    .write(to_type, "y", to)
                    .constants(ConvertParams{.count = count})
                    .step(plan, groups_for(count), {kThreads}, kThreads));
}

// scatter and scatter_add; select_assign and select_add with their list of indices seen as an array
// of the values' shape.
Prepared update_serially(const Signature& signature, const TensorSpec& indices) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  if (element_count(indices.shape) == 0) return prepared_steps(std::move(plan));
  const std::int64_t elements = element_count(output.shape);
  const char* const type = dialect_type(output.dtype);
  const UpdateRule rule(signature);
  const bool widens = rule.rounds && size_of(output.dtype) < size_of(DType::f32);
  const char* const kept = widens ? rule.sum : type;
  const StepArgument whole = strided_operand(output, 3).argument;
  StepArgument target = whole;
  if (widens) {
    target = workspace(*plan, elements * static_cast<std::int64_t>(sizeof(float)));
    add_convert(*plan, elements, type, whole, kept, target);
  }

  const LineAxes lines(axis_of(signature), indices, values, output);
  const std::int64_t count = lines.count();
  const char* const index = dialect_type(indices.dtype);
  plan->add_step(
      KernelCall("indexing/scatter_serial.metal", "scatter_serial",
                 {dtype_struct(output.dtype), dtype_struct(widens ? DType::f32 : output.dtype),
                  rule.sum, rule.name, index, index_type(count), lines.rank()})
          .read(index, "indices", lines.index.argument)
          .read(type, "values", lines.value.argument)
          .read_write(kept, "output", target)
          .constants(lines.params())
          .step(*plan, groups_for(count), {kThreads}, kThreads));
  if (widens) add_convert(*plan, elements, kept, target, type, whole);
  return prepared_steps(std::move(plan));
}

// ---- Atomic

// The type that atomic additions take, or null where a dtype has none.
const char* atomic_type(DType dtype) {
  if (dtype == DType::f32) return "atomic_float";
  return dtype == DType::i32 || dtype == DType::u32 ? "atomic_uint" : nullptr;
}

Prepared add_atomically(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& output = signature.output;
  const int axis = axis_of(signature);
  const std::int64_t count = element_count(indices.shape);
  auto plan = std::make_shared<StepPlan>();
  if (count == 0) return prepared_steps(std::move(plan));
  // Where along the axis is for the indices to say.
  TensorSpec target = output;
  target.strides[axis] = 0;
  const ScatterAxes axes(indices.shape, indices, signature.inputs[2], target);
  const char* const atomic = atomic_type(output.dtype);
  const char* const element = is_float(output.dtype) ? "float" : "uint";
  const char* const index = dialect_type(indices.dtype);
  plan->add_step(KernelCall("indexing/scatter_atomics.metal", "scatter_atomics",
                            {atomic, element, index, index_type(count), axes.rank()})
                     .read(index, "indices", axes.index.argument)
                     .read(element, "values", axes.value.argument)
                     .read_write(atomic, "output", output_argument(signature))
                     .constants(AtomicParams<kRuntimeRank>{.count = count,
                                                           .extent = output.shape[axis],
                                                           .output_step = output.strides[axis],
                                                           .indices = axes.index_axes(),
                                                           .values = axes.value_axes(),
                                                           .output = axes.output_axes()})
                     .step(*plan, groups_for(count), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

// ---- Sorted

// Rows of values, and where they go: what is left of both ops when the keys are sorted.
struct RowSums {
  DType dtype;
  UpdateRule rule;
  std::int64_t count = 0;         // keys
  std::int64_t destinations = 0;  // keys from there on are dropped
  std::int64_t row = 1;           // elements
  std::int64_t outer = 1;
  std::int64_t value_outer = 0, output_outer = 0;  // elements from one outer position to the next

  std::int64_t blocks() const { return ceil_div(count, kBlock); }
  std::int64_t threads(std::int64_t width) const { return outer * blocks() * (row / width); }
  std::int64_t widest() const {
    std::int64_t width = kPacketBytes / size_of(dtype);
    while (row % width != 0) width /= 2;
    return width;
  }
  bool fits() const {
    return count < kMaxKeys && destinations < kMaxKeys && threads(1) < kMaxScatterThreads;
  }
};

// Combines rows by their sorted keys. A variant with vectors of single elements serves unaligned
// addresses.
void add_row_sums(StepPlan& plan, const RowSums& sums, const SortedPairs& sorted,
                  const StepArgument& values, const StepArgument& output) {
  const char* const memory = dialect_type(sums.dtype);
  const char* const sum = sums.rule.sum;
  const StepArgument pieces =
      workspace(plan, 2 * sums.outer * sums.blocks() * sums.row * sum_bytes(sums.dtype));
  const std::int64_t widest = sums.widest();
  const auto call = [&](const char* function, std::int64_t width) {
    return KernelCall("indexing/segmented_sum.metal", function,
                      {dtype_struct(sums.dtype), sum, sums.rule.name, std::to_string(width)});
  };
  const auto finish = [&](KernelCall& made, std::int64_t width, bool rare) {
    return made
        .constants(SumParams{.threads = sums.threads(width),
                             .count = sums.count,
                             .blocks = sums.blocks(),
                             .vectors = sums.row / width,
                             .destinations = sums.destinations,
                             .value_outer = sums.value_outer,
                             .output_outer = sums.output_outer})
        .align_operands(width * size_of(sums.dtype))
        .step(plan, groups_for(sums.threads(width)), {kThreads}, kThreads, rare);
  };
  plan.add_step(widest > 1, [&](bool wide, bool rare) {
    const std::int64_t width = wide ? widest : 1;
    return finish(call("segmented_sum", width)
                      .read("uint", "keys", sorted.keys)
                      .read("uint", "rows", sorted.values)
                      .read(memory, "values", values)
                      .read_write(memory, "output", output)
                      .write(sum, "pieces", pieces),
                  width, rare);
  });
  plan.add_step(widest > 1, [&](bool wide, bool rare) {
    const std::int64_t width = wide ? widest : 1;
    return finish(call("scatter_pieces", width)
                      .read("uint", "keys", sorted.keys)
                      .read(sum, "pieces", pieces)
                      .write(memory, "output", output),
                  width, rare);
  });
}

int bits_of(std::int64_t key) { return std::bit_width(static_cast<std::uint64_t>(key)); }

RowSums element_sums(const Signature& signature) {
  return {.dtype = signature.output.dtype,
          .rule = UpdateRule(signature),
          .count = element_count(signature.inputs[1].shape),
          .destinations = element_count(signature.output.shape)};
}

RowSums row_sums(const Signature& signature) {
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const int axis = axis_of(signature);
  RowSums sums{.dtype = output.dtype,
               .rule = UpdateRule(signature),
               .count = element_count(values.shape) == 0 ? 0 : signature.inputs[1].shape[0],
               .destinations = output.shape[axis]};
  for (int i = 0; i < output.shape.rank(); ++i) {
    if (i != axis) (i < axis ? sums.outer : sums.row) *= output.shape[i];
  }
  sums.value_outer = sums.count * sums.row;
  sums.output_outer = sums.destinations * sums.row;
  return sums;
}

}  // namespace

UpdateRule::UpdateRule(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  sum = sum_type(dtype);
  const bool is_long = size_of(dtype) == 8;
  // Numbers that are compared have their sign.
  const bool has_sign = is_int(dtype) && info(dtype).is_signed;
  switch (update_rule(signature.statics, dtype)) {
    case IndexingUpdateOp::assign:
      name = "UpdateAssign";
      break;
    case IndexingUpdateOp::add:
      name = "UpdateAdd";
      rounds = is_float(dtype);
      break;
    case IndexingUpdateOp::mul:
      name = "UpdateMul";
      rounds = is_float(dtype);
      break;
    case IndexingUpdateOp::min:
      name = "UpdateMin";
      if (has_sign) sum = is_long ? "long" : "int";
      break;
    case IndexingUpdateOp::max:
      name = "UpdateMax";
      if (has_sign) sum = is_long ? "long" : "int";
      break;
  }
}

ScatterAxes::ScatterAxes(Shape over, const TensorSpec& indices, const TensorSpec& values,
                         const TensorSpec& output)
    : shape(std::move(over)),
      index_strides(indices.strides),
      value_strides(values.strides),
      output_strides(output.strides),
      index(strided_operand(indices, 1)),
      value(strided_operand(values, 2)) {
  merge_kernel_axes(&shape, {&index_strides, &value_strides, &output_strides});
}

LineAxes::LineAxes(int axis, const TensorSpec& indices, const TensorSpec& values,
                   const TensorSpec& output)
    : ScatterAxes(lines_along(axis, indices.shape), indices, values, output),
      length(indices.shape[axis]),
      extent(output.shape[axis]),
      index_step(indices.strides[axis]),
      value_step(values.strides[axis]),
      output_step(output.strides[axis]) {}

ScatterLines<kRuntimeRank> LineAxes::params() const {
  return {.count = count(),
          .length = length,
          .extent = extent,
          .index_step = index_step,
          .value_step = value_step,
          .output_step = output_step,
          .indices = index_axes(),
          .values = value_axes(),
          .output = output_axes()};
}

SummedLines::SummedLines(const Signature& signature)
    : axis(axis_of(signature)),
      length(signature.inputs[1].shape[axis]),
      extent(signature.output.shape[axis]),
      count(element_count(signature.inputs[1].shape)),
      lines(length == 0 ? 0 : count / length) {}

bool SummedLines::are_worth_it(const Signature& signature) const {
  return !accepts_scatter_atomics(signature) && count > 0 && extent > 0 && count < kMaxSummed &&
         extent <= kSparsest * length && !is_for_threads(*signature.device, count, length);
}

std::int64_t sum_places(const Signature& signature, std::int64_t other) {
  const std::int64_t item = sum_bytes(signature.output.dtype);
  const std::int64_t row = kThreads * size_of(DType::f64);  // of the widest sums
  const std::int64_t memory = threadgroup_budget(*signature.device, kThreads) - other;
  const std::int64_t rows = std::max<std::int64_t>(memory / row, 1);
  return std::min(rows * row / item, SummedLines::kSimdgroups * kMaxPlaces);
}

bool is_for_threads(const runtime::DeviceTraits& device, std::int64_t count, std::int64_t length) {
  return length <= kShortLine || count / length >= resident_threads(device);
}

bool accepts_scatter_atomics(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  return named_update(signature.statics) == IndexingUpdateOp::add &&
         atomic_type(dtype) != nullptr && (is_int(dtype) || !switches().deterministic);
}

Prepared prepare_scatter_atomics(const Signature& signature) { return add_atomically(signature); }

Prepared prepare_scatter_serial(const Signature& signature) {
  return update_serially(signature, signature.inputs[1]);
}

bool accepts_scatter_sorted(const Signature& signature) {
  const RowSums sums = element_sums(signature);
  return sums.fits() && !is_for_threads(*signature.device, sums.count,
                                        signature.inputs[1].shape[axis_of(signature)]);
}

// Positions of values have 32 bits.
bool fits_scatter_sorted(const Signature& signature) {
  const TensorSpec& values = signature.inputs[2];
  return strided_operand(values, 2).argument.bytes / size_of(values.dtype) < kMaxKeys;
}

Prepared prepare_scatter_sorted(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const RowSums sums = element_sums(signature);
  const LineAxes lines(axis_of(signature), indices, values, output);
  auto plan = std::make_shared<StepPlan>();
  const SortedPairs pairs = add_pairs(*plan, sums.count);
  const char* const index = dialect_type(indices.dtype);
  plan->add_step(
      KernelCall("indexing/segmented_sum.metal", "element_keys", {index, lines.rank()})
          .read(index, "indices", lines.index.argument)
          .write("uint", "keys", pairs.keys)
          .write("uint", "rows", pairs.values)
          .constants(ElementParams<kRuntimeRank>{
              .count = sums.count, .destinations = sums.destinations, .lines = lines.params()})
          .step(*plan, groups_for(sums.count), {kThreads}, kThreads));
  const SortedPairs sorted =
      add_radix_sort(*plan, *signature.device, pairs, sums.count, bits_of(sums.destinations));
  add_row_sums(*plan, sums, sorted, lines.value.argument, strided_operand(output, 3).argument);
  return prepared_steps(std::move(plan));
}

bool accepts_select_sorted(const Signature& signature) {
  const RowSums sums = row_sums(signature);
  return sums.count > kShortLine && sums.fits();
}

Prepared prepare_select_sorted(const Signature& signature) {
  const TensorSpec& list = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const RowSums sums = row_sums(signature);
  auto plan = std::make_shared<StepPlan>();
  const SortedPairs pairs = add_pairs(*plan, sums.count);
  const StridedOperand index = strided_operand(list, 1);
  const char* const type = dialect_type(list.dtype);
  plan->add_step(KernelCall("indexing/segmented_sum.metal", "selection_keys", {type})
                     .read(type, "indices", index.argument)
                     .write("uint", "keys", pairs.keys)
                     .write("uint", "rows", pairs.values)
                     .constants(SelectionParams{.count = sums.count,
                                                .stride = list.strides[0],
                                                .base = index.base,
                                                .destinations = sums.destinations})
                     .step(*plan, groups_for(sums.count), {kThreads}, kThreads));
  const SortedPairs sorted =
      add_radix_sort(*plan, *signature.device, pairs, sums.count, bits_of(sums.destinations));
  add_row_sums(*plan, sums, sorted, strided_operand(values, 2).argument,
               strided_operand(output, 3).argument);
  return prepared_steps(std::move(plan));
}

// The list as an array of the values' shape.
Prepared prepare_select_serial(const Signature& signature) {
  const TensorSpec& list = signature.inputs[1];
  const int axis = axis_of(signature);
  TensorSpec indices = signature.inputs[2];
  indices.dtype = list.dtype;
  indices.strides = Strides::filled(indices.shape.rank(), 0);
  indices.strides[axis] = list.strides[0];
  return update_serially(signature, indices);
}

}  // namespace hearth::gpu
