// The state that prepare() of a GPU's implementation makes.
#pragma once

#include <memory>
#include <vector>

#include "graph/implementation.h"
#include "runtime/commands/encoder.h"

namespace hearth::gpu {

// The state of every prepared GPU kernel. The device compiles all kernels of a new plan side by
// side before it encodes the first.
struct KernelPlan {
  virtual ~KernelPlan() = default;
  std::vector<const runtime::LazyKernel*> kernels;  // that launch() may encode; owned by the state
};

// A state as the graph keeps it. Every prepare() of a GPU ends in it, so that the device may take
// Launch::state for a KernelPlan.
inline Prepared prepared(std::shared_ptr<const KernelPlan> plan, std::int64_t workspace_bytes = 0) {
  const KernelPlan* const address = plan.get();
  return {std::shared_ptr<const void>(std::move(plan), address), workspace_bytes};
}
inline const KernelPlan& plan_of(const Launch& launch) {
  return *static_cast<const KernelPlan*>(launch.state);
}
template <class T>
const T& plan_as(const Launch& launch) {
  return static_cast<const T&>(plan_of(launch));
}

}  // namespace hearth::gpu
