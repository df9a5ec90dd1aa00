// Pass 2 of the planner: nodes become values, members of regions, and items.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/channels_last.h"
#include "graph/plan/planner.h"

namespace hearth {
namespace {

// A region's operands and results must fit the device's registers and arguments, and its text must
// stay small.
constexpr std::size_t kMaxRegionMembers = 192;
constexpr int kMaxRegionInputs = 16;

}  // namespace

int Planner::open_region(const PlanValue& value, const Shape& shape) const {
  if (value.root < 0 || !value.dynamic.empty()) return -1;
  const PlanRoot& root = roots_[static_cast<std::size_t>(value.root)];
  if (root.item < 0 || root.in_memory || root.shape != shape) return -1;
  if (!is_as_made(value)) return -1;
  const int item = find_item(root.item);
  const PlanItem& region = items_[static_cast<std::size_t>(item)];
  if (region.kind != PlanItem::Kind::region || !region.open || region.root == value.root) return -1;
  return item;
}

void Planner::trace(std::uint32_t index) {
  switch (nodes_[index].op->kind) {
    case OpKind::view:
      return trace_view(index);
    case OpKind::elementwise:
      return trace_elementwise(index);
    case OpKind::reduce:
      return trace_reduction(index);
    case OpKind::output:
      return;  // trace_outputs() was here
    default:
      return trace_kernel(index);
  }
}

void Planner::trace_view(std::uint32_t index) {
  PlanNode& node = nodes_[index];
  PlanValue input = operand(node, 0);
  if (input.scalar >= 0) {
    node.value = input;
    return;
  }
  const Shape& in_shape = operand_shape(node, 0);
  Layout out;
  if (!node.op->view(node.statics, in_shape, input.layout, node.shape, &out)) {
    input = dense(input, in_shape, operand_dtype(node, 0), position_of(index));
    if (!node.op->view(node.statics, in_shape, input.layout, node.shape, &out)) {
      throw Error(ErrorCode::internal,
                  std::string(node.op->name.text) + ": no view of a dense array");
    }
  }
  node.value = input;
  node.value.layout = out;
  if (node.op->dynamic_offset) {
    const std::int64_t bytes = size_of(node.dtype);
    for (int axis = 0; axis < in_shape.rank(); ++axis) {
      node.value.dynamic.push_back({node.first_dynamic + axis, input.layout.strides[axis] * bytes});
    }
  }
}

void Planner::trace_elementwise(std::uint32_t index) {
  if (trace_epilogue(index)) return;
  PlanNode& node = nodes_[index];
  // Members seen through a view, and all producers where fusion is off, are read from memory.
  int memory_inputs = 0;
  int target = -1;
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    const PlanValue value = operand(node, i);
    if (value.root < 0) continue;
    if (!switches_.fuse_elementwise || operand_shape(node, i) != node.shape ||
        open_region(value, node.shape) < 0) {
      read_from_memory(value);
      ++memory_inputs;
    }
  }
  // Join the regions of the others, largest first, as long as the whole stays small.
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    const PlanValue value = operand(node, i);
    const int producer = operand_shape(node, i) == node.shape ? open_region(value, node.shape) : -1;
    if (producer < 0) {
      if (value.root >= 0) read_from_memory(value);
      continue;
    }
    if (target < 0) {
      PlanItem& region = items_[static_cast<std::size_t>(producer)];
      if (region.members.size() >= kMaxRegionMembers ||
          region.memory_inputs + memory_inputs > kMaxRegionInputs) {
        read_from_memory(value);
        continue;
      }
      target = producer;
    } else if (producer != target) {
      PlanItem& into = items_[static_cast<std::size_t>(target)];
      PlanItem& from = items_[static_cast<std::size_t>(producer)];
      if (into.members.size() + from.members.size() >= kMaxRegionMembers ||
          into.memory_inputs + from.memory_inputs + memory_inputs > kMaxRegionInputs) {
        read_from_memory(value);
        continue;
      }
      if (into.members.size() < from.members.size()) into.members.swap(from.members);
      into.members.insert(into.members.end(), from.members.begin(), from.members.end());
      into.memory_inputs += from.memory_inputs;
      from.members.clear();
      from.kind = PlanItem::Kind::dead;
      from.merged_into = target;
    }
  }
  if (target < 0) {
    target = new_item(PlanItem::Kind::region, position_of(index));
    items_.back().open = true;
  }
  PlanItem& region = items_[static_cast<std::size_t>(target)];
  region.members.push_back(index);
  region.memory_inputs += memory_inputs;
  region.position = position_of(index);
  node.value.root = new_root(node.dtype, node.shape, target, static_cast<int>(index));
  node.value.layout.strides = contiguous_strides(node.shape);
  if (!choose_channels_last(node)) pad_rows(node);
}

void Planner::trace_reduction(std::uint32_t index) {
  PlanNode& node = nodes_[index];
  PlanValue value = operand(node, 0);
  const Shape& in_shape = operand_shape(node, 0);
  int target = switches_.fuse_reductions ? open_region(value, in_shape) : -1;
  if (target < 0) {
    read_from_memory(value);
    target = new_item(PlanItem::Kind::region, position_of(index));
  }
  PlanItem& region = items_[static_cast<std::size_t>(target)];
  region.open = false;
  region.position = position_of(index);
  region.reduction = static_cast<int>(index);
  const int root = new_root(node.dtype, node.shape, target, static_cast<int>(index));
  roots_.back().in_memory = true;
  items_[static_cast<std::size_t>(target)].root = root;
  node.value.root = root;
  node.value.layout.strides = contiguous_strides(node.shape);
}

void Planner::trace_kernel(std::uint32_t index) {
  PlanNode& node = nodes_[index];
  Signature signature = dense_signature(node);
  std::vector<PlanValue> inputs;
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    TensorSpec& spec = signature.inputs[i];
    PlanValue value = operand(node, i);
    if (!spec.absent) {
      if (value.scalar >= 0) {
        value = stored(value, spec.shape, spec.dtype, position_of(index) - 1);
      }
      spec.strides = value.layout.strides;
    }
    inputs.push_back(std::move(value));
  }
  const Implementation* chosen = device_.selector().find(signature);
  if (chosen == nullptr) {
    throw Error(ErrorCode::unsupported,
                std::string(node.op->name.text) + ": no implementation; got dtype " +
                    std::string(name(node.dtype)) + " on " + device_.kind() +
                    ", expected a dtype that hearth ops lists for this device");
  }
  if (lay_out(*chosen, index, &inputs, &signature)) {
    // What has been copied may suit one that is better still.
    chosen = device_.selector().find(signature);
    lay_out(*chosen, index, &inputs, &signature);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!signature.inputs[i].absent) read_from_memory(inputs[i]);
  }
  const bool gets_channels_last =
      wants_channels_last(*chosen, signature) ||
      (keeps_channels_last_ && chosen->writes_channels_last && !inputs.empty() &&
       is_only_channels_last(inputs[0], signature.inputs[0].shape));
  const int item = new_item(PlanItem::Kind::kernel, position_of(index));
  PlanItem& it = items_.back();
  it.members.push_back(index);
  it.implementation = chosen;
  it.inputs = std::move(inputs);
  it.root = new_root(node.dtype, node.shape, item, static_cast<int>(index));
  node.value.root = it.root;
  node.value.layout.strides = contiguous_strides(node.shape);
  roots_.back().in_memory = true;
  if (chosen->writes_padded) pad_rows(node);
  if (node.op->outputs > 1) trace_outputs(index);
  if (!gets_channels_last) return;
  for (PlanNode& output :
       std::span(nodes_).subspan(index, static_cast<std::size_t>(node.op->outputs))) {
    set_channels_last(output);
  }
}

bool Planner::lay_out(const Implementation& chosen, std::uint32_t index,
                      std::vector<PlanValue>* inputs, Signature* signature) {
  bool has_copied = false;
  const bool orders = wants_channels_last(chosen, *signature);
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    TensorSpec& spec = signature->inputs[i];
    if (spec.absent) continue;
    PlanValue& input = (*inputs)[i];
    bool fits = true;
    if (orders && spec.shape.rank() > 3) {
      if (is_channels_last(spec.shape, input.layout.strides)) continue;
      input = copied(input, spec.shape, channels_last_strides(spec.shape), spec.dtype,
                     position_of(index) - 1);
      spec.strides = input.layout.strides;
      has_copied = true;
      continue;
    }
    if (chosen.layout == LayoutNeed::dense || static_cast<int>(i) == nodes_[index].op->overwrites) {
      fits = is_dense(spec.shape, input.layout.strides);
    } else if (chosen.layout == LayoutNeed::last_axis_dense && spec.shape.rank() > 0) {
      fits = spec.shape.back() <= 1 || input.layout.strides.back() == 1;
    } else if (chosen.layout == LayoutNeed::aligned_rows) {
      fits = is_aligned(input) && has_aligned_rows(spec, input.layout.strides, input.layout.offset);
    } else if (chosen.layout == LayoutNeed::matrices) {
      fits = has_dense_matrices(spec.shape, input.layout.strides);
    }
    if (fits) continue;
    input = dense(input, spec.shape, spec.dtype, position_of(index) - 1);
    spec.strides = input.layout.strides;
    has_copied = true;
  }
  return has_copied;
}

void Planner::trace_outputs(std::uint32_t index) {
  PlanItem& item = items_.back();
  const std::uint32_t may_omit = item.implementation->may_omit;
  const PlanNode& first = nodes_[index];
  roots_.back().in_memory = first.wanted || first.is_read || (may_omit & 1u) == 0;
  const int producer = roots_.back().item;
  for (int i = 1; i < first.op->outputs; ++i) {
    const std::uint32_t at = index + static_cast<std::uint32_t>(i);
    PlanNode& node = nodes_[at];
    node.value.root = new_root(node.dtype, node.shape, producer, static_cast<int>(at));
    node.value.layout.strides = contiguous_strides(node.shape);
    roots_.back().in_memory = node.needed || (may_omit >> i & 1u) == 0;
    item.more_roots.push_back(node.value.root);
  }
}

}  // namespace hearth
