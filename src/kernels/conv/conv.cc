// conv and its gradients, for every GPU: kernels/conv/conv.metal.
#include "kernels/conv/gathered.h"
#include "kernels/conv/library.h"
#include "kernels/launch/step_plan.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

bool accepts_channels(const Signature& signature) {
  return accepts_gathered(signature) && has_few_channels(signature);
}

Prepared prepare_channels(const Signature& signature) {
  return prepared_steps(conv_channel_steps(signature));
}

Prepared prepare_tiles_of_conv(const Signature& signature) {
  return prepared_steps(conv_tile_steps(signature));
}

constexpr Implementation library_of(const OpDef* op) {
  return {.name = "library",
          .op = op,
          .needs = [](const runtime::DeviceTraits& device) { return device.libraries.conv.exists; },
          .accepts = accepts_conv_library,
          .layout = LayoutNeed::dense,
          .prepare = prepare_conv_library,
          .launch = launch_steps,
          .wants_channels_last = wants_conv_channels_last,
          .writes_channels_last = true};
}
constexpr Implementation channels_of(const OpDef* op) {
  return {.name = "channels",
          .op = op,
          .accepts = accepts_channels,
          .prepare = prepare_channels,
          .launch = launch_steps,
          .writes_channels_last = true};
}
constexpr Implementation tiles_of(const OpDef* op) {
  return {.name = "tiles",
          .op = op,
          .accepts = accepts_gathered,
          .prepare = prepare_tiles_of_conv,
          .launch = launch_steps,
          .writes_channels_last = true};
}

constexpr Implementation kConvFamily[] = {
    library_of(&defs::conv_op),
    channels_of(&defs::conv_op),
    tiles_of(&defs::conv_op),
    library_of(&defs::conv_input_gradient_op),
    channels_of(&defs::conv_input_gradient_op),
    tiles_of(&defs::conv_input_gradient_op),
    library_of(&defs::conv_weight_gradient_op),
    channels_of(&defs::conv_weight_gradient_op),
    tiles_of(&defs::conv_weight_gradient_op),
};

}  // namespace

Family conv_family() { return kConvFamily; }

}  // namespace hearth::gpu
