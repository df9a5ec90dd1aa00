// Updates by index along a last axis: scatter's own indices for each line, or select's one list.
#pragma once

#include "devices/cpu/ops/updates/update_loops.h"
#include "devices/cpu/rows/rows.h"
#include "hearth/shape.h"

namespace hearth::cpu {

// Updates the output along its last axis, line after line: by the elements of `values` within
// `shape`, at the indices that have these strides over it. An index outside the line is not
// written. Halves are combined in f32 and rounded once.
void update_rows(const UpdateLoops& loops, const Operand& indices, const Shape& shape,
                 const Strides& index_strides, const Operand& values, const Operand& output);

}  // namespace hearth::cpu
