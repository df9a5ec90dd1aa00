// Part of pass 2 of the planner: which values have their channels, axis 1, innermost in memory.
//
// Convolutions ask for it (Implementation::wants_channels_last): their results have that order, and
// so has what is made of them element by element, gradients and updated weights too. So it lasts
// from step to step: what comes from outside keeps the order that it has. What elementwise ops make
// for a convolution they write in that order; only where nothing else helps is there a copy.
// Where no convolution asks, elementwise ops keep an order that all they read has.
#include "graph/channels_last.h"

#include "graph/plan/planner.h"

namespace hearth {

bool Planner::is_only_channels_last(const PlanValue& value, const Shape& shape) const {
  return value.root >= 0 && value.dynamic.empty() &&
         hearth::is_only_channels_last(shape, value.layout.strides);
}

namespace {

// Whether some elements of the shape are one in memory.
bool is_spread(const Shape& shape, const Strides& strides) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1 && strides[axis] == 0) return true;
  }
  return false;
}

}  // namespace

bool Planner::wants_channels_last(const Implementation& chosen, const Signature& signature) const {
  return keeps_channels_last_ && chosen.wants_channels_last != nullptr &&
         chosen.wants_channels_last(signature);
}

void Planner::find_channels_last() {
  keeps_channels_last_ = switches_.channels_last && device_.selector().wants_channels_last();
  if (!keeps_channels_last_) return;
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    const PlanNode& node = nodes_[k];
    if (!node.needed) continue;
    bool reads = node.op->kind == OpKind::elementwise && node.for_channels_last;
    if (node.op->kind != OpKind::elementwise && node.shape.rank() > 3) {
      const Signature signature = dense_signature(node);
      const Implementation* const chosen = device_.selector().find(signature);
      reads = chosen != nullptr && wants_channels_last(*chosen, signature);
    }
    if (!reads) continue;
    for (std::uint32_t i = 0; i < node.ref_count; ++i) {
      const OperandRef ref = refs_[node.first_ref + i];
      if (ref.tag() == OperandRef::local) nodes_[ref.payload()].for_channels_last = true;
    }
  }
}

bool Planner::choose_channels_last(PlanNode& node) {
  if (!switches_.channels_last || node.shape.rank() < 4) return false;
  bool some = false, all = true;
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    const PlanValue value = operand(node, i);
    if (operand_shape(node, i) != node.shape || value.scalar >= 0) continue;
    const bool last = is_only_channels_last(value, node.shape);
    some = some || last;
    all = all && (last || is_spread(node.shape, value.layout.strides));
  }
  const bool follows = keeps_channels_last_ ? node.for_channels_last || some : some && all;
  if (!follows) return false;
  set_channels_last(node);
  return true;
}

void Planner::set_channels_last(PlanNode& node) {
  const Strides strides = channels_last_strides(node.shape);
  roots_[static_cast<std::size_t>(node.value.root)].strides = strides;
  node.value.layout.strides = strides;
}

}  // namespace hearth
