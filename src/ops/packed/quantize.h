// quantize_blocks: of all formats on the CPU, of some elsewhere.
#pragma once

#include "graph/op_def.h"

namespace hearth {

extern const OpDef quantize_blocks_op;

}  // namespace hearth
