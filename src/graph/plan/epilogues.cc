// Part of pass 2 of the planner: elementwise ops that a kernel applies to its result before it
// stores it. The implementation says which (Implementation::fuses); this pass checks that nothing
// else reads the results that are no longer stored. Signature::output then is the result of the
// last op.
#include <utility>

#include "graph/plan/region_builder.h"

namespace hearth {
namespace {

constexpr std::size_t kMaxEpilogue = 4;  // steps that rules are looked for

}  // namespace

void Planner::count_uses() {
  for (const PlanNode& node : nodes_) {
    if (!node.needed) continue;
    for (std::uint32_t i = 0; i < node.ref_count; ++i) {
      const OperandRef ref = refs_[node.first_ref + i];
      if (ref.tag() == OperandRef::local) ++nodes_[ref.payload()].uses;
    }
  }
}

Signature Planner::signature_of(const PlanItem& item) const {
  const PlanNode& node = nodes_[item.members[0]];
  Signature signature = dense_signature(node);
  signature.dynamic = node.first_dynamic;
  signature.output.strides = node.value.layout.strides;
  const auto is_omitted = [this](int root) {
    return !roots_[static_cast<std::size_t>(root)].in_memory;
  };
  signature.output.dtype = roots_[static_cast<std::size_t>(item.root)].dtype;
  signature.output.absent = is_omitted(item.root);
  for (std::size_t i = 0; i < item.more_roots.size(); ++i) {
    signature.more_outputs[i].absent = is_omitted(item.more_roots[i]);
    signature.more_outputs[i].strides =
        roots_[static_cast<std::size_t>(item.more_roots[i])].strides;
  }
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    TensorSpec& spec = signature.inputs[i];
    if (!spec.absent) spec.strides = item.inputs[i].layout.strides;
  }
  signature.inputs.insert(signature.inputs.end(), item.more_inputs.begin(), item.more_inputs.end());
  signature.epilogue = item.epilogue;
  return signature;
}

int Planner::only_reader_of(const PlanNode& node, std::uint32_t i) const {
  const PlanValue value = operand(node, i);
  if (value.root < 0 || !value.dynamic.empty() || value.layout.offset != 0) return -1;
  const PlanRoot& root = roots_[static_cast<std::size_t>(value.root)];
  if (root.item < 0 || root.dtype != operand_dtype(node, i)) return -1;
  const PlanItem& item = items_[static_cast<std::size_t>(root.item)];
  const Shape& shape = operand_shape(node, i);
  if (item.kind != PlanItem::Kind::kernel || !device_.selector().may_fuse(*item.implementation) ||
      item.root != value.root || shape != node.shape ||
      element_count(shape) != element_count(root.shape) || !is_dense(shape, value.layout.strides)) {
    return -1;
  }
  for (OperandRef ref = refs_[node.first_ref + i]; ref.tag() == OperandRef::local;) {
    const PlanNode& from = nodes_[ref.payload()];
    if (from.wanted || from.uses != 1) return -1;
    if (from.op->kind != OpKind::view) return root.item;
    ref = refs_[from.first_ref];
  }
  return -1;
}

bool Planner::trace_epilogue(std::uint32_t index) {
  const PlanNode& node = nodes_[index];
  if (!switches_.fuse_epilogues || switches_.exact || node.ref_count > 2) return false;
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    const int item = only_reader_of(node, i);
    if (item >= 0 && join_epilogue(index, i, item)) return true;
  }
  return false;
}

// The one op that reads a node, and which operand of it the node is; null where there is not one.
const PlanNode* Planner::only_reader(std::uint32_t index, std::uint32_t* at) const {
  if (nodes_[index].uses != 1 || nodes_[index].wanted) return nullptr;
  for (std::uint32_t next = index + 1; next < nodes_.size(); ++next) {
    const PlanNode& node = nodes_[next];
    for (std::uint32_t i = 0; node.needed && i < node.ref_count; ++i) {
      const OperandRef ref = refs_[node.first_ref + i];
      if (ref.tag() != OperandRef::local || ref.payload() != index) continue;
      *at = i;
      return &node;
    }
  }
  return nullptr;
}

// Whether an operand is a number of the recording, as it is or broadcast.
bool Planner::is_scalar(OperandRef ref) const {
  while (ref.tag() == OperandRef::local) {
    const PlanNode& from = nodes_[ref.payload()];
    if (from.op->kind != OpKind::view) return false;
    ref = refs_[from.first_ref];
  }
  return ref.tag() == OperandRef::scalar;
}

// What takes the kernel's epilogue, whose last step is node `index`. A rule may be for a class with
// more steps after it, as far as they can join: what they read and is not traced yet is taken for
// dense, and where it is not, the kernel that the rule names applies the steps before.
const Implementation* Planner::fusing_kernel(std::uint32_t index, const PlanItem& kernel) const {
  const Selector& selector = device_.selector();
  const Implementation& chosen = *kernel.implementation;
  const Signature now = signature_of(kernel);
  if (const Implementation* const found = selector.fusing(chosen, now)) return found;
  if (chosen.fuses != nullptr || !selector.may_fuse(chosen)) return nullptr;
  Signature later = now;
  while (later.epilogue.size() < kMaxEpilogue) {
    std::uint32_t result = 0;
    const PlanNode* const node = only_reader(index, &result);
    if (node == nullptr || node->op->kind != OpKind::elementwise || node->ref_count > 2 ||
        node->shape != nodes_[index].shape) {
      break;
    }
    Epilogue step{node->op, -1, result == 1};
    if (node->ref_count == 2) {
      const std::uint32_t i = 1 - result;
      if (is_scalar(refs_[node->first_ref + i])) break;
      const PlanValue other = operand(*node, i);
      const Shape& shape = operand_shape(*node, i);
      const Strides strides = other.root < 0 ? contiguous_strides(shape) : other.layout.strides;
      step.input = static_cast<int>(later.inputs.size());
      later.inputs.push_back({operand_dtype(*node, i), node->shape,
                              broadcast_strides(shape, strides, node->shape), false});
    }
    later.epilogue.push_back(step);
    later.output.dtype = node->dtype;
    const Implementation* const found = selector.fusing(chosen, later);
    if (found != nullptr && found->fuses(now)) return found;
    index = static_cast<std::uint32_t>(node - nodes_.data());
  }
  return nullptr;
}

bool Planner::join_epilogue(std::uint32_t index, std::uint32_t result, int item) {
  PlanNode& node = nodes_[index];
  PlanItem& kernel = items_[static_cast<std::size_t>(item)];
  Epilogue step{node.op, -1, result == 1};
  PlanValue other;
  if (node.ref_count == 2) {
    const std::uint32_t i = 1 - result;
    other = operand(node, i);
    if (other.root < 0) return false;
    step.input = static_cast<int>(kernel.inputs.size());
    kernel.inputs.push_back(other);
    kernel.more_inputs.push_back(
        {operand_dtype(node, i), node.shape,
         broadcast_strides(operand_shape(node, i), other.layout.strides, node.shape), false});
  }
  kernel.epilogue.push_back(step);
  PlanRoot& root = roots_[static_cast<std::size_t>(kernel.root)];
  const DType dtype = std::exchange(root.dtype, node.dtype);
  const Implementation* const fusing = fusing_kernel(index, kernel);
  if (fusing == nullptr) {
    root.dtype = dtype;
    kernel.epilogue.pop_back();
    if (step.input >= 0) {
      kernel.inputs.pop_back();
      kernel.more_inputs.pop_back();
    }
    return false;
  }
  kernel.implementation = fusing;
  read_from_memory(other);
  // What the step reads exists by now.
  kernel.position = 2 * static_cast<std::int64_t>(index) + 1;
  root.node = static_cast<int>(index);
  root.shape = node.shape;
  root.strides = contiguous_strides(node.shape);
  root.bytes = bytes_of(node.dtype, element_count(node.shape));
  node.value.root = kernel.root;
  node.value.layout.strides = contiguous_strides(node.shape);
  ++plan_->fused;
  return true;
}

}  // namespace hearth
