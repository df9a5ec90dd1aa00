// slice_assign, gather and select: kernels/indexing/indexing.metal.
#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/fast_divmod.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kPacketBytes = 16;
constexpr int kRowsAtOnce = 4;
constexpr std::int64_t kGatheredAtOnce = 4;  // of kernels/indexing/indexing.metal
constexpr std::int64_t kAssignedAtOnce = 4;
// Threadgroups that fill a large GPU, and 32-bit positions of rows.
constexpr std::int64_t kManyGroups = 1024;
constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

runtime::KernelSource source(const std::string& function, const std::vector<std::string>& arguments,
                             std::vector<KernelParameter> parameters) {
  return library_kernel("indexing/indexing.metal", function, arguments, std::move(parameters),
                        kThreads);
}

std::string vector_type(std::int64_t bytes) {
  return bytes == kPacketBytes ? "uint4" : unsigned_type(bytes);
}

// What the kernel divides by where 32-bit positions suffice: extents beyond them go with wide ones.
Divisor divisor(std::int64_t extent) {
  return divisor_of(std::clamp<std::int64_t>(extent, 1, (std::int64_t{1} << 31) - 1));
}

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
    merge_axes(&shape, {&x_strides, &y_strides});
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
          whole(y_base) && std::all_of(starts.begin(), starts.end(), [&](const Start& s) {
            return whole(s.stride);
          })) {
        break;
      }
    }
    return most;
  }

  struct Start {
    std::int64_t word, lowest, highest, stride;
  };
  StridedOperand x;
  Shape shape;
  Strides x_strides, y_strides;
  std::int64_t y_base = 0;
  std::vector<Start> starts;
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
  runtime::KernelSource kernel =
      source("slice_assign", {vector, index_type(count), starts, rank},
             {{Kind::read, vector, "x"},
              {Kind::read_write, vector, "y"},
              {Kind::read, "ulong", "dynamics"},
              {Kind::constant, instance("AssignParams", {starts, rank}), "p"}});
  Step step;
  step.kernel = &plan.add_kernel(std::move(kernel), rare);
  step.groups = groups_for(parts(count, kAssignedAtOnce));
  step.threads = {kThreads};
  step.constants = {count};
  for (const auto member : {&Assignment::Start::word, &Assignment::Start::lowest,
                            &Assignment::Start::highest, &Assignment::Start::stride}) {
    const bool strides = member == &Assignment::Start::stride;
    for (const Assignment::Start& start : region.starts) {
      step.constants.push_back(start.*member / (strides ? width : 1));
    }
  }
  const auto append = [&](const auto& words) {
    step.constants.insert(step.constants.end(), words.begin(), words.end());
  };
  append(region.shape);
  for (const std::int64_t extent : region.shape) step.constants.push_back(divisor(extent).magic);
  for (const std::int64_t extent : region.shape) step.constants.push_back(divisor(extent).shift);
  step.constants.push_back(region.x.base / width);
  step.constants.push_back(region.y_base / width);
  append(region.x_strides);
  append(region.y_strides);
  step.arguments = {region.x.argument, strided_operand(signature.output, 2).argument, kDynamics,
                    kConstants};
  step.arguments[0].alignment = step.arguments[1].alignment = bytes;
  return step;
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

// What gather and select read: elements of `input` along an axis, at `indices`.
struct Lookup {
  explicit Lookup(const Signature& signature)
      : input(signature.inputs[0]),
        indices(signature.inputs[1]),
        axis(axis_of(signature)),
        extent(input.shape[axis]),
        step(input.strides[axis]),
        type_of_index(dialect_type(indices.dtype)),
        x(strided_operand(input, 0)),
        index(strided_operand(indices, 1)),
        y(strided_operand(signature.output, 2).argument) {}

  // Of a kernel that moves elements as `memory`, with constants `params`.
  std::vector<KernelParameter> parameters(const std::string& memory,
                                          const std::string& params) const {
    return {{Kind::read, memory, "x"},
            {Kind::read, type_of_index, "indices"},
            {Kind::write, memory, "y"},
            {Kind::constant, params, "p"}};
  }
  std::vector<StepArgument> arguments() const {
    return {x.argument, index.argument, y, kConstants};
  }

  const TensorSpec& input;
  const TensorSpec& indices;
  int axis;
  std::int64_t extent, step;  // of the axis
  std::string type_of_index;
  StridedOperand x, index;
  StepArgument y;
};

Prepared prepare_gather(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const Lookup from(signature);
  Shape shape = signature.output.shape;
  Strides x_strides = from.input.strides, index_strides = from.indices.strides;
  x_strides[from.axis] = 0;
  merge_axes(&shape, {&x_strides, &index_strides});
  const std::string rank = std::to_string(shape.rank());
  const std::string memory = storage_type(from.input.dtype);
  Step step;
  step.kernel =
      &plan->add_kernel(source("gather", {memory, from.type_of_index, index_type(count), rank},
                               from.parameters(memory, instance("GatherParams", {rank}))));
  step.groups = groups_for(parts(count, kGatheredAtOnce));
  step.threads = {kThreads};
  step.constants = {count, from.extent, from.step};
  append_axes(shape, x_strides, from.x.base, &step.constants);
  append_axes(shape, index_strides, from.index.base, &step.constants);
  step.arguments = from.arguments();
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// An input's axes around the indexed one: `row` contiguous elements, and what lies outside.
struct SelectedRows {
  explicit SelectedRows(const Lookup& from) : outer(from.input) {
    const TensorSpec& input = from.input;
    for (int i = input.shape.rank(); --i > from.axis;) {
      contiguous = contiguous && (input.shape[i] == 1 || input.strides[i] == row);
      row *= input.shape[i];
    }
    for (int i = from.axis; i < input.shape.rank(); ++i) outer.shape[i] = 1;
    rows = element_count(outer.shape) * from.indices.shape[0];
    merge_axes(&outer.shape, {&outer.strides});
    for (width = kPacketBytes / size_of(input.dtype); width > 1; width /= 2) {
      const auto whole = [this](std::int64_t stride) { return stride % width == 0; };
      if (whole(row) && whole(from.step) &&
          std::all_of(outer.strides.begin(), outer.strides.end(), whole)) {
        break;
      }
    }
  }
  TensorSpec outer;
  std::int64_t row = 1, rows = 0;
  bool contiguous = true;
  std::int64_t width = 1;  // of a vector, in elements
};

// In vectors of `width` elements.
Step rows_step(StepPlan& plan, const Lookup& from, SelectedRows rows, std::int64_t width,
               bool rare) {
  const std::int64_t bytes = width * size_of(from.input.dtype);
  const std::string vector = vector_type(bytes);
  const std::int64_t vectors = rows.row / width;
  const auto lanes = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(vectors, kThreads))));
  const std::string rank = std::to_string(rows.outer.shape.rank());
  Step step;
  step.kernel = &plan.add_kernel(
      source("select_rows", {vector, from.type_of_index, rank, std::to_string(kRowsAtOnce)},
             from.parameters(vector, instance("RowParams", {rank}))),
      rare);
  const std::int64_t groups = parts(rows.rows, kThreads / lanes * kRowsAtOnce);
  const std::int64_t across =
      std::clamp<std::int64_t>(kManyGroups / groups, 1, parts(vectors, lanes));
  step.groups = {static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(across)};
  step.threads = {kThreads};
  step.constants = {rows.rows,
                    from.indices.shape[0],
                    vectors,
                    lanes,
                    std::countr_zero(static_cast<std::uint64_t>(lanes)),
                    from.index.base,
                    from.indices.strides[0],
                    from.extent,
                    from.step / width};
  for (std::int64_t& stride : rows.outer.strides) stride /= width;
  append_axes(rows.outer.shape, rows.outer.strides, from.x.base / width, &step.constants);
  step.arguments = from.arguments();
  step.arguments[0].alignment = step.arguments[2].alignment = bytes;
  return step;
}

Prepared prepare_select(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const Lookup from(signature);
  const SelectedRows rows(from);
  if (rows.contiguous && rows.rows < kMostRows) {
    plan->add_step(rows.width > 1, [&](bool wide, bool rare) {
      return rows_step(*plan, from, rows, wide ? rows.width : 1, rare);
    });
    return prepared_steps(std::move(plan));
  }
  TensorSpec rest = from.input;
  rest.shape[from.axis] = 1;
  std::int64_t inner = 1;
  for (int i = from.axis + 1; i < rest.shape.rank(); ++i) inner *= rest.shape[i];
  merge_axes(&rest.shape, {&rest.strides});
  const std::string rank = std::to_string(rest.shape.rank());
  const std::string memory = storage_type(from.input.dtype);
  Step step;
  step.kernel =
      &plan->add_kernel(source("select", {memory, from.type_of_index, index_type(count), rank},
                               from.parameters(memory, instance("SelectParams", {rank}))));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count,           from.indices.shape[0],   inner,
                    from.index.base, from.indices.strides[0], from.extent,
                    from.step};
  append_axes(rest.shape, rest.strides, from.x.base, &step.constants);
  step.arguments = from.arguments();
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_indexing_kernels(KernelTable& table) {
  table.add(
      {.op = &defs::slice_assign_op, .prepare = prepare_slice_assign, .launch = launch_steps});
  table.add({.op = &defs::gather_op, .prepare = prepare_gather, .launch = launch_steps});
  table.add({.op = &defs::select_op, .prepare = prepare_select, .launch = launch_steps});
}

}  // namespace hearth::gpu
