// What products with the weights of chosen experts share.
#pragma once

#include "graph/op_def.h"
#include "hearth/ops/experts.h"

namespace hearth {

// Shapes of x [rows, in] or [rows, used, in], weight [expert_count, out, in] and experts [rows,
// used].
struct ExpertShape {
  std::int64_t rows, used, expert_count, in, out;
  bool own_rows;  // x has a row for each expert of a row

  std::int64_t pairs() const { return rows * used; }
};

// Checks what an op of x, weight, experts and maybe bias takes, `weight` being what its weight
// stands for, and sets the result. Fails with Error{dtype} or Error{shape}.
void infer_expert_product(Inference& inference, const Shape& weight);

// The gradient of expert_linear(x, ..) with respect to x of `shape`: of weight [expert_count, out,
// in], for grad [rows, used, out].
Array expert_rows_gradient(const Array& grad, const Array& weight, const Array& experts,
                           const Shape& shape);
// That with respect to bias of `shape`.
Array expert_bias_gradient(const Array& grad, const Array& experts, const Shape& shape);

// Experts [rows, used] as places in [0, expert_count), 0 where there is none; and where there is
// one, bool [rows, used]. expert_count is 1 at least.
struct ExpertPlaces {
  ExpertPlaces(const Array& experts, std::int64_t expert_count);
  Array exist, places;
};

// The parameters of expert_routes, choice_bias being an input.
struct ExpertRoutes {
  static ExpertRoutes of(ParamReader statics);
  std::int64_t used = 0;
  RouteOptions options;
};
// Whether experts of some groups are not taken.
inline bool has_used_groups(const RouteOptions& options) {
  return options.used_groups > 0 && options.used_groups < options.groups;
}

// expert_linear() of blocks.
Array packed_expert_linear(const Array& x, const Array& weight, const Array& experts,
                           const Array& bias);

}  // namespace hearth
