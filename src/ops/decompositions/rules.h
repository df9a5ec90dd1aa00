// What the factorizations of matrices share: checks, the way through the host, masks, rows in
// another order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "graph/op_def.h"
#include "hearth/ops.h"
#include "hearth/ops/decompositions.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth::decompositions {

// The dtypes that kernels compute in.
inline bool solver_dtype(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

// Fails unless input `i` has a dtype for kernels and is [..., m, n], or [..., n, n].
void require_matrix(const Inference& inference, int i, bool square);
// The same of a function that records several ops, for any float dtype.
void require_matrix(const char* function, const Array& x, bool square);

// OpDef::infer of a system of equations: a [..., n, n] and b [..., n, k] of one dtype and the same
// leading axes, to the shape of b.
void infer_system(Inference& inference);

// What `op` makes of its arguments on the CPU, for a device without an implementation of it: waits
// for the inputs, and copies them and the results.
std::vector<Array> through_host(const OpDef& op, const Composite& arguments);

// OpDef::composite and composite_outputs of an op that goes through the host.
template <const OpDef* op>
Array host_composite(const Composite& arguments) {
  return std::move(through_host(*op, arguments).front());
}
template <const OpDef* op>
std::vector<Array> host_composite_outputs(const Composite& arguments) {
  return through_host(*op, arguments);
}

// [n, n]: 1 below the diagonal, 1/2 on it, 0 above.
Array half_triangle(std::int64_t n, const Array& like);
// The gradient of a function of symmetric matrices that reads the lower triangle alone, from its
// gradient as a function of all elements.
Array lower_gradient(const Array& full);
// 1 / differences, but 0 where those are 0.
Array reciprocals(const Array& differences);
// [..., n, n]: element (i, j) is x[j] - x[i].
Array differences_of(const Array& x);

// Rows of x [..., m, n] in the order that `rows` [..., m] names.
Array rows_at(const Array& x, const Array& rows);
// Each row of x [..., m, n] at the place that `rows` names: undoes rows_at.
Array rows_to(const Array& x, const Array& rows);

// a and b of matrices with the same leading axes, b perhaps made of a vector.
struct System {
  Array a, b;
  bool is_vector;
};
// a [..., m, n], b [..., m, k] or [m], computed in f32 at least.
System make_system(const char* function, const Array& a, const Array& b, bool square);
Array solution_of(const System& system, const Array& x, DType dtype);

}  // namespace hearth::decompositions
