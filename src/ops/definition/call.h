// Short forms that op definitions share: recording an op, checking its inputs, casting for
// computation, and undoing a broadcast.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/compute_class.h"
#include "graph/op_def.h"
#include "graph/record/grad_record.h"
#include "graph/record/node.h"
#include "hearth/ops.h"

namespace hearth {

// Records `op` over the arrays pointed to; null stands for an absent optional input.
inline Array call(const OpDef& op, const Params& params,
                  std::initializer_list<const Array*> inputs) {
  return record(op, std::span<const Array* const>(inputs.begin(), inputs.size()), params);
}

// All results of an op that has several.
inline std::vector<Array> call_outputs(const OpDef& op, const Params& params,
                                       std::initializer_list<const Array*> inputs) {
  return record_outputs(op, std::span<const Array* const>(inputs.begin(), inputs.size()), params);
}

// Null for an undefined array, as call() wants it.
inline const Array* optional_input(const Array& x) { return x.defined() ? &x : nullptr; }

// `x`, of a shape that `shape` broadcasts to, summed over the stretched axes: has `shape`.
Array sum_to(const Array& x, const Shape& shape);

// `value`, which does not depend on the inputs that it has for gradients: theirs are zeros.
// Undefined ones are passed over.
Array with_zero_gradients(const Array& value, std::initializer_list<const Array*> inputs);

// Fail with Error{dtype} or Error{shape} in the house's words.
void require_float(const Inference& inference, int input, const char* what);
void require_numeric(const Inference& inference, int input, const char* what);
void require_indices(const Inference& inference, int input, const char* what);
void require_rank(const Inference& inference, int input, int rank, const char* what);
// The same as require_indices() in a function that records several ops.
void require_indices(const char* op, const char* what, const Array& x);
// A static axis parameter of an op over input 0: in [0, rank).
int require_axis(const Inference& inference, std::int64_t axis, int rank);

}  // namespace hearth
