// A convolution or one of its gradients as the products of kernels/conv/conv.metal.
#pragma once

#include <memory>

#include "kernels/launch/step_plan.h"

namespace hearth::gpu {

// Whether every extent and coordinate of the signature's products has 32 bits.
bool accepts_gathered(const Signature& signature);
// Whether groups have so few outputs that tiles would be empty for the most part.
bool has_few_outputs(const Signature& signature);

std::shared_ptr<StepPlan> implicit_gemm_steps(const Signature& signature);
// out + bias in place of out: what follows a convolution without one.
void add_conv_bias(StepPlan& plan, const Signature& signature);
// For signatures of has_few_outputs().
std::shared_ptr<StepPlan> conv_direct_steps(const Signature& signature);

}  // namespace hearth::gpu
