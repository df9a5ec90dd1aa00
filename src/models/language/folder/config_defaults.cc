#include "models/language/folder/config_defaults.h"

#include <algorithm>
#include <string>

#include "core/json_object.h"
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

}  // namespace

JsonObject with_defaults(const JsonObject& config, const Family& family, std::string_view type) {
  JsonObject filled = config;
  for (const FolderType& each : family.model_types) {
    if (each.name != type) continue;
    const JsonObject defaults =
        parse_json_object(std::string(each.defaults), std::string(type), "what keys are worth");
    for (const auto& member : defaults) {
      const bool is_said = std::any_of(config.begin(), config.end(), [&](const auto& said) {
        return are_same(said.first, member.first, family);
      });
      if (!is_said) filled.push_back(member);
    }
  }
  return filled;
}

}  // namespace hearth::models
