#include "graph/plan/region_builder.h"

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

bool same_dynamic(const std::vector<DynamicOffset>& a, const std::vector<DynamicOffset>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const DynamicOffset& x, const DynamicOffset& y) {
                      return x.dynamic == y.dynamic && x.stride_bytes == y.stride_bytes;
                    });
}

}  // namespace

Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to) {
  Strides out = Strides::filled(to.rank(), 0);
  const int shift = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) out[i + shift] = from[i] == 1 ? 0 : strides[i];
  return out;
}

int RegionBuilder::result_of(std::uint32_t node) const {
  const auto at = std::lower_bound(results_.begin(), results_.end(), std::pair(node, 0));
  return at->second;
}

int RegionBuilder::untagged(int value) const {
  const int inputs = static_cast<int>(built_.lowered.region.inputs.size());
  if ((value & kResultTag) != 0) {
    return inputs + static_cast<int>(built_.lowered.region.scalars.size()) + (value & ~kResultTag);
  }
  if ((value & kScalarTag) != 0) return inputs + (value & ~kScalarTag);
  return value;
}

int RegionBuilder::memory_input(const PlanValue& value, const Shape& shape, DType dtype) {
  const Strides strides =
      broadcast_strides(shape, value.layout.strides, built_.lowered.region.shape);
  for (std::size_t i = 0; i < built_.inputs.size(); ++i) {
    const PlanValue& known = built_.inputs[i];
    if (known.root == value.root && known.layout.offset == value.layout.offset &&
        built_.lowered.region.inputs[i].strides == strides &&
        same_dynamic(known.dynamic, value.dynamic)) {
      return static_cast<int>(i);
    }
  }
  built_.inputs.push_back(value);
  built_.lowered.region.inputs.push_back({dtype, strides});
  return static_cast<int>(built_.inputs.size()) - 1;
}

int RegionBuilder::scalar_input(int dynamic, DType dtype) {
  std::vector<RegionScalar>& scalars = built_.lowered.region.scalars;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (scalars[i].dynamic == dynamic) return kScalarTag | static_cast<int>(i);
  }
  scalars.push_back({dtype, dynamic});
  return kScalarTag | (static_cast<int>(scalars.size()) - 1);
}

int RegionBuilder::argument(const PlanNode& node, std::uint32_t i, int item) {
  const OperandRef ref = planner_.refs_[node.first_ref + i];
  const PlanValue value = planner_.operand(node, i);
  DType dtype = DType::f32;
  if (ref.tag() == OperandRef::local) {
    dtype = planner_.nodes_[ref.payload()].dtype;
  } else if (ref.tag() == OperandRef::external) {
    dtype = planner_.recording_.externals[ref.payload()]->dtype;
  } else {
    dtype = static_cast<DType>(ref.payload());
  }
  if (value.scalar >= 0) return scalar_input(value.scalar, dtype);
  const PlanRoot& root = planner_.roots_[static_cast<std::size_t>(value.root)];
  if (root.item >= 0 && planner_.find_item(root.item) == item && root.node >= 0 &&
      planner_.items_[static_cast<std::size_t>(item)].root != value.root) {
    return kResultTag | result_of(static_cast<std::uint32_t>(root.node));
  }
  return memory_input(value, planner_.operand_shape(node, i), dtype);
}

BuiltRegion RegionBuilder::finished() {
  lower(&built_.lowered);
  return std::move(built_);
}

BuiltRegion RegionBuilder::build(PlanItem& item) {
  Region& region = built_.lowered.region;
  region.exact = planner_.switches_.exact;
  std::sort(item.members.begin(), item.members.end());
  const PlanNode* end =
      item.reduction >= 0 ? &planner_.nodes_[static_cast<std::size_t>(item.reduction)] : nullptr;
  region.shape = item.members.empty() ? planner_.operand_shape(*end, 0)
                                      : planner_.nodes_[item.members[0]].shape;
  int self = -1;
  if (!item.members.empty()) {
    const PlanNode& first = planner_.nodes_[item.members[0]];
    self = planner_.find_item(planner_.roots_[static_cast<std::size_t>(first.value.root)].item);
  } else {
    self = planner_.roots_[static_cast<std::size_t>(item.root)].item;
  }
  for (const std::uint32_t member : item.members) {
    const PlanNode& node = planner_.nodes_[member];
    RegionInstruction instruction;
    instruction.op = node.op;
    instruction.dtype = node.dtype;
    for (std::uint32_t i = 0; i < node.ref_count; ++i) {
      instruction.args[i] = static_cast<std::int16_t>(argument(node, i, self));
    }
    results_.emplace_back(member, static_cast<int>(region.instructions.size()));
    region.instructions.push_back(instruction);
  }
  if (end != nullptr) {
    RegionReduction& reduction = region.reduction;
    reduction.op = end->op;
    reduction.dtype = end->dtype;
    reduction.precise = planner_.switches_.precise_sums;
    reduction.by_row = planner_.switches_.batch_invariant;
    reduction.value = argument(*end, 0, self);
    ParamReader statics(end->statics);
    const Dims axes = statics.list();
    const bool keepdim = statics.boolean();
    for (const std::int64_t axis : axes) reduction.axes |= 1u << axis;
    const Strides dense = contiguous_strides(end->shape);
    reduction.strides = Strides::filled(region.shape.rank(), 0);
    int out_axis = 0;
    for (int axis = 0; axis < region.shape.rank(); ++axis) {
      const bool reduced = (reduction.axes >> axis & 1u) != 0;
      if (!reduced) reduction.strides[axis] = dense[out_axis];
      if (!reduced || keepdim) ++out_axis;
    }
    built_.reduction_root = item.root;
  }
  for (RegionInstruction& instruction : region.instructions) {
    for (std::int16_t& arg : instruction.args) {
      if (arg >= 0) arg = static_cast<std::int16_t>(untagged(arg));
    }
  }
  if (end != nullptr) region.reduction.value = untagged(region.reduction.value);
  for (const std::uint32_t member : item.members) {
    const PlanNode& node = planner_.nodes_[member];
    if (!planner_.roots_[static_cast<std::size_t>(node.value.root)].in_memory) continue;
    region.outputs.push_back(
        {node.dtype, untagged(kResultTag | result_of(member)), node.value.layout.strides});
    built_.output_roots.push_back(node.value.root);
  }
  if (end == nullptr) include_padding(item);
  return finished();
}

void RegionBuilder::include_padding(const PlanItem& item) {
  Region& region = built_.lowered.region;
  const int last = region.shape.rank() - 1;
  if (last < 1) return;
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    PlanValue input = built_.inputs[i];
    input.layout.strides = region.inputs[i].strides;
    if (input.layout.strides[last] == 0) continue;  // one number for a row, and for its padding
    if (!planner_.has_padded_rows(input, region.shape)) return;
  }
  for (const std::uint32_t member : item.members) {
    const PlanValue& value = planner_.nodes_[member].value;
    const bool is_output = planner_.roots_[static_cast<std::size_t>(value.root)].in_memory;
    if (is_output && !planner_.has_padded_rows(value, region.shape)) return;
  }
  region.shape = padded_shape(region.shape);
}

BuiltRegion RegionBuilder::build_copy(const PlanItem& item) {
  const PlanRoot& root = planner_.roots_[static_cast<std::size_t>(item.root)];
  Region& region = built_.lowered.region;
  region.shape = root.shape;
  const int value = item.source.scalar >= 0 ? scalar_input(item.source.scalar, root.dtype)
                                            : memory_input(item.source, root.shape, root.dtype);
  region.outputs.push_back({root.dtype, untagged(value), root.strides});
  built_.output_roots.push_back(item.root);
  return finished();
}

}  // namespace hearth
