// `hearth bench-model`: tokens a second of a language model, of a file or of a shape.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "hearth/runtime.h"
#include "models/loading/load_model.h"
#include "models/quantize/tensor_types.h"
#include "models/serving/cache_plan.h"
#include "runtime/device/worker_pool.h"
#include "tools/commands.h"
#include "tools/dtype_option.h"
#include "tools/lm/draft_options.h"
#include "tools/lm/model_options.h"
#include "tools/model_bench/random_model.h"
#include "tools/model_bench/report.h"
#include "tools/model_bench/sweep.h"
#include "tools/output.h"
#include "tools/place_options.h"
#include "tools/profile_table.h"
#include "tools/progress_bar.h"

namespace hearth::tools {
namespace {

struct BenchModelArguments {
  ModelArguments model;
  std::string shape, save;
  std::string type = "q4_k";
  std::string output = "md";
  bool has_json = false, shows_profile = false;
  std::vector<std::string> prompts = {"512"}, tokens = {"128"}, pairs, depths = {"0"};
  std::vector<std::string> parallel = {"1"}, prefills = {"512"}, threads;
  std::int64_t repeat = ModelBenchOptions{}.repeat;
  DraftArguments drafts;
};

struct BenchedModel {
  models::LanguageModel model;
  std::string name;
  std::string type;  // of ModelBenchReport
  std::int64_t bytes = 0;
  std::int64_t parameters = 0;
  std::string tokenizer;  // of ModelContents
};

ModelBenchSweep sweep_of(const BenchModelArguments& arguments) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  ModelBenchSweep sweep;
  sweep.prompts = counts_of_lists("--prompt", arguments.prompts, 0, kMost);
  sweep.tokens = counts_of_lists("--tokens", arguments.tokens, 0, kMost);
  sweep.pairs = pairs_of_lists("--prompt-tokens", arguments.pairs, kMost);
  sweep.depths = counts_of_lists("--depth", arguments.depths, 0, kMost);
  sweep.parallel = counts_of_lists("--parallel", arguments.parallel, 1, std::int64_t{1} << 12);
  sweep.prefills = counts_of_lists("--prefill", arguments.prefills, 1, models::kMostStepRows);
  if (!arguments.threads.empty()) {
    sweep.threads = counts_of_lists("--threads", arguments.threads, 1, WorkerPool::kMaxThreads);
  } else {
    sweep.threads = {WorkerPool::global().threads()};
  }
  return sweep;
}

// The model's files, or what they would hold.
models::ModelContents contents_of(const BenchModelArguments& arguments, std::int64_t rows,
                                  Device device) {
  constexpr std::int64_t kLeastContext = 4096;
  if (!arguments.model.path.empty()) return models::read_model_contents(arguments.model.path);
  models::QuantizeType type = models::quantize_type_from_name(arguments.type);
  // The name of a dtype measures that dtype; the other names are mixes.
  if (name(type.dtype) == arguments.type) type.mix = models::QuantizeMix::none;
  ProgressBar bar("making " + arguments.shape + " " + arguments.type);
  return {random_model(model_shape(arguments.shape), type, std::max(rows, kLeastContext), device,
                       [&](double share) { bar.show(share); }),
          models::FileKind::gguf,
          {}};
}

// What the file says of its type, in llama-bench's words; without that, and of a shape, the dtype
// of most parameters in capitals.
std::string bench_type(const BenchModelArguments& arguments, const GgufContents& contents) {
  if (!arguments.model.path.empty()) {
    const std::string_view said =
        models::file_type_name(contents.metadata.as_int("general.file_type", -1));
    if (!said.empty()) return std::string(said);
  }
  std::map<DType, std::int64_t> elements;
  for (const NamedArray& each : contents.arrays) elements[each.array.dtype()] += each.array.size();
  const auto most = std::ranges::max_element(elements, {}, [](auto& each) { return each.second; });
  std::string type(most == elements.end() ? "" : hearth::name(most->first));
  for (char& c : type) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return type;
}

BenchedModel model_to_bench(const BenchModelArguments& arguments, std::int64_t rows, Device device,
                            DType compute) {
  const models::ModelContents files = contents_of(arguments, rows, device);
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
  const std::string type = bench_type(arguments, files.contents);
  made.type = files.contents.metadata.as_text("general.architecture", "") + " " +
              parameters_name(made.parameters) + (type.empty() ? "" : " " + type);
  made.tokenizer = files.tokenizer;
  made.model =
      models::make_language_model(files, {.device = device, .compute = compute, .context = rows});
  return made;
}

std::string report_text(const ModelBenchReport& report, const std::string& output) {
  if (output == "json") return json_text(model_bench_document(report), 2) + "\n";
  return output == "csv" ? model_bench_csv(report) : model_bench_table(report);
}

void check_arguments(const BenchModelArguments& arguments, const ModelBenchSweep& sweep) {
  if (arguments.model.path.empty() == arguments.shape.empty()) {
    throw Error(ErrorCode::invalid_argument,
                arguments.shape.empty()
                    ? "bench-model: nothing to measure; got neither --model nor --shape, expected "
                      "one of them"
                    : "bench-model: two models to measure; got both --model and --shape, expected "
                      "one of them");
  }
  const bool writes = std::ranges::any_of(sweep.tokens, [](std::int64_t n) { return n > 0; });
  if (arguments.drafts.count() > 0 && (arguments.model.path.empty() || !writes)) {
    throw Error(
        ErrorCode::invalid_argument,
        "bench-model: nothing to guess ahead; got no --model or --tokens 0, expected a model with "
        "a tokenizer and tokens to write");
  }
}

// "2026-01-31T23:59:59Z": now.
std::string time_text() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

// The name that llama-bench has for what computes.
std::string backend_of(Device device) {
  const std::string kind = device.name().substr(0, device.name().find(':'));
  return kind == "cpu" ? "CPU" : kind == "cuda" ? "CUDA" : kind == "metal" ? "Metal" : kind;
}

// The rows of all steps; threads are then those of the last one.
std::vector<ModelBenchRow> measure_steps(
    const std::vector<ModelBenchStep>& steps, bool writes_texts,
    const std::function<std::vector<ModelBenchRow>(const ModelBenchOptions&)>& measure) {
  std::vector<ModelBenchRow> rows;
  for (const ModelBenchStep& step : steps) {
    WorkerPool::global().set_threads(static_cast<int>(step.threads));
    const std::string time = time_text();
    for (ModelBenchRow& row : measure(step.options)) {
      row.threads = step.threads;
      row.time = time;
      row.prompt = step.options.prompt;
      row.tokens = step.options.tokens;
      // Prompts are read one by one, but texts become vectors side by side.
      row.parallel = writes_texts && row.tokens == 0 ? 1 : step.options.parallel;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void run_bench_model(const BenchModelArguments& arguments) {
  const Device device = use_device(arguments.model);
  const ModelBenchSweep sweep = sweep_of(arguments);
  check_arguments(arguments, sweep);
  const DType compute = dtype_from_name(arguments.model.dtype);
  const models::CacheTypes caches = cache_types(arguments.model.caches);
  ModelBenchReport report;
  report.sweep = sweep;
  report.keys = caches.keys.value_or(compute);
  report.values = caches.values.value_or(compute);
  std::int64_t context = sweep.most_rows();
  if (arguments.drafts.count() > 0) {
    context = std::max(context, kLeastDraftedPrompt + *std::ranges::max_element(sweep.tokens));
  }
  const BenchedModel benched = model_to_bench(arguments, context, device, compute);
  const bool writes_texts = benched.model.config.gives_scores();
  const std::vector<ModelBenchStep> steps =
      steps_of(sweep, {.repeat = arguments.repeat, .keys = report.keys, .values = report.values},
               writes_texts);
  report.model = benched.name;
  report.path = arguments.model.path.empty() ? benched.name : arguments.model.path;
  report.type = benched.type;
  report.backend = backend_of(device);
  report.bytes = benched.bytes;
  report.parameters = benched.parameters;
  report.device = device.name();
  const auto plain = [&](const ModelBenchOptions& options) {
    return measure_model(benched.model, options);
  };
  if (arguments.shows_profile) {
    const runtime::Profile profile;
    measure_steps(steps, writes_texts, plain);
    return write_out(kernel_table(profile.kernels()));
  }
  report.rows = measure_steps(steps, writes_texts, plain);
  if (arguments.drafts.count() > 0) {
    const auto draft_model = load_draft_model(
        arguments.drafts, {.device = device, .compute = compute, .context = context});
    const models::LoadedModel loaded{benched.model, models::read_tokenizer(benched.tokenizer)};
    const auto drafted = [&](const ModelBenchOptions& options) -> std::vector<ModelBenchRow> {
      if (options.tokens == 0 || options.together) return {};
      return {measure_drafts(loaded, options, arguments.drafts.count(), draft_model.get())};
    };
    std::ranges::move(measure_steps(steps, writes_texts, drafted), std::back_inserter(report.rows));
  }
  write_out(report_text(report, arguments.has_json ? "json" : arguments.output));
}

}  // namespace

void add_bench_model(CommandLine& line) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  auto arguments = std::make_shared<BenchModelArguments>();
  Command command = line.add_command(
      "bench-model", "Measure how many tokens a second a language model reads and writes");
  add_model_option(command, arguments->model.path, "GGUF file or folder");
  command.option("--shape", arguments->shape, "Random weights of a well-known model's sizes")
      .one_of(model_shape_names());
  command
      .option("--type", arguments->type,
              "Type of the weights of --shape: one dtype for all, or a mix of `hearth quantize`")
      .one_of(models::quantize_type_names())
      .other_words(dtype_words())
      .lower_case()
      .show_default();
  command.option("--save", arguments->save, "Write the model as GGUF, without a tokenizer")
      .value_name("FILE");
  const auto add_list = [&](const std::string& flags, std::vector<std::string>& lists,
                            const std::string& summary) {
    command.option(flags, lists, summary).value_name("N,...");
  };
  add_list(
      "-p,--prompt,--n-prompt", arguments->prompts,
      "Tokens of a prompt; 0: measure none; N,... is a list such as 512,1024 or 128-1024*2 [512]");
  add_list("-n,--tokens,--n-gen", arguments->tokens, "Tokens to write; 0: measure none [128]");
  command
      .option("-pg,--prompt-tokens", arguments->pairs,
              "Tokens of a prompt and tokens to write behind it, measured together; may be given "
              "several times [none]")
      .value_name("N,N");
  add_list("-d,--depth,--n-depth", arguments->depths, "Tokens that are in the caches before [0]");
  add_list("-np,--parallel,--sequences", arguments->parallel, "Texts that are written at once [1]");
  add_list("-b,--prefill,--piece,--batch-size", arguments->prefills,
           "Tokens of a prompt that are read in one step [512]");
  command
      .option("-r,--repeat,--repetitions", arguments->repeat,
              "Times that each row is measured, after one that does not count")
      .range(1, kMost)
      .show_default();
  add_draft_options(command, arguments->drafts);
  add_cache_options(command, arguments->model.caches,
                    "Type of the cached keys and values [as --dtype]");
  add_dtype_option(command, arguments->model.dtype);
  add_device_option(command, arguments->model.device);
  add_list("-t,--threads", arguments->threads, "CPU threads [one per core]");
  add_numerics_option(command, arguments->model);
  command.option("-o,--output", arguments->output, "Format of what is printed")
      .one_of({"md", "json", "csv"})
      .show_default();
  command.flag("--json", arguments->has_json, "The same as --output json");
  command.flag("--profile", arguments->shows_profile,
               "Show the time of each kernel over all runs instead");
  command.action([arguments] { run_bench_model(*arguments); });
}

}  // namespace hearth::tools
