#include "hearth/planned_work.h"

#include <ostream>
#include <utility>

#include "graph/outputs.h"
#include "graph/plan/plan.h"
#include "graph/record/tape.h"

namespace hearth {
namespace {

// `step`, made as `origin` says, as the caller of planned_work() sees it.
PlannedStep told(const Step& step, const StepOrigin& origin, const Plan& plan,
                 const Recording& recording) {
  PlannedStep out;
  out.workspace_bytes = origin.workspace_bytes;
  for (const std::uint32_t index : plan.made_by(step)) {
    const Node& node = *recording.nodes[index];
    if (node.op == &output_op) continue;
    out.ops.emplace_back(node.op->name.text);
    out.dtype = node.dtype;
    out.shape = node.shape;
  }
  if (step.signature == nullptr) {
    out.op = out.ops.empty() ? "copy" : "region";
    if (out.ops.empty()) {
      out.dtype = origin.copied.dtype;
      out.shape = origin.copied.shape;
    }
    return out;
  }
  out.op = step.signature->op->name.text;
  if (origin.implementation != nullptr) out.implementation = origin.implementation->name;
  for (const Epilogue& epilogue : step.signature->epilogue) {
    out.ops.emplace_back(epilogue.op->name.text);
  }
  out.dtype = step.signature->output.dtype;
  out.shape = step.signature->output.shape;
  return out;
}

}  // namespace

inline namespace v0 {

PlannedWork planned_work(Device device) {
  PlannedWork work;
  Tape::of(device.impl()).read([&](Recording& recording) {
    const std::shared_ptr<const Plan> plan = plan_of(device.impl(), recording);
    if (plan == nullptr) return;
    for (std::size_t i = 0; i < plan->steps.size(); ++i) {
      work.steps.push_back(told(plan->steps[i], plan->origins[i], *plan, recording));
    }
    work.arena_bytes = plan->arena_bytes;
    work.result_bytes = plan->storage_bytes;
    work.donations = plan->donations;
  });
  return work;
}

std::ostream& operator<<(std::ostream& out, const PlannedWork& work) {
  for (const PlannedStep& step : work.steps) {
    out << step.op;
    if (!step.implementation.empty()) out << " by " << step.implementation;
    out << ": " << name(step.dtype) << " " << to_string(step.shape);
    if (step.ops.size() > 1) {
      const char* separator = " of ";
      for (const std::string& op : step.ops) out << std::exchange(separator, ", ") << op;
    }
    if (step.workspace_bytes > 0) out << ", workspace " << step.workspace_bytes << " bytes";
    out << "\n";
  }
  return out << "arena " << work.arena_bytes << " bytes, results " << work.result_bytes
             << " bytes\n";
}

}  // namespace v0
}  // namespace hearth
