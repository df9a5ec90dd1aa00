// `hearth perplexity`: how well a language model foresees a text, and how far it is from another.
#include "models/language/model/perplexity.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "io/file.h"
#include "io/text_file.h"
#include "models/language/require_scores.h"
#include "models/loading/load_model.h"
#include "models/quantize/read_files.h"
#include "tools/commands.h"
#include "tools/lm/base_scores.h"
#include "tools/lm/context_note.h"
#include "tools/lm/model_options.h"
#include "tools/lm/option_file.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxText = std::uint64_t{1} << 30;
constexpr std::int64_t kUsualContext = 512;
constexpr const char* kBaseFile = "what --save-base wrote of the same text";

struct PerplexityArguments {
  ModelArguments model;
  std::string file, save, base;
  std::int64_t chunks = 0;
};

void write_divergence(const models::Divergence& divergence) {
  write_out("KL divergence from base: mean " + decimal(divergence.mean(), 6) + ", median " +
            decimal(divergence.quantile(0.5), 6) + ", 99 % " +
            decimal(divergence.quantile(0.99), 6) + ", max " + decimal(divergence.largest(), 6) +
            "\nsame likeliest token: " + decimal(100 * divergence.same_best(), 3) + " %\n");
}

[[noreturn]] void refuse_scores(const std::string& dtype) {
  throw Error(ErrorCode::invalid_argument,
              "perplexity: scores are no numbers; got such with --dtype " + dtype +
                  ", expected numbers: f16 overflows in some models, bf16 and f32 do not");
}

// Refuses, before the work, a file that cannot be written, or is one of those that are read.
void require_save(const PerplexityArguments& arguments) {
  std::vector<std::string> read = {arguments.model.path, arguments.file};
  if (!arguments.base.empty()) read.push_back(arguments.base);
  models::require_other_files("perplexity", {arguments.save}, models::read_files(read));
  read_option_file("--save-base", "a file that can be written", [&] {
    const io::AtomicFileWriter probe(arguments.save);  // leaves all as it is
    return 0;
  });
}

void run_perplexity(const PerplexityArguments& arguments) {
  if (!arguments.save.empty()) require_save(arguments);
  if (!arguments.base.empty()) {
    read_option_file("--kl-base", kBaseFile, [&] { refuse_model(arguments.base); });
  }
  const Device device = use_device(arguments.model);
  models::LoadOptions options = load_options(arguments.model, device);
  options.usual_context = kUsualContext;
  const models::LoadedModel loaded = load_model(arguments.model.path, options);
  models::require_scores(loaded.model.config, "perplexity: scores", kEncodersEmbed);
  const std::vector<std::int32_t> tokens = loaded.tokenizer.encode(read_option_file(
      "--file", "a text", [&] { return io::read_text(arguments.file, kMaxText); }));
  const std::int32_t bos = loaded.tokenizer.adds_bos() ? loaded.tokenizer.special().bos : -1;
  const std::int64_t context =
      arguments.model.context > 0 ? arguments.model.context : loaded.model.config.context;
  warn_of_context("perplexity", context, loaded.model.trained_context);
  const models::TokenChunks chunks = models::chunks_of(tokens, context, arguments.chunks, bos);
  Array base;
  if (!arguments.base.empty()) {
    base = read_option_file("--kl-base", kBaseFile, [&] {
      return read_base_scores(arguments.base, chunks, loaded.model.vocabulary());
    });
  }
  std::optional<BaseScoresWriter> saved;
  if (!arguments.save.empty()) saved.emplace(arguments.save, chunks, loaded.model.vocabulary());
  models::Perplexity perplexity;
  models::Divergence divergence;
  std::int64_t done = 0;
  const models::CacheTypes caches = cache_types(arguments.model.caches);
  const models::CacheType own = dtype_from_name(arguments.model.dtype);
  models::score_chunks(loaded.model, chunks, caches.keys.value_or(own), caches.values.value_or(own),
                       [&](const Array& scores, std::span<const std::int32_t> next) {
                         perplexity.add(scores, next);
                         if (std::isnan(perplexity.value())) refuse_scores(arguments.model.dtype);
                         const auto count = static_cast<std::int64_t>(next.size());
                         if (base.defined()) {
                           divergence.add(to_device(narrow(base, 0, done, count), device), scores);
                         }
                         if (saved) saved->add(scores);
                         done += count;
                       });
  write_out("perplexity: " + decimal(perplexity.value(), 4) + " +- " +
            decimal(perplexity.error(), 4) + " of " + counted(perplexity.tokens(), "token") +
            " in " + counted(chunks.size(), "chunk") + " of " + std::to_string(context) + "\n");
  if (base.defined()) write_divergence(divergence);
  if (saved) saved->commit();
}

}  // namespace

void add_perplexity(CommandLine& line) {
  auto arguments = std::make_shared<PerplexityArguments>();
  Command command = line.add_command(
      "perplexity",
      "Measure how well a language model predicts a text, and how far it is from another model");
  add_model_option(command, arguments->model.path, "GGUF file or folder").required();
  command.option("-f,--file", arguments->file, "A file with the text")
      .value_name("FILE")
      .required();
  add_adapter_option(command, arguments->model.adapters);
  add_context_option(command, arguments->model.context,
                     "Tokens of a chunk, whose second half is scored [" +
                         std::to_string(kUsualContext) +
                         ", or the model's own context if that is less]",
                     4, std::int64_t{1} << 24);
  command.option("--chunks,--windows", arguments->chunks, "Most chunks to score [all of the text]")
      .range(1, std::int64_t{1} << 24);
  command
      .option("--save-base", arguments->save,
              "Write the log-probabilities: for each scored token 4 bytes times the vocabulary")
      .value_name("FILE");
  command
      .option("--kl-base", arguments->base,
              "Compare with what --save-base wrote of another model, the base")
      .value_name("FILE");
  add_cache_options(command, arguments->model.caches,
                    "Type of the cached keys and values [as --dtype]");
  add_compute_options(command, arguments->model);
  add_numerics_option(command, arguments->model);
  command.action([arguments] { run_perplexity(*arguments); });
}

}  // namespace hearth::tools
