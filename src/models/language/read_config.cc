#include "models/language/read_config.h"

#include <cmath>
#include <string>

#include "core/counted.h"
#include "core/number_text.h"
#include "hearth/error.h"
#include "models/files/layer_limit.h"
#include "models/language/keys.h"
#include "models/language/mixer.h"
#include "models/language/read_activation.h"
#include "models/language/read_attention.h"
#include "models/language/read_text_vectors.h"

namespace hearth::models {
namespace {

[[noreturn]] void fail_config(ErrorCode code, const std::string& key, const std::string& what) {
  throw Error(code, key + ": " + what);
}

ExpertsConfig read_experts(const Keys& keys, const Family& family, std::int64_t layer) {
  ExpertsConfig experts;
  experts.count = keys.count("expert_count", 0);
  if (experts.count == 0 || layer < keys.size("leading_dense_block_count", 0)) return {};
  // As llama.cpp counts: of a period of 0 or 1 no layer has experts.
  const std::int64_t period = keys.size("moe_every_n_layers", -1);
  const bool is_in_period = period < 0 || (period > 0 && layer % period == 1);
  if (!keys.flag_of("expert_layers", layer, is_in_period)) return {};
  experts.used = keys.count("expert_used_count");
  if (experts.used < 1 || experts.used > experts.count) {
    fail_config(ErrorCode::invalid_argument, keys.full("expert_used_count"),
                "out of range; got " + std::to_string(experts.used) + ", expected 1 to " +
                    std::to_string(experts.count));
  }
  experts.hidden =
      keys.count("expert_feed_forward_length", keys.count_of("feed_forward_length", layer, 0));
  experts.shared_hidden = keys.count("expert_shared_feed_forward_length",
                                     experts.hidden * keys.count("expert_shared_count", 0));
  const std::int64_t gate =
      keys.size("expert_gating_func", static_cast<std::int64_t>(family.router));
  if (gate == 0) {
    experts.gate = family.router;
  } else if (gate > static_cast<std::int64_t>(RouterGate::softmax_of_chosen)) {
    fail_config(ErrorCode::unsupported, keys.full("expert_gating_func"),
                "unknown function; got " + std::to_string(gate) + ", expected 1 to 3");
  } else {
    experts.gate = static_cast<RouterGate>(gate);
  }
  experts.groups = std::max<std::int64_t>(1, keys.size("expert_group_count", 1));
  experts.groups_used = keys.size("expert_group_used_count", experts.groups);
  if (experts.count % experts.groups != 0 || experts.groups_used < 1 ||
      experts.groups_used > experts.groups) {
    fail_config(ErrorCode::invalid_argument, keys.full("expert_group_count"),
                "experts make no such groups; got " + std::to_string(experts.groups_used) + " of " +
                    std::to_string(experts.groups) + " for " + counted(experts.count, "expert") +
                    ", expected a divisor and at most as many");
  }
  experts.is_normalised = keys.flag("expert_weights_norm", family.is_normalised);
  experts.scale = keys.number("expert_weights_scale", 1);
  if (experts.scale == 0) experts.scale = 1;
  return experts;
}

void read_norm(const Keys& keys, LanguageConfig& config) {
  const char* of_layer = "attention.layer_norm_epsilon";
  const char* of_rms = "attention.layer_norm_rms_epsilon";
  const bool is_layer = keys.find(of_layer) != nullptr;
  const char* key = is_layer ? of_layer : of_rms;
  config.norm = is_layer ? NormKind::layer : NormKind::rms;
  config.norm_epsilon = keys.number(key, 1e-5);
  if (config.norm_epsilon < 0) {
    fail_config(ErrorCode::invalid_argument, keys.full(key),
                "below 0; got " + number_text(config.norm_epsilon) + ", expected at least 0");
  }
}

}  // namespace

const Family& family_of(const GgufMetadata& metadata) {
  return family_by_name(metadata.as_text("general.architecture"));
}

LanguageConfig read_config(const GgufMetadata& metadata, FileKind kind) {
  const Family& family = family_of(metadata);
  LanguageConfig config;
  config.architecture = family.architecture;
  const Keys keys(metadata, config.architecture);
  config.dim = keys.some_count("embedding_length");
  config.context = keys.size("context_length", 2048);
  keys.require_some("context_length", config.context);
  read_norm(keys, config);
  config.places = family.places;
  config.has_norm_weights = family.has_norm_weights;
  config.feed_forward_norm = family.feed_forward_norm;
  config.norms_first_mixer = family.norms_first_mixer;
  config.may_share_norm = family.may_share_norm;
  config.is_parallel = keys.flag("use_parallel_residual", false);
  config.activation = read_activation(keys, family);
  config.embedding_scale = family.scales_embedding ? std::sqrt(static_cast<double>(config.dim))
                                                   : keys.number("embedding_scale", 1);
  config.residual_scale = keys.number("residual_scale", 1);
  config.logit_scale = keys.number("logit_scale", 1);
  config.layer_input_dim = keys.count("embedding_length_per_layer_input", 0);
  config.logit_softcap = keys.number("final_logit_softcapping", 0);
  config.is_causal = !family.is_encoder && keys.flag("attention.causal", true);
  config.has_output = keys.flag(kHasOutputKey, true);
  config.vectors = read_text_vectors(keys, family);
  const std::int64_t blocks = keys.size("block_count");
  const std::int64_t extra = keys.size("nextn_predict_layers", 0);  // heads of more tokens at once
  if (blocks < 1 || blocks > kMostLayers) {
    fail_config(ErrorCode::invalid_argument, keys.full("block_count"),
                "out of range; got " + std::to_string(blocks) + ", expected 1 to " +
                    std::to_string(kMostLayers));
  }
  if (extra >= blocks) {
    fail_config(ErrorCode::invalid_argument, keys.full("nextn_predict_layers"),
                "leave no layer of a model of " + std::to_string(blocks) + "; got " +
                    std::to_string(extra) + ", expected fewer");
  }
  config.drafting_layers = extra;
  for (std::int64_t i = 0; i < blocks - extra; ++i) {
    LayerConfig& layer = config.layers.emplace_back();
    layer.mixer = mixer_of(keys, family, i);
    // Models without attention have no heads.
    if (!definition_of(layer.mixer).has_states || keys.find("attention.head_count") != nullptr) {
      layer.attention = read_attention(keys, family, kind, config, i);
    }
    layer.hidden = keys.count_of("feed_forward_length", i, 0);
    if (config.activation == Activation::xielu) layer.xielu = read_xielu(metadata, kind, i);
    layer.experts = read_experts(keys, family, i);
    if (layer.experts.count > 0 && !family.has_both) layer.hidden = 0;
  }
  share_layers(keys, family, config);
  const MixerDef& mixer = definition_of(family.mixer);
  if (mixer.read != nullptr) mixer.read(keys, family, kind, config);
  if (family.adjust != nullptr) family.adjust(config, keys, kind);
  return config;
}

}  // namespace hearth::models
