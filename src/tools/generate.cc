#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/generation.h"
#include "models/serving/text_generation.h"
#include "tools/commands.h"
#include "tools/lm/load_model.h"
#include "tools/lm/text_options.h"
#include "tools/lm/writer_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

struct GenerateArguments {
  WriterArguments writer;
  PromptArguments prompt;
  TextArguments text;
};

// Says how to have the text again.
void note_seed(const GenerateArguments& arguments, const models::SamplingOptions& sampling) {
  const std::string note = seed_text(arguments.text.sampling, sampling);
  if (!note.empty()) write_note("generate: " + note + "\n");
}

// The prompt goes before the first text that is written, so that nothing is where options are
// refused.
class PromptBefore {
 public:
  explicit PromptBefore(const std::string& prompt) : prompt_(prompt) {}

  void write(std::string_view text) {
    if (!is_written_) write_out(prompt_);
    is_written_ = true;
    write_out(text);
  }

 private:
  const std::string& prompt_;
  bool is_written_ = false;
};

// Of a GGUF file, or of a folder that has a tokenizer.
void write_with_tokens(const GenerateArguments& arguments) {
  const LoadedWriter writer = load_writer(arguments.writer);
  const models::LoadedModel& loaded = writer.loaded;
  require_causal(loaded, arguments.writer.model.path, "generate");
  const CacheTypes caches = cache_types(arguments.writer.model);
  const models::GenerateOptions generate{
      .tokens = most_tokens(arguments.text),
      .sampling = sampling_options(arguments.text.sampling, loaded),
      .constraint = sampling_constraint(arguments.text.sampling, loaded.tokenizer),
      .keys = caches.keys,
      .values = caches.values,
      .stops = stop_texts(arguments.text),
      .drafts = arguments.writer.drafts.count(),
      .draft_model = writer.draft_model.get()};
  const std::string prompt = read_prompt(arguments.prompt);
  PromptBefore out(prompt);
  const models::Generated made =
      models::generate_text(loaded, prompt, generate, [&](std::string_view text) {
        out.write(text);
        return true;
      });
  out.write("\n");
  if (generate.drafts > 0) {
    write_note("generate: " + held_text(made.guesses_held, made.tokens_guessed) + "\n");
  }
  note_seed(arguments, generate.sampling);
}

void require_options_of_bytes(const GenerateArguments& arguments) {
  const ModelArguments& model = arguments.writer.model;
  if (!model.adapters.empty()) {
    throw Error(ErrorCode::unsupported, model.path +
                                            ": adapters of a model of bytes; got --lora, expected "
                                            "a GGUF file or a folder with a tokenizer");
  }
  if (arguments.writer.drafts.count() > 0 || !arguments.text.stops.empty() || model.context != 0 ||
      !(model.cache + model.keys + model.values).empty()) {
    throw Error(
        ErrorCode::unsupported,
        "generate: drafts, stops, contexts and types of caches of a model that `hearth train` "
        "wrote; `hearth quantize` makes a file of it that knows them");
  }
}

// Of a folder that `hearth train` wrote.
void write_with_bytes(const GenerateArguments& arguments) {
  require_options_of_bytes(arguments);
  const ModelArguments& at = arguments.writer.model;
  const Device device = use_device(at);
  const models::Transformer model = load_model(at.path, dtype_from_name(at.dtype), device);
  if (model.config.vocabulary != 256) {
    throw Error(ErrorCode::unsupported, at.path + ": no model of bytes; got a vocabulary of " +
                                            std::to_string(model.config.vocabulary) +
                                            ", expected 256");
  }
  const std::string given = read_prompt(arguments.prompt);
  // Without a prompt the text starts as if after a line break.
  const std::string start = given.empty() ? "\n" : given;
  std::vector<std::int32_t> prompt;
  for (const char c : start) prompt.push_back(static_cast<unsigned char>(c));
  const models::SamplingOptions sampling = byte_sampling_options(arguments.text.sampling);
  models::Generation generation(model, prompt, sampling);
  if (const auto constraint = byte_sampling_constraint(arguments.text.sampling)) {
    generation.set_grammar(models::grammar::GrammarMatcher(constraint));
  }
  PromptBefore out(given);
  for (std::int64_t i = 0; i < most_tokens(arguments.text); ++i) {
    const std::int32_t token = generation.next();
    if (token < 0) break;  // the grammar ends here
    const char byte = static_cast<char>(token);
    out.write({&byte, 1});
  }
  out.write("\n");
  note_seed(arguments, sampling);
}

void run_generate(const GenerateArguments& arguments) {
  const std::filesystem::path path = arguments.writer.model.path;
  const bool has_bytes =
      std::filesystem::is_directory(path) && !std::filesystem::exists(path / "tokenizer.json");
  has_bytes ? write_with_bytes(arguments) : write_with_tokens(arguments);
}

}  // namespace

void add_generate(CommandLine& line) {
  auto arguments = std::make_shared<GenerateArguments>();
  arguments->text.tokens = 400;
  Command command = line.add_command("generate", "Write text with a language model");
  add_model_option(command, arguments->writer.model,
                   "GGUF file, folder of Hugging Face or MLX, or one that `hearth train` wrote")
      .required();
  add_prompt_options(command, arguments->prompt);
  add_text_options(command, arguments->text,
                   "Tokens to write; bytes, of a model that `hearth train` wrote");
  add_context_option(command, arguments->writer.model,
                     "Tokens of prompt and text at most [the model's]");
  add_writer_options(command, arguments->writer, false);
  command.action([arguments] { run_generate(*arguments); });
}

}  // namespace hearth::tools
