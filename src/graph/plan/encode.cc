// Pass 5 of the planner: items become steps and operands.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/plan/planner.h"
#include "graph/record/packed.h"

namespace hearth {

// Kernels need not know results without elements.
bool Planner::has_nothing_to_do(const PlanItem& item) const {
  const auto is_empty = [this](int root) {
    const PlanRoot& made = roots_[static_cast<std::size_t>(root)];
    return !made.in_memory || element_count(made.shape) == 0;
  };
  return item.kind == PlanItem::Kind::kernel && is_empty(item.root) &&
         std::all_of(item.more_roots.begin(), item.more_roots.end(), is_empty);
}

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
    operand.offset_bytes += first_byte(dtype, value.layout);
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
    StepOrigin& origin = plan_->origins.emplace_back();
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
      origin.implementation = &chosen;
      Prepared made = prepared([&] { return device_.selector().prepare(chosen, signature); });
      step.launch = made.launch;
      step.state = std::move(made.state);
      step.workspace.offset_bytes = made.workspace_bytes;  // placed below
    } else {
      BuiltRegion& built = built_[s];
      if (item.kind == PlanItem::Kind::copy) {
        origin.copied = {built.lowered.region.outputs[0].dtype, built.lowered.region.shape, {}};
      }
      for (std::size_t i = 0; i < built.inputs.size(); ++i) {
        push_operand(built.inputs[i], built.lowered.region.inputs[i].dtype);
      }
      for (const int root : built.output_roots) push_operand(root);
      if (built.reduction_root >= 0) push_operand(built.reduction_root);
      step.output_count =
          static_cast<int>(built.output_roots.size()) + (built.reduction_root >= 0 ? 1 : 0);
      const RegionImplementation& kernel = device_.selector().region();
      built.lowered.device = &device_.selector().traits();
      step.launch = kernel.launch;
      Prepared made = prepared([&] { return kernel.prepare(std::move(built.lowered)); });
      step.state = std::move(made.state);
      step.workspace.offset_bytes = made.workspace_bytes;
    }
    step.operand_count = static_cast<int>(plan_->operands.size()) - step.first_operand;
    plan_->most_operands = std::max(plan_->most_operands, step.operand_count);
    origin.workspace_bytes = step.workspace.offset_bytes;
    if (step.workspace.offset_bytes != 0) {
      // Workspaces share the end of the arena: a step's is free again when the step is done.
      step.workspace.base = 0;
    }
  }
  note_memory();
  std::int64_t workspace = 0;
  for (Step& step : plan_->steps) {
    if (step.workspace.base != 0) continue;
    workspace = std::max(workspace, add_bytes(0, step.workspace.offset_bytes));
    step.workspace.offset_bytes = plan_->arena_bytes;
  }
  plan_->arena_bytes = add_bytes(plan_->arena_bytes, workspace);
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
    if (element_count(node.shape) == 1) note_early(escape.base, size_of(node.dtype));
  }
}

// A number, such as a loss, that the host may read while the rest of the plan runs. Where little
// runs after it, or many are wanted, waiting for the whole plan costs less.
void Planner::note_early(int base, std::int64_t bytes) {
  constexpr std::size_t kStepsBehind = 16;
  constexpr int kMaxEarly = 4;
  if (base <= plan_->external_count || early_count_ == kMaxEarly) return;
  for (std::size_t s = plan_->steps.size(); s-- > 0;) {
    Step& step = plan_->steps[s];
    for (int i = step.operand_count - step.output_count; i < step.operand_count; ++i) {
      if (plan_->operands[static_cast<std::size_t>(step.first_operand + i)].base != base) continue;
      if (plan_->steps.size() - s <= kStepsBehind || step.early != Launch::kNoOperand) return;
      step.early = i;
      step.early_bytes = bytes;
      plan_->storages[static_cast<std::size_t>(base - plan_->storage_base(0))].is_early = true;
      ++early_count_;
      return;
    }
  }
}

}  // namespace hearth
