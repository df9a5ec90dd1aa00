#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/generation.h"
#include "models/serving/text_generation.h"
#include "tools/commands.h"
#include "tools/lm/adapter_options.h"
#include "tools/lm/draft_options.h"
#include "tools/lm/load_model.h"
#include "tools/lm/load_with_progress.h"
#include "tools/lm/sampling_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

struct GenerateOptions {
  std::string model;
  std::string prompt;
  std::int64_t tokens = 400;
  std::string dtype = "f32";
  std::string device;
  std::string key_type, value_type;  // of caches; empty: the dtype
  std::vector<std::string> adapters;
  std::vector<std::string> stops;
  SamplingArguments sampling;
  DraftArguments drafts;
};

// Of a GGUF file, or of a folder that has a tokenizer.
void write_with_tokens(const GenerateOptions& options, Device device) {
  const models::LoadOptions load{.device = device,
                                 .compute = dtype_from_name(options.dtype),
                                 .adapters = adapter_files(options.adapters)};
  const models::LoadedModel loaded = load_with_progress(options.model, load);
  const auto draft_model = load_draft_model(options.drafts, load);
  models::GenerateOptions generate{
      .tokens = options.tokens,
      .sampling = sampling_options(options.sampling, loaded),
      .constraint = sampling_constraint(options.sampling, loaded.tokenizer),
      .stops = options.stops,
      .drafts = options.drafts.count(),
      .draft_model = draft_model.get()};
  if (!options.key_type.empty()) generate.keys = models::cache_type_from_name(options.key_type);
  if (!options.value_type.empty()) {
    generate.values = models::cache_type_from_name(options.value_type);
  }
  write_out(options.prompt);
  const models::Generated made =
      models::generate_text(loaded, options.prompt, generate, [](std::string_view text) {
        write_out(text);
        return true;
      });
  write_out("\n");
  if (generate.drafts > 0) {
    write_note("generate: " + held_text(made.guesses_held, made.tokens_guessed) + "\n");
  }
}

// Of a folder that `hearth train` wrote.
void write_with_bytes(const GenerateOptions& options, Device device) {
  if (!options.adapters.empty()) {
    throw Error(ErrorCode::unsupported, options.model +
                                            ": adapters of a model of bytes; got --lora, expected "
                                            "a GGUF file or a folder with a tokenizer");
  }
  if (options.drafts.count() > 0 || !options.stops.empty()) {
    throw Error(
        ErrorCode::unsupported,
        "generate: drafts and stops of a model that `hearth train` wrote; `hearth quantize` "
        "makes a file of it that knows them");
  }
  const models::Transformer model =
      load_model(options.model, dtype_from_name(options.dtype), device);
  if (model.config.vocabulary != 256) {
    throw Error(ErrorCode::unsupported,
                options.model + ": no model of bytes; got a vocabulary of " +
                    std::to_string(model.config.vocabulary) + ", expected 256");
  }
  // Without a prompt the text starts as if after a line break.
  const std::string start = options.prompt.empty() ? "\n" : options.prompt;
  std::vector<std::int32_t> prompt;
  for (const char c : start) prompt.push_back(static_cast<unsigned char>(c));
  models::Generation generation(model, prompt, byte_sampling_options(options.sampling));
  if (const auto constraint = byte_sampling_constraint(options.sampling)) {
    generation.set_grammar(models::grammar::GrammarMatcher(constraint));
  }
  write_out(options.prompt);
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const std::int32_t token = generation.next();
    if (token < 0) break;  // the grammar ends here
    const char byte = static_cast<char>(token);
    write_out({&byte, 1});
  }
  write_out("\n");
}

void run_generate(const GenerateOptions& options) {
  const Device device = options.device.empty() ? Device() : Device::named(options.device);
  Device::set_default(device);
  const std::filesystem::path path = options.model;
  const bool has_bytes =
      std::filesystem::is_directory(path) && !std::filesystem::exists(path / "tokenizer.json");
  has_bytes ? write_with_bytes(options, device) : write_with_tokens(options, device);
}

}  // namespace

void add_generate(CommandLine& line) {
  auto options = std::make_shared<GenerateOptions>();
  Command command = line.add_command("generate", "Write text with a language model");
  command
      .option("--model,model", options->model,
              "GGUF file, folder of Hugging Face or MLX, or one that `hearth train` wrote")
      .required();
  command.option("--prompt", options->prompt, "What the text starts with");
  command
      .option("--tokens", options->tokens,
              "Tokens to write; bytes, of a model that `hearth train` wrote")
      .range(0, std::int64_t{1} << 40)
      .show_default();
  add_adapter_option(command, options->adapters);
  command.option("--stop", options->stops, "The text ends before this; may be given several times");
  add_sampling_options(command, options->sampling);
  add_draft_options(command, options->drafts);
  command.option("--dtype", options->dtype, "What activations are computed in")
      .one_of({"f32", "bf16"})
      .show_default();
  command
      .option("--cache-type-k", options->key_type,
              "What keys are kept as, of files with a tokenizer [the dtype]")
      .one_of(models::cache_type_names());
  command.option("--cache-type-v", options->value_type, "And values")
      .one_of(models::cache_type_names());
  command.option("--device", options->device, "See `hearth devices`");
  command.action([options] { run_generate(*options); });
}

}  // namespace hearth::tools
