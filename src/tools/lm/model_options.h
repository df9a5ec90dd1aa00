// The options of commands that run a language model: which, where and how. Declared once, so that
// all commands know them by the same names, those of llama.cpp and MLX among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/device.h"
#include "models/language/cache_type.h"
#include "models/language/load_model.h"
#include "tools/command_line.h"

namespace hearth::tools {

// What the command line gives. Must live as long as the variables of other options.
struct ModelArguments {
  std::string path;
  std::string dtype = "f32";
  std::string device;        // empty: the default one
  int threads = 0;           // of the CPU; 0: one a core
  std::int64_t context = 0;  // 0: what the model has
  std::vector<std::string> adapters;
  std::string cache, keys, values;  // of caches; empty: the dtype
};

// The model, as "-m FILE", "--model FILE" or a plain word.
Option add_model_option(Command& command, ModelArguments& arguments, const std::string& summary);
// --lora.
void add_adapter_option(Command& command, std::vector<std::string>& values);
// --dtype, --device and --threads.
void add_compute_options(Command& command, ModelArguments& arguments);
void add_place_options(Command& command, std::string& device, int& threads);
Option add_context_option(Command& command, ModelArguments& arguments, const std::string& summary);
// --cache-type of both, --cache-type-k and --cache-type-v.
void add_cache_options(Command& command, ModelArguments& arguments);

// The device that is named, as the default one from now on; threads are set too.
Device use_device(const ModelArguments& arguments);
models::LoadOptions load_options(const ModelArguments& arguments, Device device);

// Of keys and values; nothing: as the model computes.
struct CacheTypes {
  std::optional<models::CacheType> keys, values;
};
CacheTypes cache_types(const ModelArguments& arguments);

// "FILE" and "FILE:SCALE", as --lora gives them. Throws Error{invalid_argument} for a value without
// a file and Error{io} for a file that is not there.
std::vector<AdapterFile> adapter_files(const std::vector<std::string>& values);

// What commands that write or score texts say of encoders: `instead` of models::require_causal().
inline constexpr const char* kEncodersEmbed = "`hearth embed` makes vectors with it";

}  // namespace hearth::tools
