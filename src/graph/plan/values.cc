// Values, roots and items of a plan under construction.
#include <algorithm>
#include <vector>

#include "graph/plan/planner.h"
#include "graph/record/packed.h"

namespace hearth {

// True if the root and dynamic starts are where LayoutNeed::aligned_rows wants them.
bool Planner::is_aligned(const PlanValue& value) const {
  const int external = roots_[static_cast<std::size_t>(value.root)].external;
  if (external >= 0 && !facts_[static_cast<std::size_t>(external)].aligned) return false;
  return std::all_of(value.dynamic.begin(), value.dynamic.end(), [](const DynamicOffset& offset) {
    return offset.stride_bytes % kRowAlignment == 0;
  });
}

PlanValue Planner::operand(const PlanNode& node, std::uint32_t i) const {
  const OperandRef ref = refs_[node.first_ref + i];
  PlanValue value;
  switch (ref.tag()) {
    case OperandRef::local:
      return nodes_[ref.payload()].value;
    case OperandRef::external: {
      const Node& external = *recording_.externals[ref.payload()];
      value.root = static_cast<int>(ref.payload());
      value.layout.strides = external.layout.strides;  // the base address has the offset
      return value;
    }
    case OperandRef::scalar: {
      int position = node.first_scalar;
      for (std::uint32_t k = 0; k < i; ++k) {
        if (refs_[node.first_ref + k].tag() == OperandRef::scalar) ++position;
      }
      value.scalar = position;
      return value;
    }
    case OperandRef::absent:
      break;
  }
  return value;
}

const Shape& Planner::operand_shape(const PlanNode& node, std::uint32_t i) const {
  static const Shape kScalarShape;
  const OperandRef ref = refs_[node.first_ref + i];
  if (ref.tag() == OperandRef::local) return nodes_[ref.payload()].shape;
  if (ref.tag() == OperandRef::external) return recording_.externals[ref.payload()]->shape;
  return kScalarShape;
}

DType Planner::operand_dtype(const PlanNode& node, std::uint32_t i) const {
  const OperandRef ref = refs_[node.first_ref + i];
  if (ref.tag() == OperandRef::local) return nodes_[ref.payload()].dtype;
  if (ref.tag() == OperandRef::external) return recording_.externals[ref.payload()]->dtype;
  return static_cast<DType>(ref.payload());
}

int Planner::new_root(DType dtype, const Shape& shape, int item, int node) {
  PlanRoot root;
  root.dtype = dtype;
  root.shape = shape;
  root.strides = contiguous_strides(shape);
  root.bytes = bytes_of(dtype, element_count(shape));
  root.item = item;
  root.node = node;
  roots_.push_back(root);
  return static_cast<int>(roots_.size()) - 1;
}

int Planner::new_item(PlanItem::Kind kind, std::int64_t position) {
  items_.emplace_back();
  items_.back().kind = kind;
  items_.back().position = position;
  return static_cast<int>(items_.size()) - 1;
}

int Planner::find_item(int item) const {
  while (items_[static_cast<std::size_t>(item)].merged_into >= 0) {
    item = items_[static_cast<std::size_t>(item)].merged_into;
  }
  return item;
}

bool Planner::is_as_made(const PlanValue& value) const {
  const PlanRoot& root = roots_[static_cast<std::size_t>(value.root)];
  if (value.layout.offset != 0) return false;
  if (element_count(root.shape) == 0) return true;
  for (int axis = 0; axis < root.shape.rank(); ++axis) {
    if (root.shape[axis] != 1 && value.layout.strides[axis] != root.strides[axis]) return false;
  }
  return true;
}

void Planner::read_from_memory(const PlanValue& value) {
  if (value.root < 0) return;
  PlanRoot& root = roots_[static_cast<std::size_t>(value.root)];
  root.in_memory = true;
  if (root.item >= 0) items_[static_cast<std::size_t>(find_item(root.item))].open = false;
}

PlanValue Planner::stored(const PlanValue& value, const Shape& shape, DType dtype,
                          std::int64_t position) {
  const int item = new_item(PlanItem::Kind::copy, position);
  const int root = new_root(dtype, shape, item, -1);
  roots_.back().in_memory = true;
  items_.back().root = root;
  items_.back().source = value;
  PlanValue filled;
  filled.root = root;
  filled.layout.strides = contiguous_strides(shape);
  return filled;
}

PlanValue Planner::dense(const PlanValue& value, const Shape& shape, DType dtype,
                         std::int64_t position) {
  if (value.scalar >= 0) return stored(value, shape, dtype, position);
  if (is_dense(shape, value.layout.strides)) {
    PlanValue same = value;
    same.layout.strides = contiguous_strides(shape);
    return same;
  }
  return copied(value, shape, contiguous_strides(shape), dtype, position);
}

PlanValue Planner::copied(const PlanValue& value, const Shape& shape, const Strides& strides,
                          DType dtype, std::int64_t position) {
  if (is_packed(dtype)) {
    const Bytes from = bytes_of_blocks(dtype, shape, value.layout.strides);
    const Bytes to = bytes_of_blocks(dtype, shape, strides);
    PlanValue source = value;
    source.layout.strides = from.strides;
    PlanValue copy = copied(source, from.shape, to.strides, DType::u8, position);
    copy.layout.strides = strides;
    return copy;
  }
  for (const DenseCopy& made : dense_copies_) {
    if (made.source.root == value.root && made.shape == shape &&
        made.copy.layout.strides == strides && made.source.layout.offset == value.layout.offset &&
        made.source.layout.strides == value.layout.strides && value.dynamic.empty()) {
      return made.copy;
    }
  }
  read_from_memory(value);
  ++plan_->copies;
  PlanValue copy = stored(value, shape, dtype, position);
  roots_.back().strides = strides;
  copy.layout.strides = strides;
  if (value.dynamic.empty()) dense_copies_.push_back({value, shape, copy});
  return copy;
}

}  // namespace hearth
