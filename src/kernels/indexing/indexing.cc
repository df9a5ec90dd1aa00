// What indexes: the list, and slice_assign, whose kernel is in kernels/indexing/indexing.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/launch/divisor.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/indexing/params.h"

namespace {

constexpr std::int64_t kAssignedAtOnce = 4;  // of kernels/indexing/indexing.metal
constexpr char kFile[] = "indexing/indexing.metal";

// How slice_assign walks its values, and where the region may start.
struct Assignment {
  explicit Assignment(const Signature& signature) : x(strided_operand(signature.inputs[1], 1)) {
    const TensorSpec& value = signature.inputs[1];
    const TensorSpec& output = signature.output;
    const Dims steps = ParamReader(signature.statics).list();
    shape = value.shape;
    x_strides = value.strides;
    y_strides = output.strides;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t span = (shape[axis] - 1) * steps[axis];
      const std::int64_t lowest = std::max<std::int64_t>(0, -span);
      const std::int64_t highest = output.shape[axis] - 1 - std::max<std::int64_t>(0, span);
      y_strides[axis] *= steps[axis];
      if (lowest == highest) {
        y_base += lowest * output.strides[axis];
      } else {
        starts.push_back({signature.dynamic + axis, lowest, highest, output.strides[axis]});
      }
    }
    if (starts.empty()) starts.push_back({signature.dynamic, 0, 0, 0});
    merge_kernel_axes(&shape, {&x_strides, &y_strides});
    width = widest(kPacketBytes / size_of(output.dtype));
  }

  // The widest vectors of up to `most` elements that every step is a multiple of.
  std::int64_t widest(std::int64_t most) const {
    const int last = shape.rank() - 1;
    if (x_strides[last] != 1 || y_strides[last] != 1) return 1;
    for (; most > 1; most /= 2) {
      const auto whole = [most](std::int64_t elements) { return elements % most == 0; };
      const auto steps = [&](const Strides& strides) {
        return std::all_of(strides.begin(), strides.end() - 1, whole);
      };
      if (whole(shape[last]) && steps(x_strides) && steps(y_strides) && whole(x.base) &&
          whole(y_base) && std::all_of(starts.begin(), starts.end(), [&](const AssignStart& s) {
            return whole(s.stride);
          })) {
        break;
      }
    }
    return most;
  }

  StridedOperand x;
  Shape shape;
  Strides x_strides, y_strides;
  std::int64_t y_base = 0;
  std::vector<AssignStart> starts;
  std::int64_t width = 1;  // of a vector, in elements
};

// In vectors of `width` elements.
Step assign_step(StepPlan& plan, const Signature& signature, Assignment region, std::int64_t width,
                 bool rare) {
  const std::int64_t bytes = width * size_of(signature.output.dtype);
  const std::string vector = vector_type(bytes);
  const int last = region.shape.rank() - 1;
  region.shape[last] /= width;
  for (int axis = 0; axis < last; ++axis) {
    region.x_strides[axis] /= width;
    region.y_strides[axis] /= width;
  }
  const std::int64_t count = element_count(region.shape);
  const std::string starts = std::to_string(region.starts.size());
  const std::string rank = std::to_string(region.shape.rank());
  std::vector<std::int64_t> words;
  append_words(
      AssignRegion{
          .count = count, .x_base = region.x.base / width, .y_base = region.y_base / width},
      &words);
  for (AssignStart start : region.starts) {
    start.stride /= width;
    append_words(start, &words);
  }
  for (int axis = 0; axis <= last; ++axis) {
    append_words(AssignAxis{.extent = divisor(region.shape[axis]),
                            .x_stride = region.x_strides[axis],
                            .y_stride = region.y_strides[axis]},
                 &words);
  }
  static_assert(sizeof(AssignParams<2, 3>) ==
                sizeof(AssignRegion) + 2 * sizeof(AssignStart) + 3 * sizeof(AssignAxis));
  return KernelCall(kFile, "slice_assign", {vector, index_type(count), starts, rank})
      .read(vector, "x", aligned(region.x.argument, bytes))
      .read_write(vector, "y", aligned(output_argument(signature), bytes))
      .dynamics()
      .constants(instance("AssignParams", {starts, rank}), std::move(words))
      .step(plan, groups_for(ceil_div(count, kAssignedAtOnce)), {kThreads}, kThreads, rare);
}

Prepared prepare_slice_assign(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.inputs[1].shape) == 0) return prepared_steps(std::move(plan));
  const Assignment region(signature);
  plan->add_step(region.width > 1, [&](bool wide, bool rare) {
    return assign_step(*plan, signature, region, wide ? region.width : 1, rare);
  });
  return prepared_steps(std::move(plan));
}

// Of ops with one value an index.
constexpr Implementation atomics(const OpDef& op) {
  return {.name = "atomics",
          .op = &op,
          .accepts = accepts_scatter_atomics,
          .prepare = prepare_scatter_atomics,
          .launch = launch_steps};
}
constexpr Implementation privatized(const OpDef& op) {
  return {.name = "privatized",
          .op = &op,
          .accepts = accepts_scatter_privatized,
          .prepare = prepare_scatter_privatized,
          .launch = launch_steps};
}
constexpr Implementation bucketed(const OpDef& op) {
  return {.name = "bucketed",
          .op = &op,
          .accepts = accepts_scatter_bucketed,
          .prepare = prepare_scatter_bucketed,
          .launch = launch_steps};
}
constexpr Implementation sorted(const OpDef& op) {
  return {.name = "sorted",
          .op = &op,
          .accepts = accepts_scatter_sorted,
          .fits = fits_scatter_sorted,
          .prepare = prepare_scatter_sorted,
          .launch = launch_steps};
}
constexpr Implementation serial(const OpDef& op) {
  return {.name = "serial", .op = &op, .prepare = prepare_scatter_serial, .launch = launch_steps};
}
// Of ops with a slice an index; they move whole rows.
constexpr Implementation sorted_rows(const OpDef& op) {
  return {.name = "sorted",
          .op = &op,
          .accepts = accepts_select_sorted,
          .layout = LayoutNeed::dense,
          .prepare = prepare_select_sorted,
          .launch = launch_steps};
}
constexpr Implementation serial_rows(const OpDef& op) {
  return {.name = "serial",
          .op = &op,
          .layout = LayoutNeed::dense,
          .prepare = prepare_select_serial,
          .launch = launch_steps};
}

constexpr Implementation kIndexingFamily[] = {
    {.name = "copies", .op = &defs::cat_op, .prepare = prepare_cat, .launch = launch_copies},
    {.name = "single_element",
     .op = &defs::slice_assign_op,
     .accepts = accepts_single_element,
     .prepare = prepare_single_element,
     .launch = launch_copies},
    {.name = "elements",
     .op = &defs::slice_assign_op,
     .prepare = prepare_slice_assign,
     .launch = launch_steps},
    {.name = "elements", .op = &defs::gather_op, .prepare = prepare_gather, .launch = launch_steps},
    {.name = "rows",
     .op = &defs::select_op,
     .accepts = accepts_select_rows,
     .fits = fits_select_rows,
     .prepare = prepare_select_rows,
     .launch = launch_steps},
    {.name = "elements",
     .op = &defs::select_op,
     .prepare = prepare_select_elements,
     .launch = launch_steps},
    atomics(defs::scatter_add_op),
    privatized(defs::scatter_add_op),
    bucketed(defs::scatter_add_op),
    sorted(defs::scatter_add_op),
    serial(defs::scatter_add_op),
    atomics(defs::scatter_op),
    privatized(defs::scatter_op),
    bucketed(defs::scatter_op),
    sorted(defs::scatter_op),
    serial(defs::scatter_op),
    sorted_rows(defs::select_add_op),
    serial_rows(defs::select_add_op),
    {.name = "last_of_equals",
     .op = &defs::select_assign_op,
     .accepts = accepts_assign_rows,
     .prepare = prepare_assign_rows,
     .launch = launch_steps},
    sorted_rows(defs::select_assign_op),
    serial_rows(defs::select_assign_op),
};

}  // namespace

Family indexing_family() { return kIndexingFamily; }

}  // namespace hearth::gpu
