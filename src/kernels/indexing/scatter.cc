// scatter_add and select_add: kernels/indexing/segmented_sum.metal, scatter_lines.h and
// scatter_atomics.h.
#include "kernels/indexing/scatter.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "graph/switches.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "kernels/sort/radix_sort.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

// Of kernels/indexing/segmented_sum.metal.
constexpr std::int64_t kBlock = 32;
// Up to here a thread adds a line up sooner than its indices are sorted; or where lines are so many
// that they keep a GPU busy.
constexpr std::int64_t kShortLine = 32;
constexpr std::int64_t kManyLines = 1 << 18;
constexpr std::int64_t kMostKeys = std::int64_t{1} << 31;
constexpr std::int64_t kMostThreads = (std::int64_t{1} << 32) - kThreads;

runtime::KernelSource line_kernel(const std::string& function,
                                  const std::vector<std::string>& arguments,
                                  std::vector<KernelParameter> parameters) {
  return library_kernel("indexing/scatter_serial.metal", function, arguments, std::move(parameters),
                        kThreads);
}

// One conversion of the whole output, to or from the type that sums are kept in.
void add_convert(StepPlan& plan, std::int64_t count, const char* from_type, StepArgument from,
                 const char* to_type, StepArgument to) {
  Step step;
  step.kernel = &plan.add_kernel(line_kernel("convert", {from_type, to_type},
                                             {{Kind::read, from_type, "x"},
                                              {Kind::write, to_type, "y"},
                                              {Kind::constant, "ConvertParams", "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count};
  step.arguments = {from, to, kConstants};
  plan.add_step(std::move(step));
}

// scatter_add, and select_add with its list of indices seen as an array of the values' shape.
Prepared prepare_lines(const Signature& signature, const TensorSpec& indices) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const int axis = axis_of(signature);
  if (element_count(indices.shape) == 0) return prepared_steps(std::move(plan));
  const std::int64_t elements = element_count(output.shape);
  const char* const type =
      is_float(output.dtype) ? dialect_type(output.dtype) : storage_type(output.dtype);
  const char* const sum = is_float(output.dtype) ? sum_type(output.dtype) : type;
  const bool widens = std::string(type) != sum;
  const StepArgument whole = strided_operand(output, 3).argument;
  StepArgument target = whole;
  if (widens) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(float));
    target = {StepArgument::From::workspace, 0, plan->add_workspace(bytes), bytes};
    add_convert(*plan, elements, type, whole, sum, target);
  }

  const ScatterAxes lines(lines_along(axis, indices.shape), indices, values, output);
  const std::int64_t count = lines.count();
  Step step;
  step.kernel = &plan->add_kernel(line_kernel(
      "scatter_add", {type, sum, dialect_type(indices.dtype), index_type(count), lines.rank()},
      {{Kind::read, dialect_type(indices.dtype), "indices"},
       {Kind::read, type, "values"},
       {Kind::read_write, sum, "output"},
       {Kind::constant, instance("ScatterParams", {lines.rank()}), "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count,
                    indices.shape[axis],
                    output.shape[axis],
                    is_bool(output.dtype) ? 1 : 0,
                    indices.strides[axis],
                    values.strides[axis],
                    output.strides[axis]};
  lines.append_words(&step.constants);
  step.arguments = {lines.index.argument, lines.value.argument, target, kConstants};
  plan->add_step(std::move(step));
  if (widens) add_convert(*plan, elements, sum, target, type, whole);
  return prepared_steps(std::move(plan));
}

// ---- Atomic

// The type that atomic additions take, or null where a dtype has none.
const char* atomic_type(DType dtype) {
  if (dtype == DType::f32) return "atomic_float";
  return dtype == DType::i32 || dtype == DType::u32 ? "atomic_uint" : nullptr;
}

Prepared prepare_atomics(const Signature& signature, const TensorSpec& indices) {
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
  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("indexing/scatter_atomics.metal", "scatter_atomics",
                     {atomic, element, dialect_type(indices.dtype), index_type(count), axes.rank()},
                     {{Kind::read, dialect_type(indices.dtype), "indices"},
                      {Kind::read, element, "values"},
                      {Kind::read_write, atomic, "output"},
                      {Kind::constant, instance("AtomicParams", {axes.rank()}), "p"}},
                     kThreads));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count, output.shape[axis], output.strides[axis]};
  axes.append_words(&step.constants);
  step.arguments = {axes.index.argument, axes.value.argument, strided_operand(output, 3).argument,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// ---- Sorted

// Rows of values, and where they go: what is left of both ops when the keys are sorted.
struct RowSums {
  DType dtype;
  std::int64_t count = 0;         // keys
  std::int64_t destinations = 0;  // keys from there on are dropped
  std::int64_t row = 1;           // elements
  std::int64_t outer = 1;
  std::int64_t value_outer = 0, output_outer = 0;  // elements from one outer position to the next

  std::int64_t blocks() const { return parts(count, kBlock); }
  std::int64_t threads(std::int64_t width) const { return outer * blocks() * (row / width); }
  std::int64_t widest() const {
    std::int64_t width = kPacketBytes / size_of(dtype);
    while (row % width != 0) width /= 2;
    return width;
  }
  bool fits() const {
    return count < kMostKeys && destinations < kMostKeys && threads(1) < kMostThreads;
  }
};

Step sums_step(StepPlan& plan, const char* function, const RowSums& sums, std::int64_t width,
               std::vector<KernelParameter> parameters, std::vector<StepArgument> arguments,
               bool rare) {
  const std::vector<std::string> types = {dtype_struct(sums.dtype), sum_type(sums.dtype),
                                          std::to_string(width), truth(is_bool(sums.dtype))};
  parameters.push_back({Kind::constant, "SumParams", "p"});
  arguments.push_back(kConstants);
  for (StepArgument& argument : arguments) {
    if (argument.from == StepArgument::From::operand) {
      argument.alignment = width * size_of(sums.dtype);
    }
  }
  Step step;
  runtime::KernelSource source = library_kernel("indexing/segmented_sum.metal", function, types,
                                                std::move(parameters), kThreads);
  step.kernel = &plan.add_kernel(std::move(source), rare);
  step.groups = groups_for(sums.threads(width));
  step.threads = {kThreads};
  step.constants = {sums.threads(width), sums.count,       sums.blocks(),    sums.row / width,
                    sums.destinations,   sums.value_outer, sums.output_outer};
  step.arguments = std::move(arguments);
  return step;
}

// Adds rows by their sorted keys. Vectors of single elements stand by for addresses that allow no
// more.
void add_row_sums(StepPlan& plan, const RowSums& sums, const SortedPairs& sorted,
                  const StepArgument& values, const StepArgument& output) {
  const char* const memory = dialect_type(sums.dtype);
  const std::int64_t bytes = 2 * sums.outer * sums.blocks() * sums.row * sum_bytes(sums.dtype);
  const StepArgument pieces{StepArgument::From::workspace, 0, plan.add_workspace(bytes), bytes};
  const std::int64_t width = sums.widest();
  const auto add = [&](const char* function, const std::vector<KernelParameter>& parameters,
                       const std::vector<StepArgument>& arguments) {
    plan.add_step(width > 1, [&](bool wide, bool rare) {
      return sums_step(plan, function, sums, wide ? width : 1, parameters, arguments, rare);
    });
  };
  add("scatter_sums",
      {{Kind::read, "uint", "keys"},
       {Kind::read, "uint", "rows"},
       {Kind::read, memory, "values"},
       {Kind::read_write, memory, "output"},
       {Kind::write, sum_type(sums.dtype), "pieces"}},
      {sorted.keys, sorted.values, values, output, pieces});
  add("scatter_pieces",
      {{Kind::read, "uint", "keys"},
       {Kind::read, sum_type(sums.dtype), "pieces"},
       {Kind::write, memory, "output"}},
      {sorted.keys, pieces, output});
}

int bits_of(std::int64_t key) { return std::bit_width(static_cast<std::uint64_t>(key)); }

// One index an element of the values.
Prepared prepare_scatter_add(const Signature& signature) {
  const TensorSpec& indices = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const int axis = axis_of(signature);
  if (by_atomics(output.dtype)) return prepare_atomics(signature, indices);
  const std::int64_t length = indices.shape[axis];
  RowSums sums{.dtype = output.dtype,
               .count = element_count(indices.shape),
               .destinations = element_count(output.shape)};
  const ScatterAxes lines(lines_along(axis, indices.shape), indices, values, output);
  const bool narrow = lines.value.argument.bytes / size_of(values.dtype) < kMostKeys;
  if (adds_by_thread(sums.count, length) || !narrow || !sums.fits()) {
    return prepare_lines(signature, indices);
  }
  auto plan = std::make_shared<StepPlan>();
  const SortedPairs pairs = add_pairs(*plan, sums.count);
  Step step;
  step.kernel = &plan->add_kernel(library_kernel(
      "indexing/segmented_sum.metal", "element_keys", {dialect_type(indices.dtype), lines.rank()},
      {{Kind::read, dialect_type(indices.dtype), "indices"},
       {Kind::write, "uint", "keys"},
       {Kind::write, "uint", "rows"},
       {Kind::constant, instance("ElementParams", {lines.rank()}), "p"}},
      kThreads));
  step.groups = groups_for(sums.count);
  step.threads = {kThreads};
  step.constants = {sums.count,
                    length,
                    output.shape[axis],
                    sums.destinations,
                    indices.strides[axis],
                    values.strides[axis],
                    output.strides[axis]};
  lines.append_words(&step.constants);
  step.arguments = {lines.index.argument, pairs.keys, pairs.values, kConstants};
  plan->add_step(std::move(step));
  const SortedPairs sorted = add_radix_sort(*plan, pairs, sums.count, bits_of(sums.destinations));
  add_row_sums(*plan, sums, sorted, lines.value.argument, strided_operand(output, 3).argument);
  return prepared_steps(std::move(plan));
}

// One index a row of the values.
Prepared prepare_select_add(const Signature& signature) {
  const TensorSpec& list = signature.inputs[1];
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const int axis = axis_of(signature);
  RowSums sums{.dtype = output.dtype,
               .count = element_count(values.shape) == 0 ? 0 : list.shape[0],
               .destinations = output.shape[axis]};
  for (int i = 0; i < output.shape.rank(); ++i) {
    if (i != axis) (i < axis ? sums.outer : sums.row) *= output.shape[i];
  }
  sums.value_outer = sums.count * sums.row;
  sums.output_outer = sums.destinations * sums.row;
  // The list as an array of the values' shape.
  TensorSpec indices = values;
  indices.dtype = list.dtype;
  indices.strides = Strides::filled(indices.shape.rank(), 0);
  indices.strides[axis] = list.strides[0];
  if (sums.count <= kShortLine || !sums.fits()) return prepare_lines(signature, indices);
  auto plan = std::make_shared<StepPlan>();
  const SortedPairs pairs = add_pairs(*plan, sums.count);
  const StridedOperand index = strided_operand(list, 1);
  Step step;
  step.kernel = &plan->add_kernel(library_kernel("indexing/segmented_sum.metal", "selection_keys",
                                                 {dialect_type(list.dtype)},
                                                 {{Kind::read, dialect_type(list.dtype), "indices"},
                                                  {Kind::write, "uint", "keys"},
                                                  {Kind::write, "uint", "rows"},
                                                  {Kind::constant, "SelectionParams", "p"}},
                                                 kThreads));
  step.groups = groups_for(sums.count);
  step.threads = {kThreads};
  step.constants = {sums.count, list.strides[0], index.base, sums.destinations};
  step.arguments = {index.argument, pairs.keys, pairs.values, kConstants};
  plan->add_step(std::move(step));
  const SortedPairs sorted = add_radix_sort(*plan, pairs, sums.count, bits_of(sums.destinations));
  add_row_sums(*plan, sums, sorted, strided_operand(values, 2).argument,
               strided_operand(output, 3).argument);
  return prepared_steps(std::move(plan));
}

}  // namespace

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

void ScatterAxes::append_words(std::vector<std::int64_t>* words) const {
  append_axes(shape, index_strides, index.base, words);
  append_axes(shape, value_strides, value.base, words);
  append_axes(shape, output_strides, 0, words);
}

bool by_atomics(DType dtype) {
  return atomic_type(dtype) != nullptr && (is_int(dtype) || !switches().deterministic);
}

bool adds_by_thread(std::int64_t count, std::int64_t length) {
  return length <= kShortLine || count / length >= kManyLines;
}

void add_scatter_kernels(KernelTable& table) {
  table.add({.op = &defs::scatter_add_op, .prepare = prepare_scatter_add, .launch = launch_steps});
  // Sums move whole rows.
  table.add({.op = &defs::select_add_op,
             .layout = LayoutNeed::dense,
             .prepare = prepare_select_add,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
