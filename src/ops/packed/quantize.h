// quantize_blocks, an op that the CPU alone has.
#pragma once

#include "graph/op_def.h"

namespace hearth {

extern const OpDef quantize_blocks_op;

}  // namespace hearth
