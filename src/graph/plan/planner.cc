#include "graph/plan/planner.h"

#include <algorithm>

#include "graph/plan/region_builder.h"

namespace hearth {

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
  plan_->key.assign(recording_.words.begin(), recording_.words.end());
  plan_->external_count = static_cast<int>(recording_.externals.size());
  decode();
  find_needed();
  count_uses();
  find_padded();
  find_channels_last();
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
    const DescriptorCounts counts = counts_of(word);
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

std::shared_ptr<const Plan> build_plan(DeviceImpl& device, const Recording& recording,
                                       const std::vector<bool>& wanted,
                                       std::span<const ExternalFact> externals) {
  return Planner(device, recording, wanted, externals).build();
}

}  // namespace hearth
