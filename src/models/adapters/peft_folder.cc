#include "models/adapters/peft_folder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_object.h"
#include "core/number_text.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "models/adapters/pair_reader.h"
#include "models/files/folder_tensors.h"
#include "models/files/json_values.h"

namespace hearth::models {
namespace {

constexpr const char* kTensorsFile = "adapter_model.safetensors";

// A number of all modules, and of those that have their own.
struct ModuleNumber {
  double usual = 0;
  std::vector<std::pair<std::string, double>> own = {};

  // Of a module: its own, or that of modules that its name ends with.
  double of(std::string_view name) const {
    for (const auto& [key, value] : own) {
      if (name == key || name.ends_with("." + key)) return value;
    }
    return usual;
  }
};

struct PeftConfig {
  ModuleNumber alpha;
  std::optional<ModuleNumber> rank;  // where the file says it
  bool is_rank_stabilized = false;   // scale = alpha / sqrt(rank)
};

std::string config_name(const std::string& path) { return path + ": adapter: " + kPeftConfigFile; }

void require_plain(const JsonObject& config, const std::string& path, const JsonSource& source) {
  const std::string type = find_text(config, "peft_type", source).value_or("");
  if (type != "LORA") {
    refuse_adapter(ErrorCode::unsupported, path,
                   "another kind; got peft_type " + hearth::quoted(type) + ", expected LORA");
  }
  const std::string bias = find_text(config, "bias", source).value_or("none");
  if (bias != "none") {
    refuse_adapter(ErrorCode::unsupported, path,
                   "biases; got bias " + hearth::quoted(bias) + ", expected \"none\"");
  }
  for (const char* key : {"use_dora", "use_qalora", "lora_bias"}) {
    if (find_flag(config, key, source).value_or(false)) {
      refuse_adapter(ErrorCode::unsupported, path,
                     std::string("not of plain pairs; got ") + key + " true, expected false");
    }
  }
  for (const char* key : {"modules_to_save", "layer_replication", "target_parameters",
                          "trainable_token_indices", "alora_invocation_tokens"}) {
    const JsonValue* value = find_value(config, key);
    if (value == nullptr) continue;
    const auto* list = std::get_if<JsonArray>(value);
    if (list != nullptr && list->empty()) continue;
    refuse_adapter(
        ErrorCode::unsupported, path,
        std::string("not of pairs alone; got ") + key + ", expected pairs for all it changes");
  }
}

// Null where the file does not say `key`.
std::optional<ModuleNumber> module_number(const JsonObject& config, const char* key,
                                          const char* pattern_key, const std::string& path) {
  const JsonSource source{config_name(path), ErrorCode::corrupt_file};
  const auto usual = find_number(config, key, source);
  if (!usual) return std::nullopt;
  if (!std::isfinite(*usual)) {
    refuse_adapter(
        ErrorCode::corrupt_file, path,
        std::string(key) + " is not finite; got " + number_text(*usual) + ", expected a number");
  }
  ModuleNumber made{.usual = *usual};
  const JsonObject* pattern = find_object(config, pattern_key, source);
  if (pattern == nullptr) return made;
  for (const auto& [name, value] : *pattern) {
    const bool is_name = name.find_first_of("^$*+?()[]{}|\\") == std::string::npos;
    if (!is_name) {
      refuse_adapter(ErrorCode::unsupported, path,
                     std::string("a pattern in ") + pattern_key + "; got " + hearth::quoted(name) +
                         ", expected names of modules");
    }
    const std::string what = std::string(pattern_key) + " of " + hearth::quoted(name);
    made.own.emplace_back(name, as_number(value, what, source).value_or(*usual));
  }
  return made;
}

PeftConfig peft_config(const JsonObject& config, const std::string& path) {
  const JsonSource source{config_name(path), ErrorCode::corrupt_file};
  require_plain(config, path, source);
  const auto alpha = module_number(config, "lora_alpha", "alpha_pattern", path);
  if (!alpha) {
    refuse_adapter(ErrorCode::corrupt_file, path,
                   "lora_alpha is missing; got no number, expected one");
  }
  return {.alpha = *alpha,
          .rank = module_number(config, "r", "rank_pattern", path),
          .is_rank_stabilized = find_flag(config, "use_rslora", source).value_or(false)};
}

double scale_of(const PeftConfig& config, std::string_view name, std::int64_t rank,
                const std::string& path) {
  const auto by = static_cast<double>(rank);
  if (config.rank && config.rank->of(name) != by) {
    refuse_adapter(ErrorCode::corrupt_file, path,
                   hearth::quoted(name) + " has another rank than " + kPeftConfigFile +
                       " says; got " + std::to_string(rank) + ", expected " +
                       number_text(config.rank->of(name)));
  }
  return config.alpha.of(name) / (config.is_rank_stabilized ? std::sqrt(by) : by);
}

// `target_modules` is a list of names, or an expression that they match.
std::string origin_of(const JsonObject& config) {
  constexpr std::size_t kMostModules = 8;
  std::string origin;
  if (const JsonValue* base = find_value(config, "base_model_name_or_path")) {
    if (const auto* name = std::get_if<std::string>(base)) origin = " for " + hearth::quoted(*name);
  }
  std::vector<std::string> modules;
  if (const JsonValue* targets = find_value(config, "target_modules")) {
    const auto add = [&](const JsonValue& value) {
      if (const auto* name = std::get_if<std::string>(&value)) modules.push_back(*name);
    };
    const auto* list = std::get_if<JsonArray>(targets);
    if (list == nullptr) add(*targets);
    if (list != nullptr) std::ranges::for_each(*list, add);
  }
  for (std::size_t i = 0; i < std::min(modules.size(), kMostModules); ++i) {
    origin += (i == 0 ? " with modules " : ", ") + hearth::quoted(modules[i]);
  }
  if (modules.size() > kMostModules) origin += ", ...";
  return origin.empty() ? origin : " of an adapter" + origin;
}

}  // namespace

StoredAdapter read_folder_adapter(const std::string& path) {
  const std::string text = folders::read_folder_text(path + "/" + kPeftConfigFile);
  const JsonObject config = parse_json_object(text, config_name(path), "a configuration");
  const PeftConfig peft = peft_config(config, path);
  StoredAdapter adapter{.path = path,
                        .architecture = "",
                        .is_folder = true,
                        .origin = origin_of(config),
                        .pairs = {}};
  PairReader reader(adapter);
  const std::string file = path + "/" + kTensorsFile;
  for (const NamedArray& each : map_safetensors(file, Device::cpu()).arrays) {
    std::string_view name = each.name;
    constexpr std::string_view kBefore = "base_model.model.";
    const bool is_a = take_ending(name, ".lora_A.weight");
    if (!name.starts_with(kBefore) || (!is_a && !take_ending(name, ".lora_B.weight"))) {
      refuse_adapter(ErrorCode::unsupported, path,
                     "a tensor of another kind; got " + hearth::quoted(each.name) +
                         ", expected base_model.model.*.lora_A.weight and lora_B");
    }
    name.remove_prefix(kBefore.size());
    reader.add(name, each.array, is_a);
  }
  reader.finish();
  for (auto& [name, pair] : adapter.pairs) pair.scale = scale_of(peft, name, pair.a.shape(0), path);
  return adapter;
}

}  // namespace hearth::models
