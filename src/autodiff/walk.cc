#include "autodiff/walk.h"

#include <utility>

#include "hearth/ops.h"
#include "ops/call.h"

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

void Walk::step(GradRecord& record, const Array& gradient) {
  if (record.released) {
    throw Error(ErrorCode::invalid_argument,
                "backward: the values of " + std::string(record.op->name.text) +
                    " were released; got a second backward through the same ops, expected the "
                    "first to be called with retain");
  }
  if (record.replay || record.op->vjp == nullptr) {
    Array again;
    track_saved(record);
    {
      const GradMode tracked(true);
      if (record.replay) {
        again = record.replay(record);
      } else if (record.op->composite != nullptr) {
        std::vector<const Array*> inputs;
        inputs.reserve(record.inputs.size());
        for (const GradInput& input : record.inputs) inputs.push_back(optional_input(input.saved));
        again = record.op->composite(Composite{inputs, record.params, Device(record.device)});
      } else {
        throw Error(ErrorCode::unsupported, std::string(record.op->name.text) +
                                                ": no gradient; got an op without vjp and "
                                                "composite, expected one of them");
      }
    }
    if (again.grad() != nullptr && gradient.size() != 0) {
      held_.push_back(again.grad());
      retain(again.grad());
      accumulate(again.grad(), gradient);
      return;
    }
    // Short cuts for empty arrays depend on nothing; their gradient is still 0, not absent.
    for (const GradInput& input : record.inputs) {
      if (input.parent == nullptr) continue;
      accumulate(input.parent, zeros(input.shape, input.dtype, Device(record.device)));
    }
    return;
  }

  if (auto part = gradient_part(record, gradient)) {
    GradRecord* const parent = record.inputs[0].parent;
    if (parent == nullptr) return;
    if (Waiting* const whole = waiting(parent)) whole->parts.push_back(std::move(*part));
    return;
  }
  Array tracked;
  if (options_.create_graph) {
    track_saved(record);
    if (record.output.defined()) {
      retain_handle(record.output.node());
      retain(&record);
      tracked = Array(record.output.node(), &record);
    }
  }
  const Array& out = options_.create_graph ? tracked : record.output;
  Grads gradients = record.op->vjp(Vjp{record, gradient, out});
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
  GradRecord* const root = result.grad();
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
    step(*record, whole);
    // What this walk computed again is of no use to another one.
    const bool is_own = record->sequence >= first_own_;
    if (options_.create_graph || (options_.retain && !is_own)) continue;
    bool held = record == root || record->replay != nullptr || record->output.defined();
    for (const GradInput& input : record->inputs) held = held || input.saved.defined();
    if (!held) continue;
    record->released = true;
    record->output = Array();
    record->rest = Array();
    for (GradInput& input : record->inputs) input.saved = Array();
    record->replay = nullptr;
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
