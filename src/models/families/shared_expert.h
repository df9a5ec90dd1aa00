// The shared expert of Qwen: one, and with a gate of its own.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

inline constexpr TensorRule kSharedExpertTensors[] = {
    {"model.layers.{}.mlp.shared_expert.gate_proj", "blk.{}.ffn_gate_shexp"},
    {"model.layers.{}.mlp.shared_expert.up_proj", "blk.{}.ffn_up_shexp"},
    {"model.layers.{}.mlp.shared_expert.down_proj", "blk.{}.ffn_down_shexp"},
    {"model.layers.{}.mlp.shared_expert_gate", "blk.{}.ffn_gate_inp_shexp"},
};

}  // namespace hearth::models
