// Part of pass 2 of the planner: which values have padded rows, so that each row is aligned as
// contractions read and write it fastest. Only memory that the plan places itself can be padded.
// The contents of the padding are unspecified.
#include "core/integer_math.h"
#include "graph/plan/planner.h"

namespace hearth {
namespace {

// Padded rows are multiples of this many elements, which is kRowAlignment for the smallest floats
// and more for others: padded values of one shape have the same index space, whatever their dtypes.
constexpr std::int64_t kRun = kRowAlignment / 2;
// Shorter rows would grow by more than an eighth.
constexpr std::int64_t kMinRow = 8 * kRun;

}  // namespace

Shape padded_shape(const Shape& shape) {
  Shape padded = shape;
  padded[shape.rank() - 1] = round_up(shape.back(), kRun);
  return padded;
}

Signature Planner::dense_signature(const PlanNode& node) const {
  Signature signature;
  signature.op = node.op;
  signature.device = &device_.selector().traits();
  signature.statics = node.statics;
  signature.output = {node.dtype, node.shape, contiguous_strides(node.shape), false};
  for (int i = 1; i < node.op->outputs; ++i) {
    const PlanNode& more = *(&node + i);
    signature.more_outputs.push_back({more.dtype, more.shape, contiguous_strides(more.shape)});
  }
  for (std::uint32_t i = 0; i < node.ref_count; ++i) {
    TensorSpec spec;
    spec.absent = refs_[node.first_ref + i].tag() == OperandRef::absent;
    if (!spec.absent) {
      spec.dtype = operand_dtype(node, i);
      spec.shape = operand_shape(node, i);
      spec.strides = contiguous_strides(spec.shape);
    }
    signature.inputs.push_back(std::move(spec));
  }
  return signature;
}

void Planner::find_padded() {
  // Later nodes first: who looks at a value from outside, be it through views.
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    PlanNode& node = nodes_[i];
    node.stays_inside = node.stays_inside && !node.wanted;
    if (node.stays_inside || !node.needed || node.op->kind != OpKind::view) continue;
    const OperandRef ref = refs_[node.first_ref];
    if (ref.tag() == OperandRef::local) nodes_[ref.payload()].stays_inside = false;
  }
  for (PlanNode& node : nodes_) {
    if (!node.needed || node.op->kind != OpKind::contraction) continue;
    const Signature signature = dense_signature(node);
    const Implementation* const chosen = device_.selector().find(signature);
    if (chosen == nullptr || chosen->wants_padding == nullptr ||
        !chosen->wants_padding(signature)) {
      continue;
    }
    node.is_padded = true;
    for (std::uint32_t i = 0; i < node.ref_count; ++i) pad_operand(node, i);
  }
  // An elementwise op that makes padded rows reads such rows, so that it need not know of them.
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    const PlanNode& node = nodes_[k];
    if (!node.is_padded || !node.stays_inside || node.op->kind != OpKind::elementwise) continue;
    for (std::uint32_t i = 0; i < node.ref_count; ++i) {
      if (operand_shape(node, i) == node.shape) pad_operand(node, i);
    }
  }
}

void Planner::pad_operand(const PlanNode& node, std::uint32_t i) {
  OperandRef ref = refs_[node.first_ref + i];
  while (ref.tag() == OperandRef::local) {
    PlanNode& from = nodes_[ref.payload()];
    from.is_padded = true;
    if (from.op->kind != OpKind::view) return;
    ref = refs_[from.first_ref];
  }
}

bool Planner::has_padded_rows(const PlanValue& value, const Shape& shape) const {
  if (value.root < 0 || value.layout.offset != 0 || !value.dynamic.empty()) return false;
  const PlanRoot& root = roots_[static_cast<std::size_t>(value.root)];
  if (root.item < 0 || is_dense(root.shape, root.strides) || shape.rank() < 2) return false;
  const Strides padded = contiguous_strides(padded_shape(shape));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && value.layout.strides[axis] != padded[axis]) return false;
  }
  return true;
}

void Planner::pad_rows(PlanNode& node) {
  bool pads = node.is_padded;
  // What reads padded rows writes them, for the same reason.
  for (std::uint32_t i = 0; node.op->kind == OpKind::elementwise && i < node.ref_count; ++i) {
    pads = pads ||
           (operand_shape(node, i) == node.shape && has_padded_rows(operand(node, i), node.shape));
  }
  const int rank = node.shape.rank();
  if (!pads || !node.stays_inside || rank < 2 || element_count(node.shape) == 0 ||
      node.shape[rank - 2] == 1 || node.shape[rank - 1] < kMinRow) {
    return;
  }
  const Shape padded = padded_shape(node.shape);
  PlanRoot& root = roots_[static_cast<std::size_t>(node.value.root)];
  root.strides = contiguous_strides(padded);
  root.bytes = bytes_of(node.dtype, element_count(padded));
  node.value.layout.strides = root.strides;
}

}  // namespace hearth
