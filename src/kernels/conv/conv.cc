// conv and its gradients, for every GPU: kernels/conv/conv.metal.
#include "kernels/conv/gathered.h"
#include "kernels/conv/library.h"
#include "kernels/launch/step_plan.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

bool accepts_direct(const Signature& signature) {
  return accepts_gathered(signature) && has_few_outputs(signature);
}

Prepared prepare_direct(const Signature& signature) {
  return prepared_steps(conv_direct_steps(signature));
}

Prepared prepare_implicit_gemm(const Signature& signature) {
  return prepared_steps(implicit_gemm_steps(signature));
}

constexpr Implementation library_of(const OpDef* op) {
  return {.name = "library",
          .op = op,
          .needs = [](const runtime::DeviceTraits& device) { return device.libraries.conv.exists; },
          .accepts = accepts_conv_library,
          .layout = LayoutNeed::dense,
          .prepare = prepare_conv_library,
          .launch = launch_steps,
          .tuning = Tuning::rivals,
          .tuning_class = conv_class,
          .wants_channels_last = wants_conv_channels_last,
          .writes_channels_last = true};
}
constexpr Implementation direct_of(const OpDef* op) {
  return {.name = "direct",
          .op = op,
          .accepts = accepts_direct,
          .prepare = prepare_direct,
          .launch = launch_steps,
          .writes_channels_last = true};
}
constexpr Implementation implicit_gemm_of(const OpDef* op) {
  return {.name = "implicit_gemm",
          .op = op,
          .accepts = accepts_gathered,
          .prepare = prepare_implicit_gemm,
          .launch = launch_steps,
          .writes_channels_last = true};
}

constexpr Implementation kConvFamily[] = {
    library_of(&defs::conv_op),
    direct_of(&defs::conv_op),
    implicit_gemm_of(&defs::conv_op),
    library_of(&defs::conv_input_gradient_op),
    direct_of(&defs::conv_input_gradient_op),
    implicit_gemm_of(&defs::conv_input_gradient_op),
    library_of(&defs::conv_weight_gradient_op),
    direct_of(&defs::conv_weight_gradient_op),
    implicit_gemm_of(&defs::conv_weight_gradient_op),
};

}  // namespace

Family conv_family() { return kConvFamily; }

}  // namespace hearth::gpu
