// The choices of the ops of this folder.
#pragma once

#include "devices/gpu/chooser.h"

namespace hearth::gpu {

// All of them, as the environment says they are made.
ChooserOptions contraction_choices();

}  // namespace hearth::gpu
