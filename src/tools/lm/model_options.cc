#include "tools/lm/model_options.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/numerics.h"
#include "models/adapters/stored_adapter.h"
#include "runtime/device/worker_pool.h"
#include "tools/dtype_option.h"
#include "tools/lm/model_name.h"
#include "tools/lm/option_file.h"
#include "tools/place_options.h"

namespace hearth::tools {
namespace {

AdapterFile adapter_of(const std::string& value) {
  const std::size_t colon = value.rfind(':');
  if (colon != std::string::npos && colon + 1 < value.size()) {
    const char* const end = value.data() + value.size();
    double scale = 0;
    const auto read = std::from_chars(value.data() + colon + 1, end, scale);
    if (read.ec == std::errc() && read.ptr == end && std::isfinite(scale)) {
      return {value.substr(0, colon), scale};
    }
  }
  return {value, 1};
}

}  // namespace

Option add_model_option(Command& command, std::string& path, const std::string& summary) {
  return command.option("-m,--model,model", path, summary)
      .check(model_name_fault)
      .value_name("FILE");
}

void add_adapter_option(Command& command, std::vector<std::string>& values) {
  command
      .option("--lora", values,
              "Add a LoRA adapter, a GGUF file or a PEFT folder, times SCALE [1]; may be given "
              "several times")
      .value_name("FILE[:SCALE]");
}

Option add_dtype_option(Command& command, std::string& dtype) {
  return add_dtype_option(command, dtype, {"f32", "bf16", "f16"},
                          "Type that activations are computed in");
}

void add_compute_options(Command& command, ModelArguments& arguments) {
  add_dtype_option(command, arguments.dtype);
  add_place_options(command, arguments.device, arguments.threads);
}

void add_numerics_option(Command& command, ModelArguments& arguments) {
  command.flag("--batch-invariant", arguments.batch_invariant,
               "Give a text the same bits whatever is computed beside it, on GPUs too; slower");
}

Option add_context_option(Command& command, std::int64_t& context, const std::string& summary,
                          std::int64_t least, std::int64_t most) {
  return command.option("-c,--context,--ctx-size", context, summary).range(least, most);
}

void add_cache_options(Command& command, CacheArguments& arguments, const std::string& summary) {
  const auto add = [&](const char* flag, std::string& type, const std::string& text) {
    command.option(flag, type, text)
        .one_of(models::cache_type_names())
        .other_words(dtype_words())
        .lower_case();
  };
  add("--cache-type", arguments.both, summary);
  add("-ctk,--cache-type-k", arguments.keys, "Type of the cached keys [as --cache-type]");
  add("-ctv,--cache-type-v", arguments.values, "Type of the cached values [as --cache-type]");
}

Device use_device(const ModelArguments& arguments) {
  const Device device = arguments.device.empty() ? Device() : Device::named(arguments.device);
  Device::set_default(device);
  if (arguments.threads > 0) WorkerPool::global().set_threads(arguments.threads);
  if (arguments.batch_invariant) {
    Numerics wanted = numerics();
    wanted.batch_invariant = true;
    set_numerics(wanted);
  }
  return device;
}

models::LoadOptions load_options(const ModelArguments& arguments, Device device) {
  std::vector<AdapterFile> adapters = adapter_files(arguments.adapters);
  require_adapters("--lora", adapters);
  return {.device = device,
          .compute = dtype_from_name(arguments.dtype),
          .context = arguments.context,
          .adapters = std::move(adapters)};
}

models::LoadedModel load_model(const std::string& path, const models::LoadOptions& options) {
  try {
    return models::load_language_model(path, options);
  } catch (const Error& error) {
    if (!models::is_adapter(path)) throw;
    throw Error(error.code(), error.what() + (": --model FILE --lora " + path));
  }
}

models::CacheTypes cache_types(const CacheArguments& arguments) {
  return models::cache_types_from_names(arguments.of_keys(), arguments.of_values());
}

std::string cache_text(const std::string& keys, const std::string& values) {
  return keys == values ? keys : keys + "/" + values;
}

void name_dtype_option(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::dtype) throw;
    throw Error(error.code(), error.what() + std::string("; --dtype says what it computes in"));
  }
}

std::vector<AdapterFile> adapter_files(const std::vector<std::string>& values) {
  std::vector<AdapterFile> files;
  for (const std::string& value : values) {
    const AdapterFile& file = files.emplace_back(adapter_of(value));
    std::error_code ignored;
    if (file.path.empty()) {
      throw Error(ErrorCode::invalid_argument, "--lora: no file; got " + hearth::quoted(value) +
                                                   ", expected FILE or FILE:SCALE");
    }
    if (!std::filesystem::exists(file.path, ignored)) {
      throw Error(ErrorCode::io, "--lora: no such file; got " + hearth::quoted(file.path) +
                                     ", expected a GGUF file or a folder of PEFT");
    }
  }
  return files;
}

void require_adapters(const std::string& option, const std::vector<AdapterFile>& files) {
  for (const AdapterFile& file : files) {
    read_option_file(option, "an adapter, a GGUF file or a folder of PEFT",
                     [&] { return models::read_adapter(file.path); });
  }
}

}  // namespace hearth::tools
