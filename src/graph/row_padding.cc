// Part of pass 2 of the planner: which values have rows further apart than they are long, so that
// each begins where contractions read and write fastest. Only memory that the plan places itself can
// be laid out so; what is between the rows is never written, and read by nobody.
#include "graph/planner.h"

namespace hearth {
namespace {

// Shorter rows would grow by more than an eighth.
constexpr std::int64_t kLeastPaddedBytes = 8 * kRowAlignment;

}  // namespace

Signature Planner::dense_signature(const PlanNode& node) const {
  Signature signature;
  signature.op = node.op;
  signature.statics = node.statics;
  signature.output = {node.dtype, node.shape, contiguous_strides(node.shape), false};
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
    const Kernel* const kernel = device_.kernels().find(signature);
    if (kernel == nullptr || kernel->wants_padding == nullptr ||
        !kernel->wants_padding(signature)) {
      continue;
    }
    node.is_padded = true;
    for (std::uint32_t i = 0; i < node.ref_count; ++i) {
      OperandRef ref = refs_[node.first_ref + i];
      while (ref.tag() == OperandRef::local) {
        PlanNode& from = nodes_[ref.payload()];
        from.is_padded = true;
        if (from.op->kind != OpKind::view) break;
        ref = refs_[from.first_ref];
      }
    }
  }
}

Strides Planner::strides_of_result(const PlanNode& node, const Kernel& kernel) const {
  Strides strides = contiguous_strides(node.shape);
  const int rank = node.shape.rank();
  if (!kernel.writes_padded || !node.is_padded || !node.stays_inside || rank < 2) return strides;
  const std::int64_t item = size_of(node.dtype), bytes = node.shape.back() * item;
  if (node.shape[rank - 2] == 1 || element_count(node.shape) == 0 || bytes < kLeastPaddedBytes) {
    return strides;
  }
  Shape padded = node.shape;
  padded[rank - 1] = (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment / item;
  return contiguous_strides(padded);
}

}  // namespace hearth
