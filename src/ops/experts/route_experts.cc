// route_experts: which experts a row goes through, and what each weighs.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/experts.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/experts/experts.h"

namespace hearth {
namespace {

constexpr ParamSpec kRouteParams[] = {
    {.name = "used", .type = ParamType::i64, .range = "[1, expert_count]"},
    {.name = "gate", .type = ParamType::i64, .range = "[0, 4)"},
    {.name = "groups", .type = ParamType::i64, .range = "divisors of expert_count"},
    {.name = "used_groups", .type = ParamType::i64, .range = "[0, groups]"},
    {.name = "by_best", .type = ParamType::boolean},
    {.name = "softmax_chosen", .type = ParamType::boolean},
    {.name = "renormalize", .type = ParamType::boolean},
    {.name = "least_sum", .type = ParamType::f64, .range = "finite numbers"},
    {.name = "epsilon", .type = ParamType::f64, .range = "finite numbers"},
    {.name = "scale", .type = ParamType::f64, .range = "finite numbers"}};

Params route_params(std::int64_t used, const RouteOptions& options) {
  return Params()
      .i64(used)
      .i64(static_cast<std::int64_t>(options.gate))
      .i64(options.groups)
      .i64(options.used_groups)
      .boolean(options.group_score == ExpertGroupScore::best)
      .boolean(options.softmax_chosen)
      .boolean(options.renormalize)
      .f64(options.least_sum)
      .f64(options.epsilon)
      .f64(options.scale);
}

void infer_routes(Inference& inference) {
  require_input(inference, 0);
  const Array& scores = inference.input(0);
  require_accepted(inference, scores.dtype());
  if (scores.rank() != 2) {
    inference.fail(ErrorCode::shape, "scores of another rank; got " + to_string(scores.shape()) +
                                         ", expected [rows, expert_count]");
  }
  const std::int64_t rows = scores.shape()[0], count = scores.shape()[1];
  if (inference.has(1)) {
    const Array& bias = inference.input(1);
    if (bias.shape() != Shape{count}) {
      inference.fail(ErrorCode::shape, "choice_bias does not fit; got " + to_string(bias.shape()) +
                                           ", expected " + to_string(Shape{count}));
    }
    require_float(inference, 1, "choice_bias");
  }
  const auto [used, options] = ExpertRoutes::of(ParamReader(inference.params.statics().span()));
  const auto refuse = [&](const std::string& text) {
    inference.fail(ErrorCode::invalid_argument, text);
  };
  const auto gate = static_cast<int>(options.gate);
  if (gate < 0 || gate > static_cast<int>(ExpertGate::sqrt_softplus)) {
    refuse("no such gate; got " + std::to_string(gate) + ", expected an ExpertGate");
  }
  if (options.groups < 1 || count % options.groups != 0) {
    refuse("experts are not in equal groups; got " + std::to_string(options.groups) +
           " groups of " + std::to_string(count) + " experts, expected a divisor");
  }
  if (options.used_groups < 0 || options.used_groups > options.groups) {
    refuse("used_groups out of range; got " + std::to_string(options.used_groups) +
           ", expected one in [0, " + std::to_string(options.groups) + "]");
  }
  const std::int64_t groups = options.used_groups == 0 ? options.groups : options.used_groups;
  const std::int64_t most = groups * (count / options.groups);
  if (used < 1 || used > most) {
    refuse("used out of range; got " + std::to_string(used) + ", expected one in [1, " +
           std::to_string(most) + "]");
  }
  for (const double number : {options.least_sum, options.epsilon, options.scale}) {
    if (std::isfinite(number)) continue;
    refuse("a number of the options is not finite; got " + std::to_string(number) +
           ", expected finite ones");
  }
  inference.scalar_dtype = scores.dtype();
  inference.shape = {rows, used};
  inference.dtype = scores.dtype() == DType::f64 ? DType::f64 : DType::f32;
  inference.more_outputs[0] = {inference.shape, DType::i32};
}

Array gates_of(const Array& scores, ExpertGate gate) {
  switch (gate) {
    case ExpertGate::softmax:
      return softmax(scores, 1);
    case ExpertGate::sigmoid:
      return sigmoid(scores);
    case ExpertGate::none:
      return scores;
    case ExpertGate::sqrt_softplus: {
      // Where nothing is left of it the slope of the root is infinite, that of the gate 0.
      const Array linear = softplus(scores);
      const Array none = equal(linear, 0.0);
      return where(none, 0.0, sqrt(where(none, 1.0, linear)));
    }
  }
  return scores;
}

// The sums of rows [rows, n], as [rows, 1]. A reduction's order may depend on the number of rows
// and on where they lie; this one's does not.
Array sum_in_order(const Array& x) {
  constexpr std::int64_t kMostTerms = 32;  // of one fused expression
  Array rows = x;
  Array total;
  const auto add_column = [&](std::int64_t at) {
    const Array column = narrow(rows, 1, at, 1);
    total = total.defined() ? add(total, column) : column;
  };
  while (rows.shape()[1] > kMostTerms) {
    const std::int64_t count = rows.shape()[1], half = count / 2;
    if (count % 2 != 0) add_column(count - 1);
    rows = add(narrow(rows, 1, 0, half), narrow(rows, 1, half, half));
  }
  for (std::int64_t i = 0; i < rows.shape()[1]; ++i) add_column(i);
  return total;
}

Array softmax_in_order(const Array& x) {
  const Array powers = exp(sub(x, max(x, {1}, true).detach()));
  return div(powers, sum_in_order(powers));
}

// What experts are chosen by, -inf in groups that are not.
Array within_groups(const Array& choice, const RouteOptions& options) {
  const std::int64_t rows = choice.shape()[0], count = choice.shape()[1];
  const std::int64_t size = count / options.groups;
  const Array parts = reshape(choice, {rows, options.groups, size});
  const std::int64_t best = options.group_score == ExpertGroupScore::best_two && size > 1 ? 2 : 1;
  const Array tops = reshape(topk(parts, best, 2), {rows * options.groups, best});
  const Array scores = reshape(sum_in_order(tops), {rows, options.groups});
  const Array chosen = argtopk(scores, options.used_groups, 1);
  const Array numbers =
      reshape(arange(0, options.groups, 1, DType::i64, choice.device()), {1, options.groups, 1});
  const Array is_chosen = any(equal(unsqueeze(chosen, {1}), numbers), {2}, true);
  return reshape(where(is_chosen, parts, -kInfinity), {rows, count});
}

// What each of a row's experts weighs, and which they are.
std::vector<Array> composite_routes(const Composite& c) {
  const auto [used, options] = ExpertRoutes::of(c.statics());
  const Array logits = wide(c.input(0));
  const Array gates = gates_of(logits, options.gate);
  const bool has_groups = has_used_groups(options);
  Array choice = gates.detach();
  if (c.has(1)) {
    choice = add(choice, cast(c.input(1).detach(), choice.dtype()));
  } else if (options.gate == ExpertGate::softmax && !has_groups) {
    choice = logits.detach();  // the same order, in which no rounding makes equals
  }
  if (has_groups) choice = within_groups(choice, options);
  const Array experts = argtopk(choice, used, 1, DType::i32);
  Array weights = gather(gates, experts, 1);
  if (options.softmax_chosen) weights = softmax_in_order(weights);
  if (options.renormalize) {
    const Array total = clamp_min(sum_in_order(weights), options.least_sum);
    weights = div(weights, add(total, options.epsilon));
  }
  if (options.scale != 1) weights = mul(weights, options.scale);
  return {weights, experts};
}

std::vector<SampleCase> route_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& scores, std::int64_t used, const RouteOptions& options,
                              bool has_bias = false) {
    samples.emplace_back().inputs = {{.shape = scores, .distinct = true}};
    if (has_bias) samples.back().inputs.push_back({.shape = {scores[1]}, .distinct = true});
    samples.back().params = route_params(used, options);
  };
  add({3, 8}, 2, {.renormalize = true});
  add({5, 60}, 4, {.gate = ExpertGate::none, .softmax_chosen = true});
  add({2, 40}, 3, {.gate = ExpertGate::sigmoid, .renormalize = true, .scale = 2.5}, true);
  add({2, 24}, 4,
      {.gate = ExpertGate::sigmoid, .groups = 6, .used_groups = 3, .renormalize = true});
  add({1, 160}, 6,
      {.groups = 8, .used_groups = 3, .group_score = ExpertGroupScore::best, .scale = 16});
  add({2, 12}, 12, {.gate = ExpertGate::sqrt_softplus, .renormalize = true});
  add({1, 300}, 8, {.gate = ExpertGate::sigmoid});
  add({1, 512}, 10, {.renormalize = true});
  add({0, 8}, 2, {.renormalize = true});
  add({3, 8}, 9, {});
  samples.back().error = kArgumentError;
  add({3, 8}, 2, {.groups = 3});
  samples.back().error = kArgumentError;
  add({3, 8}, 2, {}, true);
  samples.back().inputs[1].shape = {7};
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace

ExpertRoutes ExpertRoutes::of(ParamReader statics) {
  ExpertRoutes routes;
  routes.used = statics.i64();
  routes.options.gate = static_cast<ExpertGate>(statics.i64());
  routes.options.groups = statics.i64();
  routes.options.used_groups = statics.i64();
  if (statics.boolean()) routes.options.group_score = ExpertGroupScore::best;
  routes.options.softmax_chosen = statics.boolean();
  routes.options.renormalize = statics.boolean();
  routes.options.least_sum = statics.f64();
  routes.options.epsilon = statics.f64();
  routes.options.scale = statics.f64();
  return routes;
}

constinit const OpDef defs::expert_routes_op = {
    .name = "expert_routes",
    .summary = "What the experts that a row goes through weigh, and which they are.",
    .shapes =
        "scores [rows, expert_count], choice_bias [expert_count] -> weights and experts [rows, "
        "used]",
    .method = "",
    .params = kRouteParams,
    .max_inputs = 2,
    .outputs = 2,
    .infer = infer_routes,
    .composite_outputs = composite_routes,
    .accepts_dtype = is_float,
    .samples = route_samples,
};

inline namespace v0 {

std::pair<Array, Array> route_experts(const Array& scores, std::int64_t used,
                                      const RouteOptions& options) try {
  const Array bias = options.choice_bias.defined() ? options.choice_bias.detach() : Array();
  const std::vector<Array> both = call_outputs(defs::expert_routes_op, route_params(used, options),
                                               {&scores, optional_input(bias)});
  return {both[1], both[0]};
} catch (const Error& error) {
  throw_as("route_experts", error);
}

}  // namespace v0
}  // namespace hearth
