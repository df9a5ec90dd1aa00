#include "models/language/folder/folder_model.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/counted.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/files/tensor_roles.h"
#include "models/language/family.h"
#include "models/language/folder/config_defaults.h"
#include "models/language/folder/config_values.h"
#include "models/language/folder/latent_keys.h"
#include "models/language/folder/layer_keys.h"
#include "models/language/folder/rope_keys.h"
#include "models/language/folder/standard_rules.h"
#include "models/language/folder/tensor_rules.h"
#include "models/language/mixer.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

const Family& family_of_type(const std::string& type, const JsonObject& config) {
  const Family* family = find_family_of_folder(type, config);
  if (family != nullptr) return *family;
  std::set<std::string_view> names;  // two families may have one name
  for (const Family& each : families()) {
    for (const FolderType& one : each.model_types) names.insert(one.name);
  }
  std::string known;
  for (const std::string_view name : names)
    known += (known.empty() ? "" : ", ") + std::string(name);
  throw Error(ErrorCode::unsupported, "config.json: unknown model_type; got " +
                                          hearth::quoted(type) + ", expected one of " + known);
}

void require_type(const JsonObject& config, const KeyRule& rule) {
  switch (rule.type) {
    case ConfigType::integer:
      find_integer(config, rule.key);
      break;
    case ConfigType::number:
      find_number(config, rule.key);
      break;
    case ConfigType::flag:
      find_flag(config, rule.key);
      break;
    case ConfigType::text:
      find_text(config, rule.key);
      break;
  }
}

// Of what require_type() lets pass.
GgufValue gguf_value(const KeyRule& rule, const JsonValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const std::int64_t whole = std::get<std::int64_t>(value);
  if (rule.type == ConfigType::number) return static_cast<double>(whole);
  return number_of_file("config.json: " + std::string(rule.key), whole);
}

bool is_fixed_value(const JsonValue& got, const FixedValue& fixed) {
  if (const auto* flag = std::get_if<bool>(&fixed.value)) return got == JsonValue(*flag);
  if (const auto* text = std::get_if<std::string_view>(&fixed.value)) {
    return got == JsonValue(std::string(*text));
  }
  const double number = std::get<double>(fixed.value);
  if (const auto* whole = std::get_if<std::int64_t>(&got)) {
    return static_cast<double>(*whole) == number;
  }
  return got == JsonValue(number);
}

void refuse_other_values(const JsonObject& config, const Family& family) {
  for (const FixedValue& fixed : family.fixed) {
    const JsonValue* value = find_value(config, fixed.key);
    if (value == nullptr || is_fixed_value(*value, fixed)) continue;
    const JsonValue expected = std::visit(
        [](const auto& own) {
          if constexpr (std::is_same_v<std::decay_t<decltype(own)>, std::string_view>) {
            return JsonValue(std::string(own));
          } else {
            return JsonValue(own);
          }
        },
        fixed.value);
    throw Error(ErrorCode::unsupported, "config.json: another " + std::string(fixed.key) +
                                            " than models of " + std::string(family.architecture) +
                                            " have; got " + hearth::quoted(json_text(*value)) +
                                            ", expected " + json_text(expected));
  }
}

// Causal models whose rows see those behind them after all.
void refuse_bidirectional(const JsonObject& config) {
  const JsonValue* value = find_value(config, "use_bidirectional_attention");
  if (value == nullptr || *value == JsonValue(false) ||
      *value == JsonValue(std::string("vision"))) {
    return;
  }
  throw Error(ErrorCode::unsupported,
              "config.json: rows that see those behind them; got use_bidirectional_attention " +
                  json_text(*value) + ", expected \"vision\", false or none");
}

// Of a vocabulary that is rounded up, some keys of old configurations say how far.
void require_vocabulary(const JsonObject& config, const NamedArrays& arrays) {
  const std::optional<std::int64_t> tokens = find_integer(config, "vocab_size");
  const std::int64_t rows = vocabulary_of(arrays);
  const std::int64_t unit = find_count(config, "pad_vocab_size_multiple").value_or(1);
  if (!tokens || rows == 0 || (*tokens <= rows && unit > 0 && rows - *tokens < unit)) return;
  throw Error(ErrorCode::invalid_argument,
              "config.json: vocab_size does not fit the embedding; got " + std::to_string(*tokens) +
                  ", expected its " + counted(rows, "row"));
}

GgufMetadata metadata_of(const JsonObject& config, const Family& family) {
  GgufMetadata metadata;
  metadata.set("general.architecture", std::string(family.architecture));
  for (const auto rules : {standard_keys(), family.keys}) {
    for (const KeyRule& rule : rules) {
      const JsonValue* value = find_value(config, rule.key);
      if (value == nullptr) continue;
      require_type(config, rule);
      metadata.set(std::string(family.architecture) + "." + std::string(rule.gguf),
                   gguf_value(rule, *value));
    }
  }
  for (const KeyRule& rule : typed_keys()) require_type(config, rule);
  refuse_bidirectional(config);
  refuse_other_values(config, family);
  add_latent_keys(config, family.architecture, metadata);
  add_layer_types(config, family, metadata);
  add_expert_layers(config, family, metadata);
  return metadata;
}

std::int64_t head_dim_of(const GgufMetadata& metadata, const Family& family) {
  const Keys keys(metadata, std::string(family.architecture));
  const std::int64_t heads = keys.size("attention.head_count", 0);
  if (heads == 0) return 0;
  return keys.size("attention.key_length", keys.size("embedding_length") / heads);
}

// Whether the tensor is of what makes other inputs than texts into rows: towers and projectors.
bool is_beside_text(const std::string& name) {
  for (const std::string_view prefix :
       {"model.visual.", "visual.", "model.vision_tower.", "vision_tower.",
        "model.multi_modal_projector.", "multi_modal_projector.", "model.embed_vision.",
        "model.audio_tower.", "model.embed_audio."}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// Whether the tensor is of what drafts further tokens: a layer behind the last, or a model beside.
bool is_of_drafting(std::string_view name, const JsonObject& config) {
  if (name.starts_with("mtp.")) return true;
  constexpr std::string_view kLayers = "model.layers.";
  const std::int64_t drafting = find_integer(config, "num_nextn_predict_layers").value_or(0);
  if (drafting < 1 || !name.starts_with(kLayers)) return false;
  std::int64_t layer = -1;
  std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  const std::int64_t layers = find_integer(config, "num_hidden_layers").value_or(0);
  return layer >= layers && layer - layers < drafting;
}

// Tensors of experts on their way into one.
using ExpertParts = std::map<std::string, std::map<std::int64_t, Array>>;

void add_stacked(const ExpertParts& experts, NamedArrays& arrays) {
  for (const auto& [name, by_number] : experts) {
    std::vector<Array> all;
    for (const auto& [number, array] : by_number) {
      if (number != static_cast<std::int64_t>(all.size())) {
        throw Error(ErrorCode::invalid_argument,
                    "model: a tensor of an expert is missing; got no " + hearth::quoted(name) +
                        " of " + std::to_string(all.size()) + ", expected one of each");
      }
      all.push_back(array);
    }
    arrays.push_back({name, stack(all, 0)});
  }
}

}  // namespace

GgufContents gguf_of_folder(const JsonObject& whole, const NamedArrays& arrays) {
  const JsonObject* text = find_object(whole, "text_config");
  const JsonObject& said = text == nullptr ? whole : *text;
  std::optional<std::string> type = find_text(said, "model_type");
  if (!type) type = find_text(whole, "model_type");
  const Family& family = family_of_type(type.value_or(""), said);
  const JsonObject config = with_defaults(said, family, type.value_or(""));
  GgufContents contents;
  contents.metadata = metadata_of(config, family);
  if (family.adjust_folder != nullptr) {
    family.adjust_folder(config, text != nullptr, contents.metadata);
  }
  add_rope(config, family, head_dim_of(contents.metadata, family), contents);
  std::optional<bool> tied = find_flag(whole, "tie_word_embeddings");
  if (!tied) tied = find_flag(config, "tie_word_embeddings");
  const FolderContext context{contents.metadata, family.architecture, &config};
  ExpertParts experts;
  bool has_output = false;
  for (const NamedArray& each : arrays) {
    const std::string name = text_name(each.name);
    if (is_beside_text(name) || is_of_drafting(name, config)) continue;
    const std::vector<RenamedTensor> all = renamed(name, family);
    if (all.empty()) {
      throw Error(ErrorCode::unsupported, "model: tensor that its family does not have; got " +
                                              hearth::quoted(each.name) + ", expected those of " +
                                              std::string(family.architecture));
    }
    for (const RenamedTensor& one : all) {
      if (one.name.empty()) continue;
      if (one.name == kOutputWeight) {
        has_output = true;
        if (tied.value_or(false)) continue;
      }
      Array array =
          one.rule->transform == nullptr ? each.array : one.rule->transform(each.array, context);
      if (one.rule->is_transposed && array.rank() == 2) array = contiguous(transpose(array));
      if (one.expert < 0) {
        contents.arrays.push_back({one.name, array});
      } else {
        experts[one.name][one.expert] = array;
      }
    }
  }
  add_stacked(experts, contents.arrays);
  if (family.adjust_contents != nullptr) family.adjust_contents(contents);
  require_vocabulary(said, contents.arrays);
  const bool is_decoder =
      !family.is_encoder &&
      Keys(contents.metadata, std::string(family.architecture)).flag("attention.causal", true);
  if (tied.has_value() && !*tied && !has_output && is_decoder) {
    contents.metadata.set(std::string(family.architecture) + "." + std::string(kHasOutputKey),
                          false);
  }
  return contents;
}

}  // namespace hearth::models
