#include "models/adapters/stored_adapter.h"

#include <cmath>
#include <filesystem>
#include <string_view>

#include "core/number_text.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "models/adapters/pair_reader.h"
#include "models/adapters/peft_folder.h"
#include "models/files/checkpoint_names.h"
#include "models/files/folder_tensors.h"

namespace hearth::models {
namespace {

std::string origin_of(const GgufMetadata& metadata) {
  const std::string base = metadata.as_text("general.base_model.0.name", "");
  return base.empty() ? base : " of an adapter for " + hearth::quoted(base);
}

StoredAdapter read_file_adapter(const std::string& path) {
  const GgufContents contents = map_gguf(path, Device::cpu());
  const GgufMetadata& metadata = contents.metadata;
  const std::string type = metadata.as_text("general.type", "model");
  const std::string kind = metadata.as_text("adapter.type", "");
  if (type != "adapter" || kind != "lora") {
    refuse_adapter(ErrorCode::unsupported, path,
                   "another kind of file; got general.type " + hearth::quoted(type) +
                       " and adapter.type " + hearth::quoted(kind) + ", expected adapter and lora");
  }
  if (metadata.contains("adapter.alora.invocation_tokens")) {
    refuse_adapter(
        ErrorCode::unsupported, path,
        "switched on by tokens; got adapter.alora.invocation_tokens, expected an adapter that is "
        "always on");
  }
  StoredAdapter adapter{.path = path,
                        .architecture = metadata.as_text("general.architecture", ""),
                        .is_folder = false,
                        .origin = origin_of(metadata),
                        .pairs = {}};
  const double alpha = metadata.as_float("adapter.lora.alpha", 0);
  if (!std::isfinite(alpha)) {
    refuse_adapter(ErrorCode::corrupt_file, path,
                   "a scale that is no number; got adapter.lora.alpha " + number_text(alpha) +
                       ", expected a finite one");
  }
  PairReader reader(adapter);
  for (const NamedArray& each : contents.arrays) {
    std::string_view name = each.name;
    const bool is_a = take_ending(name, ".weight.lora_a");
    if (!is_a && !take_ending(name, ".weight.lora_b")) {
      refuse_adapter(ErrorCode::unsupported, path,
                     "a tensor of another kind; got " + hearth::quoted(each.name) +
                         ", expected *.weight.lora_a and lora_b");
    }
    reader.add(name, each.array, is_a);
  }
  reader.finish();
  // Without alpha pairs are added as they are, as llama.cpp does.
  for (auto& [name, pair] : adapter.pairs) {
    if (alpha != 0) pair.scale = alpha / static_cast<double>(pair.a.shape(0));
  }
  return adapter;
}

}  // namespace

bool is_adapter_folder(const std::string& path) {
  return !folders::existing_file(path, kPeftConfigFile).empty();
}

bool says_adapter(const GgufMetadata& metadata) {
  return metadata.as_text("general.type", "model") == "adapter";
}

bool is_adapter(const std::string& path) {
  if (is_adapter_folder(path)) return folders::existing_file(path, "config.json").empty();
  try {
    return says_adapter(map_gguf(path, Device::cpu()).metadata);
  } catch (const Error&) {
    return false;
  }
}

std::string unfit_folder(const std::string& path) {
  const std::string file = folders::existing_file(path, "adapter.gguf");
  if (!file.empty()) return "got a folder that has adapter.gguf, expected that file's own path";
  if (folders::existing_file(path, folders::kCheckpointFile).empty()) return {};
  return std::string("got ") + folders::kCheckpointFile +
         " alone, of a run that was stopped, expected what `hearth finetune` with --resume makes "
         "of it";
}

StoredAdapter read_adapter(const std::string& path) {
  if (is_adapter_folder(path)) return read_folder_adapter(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const bool is_model = !folders::existing_file(path, "config.json").empty();
    const std::string what = is_model ? std::string() : unfit_folder(path);
    refuse_adapter(ErrorCode::unsupported, path,
                   "the folder has none; " +
                       (what.empty() ? std::string("got no ") + kPeftConfigFile +
                                           ", expected one beside adapter_model.safetensors"
                                     : what));
  }
  return read_file_adapter(path);
}

}  // namespace hearth::models
