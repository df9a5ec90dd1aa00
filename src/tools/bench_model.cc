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
#include "tools/lm/model_options.h"
#include "tools/model_bench/random_model.h"
#include "tools/model_bench/report.h"
#include "tools/output.h"
#include "tools/profile_table.h"

namespace hearth::tools {
namespace {

struct BenchModelArguments {
  ModelArguments model;
  std::string shape, save;
  std::string type = "q4_k";
  std::string output = "md";
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
  if (!arguments.model.path.empty()) return models::read_model_contents(arguments.model.path);
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
  made.name = arguments.model.path.empty()
                  ? arguments.shape + " " + arguments.type
                  : std::filesystem::path(arguments.model.path).filename().string();
  for (const NamedArray& each : files.contents.arrays) {
    made.bytes += bytes_of(each.array.dtype(), each.array.size());
    made.parameters += each.array.size();
  }
  made.tokenizer = files.tokenizer;
  made.model = models::make_language_model(
      files, {.device = device, .compute = compute, .context = context_of(arguments)});
  return made;
}

std::string report_text(const ModelBenchReport& report, const std::string& output) {
  if (output == "json") return json_text(model_bench_document(report), 2) + "\n";
  return output == "csv" ? model_bench_csv(report) : model_bench_table(report);
}

void run_bench_model(const BenchModelArguments& arguments) {
  if (arguments.model.path.empty() == arguments.shape.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench-model: what to measure; got " +
                    std::string(arguments.model.path.empty() ? "neither" : "both") +
                    ", expected --model or --shape");
  }
  if (arguments.drafts.count() > 0 &&
      (arguments.model.path.empty() || arguments.options.tokens == 0)) {
    throw Error(
        ErrorCode::invalid_argument,
        "bench-model: drafts of nothing; got no --model or --tokens 0, expected a model with "
        "a tokenizer and tokens to write");
  }
  const Device device = use_device(arguments.model);
  const DType compute = dtype_from_name(arguments.model.dtype);
  const BenchedModel benched = model_to_bench(arguments, device, compute);
  ModelBenchReport report;
  report.model = benched.name;
  report.bytes = benched.bytes;
  report.parameters = benched.parameters;
  report.device = device.name();
  report.threads = WorkerPool::global().threads();
  report.options = arguments.options;
  const CacheTypes caches = cache_types(arguments.model.caches);
  report.options.keys = caches.keys.value_or(compute);
  report.options.values = caches.values.value_or(compute);
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
  write_out(report_text(report, arguments.has_json ? "json" : arguments.output));
}

}  // namespace

void add_bench_model(CommandLine& line) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  auto arguments = std::make_shared<BenchModelArguments>();
  ModelBenchOptions& options = arguments->options;
  Command command = line.add_command("bench-model", "Measure tokens a second of a language model");
  add_model_option(command, arguments->model.path, "GGUF file or folder");
  command.option("--shape", arguments->shape, "Random weights of a well-known model's sizes")
      .one_of(model_shape_names());
  command
      .option("--type", arguments->type, "Of the weights of --shape, as `hearth quantize` has it")
      .lower_case()
      .one_of(models::quantize_type_names())
      .show_default();
  command.option("--save", arguments->save, "Write the model as GGUF, without a tokenizer")
      .value_name("FILE");
  command.option("-p,--prompt,--n-prompt", options.prompt, "Tokens of the prompt; 0: measure none")
      .range(0, kMost)
      .show_default();
  command.option("-n,--tokens,--n-gen", options.tokens, "Tokens to write; 0: measure none")
      .range(0, kMost)
      .show_default();
  command.option("-d,--depth,--n-depth", options.depth, "Tokens that are there before")
      .range(0, kMost)
      .show_default();
  command.option("--sequences", options.sequences, "Sequences that write side by side")
      .range(1, std::int64_t{1} << 12)
      .show_default();
  command.option("-b,--piece,--batch-size", options.piece, "Rows of a pass over the prompt")
      .range(1, kMost)
      .show_default();
  command
      .option("-r,--repeat,--repetitions", options.repeat,
              "Measurements of each, after one that does not count")
      .range(1, kMost)
      .show_default();
  add_draft_options(command, arguments->drafts);
  add_cache_options(command, arguments->model.caches,
                    "What keys and values are kept as [the dtype]");
  add_compute_options(command, arguments->model);
  add_numerics_option(command, arguments->model);
  command.option("-o,--output", arguments->output, "The form of what is printed")
      .one_of({"md", "json", "csv"})
      .show_default();
  command.flag("--json", arguments->has_json, "As --output json");
  command.flag("--profile", arguments->shows_profile,
               "Show what kernels take instead, all runs together");
  command.action([arguments] { run_bench_model(*arguments); });
}

}  // namespace hearth::tools
