#include "models/language/folder/config_defaults.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/json_object.h"
#include "models/language/folder/config_values.h"
#include "models/language/folder/standard_rules.h"

namespace hearth::models {
namespace {

// Names of one thing that no KeyRule joins: the second is that of older files.
constexpr std::string_view kSameKeys[][2] = {
    {"rope_theta", "rotary_emb_base"},
    {"partial_rotary_factor", "rotary_pct"},
    {"rope_parameters", "rope_scaling"},
};

bool becomes(std::string_view key, std::string_view gguf, const Family& family) {
  for (const auto rules : {standard_keys(), family.keys}) {
    for (const KeyRule& rule : rules) {
      if (rule.key == key && rule.gguf == gguf) return true;
    }
  }
  return false;
}

// Whether both become the same key of GGUF.
bool are_same(std::string_view one, std::string_view other, const Family& family) {
  if (one == other) return true;
  for (const auto& [name, old_name] : kSameKeys) {
    if ((one == name && other == old_name) || (one == old_name && other == name)) return true;
  }
  for (const auto rules : {standard_keys(), family.keys}) {
    for (const KeyRule& rule : rules) {
      if (rule.key == one && becomes(other, rule.gguf, family)) return true;
    }
  }
  return false;
}

JsonObject defaults_of(const FolderType& type) {
  const auto read = [&](std::string_view text) {
    return parse_json_object(std::string(text), std::string(type.name), "what keys are worth");
  };
  JsonObject all = read(type.defaults);
  if (type.others.empty()) return all;
  for (const auto& other : read(type.others)) {
    std::erase_if(all, [&](const auto& member) { return member.first == other.first; });
    if (!std::holds_alternative<std::nullptr_t>(other.second)) all.push_back(other);
  }
  return all;
}

constexpr std::string_view kPattern = "sliding_window_pattern";

// Whether the type has no such key: what it is named for is not done.
bool is_foreign(std::string_view key, const FolderType& type) {
  const auto is_of = [&](std::initializer_list<std::string_view> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  return (!type.has_windows && is_of({"sliding_window", kPattern, "_sliding_window_pattern"})) ||
         (!type.has_layer_types && key == "layer_types") ||
         (!type.has_softcaps && is_of({"attn_logit_softcapping", "final_logit_softcapping"}));
}

}  // namespace

JsonObject with_defaults(const JsonObject& config, const Family& family, std::string_view type) {
  JsonObject filled = config;
  for (const FolderType& each : family.model_types) {
    if (each.name != type) continue;
    std::erase_if(filled, [&](const auto& member) { return is_foreign(member.first, each); });
    // A list of layers says more than a pattern, which need not be a number.
    if (find_array(filled, "layer_types") != nullptr) {
      std::erase_if(filled, [](const auto& member) { return member.first == kPattern; });
    }
    for (const auto& member : defaults_of(each)) {
      const bool is_said = std::any_of(config.begin(), config.end(), [&](const auto& said) {
        return are_same(said.first, member.first, family);
      });
      if (!is_said) filled.push_back(member);
    }
  }
  return filled;
}

}  // namespace hearth::models
