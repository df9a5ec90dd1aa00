#include "models/adapters/save_adapter.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "hearth/ops.h"
#include "io/file.h"

namespace hearth::models {
namespace {

Array as_stored(const Array& x) {
  return contiguous(to_device(cast(x.detach(), DType::f32), Device::cpu()));
}

// Whole numbers without a point, which is how PEFT writes them.
JsonValue number_json(double value) {
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  return is_whole ? JsonValue(static_cast<std::int64_t>(value)) : JsonValue(value);
}

// The last part of a name stands for all modules that end so; where some layers have no pair,
// modules are named whole.
JsonArray target_modules(const std::set<std::string>& modules, std::size_t layers) {
  std::map<std::string, std::vector<std::string>> by_ending;
  for (const std::string& module : modules) {
    by_ending[module.substr(module.rfind('.') + 1)].push_back(module);
  }
  JsonArray targets;
  for (const auto& [ending, names] : by_ending) {
    if (names.size() == layers) {
      targets.emplace_back(ending);
    } else {
      targets.insert(targets.end(), names.begin(), names.end());
    }
  }
  return targets;
}

}  // namespace

bool has_folder_names(const Adapter& adapter, const AdaptedModel& model) {
  for (const auto& [name, pair] : adapter) {
    if (!folder_pair(name, pair->b, model)) return false;
  }
  return true;
}

void save_adapter_folder(const std::string& path, const Adapter& adapter, const AdapterFacts& facts,
                         const AdaptedModel& model) {
  NamedArrays arrays;
  std::set<std::string> modules;
  bool is_transposed = false;
  for (const auto& [name, pair] : adapter) {
    const std::optional<FolderPair> in_folder = folder_pair(name, pair->b, model);
    if (!in_folder) {
      throw Error(ErrorCode::unsupported,
                  path + ": adapter: what folders of the family have no name for; got " +
                      hearth::quoted(name) + ", expected projections in the order of folders");
    }
    modules.insert(in_folder->name);
    is_transposed = is_transposed || in_folder->is_transposed;
    const std::string before = "base_model.model." + in_folder->name;
    arrays.push_back({before + ".lora_A.weight", as_stored(pair->a)});
    arrays.push_back({before + ".lora_B.weight", as_stored(in_folder->b)});
  }
  const JsonObject config = {
      {"alpha_pattern", JsonObject()},
      {"base_model_name_or_path", facts.base},
      {"bias", "none"},
      {"fan_in_fan_out", is_transposed},
      {"inference_mode", true},
      {"init_lora_weights", true},
      {"lora_alpha", number_json(facts.alpha)},
      {"lora_dropout", 0.0},
      {"modules_to_save", nullptr},
      {"peft_type", "LORA"},
      {"r", facts.rank},
      {"rank_pattern", JsonObject()},
      {"target_modules", target_modules(modules, model.config.layers.size())},
      {"task_type", "CAUSAL_LM"},
      {"use_dora", false},
      {"use_rslora", false},
  };
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw Error(ErrorCode::io, path + ": cannot make the folder; got " + error.message());
  }
  save_safetensors(path + "/adapter_model.safetensors", arrays, {{"format", "pt"}});
  io::replace_file(path + "/adapter_config.json", json_text(config, 2) + "\n");
}

void save_adapter_file(const std::string& path, const Adapter& adapter, const AdapterFacts& facts,
                       const AdaptedModel& model) {
  NamedArrays arrays;
  for (const auto& [name, pair] : adapter) {
    arrays.push_back({name + ".weight.lora_a", as_stored(pair->a)});
    arrays.push_back({name + ".weight.lora_b", as_stored(file_rows(name, pair->b, model))});
  }
  const GgufMetadata metadata = {
      {"general.architecture", model.config.architecture},
      {"general.type", "adapter"},
      {"adapter.type", "lora"},
      {"adapter.lora.alpha", static_cast<float>(facts.alpha)},
      {"general.base_model.count", std::uint32_t{1}},
      {"general.base_model.0.name", facts.base},
  };
  save_gguf(path, arrays, metadata);
}

}  // namespace hearth::models
