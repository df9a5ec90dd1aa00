#include "models/adapters/new_adapter.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <string_view>

#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/nn/init.h"

namespace hearth::models {
namespace {

// What rows are mixed by, in any family, and what the mixture goes through.
constexpr std::string_view kMixers[] = {"attn_q",      "attn_k",   "attn_v",   "attn_qkv",
                                        "attn_output", "attn_q_a", "attn_q_b", "attn_kv_a_mqa",
                                        "attn_gate",   "ssm_in",   "ssm_out"};

[[noreturn]] void refuse_options(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "adapter: " + what);
}

std::regex expression_of(const std::string& text) try {
  return std::regex(text, std::regex::ECMAScript);
} catch (const std::regex_error&) {
  refuse_options("layers are no regular expression; got " + hearth::quoted(text) +
                 ", expected attention, all or one");
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
  if (!name.starts_with("blk.")) return false;
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  if (options_.layers == "all") return !last.starts_with("ffn_gate_inp");
  if (options_.layers != "attention") {
    return std::regex_search(name, expression_of(options_.layers));
  }
  return std::find(std::begin(kMixers), std::end(kMixers), last) != std::end(kMixers);
}

FindLowRank NewAdapter::finder() {
  return [this](const std::string& name, std::int64_t out, std::int64_t in) {
    std::vector<std::shared_ptr<const LowRank>> made;
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
    refuse_options("no layers to train; got " + hearth::quoted(options_.layers) +
                   ", which chooses none of the model's projections");
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
