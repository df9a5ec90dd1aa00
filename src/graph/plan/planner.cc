#include "graph/plan/planner.h"

#include <algorithm>

#include "graph/plan/region_builder.h"

namespace hearth {
namespace {

// A region's operands and results must fit the device's registers and arguments, and its text must
// stay small.
constexpr std::size_t kMaxRegionMembers = 192;
constexpr int kMaxRegionInputs = 16;

constexpr std::int64_t position_of(std::uint32_t node) {
  return 2 * static_cast<std::int64_t>(node) + 1;
}

}  // namespace

Planner::Planner(DeviceImpl& device, const Recording& recording, const std::vector<bool>& wanted,
                 std::span<const ExternalFact> facts)
    : device_(device),
      recording_(recording),
      wanted_(wanted),
      facts_(facts),
      switches_(switches()),
      donated_(facts.size(), false),
      plan_(std::make_shared<Plan>()) {}

std::shared_ptr<const Plan> Planner::build() {
  plan_->external_count = static_cast<int>(recording_.externals.size());
  decode();
  find_needed();
  count_uses();
  find_padded();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].needed) continue;
    try {
      trace(i);
    } catch (const Error& error) {
      throw NodesFailed(error, {i});
    }
  }
  want_escapes();
  order_items();
  place_memory();
  encode();
  return plan_;
}

// Pass 1

void Planner::decode() {
  const std::size_t count = recording_.nodes.size();
  nodes_.resize(count);
  refs_.reserve(2 * count);
  for (std::size_t slot = 0; slot < recording_.externals.size(); ++slot) {
    const Node& external = *recording_.externals[slot];
    PlanRoot root;
    root.dtype = external.dtype;
    root.shape = external.shape;
    root.external = static_cast<int>(slot);
    root.in_memory = true;
    root.bytes = external.storage->bytes;
    root.place.base = 1 + static_cast<int>(slot);
    roots_.push_back(root);
  }
  const std::uint64_t* word = recording_.words.data();
  int dynamic = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& recorded = *recording_.nodes[i];
    PlanNode& node = nodes_[i];
    node.op = recorded.op;
    node.shape = recorded.shape;
    node.dtype = recorded.dtype;
    node.wanted = wanted_[i];
    const auto counts = DescriptorCounts::unpack(static_cast<std::uint32_t>(word[1]));
    node.first_ref = static_cast<std::uint32_t>(refs_.size());
    node.ref_count = counts.inputs;
    int scalars = 0;
    for (std::uint32_t k = 0; k < counts.inputs; ++k) {
      const OperandRef ref = operand_ref(word, k);
      refs_.push_back(ref);
      if (ref.tag() == OperandRef::scalar) ++scalars;
    }
    const std::uint64_t* statics = word + 2 + counts.inputs / 2;
    node.statics = {statics, counts.statics};
    node.first_scalar = dynamic;
    node.first_dynamic = dynamic + scalars;
    dynamic += static_cast<int>(counts.dynamics);
    word = statics + counts.statics;
  }
}

void Planner::find_needed() {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    PlanNode& node = nodes_[i];
    node.needed |= node.wanted;
    if (!node.needed) continue;
    for (std::uint32_t k = 0; k < node.ref_count; ++k) {
      const OperandRef ref = refs_[node.first_ref + k];
      if (ref.tag() != OperandRef::local) continue;
      nodes_[ref.payload()].needed = true;
      nodes_[ref.payload()].is_read |= node.op->kind != OpKind::output;
    }
  }
}

// Pass 2

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
  root.bytes = element_count(shape) * size_of(dtype);
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
  for (const DenseCopy& made : dense_copies_) {
    if (made.source.root == value.root && made.shape == shape &&
        made.source.layout.offset == value.layout.offset &&
        made.source.layout.strides == value.layout.strides && value.dynamic.empty()) {
      return made.copy;
    }
  }
  read_from_memory(value);
  ++plan_->copies;
  const PlanValue copy = stored(value, shape, dtype, position);
  if (value.dynamic.empty()) dense_copies_.push_back({value, shape, copy});
  return copy;
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
    input = dense(input, in_shape, node.dtype, position_of(index));
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
  pad_rows(node);
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
}

bool Planner::lay_out(const Implementation& chosen, std::uint32_t index,
                      std::vector<PlanValue>* inputs, Signature* signature) {
  bool copied = false;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    TensorSpec& spec = signature->inputs[i];
    if (spec.absent) continue;
    PlanValue& input = (*inputs)[i];
    bool fits = true;
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
    copied = true;
  }
  return copied;
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

// Kernels need not know results without elements.
bool Planner::has_nothing_to_do(const PlanItem& item) const {
  const auto is_empty = [this](int root) {
    const PlanRoot& made = roots_[static_cast<std::size_t>(root)];
    return !made.in_memory || element_count(made.shape) == 0;
  };
  return item.kind == PlanItem::Kind::kernel && is_empty(item.root) &&
         std::all_of(item.more_roots.begin(), item.more_roots.end(), is_empty);
}

// Pass 3

void Planner::want_escapes() {
  const auto end = position_of(static_cast<std::uint32_t>(nodes_.size()));
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    PlanNode& node = nodes_[i];
    if (!node.wanted) continue;
    // Readers inside the plan still see the number, which is in memory only at the end.
    node.escaped =
        node.value.scalar >= 0 ? stored(node.value, node.shape, node.dtype, end) : node.value;
    PlanRoot& root = roots_[static_cast<std::size_t>(node.escaped.root)];
    root.in_memory = true;
    root.escapes |= root.external < 0;
    // An array that views an external keeps its storage: nothing may take it over.
    if (root.external >= 0) donated_[static_cast<std::size_t>(root.external)] = true;
  }
}

void Planner::order_items() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind != PlanItem::Kind::dead) order_.push_back(static_cast<int>(i));
  }
  std::sort(order_.begin(), order_.end(), [this](int a, int b) {
    const std::int64_t first = items_[static_cast<std::size_t>(a)].position;
    const std::int64_t second = items_[static_cast<std::size_t>(b)].position;
    return first != second ? first < second : a < b;
  });
  built_.resize(order_.size());
  for (std::size_t step = 0; step < order_.size(); ++step) {
    PlanItem& item = items_[static_cast<std::size_t>(order_[step])];
    if (item.kind == PlanItem::Kind::region) {
      built_[step] = RegionBuilder(*this).build(item);
      plan_->fused += static_cast<int>(item.members.size()) - 1 + (item.reduction >= 0 ? 1 : 0);
    } else if (item.kind == PlanItem::Kind::copy) {
      built_[step] = RegionBuilder(*this).build_copy(item);
    }
  }
}

// Pass 5

void Planner::note_made(const PlanItem& item) {
  Step& step = plan_->steps.back();
  step.first_made = static_cast<int>(plan_->made.size());
  plan_->made.insert(plan_->made.end(), item.members.begin(), item.members.end());
  if (item.reduction >= 0) plan_->made.push_back(static_cast<std::uint32_t>(item.reduction));
  step.made_count = static_cast<int>(plan_->made.size()) - step.first_made;
}

Prepared Planner::prepared(FunctionRef<Prepared()> prepare) const {
  try {
    return prepare();
  } catch (const Error& error) {
    const std::span<const std::uint32_t> made = plan_->made_by(plan_->steps.back());
    if (made.empty()) throw;
    throw NodesFailed(error, {made.begin(), made.end()});
  }
}

void Planner::note_memory() {
  const auto takes_memory = [this](int root) {
    const PlanRoot& place = roots_[static_cast<std::size_t>(resolve(root))];
    return place.external < 0 && place.in_memory && place.first_step >= 0;
  };
  for (std::size_t r = 0; r < roots_.size(); ++r) {
    const PlanRoot& root = roots_[r];
    if (root.bytes == 0 || !takes_memory(static_cast<int>(r))) continue;
    std::int64_t node = root.node;
    // A copy is made for the node at its place.
    if (node < 0) node = items_[static_cast<std::size_t>(root.item)].position / 2;
    if (node >= static_cast<std::int64_t>(nodes_.size())) continue;
    plan_->takers.push_back({static_cast<std::uint32_t>(node), root.bytes});
  }
  // Numbers that are wanted as arrays are stored at the end.
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].wanted || nodes_[i].value.scalar < 0) continue;
    plan_->takers.push_back({i, roots_[static_cast<std::size_t>(nodes_[i].escaped.root)].bytes});
  }
  for (const Step& step : plan_->steps) {
    if (step.workspace.base != 0 || step.made_count == 0) continue;
    plan_->takers.push_back({plan_->made_by(step).back(), step.workspace.offset_bytes});
  }
}

int Planner::push_operand(const PlanValue& value, DType dtype) {
  PlanOperand operand;
  if (value.root >= 0) {
    operand = roots_[static_cast<std::size_t>(resolve(value.root))].place;
    operand.offset_bytes += value.layout.offset * size_of(dtype);
    operand.first_dynamic = static_cast<int>(plan_->dynamic_offsets.size());
    operand.dynamic_count = static_cast<int>(value.dynamic.size());
    plan_->dynamic_offsets.insert(plan_->dynamic_offsets.end(), value.dynamic.begin(),
                                  value.dynamic.end());
  }
  plan_->operands.push_back(operand);
  return static_cast<int>(plan_->operands.size()) - 1;
}

int Planner::push_operand(int root) {
  PlanValue value;
  value.root = root;
  return push_operand(value, DType::u8);
}

void Planner::encode() {
  plan_->steps.reserve(order_.size());
  for (std::size_t s = 0; s < order_.size(); ++s) {
    PlanItem& item = items_[static_cast<std::size_t>(order_[s])];
    if (has_nothing_to_do(item)) continue;
    plan_->steps.emplace_back();
    Step& step = plan_->steps.back();
    step.first_operand = static_cast<int>(plan_->operands.size());
    note_made(item);
    if (item.kind == PlanItem::Kind::kernel) {
      const PlanNode& node = nodes_[item.members[0]];
      step.statics.assign(node.statics.begin(), node.statics.end());
      step.signature = std::make_unique<Signature>();
      Signature& signature = *step.signature;
      signature = signature_of(item);
      signature.statics = step.statics;
      for (std::size_t i = 0; i < item.inputs.size(); ++i) {
        push_operand(item.inputs[i], signature.inputs[i].dtype);
      }
      push_operand(item.root);
      for (const int root : item.more_roots) push_operand(root);
      step.output_count = signature.output_count();
      const Implementation& chosen = *item.implementation;
      Prepared made = prepared([&] { return device_.selector().prepare(chosen, signature); });
      step.launch = made.launch;
      step.state = std::move(made.state);
      step.workspace.offset_bytes = made.workspace_bytes;  // placed below
    } else {
      BuiltRegion& built = built_[s];
      for (std::size_t i = 0; i < built.inputs.size(); ++i) {
        push_operand(built.inputs[i], built.lowered.region.inputs[i].dtype);
      }
      for (const int root : built.output_roots) push_operand(root);
      if (built.reduction_root >= 0) push_operand(built.reduction_root);
      const RegionImplementation& kernel = device_.selector().region();
      built.lowered.device = &device_.selector().traits();
      step.launch = kernel.launch;
      Prepared made = prepared([&] { return kernel.prepare(std::move(built.lowered)); });
      step.state = std::move(made.state);
      step.workspace.offset_bytes = made.workspace_bytes;
    }
    step.operand_count = static_cast<int>(plan_->operands.size()) - step.first_operand;
    plan_->most_operands = std::max(plan_->most_operands, step.operand_count);
    if (step.workspace.offset_bytes > 0) {
      // Workspaces share the end of the arena: a step's is free again when the step is done.
      step.workspace.base = 0;
    }
  }
  note_memory();
  std::int64_t workspace = 0;
  for (Step& step : plan_->steps) {
    if (step.workspace.base != 0) continue;
    workspace = std::max(workspace, step.workspace.offset_bytes);
    step.workspace.offset_bytes = plan_->arena_bytes;
  }
  plan_->arena_bytes += workspace;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const PlanNode& node = nodes_[i];
    if (!node.wanted) continue;
    const PlanOperand& place = roots_[static_cast<std::size_t>(resolve(node.escaped.root))].place;
    PlanEscape escape;
    escape.node = i;
    escape.base = place.base;
    escape.layout = node.escaped.layout;
    escape.first_dynamic = static_cast<int>(plan_->dynamic_offsets.size());
    escape.dynamic_count = static_cast<int>(node.escaped.dynamic.size());
    plan_->dynamic_offsets.insert(plan_->dynamic_offsets.end(), node.escaped.dynamic.begin(),
                                  node.escaped.dynamic.end());
    plan_->escapes.push_back(escape);
  }
}

std::shared_ptr<const Plan> build_plan(DeviceImpl& device, const Recording& recording,
                                       const std::vector<bool>& wanted,
                                       std::span<const ExternalFact> externals) {
  return Planner(device, recording, wanted, externals).build();
}

}  // namespace hearth
