#include "models/language/folder/rope_keys.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/counted.h"
#include "core/number_text.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/ops/attention.h"
#include "models/language/folder/config_values.h"
#include "models/language/keys.h"

namespace hearth::models {
namespace {

class RopeKeys {
 public:
  RopeKeys(const JsonObject& config, const Family& family, GgufContents& contents)
      : config_(config),
        family_(family),
        prefix_(std::string(family.architecture) + ".rope."),
        contents_(contents) {}

  void add(std::int64_t head_dim) {
    const JsonObject none;
    const JsonObject* found = find_object(config_, "rope_scaling");
    if (found == nullptr || found->empty()) found = find_object(config_, "rope_parameters");
    const JsonObject& all = found == nullptr ? none : *found;
    const JsonObject* full = find_object(all, "full_attention");
    const JsonObject& own = full == nullptr ? all : *full;
    refuse_scaled_windows(all);
    const bool is_proportional = find_text(own, "rope_type").value_or("") == "proportional";
    std::optional<double> said = either(own, "partial_rotary_factor");
    if (!said) said = find_number(config_, "rotary_pct");
    const double said_part = said.value_or(1);
    if (!(said_part >= 0 && said_part <= 1)) {
      fail("partial_rotary_factor", said_part, "0 to 1");
    }
    const double part = is_proportional || family_.turns_parts ? said_part : 1;
    const double dims = static_cast<double>(head_dim) * (is_proportional ? 1 : part);
    if (!contents_.metadata.contains(prefix_ + "dimension_count")) {
      set("dimension_count", static_cast<std::uint32_t>(dims));
    }
    if (const auto base = either(own, "rope_theta")) set("freq_base", *base);
    std::optional<double> local = find_number(all, "sliding_attention.rope_theta");
    if (!local) local = find_number(config_, "rope_local_base_freq");
    if (local) set("freq_base_swa", *local);
    add_sections(own);
    if (is_proportional) {
      add_proportional(head_dim, part, find_number(own, "factor").value_or(1));
    } else {
      add_scaling(own);
    }
  }

 private:
  template <class T>
  void set(const std::string& key, T value) {
    contents_.metadata.set(prefix_ + key, value);
  }

  std::optional<double> either(const JsonObject& own, std::string_view key) const {
    const std::optional<double> found = find_number(own, key);
    return found ? found : find_number(config_, key);
  }

  [[noreturn]] static void fail(const char* key, std::optional<double> got, const char* expected) {
    throw Error(ErrorCode::invalid_argument,
                std::string("config.json: ") + key + " of positions; got " +
                    (got ? number_text(*got) : "none") + ", expected " + expected);
  }

  // Layers with a window turn positions as they are.
  static void refuse_scaled_windows(const JsonObject& all) {
    const std::string type = find_text(all, "sliding_attention.rope_type").value_or("default");
    if (type == "default") return;
    throw Error(ErrorCode::unsupported,
                "config.json: scaling of positions in layers with a window; got " +
                    hearth::quoted(type) + ", expected default");
  }

  // A number above 0 that scalings of this kind cannot do without.
  static double required(const char* key, std::optional<double> value) {
    if (!value || !(*value > 0) || !std::isfinite(*value)) fail(key, value, "a number above 0");
    return *value;
  }

  // Hunyuan's have `alpha`: another base, whatever the context.
  void add_dynamic(const JsonObject& own, std::optional<double> factor) {
    const double alpha = find_number(own, "alpha").value_or(0);
    if (alpha == 0) return set("scaling.dynamic_factor", required("factor", factor));
    const GgufMetadata& metadata = contents_.metadata;
    const auto dims = static_cast<double>(metadata.as_int(prefix_ + "dimension_count"));
    const double base = metadata.as_float(prefix_ + "freq_base", 10000);
    if (dims > 2) set("freq_base", base * std::pow(required("alpha", alpha), dims / (dims - 2)));
  }

  // How many times the original positions there are, where both numbers are known.
  std::optional<double> times_original(std::optional<double> original) const {
    const std::optional<double> longest = find_number(config_, "max_position_embeddings");
    if (!longest || !original || !(*original > 0)) return std::nullopt;
    return *longest / *original;
  }

  void set_original(std::optional<double> original) {
    const char* key = "original_max_position_embeddings";
    if (original && !(*original >= 0 && *original <= UINT32_MAX)) {
      fail(key, *original, "0 to 2^32 - 1");
    }
    set("scaling.original_context_length", static_cast<std::uint32_t>(original.value_or(0)));
  }

  void add_scaling(const JsonObject& own) {
    std::optional<std::string> type = find_text(own, "rope_type");
    if (!type) type = find_text(own, "type");
    if (!type || *type == "default") return;
    std::optional<double> factor = find_number(own, "factor");
    std::optional<double> original = either(own, "original_max_position_embeddings");
    if (!original) original = find_number(config_, "max_position_embeddings");
    if (*type == "longrope" || *type == "su") {
      return add_factors(own, factor, original.value_or(0));
    }
    if (*type == "dynamic") return add_dynamic(own, factor);
    if (*type != "linear" && *type != "yarn" && *type != "llama3") {
      throw Error(ErrorCode::unsupported,
                  "config.json: unknown scaling of positions; got " + hearth::quoted(*type) +
                      ", expected default, linear, dynamic, yarn, llama3 or longrope");
    }
    if (*type == "yarn" && !factor) factor = times_original(original);
    set("scaling.type", *type);
    set("scaling.factor", required("factor", factor));
    set_original(original);
    const auto copy = [&](const char* key, const char* gguf) {
      if (const auto value = find_number(own, key)) set(gguf, *value);
    };
    if (*type == "llama3") {
      required("original_max_position_embeddings", either(own, "original_max_position_embeddings"));
      const double low = required("low_freq_factor", find_number(own, "low_freq_factor"));
      const double high = required("high_freq_factor", find_number(own, "high_freq_factor"));
      if (low >= high) fail("high_freq_factor", high, "more than low_freq_factor");
      set("scaling.low_freq_factor", low);
      set("scaling.high_freq_factor", high);
    } else if (*type == "yarn") {
      copy("beta_fast", "scaling.yarn_beta_fast");
      copy("beta_slow", "scaling.yarn_beta_slow");
      if (const auto whole = find_flag(own, "truncate")) set("scaling.yarn_truncate", *whole);
      add_magnitude(own, factor.value_or(1));
    }
  }

  // What yarn multiplies cosines and sines by, as the family's files say it (YarnMultiplier).
  void add_magnitude(const JsonObject& own, double factor) {
    const double usual = rope_magnitude(factor);
    const double one = find_number(own, "mscale").value_or(0);
    const double all = find_number(own, "mscale_all_dim").value_or(0);
    const double of_all = rope_magnitude(factor, all);
    const double derived = one != 0 && all != 0 ? rope_magnitude(factor, one) / of_all : usual;
    const double magnitude = find_number(own, "attention_factor").value_or(derived);
    if (family_.yarn_multiplier == YarnMultiplier::scores && all != 0) {
      set("scaling.attn_factor", magnitude);
      set("scaling.yarn_log_multiplier", 0.1 * all);
      return;
    }
    const bool is_divided = family_.yarn_multiplier == YarnMultiplier::turns && all != 0;
    if (is_divided) set("scaling.yarn_log_multiplier", all);
    const double rest = magnitude / usual * (is_divided ? of_all : 1);
    if (static_cast<float>(rest) != 1) set("scaling.attn_factor", rest);
  }

  void add_factors(const JsonObject& own, std::optional<double> factor, double original) {
    const double longest = find_number(config_, "max_position_embeddings").value_or(original);
    const double ratio = factor.value_or(original > 0 ? longest / original : 1);
    const double usual =
        ratio <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(ratio) / std::log(original));
    set("scaling.type", std::string("longrope"));
    set_original(original);
    set("scaling.attn_factor", find_number(own, "attention_factor").value_or(usual));
    add_divisors(own, "long_factor", "rope_factors_long.weight");
    add_divisors(own, "short_factor", "rope_factors_short.weight");
  }

  // How many pairs turn by each axis of images; positions of texts are the same on all.
  void add_sections(const JsonObject& own) {
    constexpr std::size_t kAxes = 4;
    const JsonArray* sections = find_array(own, "mrope_section");
    if (sections == nullptr) return;
    if (sections->size() > kAxes) {
      fail("mrope_section", static_cast<double>(sections->size()), "at most 4 numbers");
    }
    std::vector<std::int32_t> sizes;
    for (const JsonValue& each : *sections) {
      const std::int64_t size = as_integer(each, "mrope_section", config_source()).value_or(0);
      sizes.push_back(
          static_cast<std::int32_t>(checked_count(config_source().name + ": mrope_section", size)));
    }
    sizes.resize(kAxes);
    set("dimension_sections", sizes);
  }

  // Of all pairs of a head the first ones turn, as fast as if all did.
  void add_proportional(std::int64_t head_dim, double part, double factor) {
    constexpr float kStill = 1e30f;
    constexpr std::int64_t kMaxHeadDim = 1 << 16;
    if (head_dim > kMaxHeadDim) {
      throw Error(ErrorCode::invalid_argument,
                  "config.json: heads are too wide; got " + counted(head_dim, "column") +
                      ", expected at most " + std::to_string(kMaxHeadDim));
    }
    const auto pairs = static_cast<std::size_t>(head_dim / 2);
    const double turning = part * static_cast<double>(head_dim) / 2;
    std::vector<float> divisors(pairs, kStill);
    for (std::size_t i = 0; i < pairs && static_cast<double>(i + 1) <= turning; ++i) {
      divisors[i] = static_cast<float>(factor);
    }
    contents_.arrays.push_back(
        {"rope_freqs.weight", Array::from_data(divisors, {static_cast<std::int64_t>(pairs)})});
  }

  void add_divisors(const JsonObject& own, const char* key, const char* name) {
    const JsonArray* values = find_array(own, key);
    if (values == nullptr) {
      throw Error(
          ErrorCode::invalid_argument,
          "config.json: " + std::string(key) + " is missing; got no such key, expected an array");
    }
    std::vector<float> divisors;
    for (const JsonValue& value : *values) {
      divisors.push_back(static_cast<float>(as_number(value, key, config_source()).value_or(1)));
    }
    const auto count = static_cast<std::int64_t>(divisors.size());
    contents_.arrays.push_back({name, Array::from_data(divisors, {count})});
  }

  const JsonObject& config_;
  const Family& family_;
  std::string prefix_;
  GgufContents& contents_;
};

}  // namespace

void add_rope(const JsonObject& config, const Family& family, std::int64_t head_dim,
              GgufContents& contents) {
  RopeKeys(config, family, contents).add(head_dim);
}

}  // namespace hearth::models
