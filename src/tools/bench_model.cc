// `hearth bench-model`: tokens a second of a language model, of a file or of a shape.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "hearth/runtime.h"
#include "models/language/load_model.h"
#include "runtime/device/worker_pool.h"
#include "tools/commands.h"
#include "tools/lm/draft_options.h"
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
  DraftArguments drafts;
};

struct BenchedModel {
  models::LanguageModel model;
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t parameters = 0;
  std::string tokenizer;  // of ModelContents
};

std::int64_t context_of(const BenchModelArguments& arguments) {
  return arguments.options.depth + std::max(arguments.options.prompt, arguments.options.tokens);
}

// The model's files, or what they would hold.
models::ModelContents contents_of(const BenchModelArguments& arguments, Device device) {
  constexpr std::int64_t kLeastContext = 4096;
  if (!arguments.model.empty()) return models::read_model_contents(arguments.model);
  return {
      random_model(model_shape(arguments.shape), models::quantize_type_from_name(arguments.type),
                   std::max(context_of(arguments), kLeastContext), device),
      models::FileKind::gguf,
      {}};
}

BenchedModel model_to_bench(const BenchModelArguments& arguments, Device device, DType compute) {
  const models::ModelContents files = contents_of(arguments, device);
  if (!arguments.save.empty()) {
    GgufMetadata metadata = files.contents.metadata;
    metadata.set("tokenizer.ggml.model", std::string("none"));
    save_gguf(arguments.save, files.contents.arrays, metadata);
  }
  BenchedModel made;
  made.name = arguments.model.empty() ? arguments.shape + " " + arguments.type
                                      : std::filesystem::path(arguments.model).filename().string();
  for (const NamedArray& each : files.contents.arrays) {
    made.bytes += bytes_of(each.array.dtype(), each.array.size());
    made.parameters += each.array.size();
  }
  made.tokenizer = files.tokenizer;
  made.model = models::make_language_model(
      files, {.device = device, .compute = compute, .context = context_of(arguments)});
  return made;
}

void run_bench_model(const BenchModelArguments& arguments) {
  if (arguments.model.empty() == arguments.shape.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench-model: what to measure; got " +
                    std::string(arguments.model.empty() ? "neither" : "both") +
                    ", expected --model or --shape");
  }
  if (arguments.drafts.count() > 0 && (arguments.model.empty() || arguments.options.tokens == 0)) {
    throw Error(
        ErrorCode::invalid_argument,
        "bench-model: drafts of nothing; got no --model or --tokens 0, expected a model with "
        "a tokenizer and tokens to write");
  }
  const Device device = arguments.device.empty() ? Device() : Device::named(arguments.device);
  Device::set_default(device);
  const DType compute = dtype_from_name(arguments.compute);
  if (arguments.threads > 0) WorkerPool::global().set_threads(arguments.threads);
  const BenchedModel benched = model_to_bench(arguments, device, compute);
  ModelBenchReport report;
  report.model = benched.name;
  report.bytes = benched.bytes;
  report.parameters = benched.parameters;
  report.device = device.name();
  report.threads = WorkerPool::global().threads();
  report.options = arguments.options;
  report.options.cache = arguments.cache.empty() ? models::CacheType(compute)
                                                 : models::cache_type_from_name(arguments.cache);
  if (arguments.shows_profile) {
    const runtime::Profile profile;
    measure_model(benched.model, report.options);
    return write_out(kernel_table(profile.kernels()));
  }
  report.rows = measure_model(benched.model, report.options);
  if (arguments.drafts.count() > 0) {
    const models::LoadOptions load{
        .device = device, .compute = compute, .context = context_of(arguments)};
    const auto draft_model = load_draft_model(arguments.drafts, load);
    const models::LoadedModel loaded{benched.model, models::read_tokenizer(benched.tokenizer)};
    report.rows.push_back(
        measure_drafts(loaded, report.options, arguments.drafts.count(), draft_model.get()));
  }
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
  command
      .option("--type", arguments->type, "Of the weights of --shape, as `hearth quantize` has it")
      .one_of(models::quantize_type_names())
      .show_default();
  command.option("--save", arguments->save, "Write the model as GGUF, without a tokenizer")
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
      .one_of(models::cache_type_names());
  add_draft_options(command, arguments->drafts);
  command.option("--device", arguments->device, "See `hearth devices`");
  command.flag("--json", arguments->has_json, "Print JSON");
  command.flag("--profile", arguments->shows_profile,
               "Show what kernels take instead, all runs together");
  command.action([arguments] { run_bench_model(*arguments); });
}

}  // namespace hearth::tools
