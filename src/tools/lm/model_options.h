// The options of commands that run a language model: which, where and how. Declared once, so that
// all commands know them by the same names, those of llama.cpp and MLX among them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hearth/device.h"
#include "models/language/cache_type.h"
#include "models/loading/load_model.h"
#include "tools/command_line.h"

namespace hearth::tools {

// Names of what caches hold; keys and values empty: as `both`.
struct CacheArguments {
  std::string both, keys, values;

  const std::string& of_keys() const { return keys.empty() ? both : keys; }
  const std::string& of_values() const { return values.empty() ? both : values; }
};

// What the command line gives. Must live as long as the variables of other options.
struct ModelArguments {
  std::string path;
  std::string dtype = "f32";
  std::string device;            // empty: the default one
  int threads = 0;               // of the CPU; 0: one a core
  std::int64_t context = 0;      // 0: what the model has
  bool batch_invariant = false;  // or HEARTH_BATCH_INVARIANT
  std::vector<std::string> adapters;
  CacheArguments caches;  // empty: the dtype
};

// The model, as "-m FILE", "--model FILE" or a plain word.
Option add_model_option(Command& command, std::string& path, const std::string& summary);
// --lora.
void add_adapter_option(Command& command, std::vector<std::string>& values);
// --dtype, --device and --threads.
void add_compute_options(Command& command, ModelArguments& arguments);
Option add_dtype_option(Command& command, std::string& dtype);
// --batch-invariant.
void add_numerics_option(Command& command, ModelArguments& arguments);
// --context, of `least` to `most` tokens.
Option add_context_option(Command& command, std::int64_t& context, const std::string& summary,
                          std::int64_t least = 0, std::int64_t most = std::int64_t{1} << 30);
// --cache-type of both, which `summary` is of, --cache-type-k and --cache-type-v.
void add_cache_options(Command& command, CacheArguments& arguments, const std::string& summary);

// The device that is named, as the default one from now on; threads are set too, and the numerics
// of this thread.
Device use_device(const ModelArguments& arguments);
models::LoadOptions load_options(const ModelArguments& arguments, Device device);
// As models::load_language_model(), but an adapter in place of the model is refused with the
// options that take both.
models::LoadedModel load_model(const std::string& path, const models::LoadOptions& options);

models::CacheTypes cache_types(const CacheArguments& arguments);
// As reports call caches of keys and values: one name where both are alike, else "keys/values".
std::string cache_text(const std::string& keys, const std::string& values);

// Runs what writes texts; where scores are no numbers its error names the option, too.
void name_dtype_option(const std::function<void()>& write);

// "FILE" and "FILE:SCALE", as --lora gives them. Throws Error{invalid_argument} for a value without
// a file and Error{io} for a file that is not there.
std::vector<AdapterFile> adapter_files(const std::vector<std::string>& values);

// Refuses, by the option's name, what is no adapter, as models::read_adapter() does.
void require_adapters(const std::string& option, const std::vector<AdapterFile>& files);

// What commands that write or score texts say of others: `instead` of models::require_scores().
inline constexpr const char* kEncodersEmbed = "`hearth embed` makes vectors with it";

}  // namespace hearth::tools
