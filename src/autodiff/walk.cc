#include "autodiff/walk.h"

#include <algorithm>
#include <utility>

#include "graph/outputs.h"
#include "graph/record/array_access.h"
#include "graph/record/node.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"

namespace hearth {

Walk::~Walk() {
  for (GradRecord* record : held_) release(record);
}

Walk::Waiting* Walk::waiting(GradRecord* record) {
  if (record->sequence < options_.floor) return nullptr;
  const auto [found, is_new] = waiting_.try_emplace(record);
  if (is_new) queue_.push({record->sequence, record, &found->second});
  return &found->second;
}

void Walk::accumulate(GradRecord* record, Array gradient) {
  Waiting* const so_far = waiting(record);
  if (so_far == nullptr) return;
  so_far->sum = so_far->sum.defined() ? add(so_far->sum, gradient) : std::move(gradient);
}

void Walk::accumulate_output(GradRecord* record, int output, const Array& gradient) {
  if (waiting(record) == nullptr) return;
  MoreGradients& more = more_gradients_[record];
  more.resize(static_cast<std::size_t>(record->op->outputs - 1));
  Array& so_far = more[static_cast<std::size_t>(output - 1)];
  so_far = so_far.defined() ? add(so_far, gradient) : gradient;
}

namespace {

// The results of the record's op, computed again from its inputs.
std::vector<Array> recomputed(const GradRecord& record, std::span<const Array> saved) {
  if (record.replay) return {record.replay(saved)};
  if (!has_composite(*record.op)) {
    throw Error(ErrorCode::unsupported, std::string(record.op->name.text) +
                                            ": no gradient; got an op without vjp and "
                                            "composite, expected one of them");
  }
  std::vector<const Array*> inputs;
  inputs.reserve(saved.size());
  for (const Array& input : saved) inputs.push_back(optional_input(input));
  const Composite arguments{inputs, record.params, Device(record.device)};
  if (record.op->composite_outputs != nullptr) return record.op->composite_outputs(arguments);
  return {record.op->composite(arguments)};
}

// Of a record without, walks of any number may follow each other.
bool has_saved(const GradRecord& record) {
  return record.replay != nullptr || record.output.defined() || !record.more_outputs.empty() ||
         std::any_of(record.inputs.begin(), record.inputs.end(),
                     [](const GradInput& input) { return input.saved.defined(); });
}

[[noreturn]] void refuse_used_up(const GradRecord& record) {
  throw Error(ErrorCode::invalid_argument,
              "backward: the values of " + std::string(record.op->name.text) +
                  " were released; got a second backward through the same ops, expected the "
                  "loss to be recorded anew in each step, or the first to retain them");
}

// `saved` with the record of its op, so that what a rule makes of it is tracked.
Array tracked_again(const Array& saved, GradRecord& record, int output) {
  return saved.defined() ? tracked_output(saved, &record, output) : Array();
}

}  // namespace

void Walk::step_composed(GradRecord& record, const Array& gradient, const MoreGradients& more) {
  const std::vector<Array> inputs = tracked_inputs(record);
  std::vector<Array> again;
  {
    const GradMode tracked(true);
    again = recomputed(record, inputs);
  }
  bool any = false;
  for (std::size_t i = 0; i < again.size(); ++i) {
    const Array& arrived = i == 0 ? gradient : i <= more.size() ? more[i - 1] : Array();
    if (grad_of(again[i]) == nullptr || !arrived.defined() || arrived.size() == 0) continue;
    held_.push_back(grad_of(again[i]));
    retain(grad_of(again[i]));
    accumulate(grad_of(again[i]), arrived);
    any = true;
  }
  if (any) return;
  // Short cuts for empty arrays depend on nothing; their gradient is still 0, not absent.
  for (const GradInput& input : record.inputs) {
    if (input.parent == nullptr) continue;
    accumulate(input.parent, zeros(input.shape, input.dtype, Device(record.device)));
  }
}

void Walk::step(GradRecord& record, const Array& gradient) {
  MoreGradients more;
  if (record.op->outputs > 1) {
    more = std::move(more_gradients_[&record]);
    more.resize(static_cast<std::size_t>(record.op->outputs - 1));
  }
  if (record.replay || record.op->vjp == nullptr) return step_composed(record, gradient, more);

  if (auto part = gradient_part(record, gradient)) {
    GradRecord* const parent = record.inputs[0].parent;
    if (parent == nullptr) return;
    if (Waiting* const whole = waiting(parent)) whole->parts.push_back(std::move(*part));
    return;
  }
  Array tracked;
  std::vector<Array> inputs, more_tracked;
  if (options_.create_graph) {
    inputs = tracked_inputs(record);
    tracked = tracked_again(record.output, record, 0);
    for (std::size_t i = 0; i < record.more_outputs.size(); ++i) {
      more_tracked.push_back(
          tracked_again(record.more_outputs[i], record, static_cast<int>(i) + 1));
    }
  }
  const Array& out = options_.create_graph ? tracked : record.output;
  const std::vector<Array>& more_outs = options_.create_graph ? more_tracked : record.more_outputs;
  Grads gradients = record.op->vjp(Vjp{record, gradient, out, more, more_outs, inputs});
  for (std::size_t i = 0; i < record.inputs.size() && i < gradients.size(); ++i) {
    const GradInput& input = record.inputs[i];
    if (input.parent == nullptr || !gradients[i].defined()) continue;
    Array& each = gradients[i];
    if (each.shape() != input.shape) each = sum_to(each, input.shape);
    if (each.dtype() != input.dtype) each = cast(each, input.dtype);
    accumulate(input.parent, std::move(each));
  }
}

void Walk::run(const Array& result, const Array& gradient, Gradients& leaves) {
  const GradMode mode(options_.create_graph);
  GradRecord* const root = grad_of(result);
  accumulate(root, gradient);
  while (!queue_.empty()) {
    GradRecord* const record = queue_.top().record;
    Waiting* const arrived = queue_.top().waiting;
    queue_.pop();
    Array whole = joined_parts(std::move(arrived->sum), std::move(arrived->parts));

    if (const auto target = targets_.find(record); target != targets_.end()) {
      target->second = std::move(whole);
      continue;
    }
    if (record->op == nullptr) {
      const Array before = leaves.get(record->leaf_id);
      leaves.set(record->leaf_id, before.defined() ? add(before, whole) : std::move(whole));
      continue;
    }
    if (record->op->kind == OpKind::output) {
      accumulate_output(record->inputs[0].parent, output_of(*record), whole);
      continue;
    }
    SavedReader saved(*record);
    if (!saved) refuse_used_up(*record);
    step(*record, whole);
    // What this walk computed again is of no use to another one.
    const bool is_own = record->sequence >= first_own_;
    if (options_.create_graph || (options_.retain && !is_own)) continue;
    if (record == root || has_saved(*record)) saved.use_up();
  }
}

Array Walk::collected(GradRecord* target) const {
  const auto found = targets_.find(target);
  return found == targets_.end() ? Array() : found->second;
}

void check_loss(const char* op, const Array& loss) {
  if (!loss.defined()) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": no loss; got an undefined array");
  }
  if (node_of(loss)->state.load(std::memory_order_acquire) == NodeState::failed) {
    loss.eval();  // throws why
  }
  if (loss.size() != 1) {
    throw Error(ErrorCode::shape, std::string(op) + ": the loss is not one number; got shape " +
                                      to_string(loss.shape()) +
                                      ", expected one element: reduce it");
  }
  if (!is_float(loss.dtype())) {
    throw Error(ErrorCode::dtype, std::string(op) + ": the loss is not a float; got " +
                                      std::string(name(loss.dtype())) + ", expected a float dtype");
  }
}

}  // namespace hearth
