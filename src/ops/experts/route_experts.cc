// route_experts: which experts a row goes through, and what each weighs.
#include <cmath>
#include <string>
#include <utility>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/experts.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

[[noreturn]] void refuse_routes(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "route_experts: " + text);
}

void check_options(const Array& scores, std::int64_t used, const RouteOptions& options) {
  require_float_array("route_experts", scores);
  if (scores.rank() != 2) {
    throw Error(ErrorCode::shape, "route_experts: scores of another rank; got " +
                                      to_string(scores.shape()) +
                                      ", expected [rows, expert_count]");
  }
  const std::int64_t count = scores.shape()[1];
  if (options.choice_bias.defined()) {
    if (options.choice_bias.shape() != Shape{count}) {
      throw Error(ErrorCode::shape, "route_experts: choice_bias does not fit; got " +
                                        to_string(options.choice_bias.shape()) + ", expected " +
                                        to_string(Shape{count}));
    }
    require_float_array("route_experts", options.choice_bias);
  }
  if (options.groups < 1 || count % options.groups != 0) {
    refuse_routes("experts are not in equal groups; got " + std::to_string(options.groups) +
                  " groups of " + std::to_string(count) + " experts, expected a divisor");
  }
  const std::int64_t used_groups = options.used_groups == 0 ? options.groups : options.used_groups;
  if (used_groups < 0 || used_groups > options.groups) {
    refuse_routes("used_groups out of range; got " + std::to_string(options.used_groups) +
                  ", expected one in [0, " + std::to_string(options.groups) + "]");
  }
  const std::int64_t most = used_groups * (count / options.groups);
  if (used < 1 || used > most) {
    refuse_routes("used out of range; got " + std::to_string(used) + ", expected one in [1, " +
                  std::to_string(most) + "]");
  }
  for (const double number : {options.least_sum, options.epsilon, options.scale}) {
    if (std::isfinite(number)) continue;
    refuse_routes("a number of the options is not finite; got " + std::to_string(number) +
                  ", expected finite ones");
  }
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
  refuse_routes("no such gate; got " + std::to_string(static_cast<int>(gate)) +
                ", expected an ExpertGate");
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

}  // namespace

inline namespace v0 {

std::pair<Array, Array> route_experts(const Array& scores, std::int64_t used,
                                      const RouteOptions& options) try {
  check_options(scores, used, options);
  const Array logits = wide(scores);
  const Array gates = gates_of(logits, options.gate);
  const bool has_groups = options.used_groups > 0 && options.used_groups < options.groups;
  Array choice = gates.detach();
  if (options.choice_bias.defined()) {
    choice = add(choice, cast(options.choice_bias.detach(), choice.dtype()));
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
  return {experts, weights};
} catch (const Error& error) {
  throw_as("route_experts", error);
}

}  // namespace v0
}  // namespace hearth
