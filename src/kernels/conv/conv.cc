// conv and its gradients, for every GPU: kernels/conv/conv.metal.
#include "kernels/conv/gathered.h"
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

constexpr Implementation channels_of(const OpDef* op) {
  return {.name = "channels",
          .op = op,
          .accepts = accepts_channels,
          .prepare = prepare_channels,
          .launch = launch_steps};
}
constexpr Implementation tiles_of(const OpDef* op) {
  return {.name = "tiles",
          .op = op,
          .accepts = accepts_gathered,
          .prepare = prepare_tiles_of_conv,
          .launch = launch_steps};
}

constexpr Implementation kConvFamily[] = {
    channels_of(&defs::conv_op),
    tiles_of(&defs::conv_op),
    channels_of(&defs::conv_input_gradient_op),
    tiles_of(&defs::conv_input_gradient_op),
    channels_of(&defs::conv_weight_gradient_op),
    tiles_of(&defs::conv_weight_gradient_op),
};

}  // namespace

Family conv_family() { return kConvFamily; }

}  // namespace hearth::gpu
