#include "models/sampling/recommended_sampling.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/json.h"
#include "hearth/error.h"
#include "models/files/json_values.h"

namespace hearth::models {
namespace {

constexpr double kAnyFloat = std::numeric_limits<float>::max();

std::string sampling_key(const char* name) {
  std::string key = "general.sampling.";
  key += name;
  return key;
}

// Reads values of GGUF's metadata and checks their ranges.
class SamplingKeys {
 public:
  explicit SamplingKeys(const GgufMetadata& metadata) : metadata_(metadata) {}

  std::optional<double> number(const char* name, double low, double high) const {
    return read<double>(name, low, high, [](const GgufValue& value, const std::string& key) {
      return value.as_float(key);
    });
  }

  std::optional<std::int64_t> integer(const char* name, std::int64_t low, std::int64_t high) const {
    return read<std::int64_t>(name, low, high, [](const GgufValue& value, const std::string& key) {
      return value.as_int(key);
    });
  }

  std::optional<std::vector<SamplingStep>> steps(const char* name) const {
    const GgufValue* value = metadata_.find(sampling_key(name));
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->storage());
    if (text == nullptr || text->empty()) return std::nullopt;
    try {
      std::vector<SamplingStep> steps = sampling_steps_from(*text);
      // No file has options of this step, so that leaving it out says nothing of it.
      if (std::find(steps.begin(), steps.end(), SamplingStep::adaptive_p) == steps.end()) {
        steps.push_back(SamplingStep::adaptive_p);
      }
      return steps;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

 private:
  template <class T, class Read>
  std::optional<T> read(const char* name, T low, T high, Read get) const {
    const std::string key = sampling_key(name);
    const GgufValue* value = metadata_.find(key);
    if (value == nullptr) return std::nullopt;
    T number;
    try {
      number = get(*value, key);
    } catch (const Error& error) {
      throw Error(ErrorCode::corrupt_file, error.what());
    }
    if (number >= low && number <= high) return number;
    throw Error(ErrorCode::corrupt_file, key + ": out of range; got " + std::to_string(number) +
                                             ", expected " + std::to_string(low) + " to " +
                                             std::to_string(high));
  }

  const GgufMetadata& metadata_;
};

}  // namespace

SamplingOptions RecommendedSampling::over(SamplingOptions options) const {
  const auto put = [](auto& option, const auto& said) {
    if (said) option = *said;
  };
  put(options.temperature, temperature);
  put(options.top_k, top_k);
  put(options.top_p, top_p);
  put(options.min_p, min_p);
  put(options.xtc_probability, xtc_probability);
  put(options.xtc_threshold, xtc_threshold);
  put(options.repetition_penalty, repetition_penalty);
  put(options.penalty_last, penalty_last);
  put(options.mirostat, mirostat);
  put(options.mirostat_tau, mirostat_tau);
  put(options.mirostat_eta, mirostat_eta);
  put(options.steps, steps);
  return options;
}

RecommendedSampling recommended_sampling(const GgufMetadata& metadata) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  const SamplingKeys keys(metadata);
  RecommendedSampling said;
  said.temperature = keys.number("temp", 0, 100);
  said.top_k = keys.integer("top_k", std::numeric_limits<std::int32_t>::min(),
                            std::numeric_limits<std::int32_t>::max());
  if (said.top_k) said.top_k = std::max<std::int64_t>(*said.top_k, 0);  // below 0: all, as 0 is
  said.top_p = keys.number("top_p", kLeast, 1);
  said.min_p = keys.number("min_p", 0, 1);
  said.xtc_probability = keys.number("xtc_probability", 0, 1);
  said.xtc_threshold = keys.number("xtc_threshold", kLeast, 1);
  said.penalty_last = keys.integer("penalty_last_n", -1, std::numeric_limits<std::int32_t>::max());
  said.repetition_penalty = keys.number("penalty_repeat", kLeast, kAnyFloat);
  if (const auto version = keys.integer("mirostat", 0, 2)) {
    said.mirostat = static_cast<Mirostat>(*version);
  }
  said.mirostat_tau = keys.number("mirostat_tau", 0, 1000);
  said.mirostat_eta = keys.number("mirostat_eta", 0, 1000);
  said.steps = keys.steps("sequence");
  return said;
}

void add_generation_config(GgufMetadata& metadata, const std::string& text,
                           const std::string& source) {
  const std::optional<JsonValue> document = parse_json(text);
  const auto* config = document ? std::get_if<JsonObject>(&*document) : nullptr;
  if (config == nullptr) {
    throw Error(ErrorCode::corrupt_file, source + ": not a configuration; expected a JSON object");
  }
  const JsonSource json_source{source, ErrorCode::corrupt_file};
  const auto add = [&](const char* name, const char* key) {
    const JsonValue* value = find_value(*config, name);  // null is as good as none
    if (value == nullptr) return;
    const std::string full = sampling_key(key);
    if (const auto* whole = std::get_if<std::int64_t>(value)) {
      const bool fits = *whole >= std::numeric_limits<std::int32_t>::min() &&
                        *whole <= std::numeric_limits<std::int32_t>::max();
      if (!fits) throw wrong_type(*value, name, "a number of 32 bits", json_source);
      metadata.set(full, static_cast<std::int32_t>(*whole));
    } else if (const auto* number = std::get_if<double>(value)) {
      metadata.set(full, static_cast<float>(*number));
    } else {
      throw wrong_type(*value, name, "a number", json_source);
    }
  };
  add("repetition_penalty", "penalty_repeat");
  if (metadata.contains(sampling_key("penalty_repeat"))) {
    metadata.set(sampling_key("penalty_last_n"), std::int32_t{-1});  // of the whole text
  }
  const JsonValue* draws = find_value(*config, "do_sample");
  if (draws != nullptr && !std::holds_alternative<bool>(*draws)) {
    throw wrong_type(*draws, "do_sample", "true or false", json_source);
  }
  if (draws != nullptr && !std::get<bool>(*draws)) {
    metadata.set(sampling_key("temp"), 0.0F);
    return;
  }
  add("temperature", "temp");
  add("top_k", "top_k");
  add("top_p", "top_p");
  add("min_p", "min_p");
}

}  // namespace hearth::models
