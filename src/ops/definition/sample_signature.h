// A valid sample of an op as implementations see it, of dense arrays.
#pragma once

#include "graph/implementation.h"
#include "graph/op_def.h"

namespace hearth {

// Inputs are of `dtype` unless the sample gives them their own. Names what `sample` holds, which
// outlives it. Throws what the op's infer() does.
Signature sample_signature(const OpDef& op, const SampleCase& sample, DType dtype);

}  // namespace hearth
