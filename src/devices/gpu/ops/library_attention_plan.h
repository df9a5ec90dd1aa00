// Attention as a call of a library that may refuse it.
#pragma once

#include <memory>

#include "devices/gpu/step_plan.h"

namespace hearth::gpu {

// What a library's steps are where it takes the call, and the portable kernel where it does not.
class LibraryAttentionPlan final : public KernelPlan {
 public:
  // `call` is one of the kernels of `library`.
  LibraryAttentionPlan(std::shared_ptr<const StepPlan> library, const runtime::LazyKernel& call,
                       Prepared portable)
      : library_(std::move(library)), call_(call), portable_(std::move(portable)) {
    kernels = library_->kernels;
  }
  void launch(Launch launch) const {
    if (launch.encoder->takes(call_)) return launch_steps(*library_, launch);
    launch.state = portable_.state.get();
    launch_steps(launch);
  }

 private:
  std::shared_ptr<const StepPlan> library_;
  const runtime::LazyKernel& call_;
  Prepared portable_;
};

inline void launch_library_attention(const Launch& launch) {
  plan_as<LibraryAttentionPlan>(launch).launch(launch);
}

}  // namespace hearth::gpu
