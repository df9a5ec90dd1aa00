#include "models/language/read_attention.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/counted.h"
#include "core/number_text.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

RopeScaling read_scaling(const Keys& keys, std::int64_t context) {
  RopeScaling scaling;
  const std::string type = keys.text("rope.scaling.type", "");
  // Files from before there were types say it this way.
  scaling.factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 1));
  if (scaling.factor == 0) scaling.factor = 1;  // how some files say none
  if (scaling.factor < 0) {
    throw Error(ErrorCode::invalid_argument,
                keys.full("rope.scaling.factor") + ": out of range; got " +
                    number_text(scaling.factor) + ", expected a number above 0");
  }
  scaling.original_length = keys.size("rope.scaling.original_context_length", context);
  if (type == "yarn") {
    scaling.kind = RopeScalingKind::yarn;
    scaling.beta_fast = keys.number("rope.scaling.yarn_beta_fast", scaling.beta_fast);
    scaling.beta_slow = keys.number("rope.scaling.yarn_beta_slow", scaling.beta_slow);
    scaling.truncate = keys.flag("rope.scaling.yarn_truncate", scaling.truncate);
  } else if (type == "llama3") {
    scaling.kind = RopeScalingKind::llama3;
    scaling.low_frequency_factor = keys.number("rope.scaling.low_freq_factor", 1);
    scaling.high_frequency_factor = keys.number("rope.scaling.high_freq_factor", 4);
  } else if (type == "linear" || (type.empty() && scaling.factor != 1)) {
    scaling.kind = RopeScalingKind::linear;
  } else if (!type.empty() && type != "none" && type != "longrope") {
    throw Error(ErrorCode::unsupported,
                keys.full("rope.scaling.type") + ": unknown scaling of positions; got " +
                    hearth::quoted(type) + ", expected none, linear, yarn, llama3 or longrope");
  }
  return scaling;
}

// 0: none.
double yarn_multiplier(const Keys& keys, const Family& family) {
  return family.yarn_multiplier == YarnMultiplier::none
             ? 0
             : keys.number("rope.scaling.yarn_log_multiplier", 0);
}

double read_growth(const Keys& keys) {
  constexpr std::string_view kFactor = "rope.scaling.dynamic_factor";
  const double factor = keys.number(kFactor, 0);
  if (factor >= 0) return factor;
  throw Error(ErrorCode::invalid_argument, keys.full(kFactor) + ": out of range; got " +
                                               number_text(factor) + ", expected at least 0");
}

RopeConfig read_rope(const Keys& keys, const Family& family, FileKind kind, std::int64_t head_dim,
                     std::int64_t context) {
  RopeConfig rope;
  const bool is_straight = kind == FileKind::folder && family.is_permuted;
  rope.pairs = is_straight ? RopePairs::halves : family.rope;
  rope.dims = keys.count("rope.dimension_count", head_dim);
  rope.base = keys.number("rope.freq_base", 10000);
  rope.scaling = read_scaling(keys, context);
  rope.growth = read_growth(keys);
  rope.magnitude = keys.number("rope.scaling.attn_factor", 1);
  if (rope.scaling.kind != RopeScalingKind::yarn) return rope;
  const double factor = rope.scaling.factor;
  const double multiplier = yarn_multiplier(keys, family);
  if (family.yarn_multiplier == YarnMultiplier::turns) {
    rope.magnitude *= rope_magnitude(factor) / rope_magnitude(factor, multiplier);
  } else if (multiplier == 0) {
    rope.magnitude *= rope_magnitude(factor);
  }
  return rope;
}

QueryTemperature read_temperature(const Keys& keys, std::int64_t original_length) {
  constexpr std::string_view kLength = "attention.temperature_length";
  QueryTemperature temperature;
  temperature.scale = keys.number("attention.temperature_scale", 0);
  if (temperature.scale == 0) return temperature;
  temperature.length = keys.size(kLength, original_length);
  keys.require_some(kLength, temperature.length);
  return temperature;
}

// That of layers with a window, from that of the others.
RopeConfig window_rope(const Keys& keys, const Family& family, RopeConfig rope,
                       std::int64_t head_dim) {
  const bool has_own_heads = keys.find("attention.key_length_swa") != nullptr;
  rope.dims = keys.count("rope.dimension_count_swa", has_own_heads ? head_dim : rope.dims);
  const double base = family.window_base > 0 ? family.window_base : rope.base;
  rope.base = keys.number("rope.freq_base_swa", base);
  if (family.scales_windows) return rope;
  rope.scaling = {};
  rope.growth = 0;
  rope.magnitude = 1;
  rope.has_factors = false;
  return rope;
}

// Layers that have states in place of keys may say that they have no heads of these.
void read_heads(const Keys& keys, std::int64_t dim, std::int64_t layer, bool has_states,
                AttentionConfig& attention) {
  attention.heads = keys.count_of("attention.head_count", layer, 0);
  keys.require_some("attention.head_count", attention.heads);
  attention.kv_heads = keys.count_of("attention.head_count_kv", layer, attention.heads);
  if (attention.kv_heads == 0 && has_states) attention.kv_heads = attention.heads;
  keys.require_some("attention.head_count_kv", attention.kv_heads);
  if (attention.heads % attention.kv_heads != 0) {
    throw Error(ErrorCode::invalid_argument,
                keys.full("attention.head_count_kv") + ": heads are no multiple; got " +
                    std::to_string(attention.kv_heads) + " for " +
                    counted(attention.heads, "head") + ", expected a divisor");
  }
  attention.key_dim = keys.count_of("attention.key_length", layer, dim / attention.heads);
  attention.value_dim = keys.count_of("attention.value_length", layer, dim / attention.heads);
  if (attention.window > 0) {
    attention.key_dim = keys.count("attention.key_length_swa", attention.key_dim);
    attention.value_dim = keys.count("attention.value_length_swa", attention.value_dim);
  }
  if (keys.find("attention.kv_lora_rank") != nullptr) {
    // In files of newer writers heads are those of the latent row (mixers/latent.cc), and the sizes
    // of expanded ones have keys of their own.
    attention.key_dim = keys.count("attention.key_length_mla", attention.key_dim);
    attention.value_dim = keys.count("attention.value_length_mla", attention.value_dim);
  }
  keys.require_some("attention.key_length", attention.key_dim);
  keys.require_some("attention.value_length", attention.value_dim);
}

// The last of the first `count` layers that sees as much as layer `i`.
std::int64_t layer_to_share(const Keys& keys, const LanguageConfig& config, std::size_t i,
                            std::int64_t count) {
  const bool has_window = config.layers[i].attention.window > 0;
  for (std::int64_t j = count; j-- > 0;) {
    const bool same =
        (config.layers[static_cast<std::size_t>(j)].attention.window > 0) == has_window;
    if (same) return j;
  }
  throw Error(ErrorCode::invalid_argument,
              keys.full("attention.shared_kv_layers") + ": no layer to share with; got " +
                  counted(config.layers.size() - static_cast<std::size_t>(count), "layer") +
                  " that share, expected fewer");
}

}  // namespace

std::int64_t window_of(const Keys& keys, const Family& family, std::int64_t layer) {
  const std::int64_t window = keys.size("attention.sliding_window", 0);
  const GgufValue* pattern = keys.find("attention.sliding_window_pattern");
  if (pattern != nullptr && pattern->is_array()) {
    return keys.flag_of("attention.sliding_window_pattern", layer, false) ? window : 0;
  }
  const std::int64_t period = keys.size("attention.sliding_window_pattern", family.window_period);
  const std::int64_t full = family.sees_all_first ? 0 : period - 1;
  return period == 0 || layer % period != full ? window : 0;
}

AttentionConfig read_attention(const Keys& keys, const Family& family, FileKind kind,
                               const LanguageConfig& config, std::int64_t layer) {
  AttentionConfig attention;
  attention.window = window_of(keys, family, layer);
  const Mixer mixer = config.layers[static_cast<std::size_t>(layer)].mixer;
  read_heads(keys, config.dim, layer, definition_of(mixer).has_states, attention);
  attention.is_gated = family.gates_heads;
  attention.norms_values = family.norms_values;
  attention.norms_turned = family.norms_turned;
  const double usual_scale = 1 / std::sqrt(static_cast<double>(attention.key_dim));
  attention.scale = family.attention_scale > 0 ? family.attention_scale
                                               : keys.number("attention.scale", usual_scale);
  attention.softcap = keys.number("attn_logit_softcapping", 0);
  attention.clamp = keys.number("attention.clamp_kqv", 0);
  attention.rope = read_rope(keys, family, kind, attention.key_dim, config.context);
  const RopeScaling& scaling = attention.rope.scaling;
  attention.temperature = read_temperature(keys, scaling.original_length);
  if (scaling.kind == RopeScalingKind::yarn && family.yarn_multiplier == YarnMultiplier::scores) {
    const double magnitude = 1 + yarn_multiplier(keys, family) * std::log(scaling.factor);
    attention.scale *= magnitude * magnitude;
  }
  if (attention.window > 0) {
    attention.rope = window_rope(keys, family, attention.rope, attention.key_dim);
  }
  return attention;
}

void share_layers(const Keys& keys, const Family& family, LanguageConfig& config) {
  const auto layers = static_cast<std::int64_t>(config.layers.size());
  const std::int64_t own = layers - std::min(keys.size("attention.shared_kv_layers", 0), layers);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    AttentionConfig& attention = config.layers[i].attention;
    if (static_cast<std::int64_t>(i) >= own) {
      attention.shared_layer = layer_to_share(keys, config, i, own);
    }
    const bool has_window = attention.window > 0 && !family.is_encoder;
    if (!config.is_causal && (has_window || attention.shared_layer >= 0)) {
      throw Error(ErrorCode::unsupported,
                  keys.full("attention.causal") +
                      ": got false with windows or layers that share keys, expected true");
    }
  }
}

}  // namespace hearth::models
