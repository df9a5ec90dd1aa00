#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/language/require_scores.h"
#include "models/serving/text_generation.h"
#include "tools/commands.h"
#include "tools/lm/answer_times.h"
#include "tools/lm/context_note.h"
#include "tools/lm/text_options.h"
#include "tools/lm/writer_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

struct GenerateArguments {
  WriterArguments writer;
  PromptArguments prompt;
  TextArguments text;
  bool hides_prompt = false, parse_special = false;
  std::int64_t keep = 0;
};

constexpr std::int64_t kAllTokens = std::numeric_limits<std::int64_t>::max();
constexpr models::TokenType kControl = models::TokenType::control;

// Says how to have the text again.
void note_seed(const AskedSampling& sampling) {
  const std::string note = seed_text(sampling);
  if (!note.empty()) write_note("generate: " + note + "\n");
}

// Without a prompt texts begin with the token that the model has for that, if it has one.
void require_beginning(const models::LoadedModel& loaded, const std::string& prompt) {
  if (!prompt.empty() || !loaded.tokenizer.encode_prompt(prompt).empty()) return;
  throw Error(
      ErrorCode::invalid_argument,
      "generate: nothing to begin with; got no prompt for a model without a token that texts "
      "begin with, expected --prompt TEXT");
}

// Says that a prompt looks like one that a chat template wrote, whose control tokens are letters
// where nothing else is asked for. Of a long one it looks at as many tokens as the context has.
void note_letters(const models::LoadedModel& loaded, const std::string& prompt) {
  const models::EncodeLimits limits{.most = static_cast<std::size_t>(loaded.model.config.context),
                                    .cuts = true};
  const auto tokens =
      loaded.tokenizer.encode(prompt, {.add_special = false, .parse_special = true}, limits);
  const auto found = std::ranges::find_if(
      tokens, [&](std::int32_t token) { return loaded.tokenizer.type(token) == kControl; });
  if (found == tokens.end()) return;
  write_note("generate: " + hearth::quoted(loaded.tokenizer.text(*found), 40) +
             " in the prompt is letters; with --special it is the control token\n");
}

// The prompt goes before the first text that is written, so that nothing is where options are
// refused.
class PromptBefore {
 public:
  explicit PromptBefore(std::string prompt) : prompt_(std::move(prompt)) {}

  void write(std::string_view text) {
    if (!is_written_) write_out(prompt_);
    is_written_ = true;
    write_out(text);
  }

 private:
  std::string prompt_;
  bool is_written_ = false;
};

void run_generate(const GenerateArguments& arguments) {
  const LoadedWriter writer = load_writer(arguments.writer);
  const models::LoadedModel& loaded = writer.loaded;
  models::require_scores(loaded.model.config, "generate: texts", kEncodersEmbed);
  warn_of_context("generate", loaded.model.config.context, loaded.model.trained_context);
  const AskedSampling sampling = asked_sampling(arguments.text.sampling, loaded);
  const models::TextGenerationOptions generate{
      .tokens = most_tokens(arguments.text),
      .sampling = sampling.options,
      .constraint = sampling_constraint(arguments.text.sampling, loaded.tokenizer),
      .parse_special = arguments.parse_special,
      .caches = cache_types(arguments.writer.model.caches),
      .stops = stop_texts(arguments.text),
      // Without a number of tokens nothing else might end it.
      .goes_on = arguments.text.tokens >= 0,
      .kept_tokens = arguments.keep < 0 ? kAllTokens : arguments.keep,
      .drafts = arguments.writer.drafts.count(),
      .draft_model = writer.draft_model.get()};
  const std::string prompt =
      read_prompt_or_pipe("generate", arguments.prompt, arguments.text.sampling.escapes);
  require_beginning(loaded, prompt);
  if (!arguments.parse_special) note_letters(loaded, prompt);
  PromptBefore out(arguments.hides_prompt ? std::string() : prompt);
  AnswerTimes times;
  const models::GenerationResult made =
      models::generate_text(loaded, prompt, generate, [&](std::string_view text) {
        times.note_text();
        out.write(text);
        return true;
      });
  out.write("\n");
  const auto written = static_cast<std::int64_t>(made.text.tokens.size());
  if (arguments.text.is_verbose) {
    write_note("generate: " + loading_text(writer.seconds) + "; " +
               times.text(made.text.prompt_tokens, made.text.cached_tokens, written) + "\n");
  }
  if (generate.drafts > 0) {
    write_note("generate: " + held_text(made.guesses_held, made.tokens_guessed) + "\n");
  }
  if (written > 0) note_seed(sampling);
}

}  // namespace

void add_generate(CommandLine& line) {
  auto arguments = std::make_shared<GenerateArguments>();
  arguments->text.tokens = 400;
  Command command = line.add_command("generate", "Write text with a language model");
  add_model_option(command, arguments->writer.model.path,
                   "GGUF file, or folder as Hugging Face, MLX or `hearth train` has it")
      .required();
  add_prompt_options(command, arguments->prompt,
                     "What the text starts with [what is piped in, else nothing]");
  command.flag("--special", arguments->parse_special,
               "Read texts such as <s> in the prompt as control tokens, as a prompt that a chat "
               "template wrote has them");
  command.flag("--no-display-prompt", arguments->hides_prompt,
               "Print only the new text, without the prompt");
  add_text_options(
      command, arguments->text,
      "Tokens to write; where they fill the context, writing goes on from its last half");
  command
      .option("--keep", arguments->keep,
              "Tokens of the prompt that stay when writing goes on from the context's last half; "
              "-1: all [0]")
      .range(-1, kAllTokens);
  add_context_option(command, arguments->writer.model.context,
                     "Most tokens that the model sees at once [as many as it was made for]");
  add_writer_options(command, arguments->writer, false);
  command.action([arguments] { name_dtype_option([&] { run_generate(*arguments); }); });
}

}  // namespace hearth::tools
