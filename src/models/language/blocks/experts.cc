#include "models/language/blocks/experts.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/compute_class.h"
#include "hearth/ops.h"
#include "models/files/tensor_roles.h"

namespace hearth::models {
namespace {

RouteOptions route_options(const ExpertsConfig& config, const Array& choice_bias) {
  RouteOptions options;
  switch (config.gate) {
    case RouterGate::softmax:
      options.gate = ExpertGate::softmax;
      break;
    case RouterGate::sigmoid:
      options.gate = ExpertGate::sigmoid;
      break;
    case RouterGate::softmax_of_chosen:
      options.gate = ExpertGate::none;
      options.softmax_chosen = true;
      break;
  }
  options.choice_bias = choice_bias;
  options.groups = config.groups;
  options.used_groups = config.groups_used;
  options.group_score =
      config.best_two_of_group ? ExpertGroupScore::best_two : ExpertGroupScore::best;
  options.renormalize = config.is_normalised;
  options.scale = config.scale;
  return options;
}

}  // namespace

Array Experts::Stack::forward(const Array& x, const Array& experts) const {
  if (is_packed(weight.dtype()) || weight.dtype() == x.dtype()) {
    return expert_linear(x, weight, experts, bias);
  }
  const Array narrow_bias = bias.defined() ? cast(bias, weight.dtype()) : Array();
  return cast(expert_linear(cast(x, weight.dtype()), weight, experts, narrow_bias), x.dtype());
}

Experts::Experts(const LanguageConfig& model, const ExpertsConfig& its_config, Weights& weights,
                 const std::string& prefix)
    : config(its_config), activation(model.activation) {
  router = weights.projection(prefix + "ffn_gate_inp", config.count, model.dim);
  // Which experts are chosen hangs on small differences; files have it in f32, too.
  if (is_half(router.weight.dtype())) router.weight = cast(router.weight, DType::f32);
  choice_bias = weights.optional_vector(prefix + "exp_probs_b.bias", config.count);
  down_scale = weights.optional_vector(prefix + "ffn_down_exps.scale", config.count);
  if (weights.has(prefix + "ffn_gate_inp.scale")) {
    router_norm = {weights.vector(prefix + "ffn_gate_inp.scale", model.dim) *
                       (1 / std::sqrt(static_cast<double>(model.dim))),
                   model.norm_epsilon};
  }
  const auto stack_of = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    Stack made;
    made.weight = weights.matrix(prefix + name + ".weight", {config.count, out, in});
    if (weights.has(prefix + name + ".bias")) {
      made.bias =
          cast(weights.matrix(prefix + name + ".bias", {config.count, out}), weights.compute());
    }
    return made;
  };
  is_joined = weights.has(prefix + "ffn_gate_up_exps.weight");
  if (is_joined) {
    up = stack_of("ffn_gate_up_exps", 2 * config.hidden, model.dim);
  } else {
    if (weights.has(prefix + "ffn_gate_exps.weight")) {
      gate = stack_of("ffn_gate_exps", config.hidden, model.dim);
    }
    up = stack_of("ffn_up_exps", config.hidden, model.dim);
  }
  down = stack_of("ffn_down_exps", model.dim, config.hidden);
  sum_bias = weights.optional_vector(prefix + std::string(kExpertSumBias), model.dim);
  if (config.shared_hidden > 0) {
    shared = FeedForward(model, config.shared_hidden, weights, prefix, "_shexp");
    const std::string of_gate = prefix + "ffn_gate_inp_shexp.weight";
    if (weights.has(of_gate)) {
      const bool is_vector = weights.shape(of_gate).rank() == 1;
      const Array all = weights.matrix(of_gate, is_vector ? Shape{model.dim} : Shape{1, model.dim});
      shared_gate = cast(reshape(all, {1, model.dim}), weights.compute());
    }
  }
}

Array Experts::activated(const Array& x, const Array& experts) const {
  const Array ups = up.forward(x, experts);
  if (!is_joined) {
    const Array gates = gate.weight.defined() ? gate.forward(x, experts) : Array();
    return activate(activation, gates, ups);
  }
  const std::vector<Array> both = chunk(ups, 2, ups.rank() - 1);
  return activate(activation, both[0], both[1]);
}

Array Experts::forward(const Array& x, const Array& routed) const {
  const auto [experts, weights] = route_experts(router.wide(router_norm.forward(routed)),
                                                config.used, route_options(config, choice_bias));
  const std::int64_t rows = x.shape(0);
  const Shape by_expert = {rows, config.used, 1};
  Array chosen = cast(reshape(weights, by_expert), x.dtype());
  if (down_scale.defined()) {
    const Array scales = select(down_scale, reshape(experts, {rows * config.used}), 0);
    chosen = chosen * reshape(scales, by_expert);
  }
  Array y = sum(down.forward(activated(x, experts), experts) * chosen, {1});
  if (sum_bias.defined()) y = y + sum_bias;
  if (!shared.defined()) return y;
  Array all = shared.forward(x);
  if (shared_gate.defined()) all = all * sigmoid(linear(x, shared_gate));
  return y + all;
}

}  // namespace hearth::models
