// The launch of attention_backward, which is one of the family of attention.
#pragma once

#include "graph/implementation.h"

namespace hearth::cpu {

Prepared prepare_attention_backward(const Signature& signature);
void launch_attention_backward(const Launch& launch);

}  // namespace hearth::cpu
