#include "models/sampling/recommended_sampling.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/python_json.h"
#include "hearth/error.h"
#include "models/files/json_values.h"

namespace hearth::models {
namespace {

std::string sampling_key(std::string_view name) {
  std::string key = "general.sampling.";
  key += name;
  return key;
}

// Reads values of GGUF's metadata and checks their ranges.
class SamplingKeys {
 public:
  explicit SamplingKeys(const GgufMetadata& metadata) : metadata_(metadata) {}

  std::optional<double> number(const SamplingField& field) const {
    if (std::holds_alternative<std::int64_t SamplingOptions::*>(field.member)) {
      return integer(field.file_key, static_cast<std::int64_t>(field.file_low),
                     static_cast<std::int64_t>(field.file_high));
    }
    return read<double>(
        field.file_key, field.file_low, field.file_high,
        [](const GgufValue& value, const std::string& key) { return value.as_float(key); });
  }

  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low,
                                      std::int64_t high) const {
    return read<std::int64_t>(name, low, high, [](const GgufValue& value, const std::string& key) {
      return value.as_int(key);
    });
  }

  std::optional<std::vector<SamplingStep>> steps(std::string_view name) const {
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
  std::optional<T> read(std::string_view name, T low, T high, Read get) const {
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
  for (const Number& number : numbers) {
    const auto put = [&](auto member) {
      auto& option = options.*member;
      option = static_cast<std::remove_reference_t<decltype(option)>>(number.value);
    };
    std::visit(put, number.field->member);
  }
  if (mirostat) options.mirostat = *mirostat;
  if (steps) options.steps = *steps;
  return options;
}

RecommendedSampling recommended_sampling(const GgufMetadata& metadata) {
  const SamplingKeys keys(metadata);
  RecommendedSampling said;
  for (const SamplingField& field : sampling_fields()) {
    if (field.file_key.empty()) continue;
    const std::optional<double> value = keys.number(field);
    if (!value) continue;
    const bool is_top_k = field.member == SamplingField::Member(&SamplingOptions::top_k);
    said.numbers.push_back({&field, is_top_k ? std::max(*value, 0.0) : *value});  // < 0: all, as 0
  }
  if (const auto version = keys.integer("mirostat", 0, 2)) {
    said.mirostat = static_cast<Mirostat>(*version);
  }
  said.steps = keys.steps("sequence");
  return said;
}

void add_generation_config(GgufMetadata& metadata, const std::string& text,
                           const std::string& source) {
  const std::optional<JsonValue> document = parse_python_json(text);
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
