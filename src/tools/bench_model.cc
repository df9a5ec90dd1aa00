// `hearth bench-model`: tokens a second of a language model, of a file or of a shape.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "hearth/runtime.h"
#include "models/language/load_model.h"
#include "models/language/read_config.h"
#include "runtime/device/worker_pool.h"
#include "tools/commands.h"
#include "tools/info/model_file.h"
#include "tools/model_bench/random_model.h"
#include "tools/model_bench/report.h"
#include "tools/output.h"
#include "tools/profile_table.h"

namespace hearth::tools {
namespace {

struct BenchModelArguments {
  std::string model, shape, save, device;
  std::string type = "q4_k";
  std::string compute = "f32";
  std::string cache;
  int threads = 0;
  bool has_json = false, shows_profile = false;
  ModelBenchOptions options;
};

struct BenchedModel {
  models::LanguageModel model;
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t parameters = 0;
};

std::int64_t context_of(const BenchModelArguments& arguments) {
  return arguments.options.depth + std::max(arguments.options.prompt, arguments.options.tokens);
}

BenchedModel of_file(const BenchModelArguments& arguments, Device device, DType compute) {
  BenchedModel made;
  made.name = std::filesystem::path(arguments.model).filename().string();
  for (const DTypeTotal& total : read_model_file(arguments.model).totals()) {
    made.bytes += total.bytes;
    made.parameters += total.elements;
  }
  made.model =
      models::load_language_model(arguments.model, {.device = device, .compute = compute}).model;
  return made;
}

BenchedModel of_shape(const BenchModelArguments& arguments, Device device, DType compute) {
  constexpr std::int64_t kLeastContext = 4096;
  const ModelShape& shape = model_shape(arguments.shape);
  models::QuantizeType type = models::quantize_type_from_name(arguments.type);
  const GgufContents contents = random_model(
      shape, type, std::max(context_of(arguments), kLeastContext), device);
  BenchedModel made;
  made.name = arguments.shape + " " + arguments.type;
  for (const NamedArray& each : contents.arrays) {
    made.bytes += bytes_of(each.array.dtype(), each.array.size());
    made.parameters += each.array.size();
  }
  if (!arguments.save.empty()) save_gguf(arguments.save, contents.arrays, contents.metadata);
  made.model = models::LanguageModel(
      models::read_config(contents.metadata, models::FileKind::gguf),
      models::Weights(contents.arrays, compute, device), device, context_of(arguments));
  return made;
}

void run_bench_model(const BenchModelArguments& arguments) {
  if (arguments.model.empty() == arguments.shape.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench-model: what to measure; got " +
                    std::string(arguments.model.empty() ? "neither" : "both") +
                    ", expected --model or --shape");
  }
  if (!arguments.save.empty() && arguments.shape.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench-model: --save with --model; got a file, expected --shape");
  }
  const Device device = arguments.device.empty() ? Device() : Device::named(arguments.device);
  Device::set_default(device);
  const DType compute = dtype_from_name(arguments.compute);
  if (arguments.threads > 0) WorkerPool::global().set_threads(arguments.threads);
  const BenchedModel benched = arguments.model.empty() ? of_shape(arguments, device, compute)
                                                       : of_file(arguments, device, compute);
  ModelBenchReport report;
  report.model = benched.name;
  report.bytes = benched.bytes;
  report.parameters = benched.parameters;
  report.device = device.name();
  report.threads = WorkerPool::global().threads();
  report.options = arguments.options;
  report.options.cache = arguments.cache.empty() ? compute : dtype_from_name(arguments.cache);
  if (arguments.shows_profile) {
    const runtime::Profile profile;
    measure_model(benched.model, report.options);
    return write_out(kernel_table(profile.kernels()));
  }
  report.rows = measure_model(benched.model, report.options);
  write_out(arguments.has_json ? json_text(model_bench_document(report), 2) + "\n"
                               : model_bench_table(report));
}

}  // namespace

void add_bench_model(CommandLine& line) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  auto arguments = std::make_shared<BenchModelArguments>();
  ModelBenchOptions& options = arguments->options;
  Command command = line.add_command("bench-model", "Measure tokens a second of a language model");
  command.option("--model", arguments->model, "GGUF file or folder");
  command.option("--shape", arguments->shape, "Random weights of a well-known model's sizes")
      .one_of(model_shape_names());
  command.option("--type", arguments->type, "Of the weights of --shape, as `hearth quantize` has it")
      .one_of(models::quantize_type_names())
      .show_default();
  command.option("--save", arguments->save, "Write the model of --shape, without a tokenizer")
      .value_name("FILE");
  command.option("--prompt", options.prompt, "Tokens of the prompt; 0: measure none")
      .range(0, kMost)
      .show_default();
  command.option("--tokens", options.tokens, "Tokens to write; 0: measure none")
      .range(0, kMost)
      .show_default();
  command.option("--depth", options.depth, "Tokens that are there before").range(0, kMost);
  command.option("--batch", options.batch, "Sequences that write side by side")
      .range(1, std::int64_t{1} << 12)
      .show_default();
  command.option("--piece", options.piece, "Rows of a pass over the prompt")
      .range(1, kMost)
      .show_default();
  command.option("--repeat", options.repeat, "Measurements of each, after one that does not count")
      .range(1, kMost)
      .show_default();
  command.option("--threads", arguments->threads, "Of the CPU [one a core]")
      .range(std::int64_t{1}, std::int64_t{WorkerPool::kMaxThreads});
  command.option("--dtype", arguments->compute, "What activations are computed in")
      .one_of({"f32", "bf16", "f16"})
      .show_default();
  command.option("--cache-type", arguments->cache, "Of keys and values [as --dtype]")
      .one_of({"f32", "f16", "bf16"});
  command.option("--device", arguments->device, "See `hearth devices`");
  command.flag("--json", arguments->has_json, "Print JSON");
  command.flag("--profile", arguments->shows_profile,
               "Show what kernels take instead, all runs together");
  command.action([arguments] { run_bench_model(*arguments); });
}

}  // namespace hearth::tools
