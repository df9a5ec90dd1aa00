#include "models/adapters/new_adapter.h"

#include <cmath>
#include <regex>

#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/nn/init.h"
#include "models/files/tensor_roles.h"

namespace hearth::models {
namespace {

[[noreturn]] void refuse_options(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "adapter: " + what);
}

std::regex expression_of(const std::string& text) try {
  return std::regex(text, std::regex::ECMAScript);
} catch (const std::regex_error&) {
  refuse_options("layers are no regular expression; got " + hearth::quoted(text) +
                 ", expected attention, all or one");
}

// "attn_q" of "blk.0.attn_q".
std::string name_in_layer(const std::string& name) {
  return name.substr(name.find('.', name.find('.') + 1) + 1);
}

}  // namespace

NewAdapter::NewAdapter(const NewAdapterOptions& options) : options_(options) {
  if (options.rank < 1 || !(options.alpha > 0) || !std::isfinite(options.alpha)) {
    refuse_options("options out of range; got rank " + std::to_string(options.rank) +
                   " and alpha " + std::to_string(options.alpha) +
                   ", expected at least 1 and a positive number");
  }
  static_cast<void>(expression_of(options.layers));
}

bool NewAdapter::chooses(const std::string& name) const {
  if (layer_of(name) < 0) return false;
  const TensorRole role = role_of(name);
  if (options_.layers == "all") return role != TensorRole::router;
  if (options_.layers != "attention") {
    return std::regex_search(name, expression_of(options_.layers));
  }
  return is_of_mixer(role);
}

FindLowRank NewAdapter::finder() {
  return [this](const std::string& name, std::int64_t out, std::int64_t in) {
    std::vector<std::shared_ptr<const LowRank>> made;
    if (layer_of(name) >= 0) choices_.insert(name_in_layer(name));
    if (!chooses(name)) return made;
    const nn::ParameterOptions options{options_.dtype, options_.device, options_.generator};
    const std::int64_t rank = options_.rank;
    const auto pair = std::make_shared<LowRank>(
        LowRank{nn::Initializer::kaiming_uniform().make({rank, in}, in, rank, options),
                nn::Initializer::zeros().make({out, rank}, rank, out, options),
                options_.alpha / static_cast<double>(rank)});
    adapter_[name] = pair;
    made.push_back(pair);
    return made;
  };
}

const Adapter& NewAdapter::adapter() const {
  if (adapter_.empty()) {
    std::string all;
    for (const std::string& each : choices_) all += (all.empty() ? "" : ", ") + each;
    refuse_options("no layers to train; got " + hearth::quoted(options_.layers) +
                   ", which chooses none of the model's projections, expected attention, all or "
                   "an expression found in names such as blk.0.attn_q; layers have " +
                   (all.empty() ? "none" : all));
  }
  return adapter_;
}

std::vector<Parameter> NewAdapter::parameters() {
  std::vector<Parameter> all;
  for (auto& [name, pair] : adapter_) {
    all.push_back({name + ".weight.lora_a", &pair->a});
    all.push_back({name + ".weight.lora_b", &pair->b});
  }
  return all;
}

}  // namespace hearth::models
