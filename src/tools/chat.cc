// `hearth chat`: a conversation with a language model, line by line.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "models/chat/chat_format.h"
#include "models/chat/conversation.h"
#include "models/language/require_scores.h"
#include "models/loading/load_model.h"
#include "models/serving/cache_plan.h"
#include "models/serving/scheduler.h"
#include "tools/commands.h"
#include "tools/lm/answer_times.h"
#include "tools/lm/chat_template_option.h"
#include "tools/lm/context_note.h"
#include "tools/lm/spoken_messages.h"
#include "tools/lm/text_options.h"
#include "tools/lm/writer_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

struct ChatArguments {
  WriterArguments writer;
  TextArguments text;
  std::string system;
  PromptArguments first;        // message
  bool is_single_turn = false;  // it ends after the first answer
};

// The caches of one conversation that fills the context.
models::SchedulerOptions options_for(const ChatArguments& arguments,
                                     const models::LanguageConfig& config) {
  constexpr std::int64_t kMostRows = 8192;
  const std::int64_t asked = arguments.writer.model.context;
  const std::int64_t rows = std::min(asked > 0 ? asked : kMostRows, config.context);
  if (rows < asked) {
    report_context("chat", asked, rows, true, "the model has no more positions");
  } else if (rows < config.context) {
    report_context("chat", config.context, rows, false, std::string(kContextHint));
  }
  models::SchedulerOptions options = models::with_pages_for({.parallel = 1}, rows);
  apply(arguments.writer, options);
  return options;
}

models::ChatFormat format_of(const models::LoadedModel& loaded) {
  try {
    return models::ChatFormat(loaded);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(error.code(), error.what() + ("; " + std::string(kTemplateRemedy)) +
                                  ", and `hearth generate` goes on with texts");
  }
}

// What people at a terminal are told first.
void greet(const ChatArguments& arguments, std::int64_t context) {
  std::filesystem::path path = arguments.writer.model.path;
  if (!path.has_filename()) path = path.parent_path();
  write_note("chat: " + path.filename().string() + ", " + counted(context, "token") +
             " of context; /help says what there is beside talking\n");
}

void run_chat(const ChatArguments& arguments) {
  const std::string first = read_prompt(arguments.first, arguments.text.sampling.escapes);
  JsonObject told = template_arguments_of(arguments.writer.template_arguments);
  const LoadedWriter writer_model = load_writer(arguments.writer);
  const models::LoadedModel& loaded = writer_model.loaded;
  models::require_scores(loaded.model.config, "chat: conversations", kEncodersEmbed);
  models::ChatFormat format = format_of(loaded);
  models::SchedulerOptions options = options_for(arguments, loaded.model.config);
  warn_of_context("chat", loaded.model.config.context, loaded.model.trained_context);
  options.draft_model = writer_model.draft_model.get();
  models::Scheduler scheduler(loaded, options);
  const AskedSampling sampling = asked_sampling(arguments.text.sampling, loaded);
  models::Conversation session(
      scheduler, std::move(format),
      {.system = arguments.text.sampling.escapes.read(arguments.system),
       .most_tokens = most_tokens(arguments.text),
       .sampling = sampling.options,
       .stops = stop_texts(arguments.text),
       .constraint = sampling_constraint(arguments.text.sampling, loaded.tokenizer),
       .template_arguments = std::move(told)});
  const bool is_asking = isatty(STDIN_FILENO) != 0;
  const std::int64_t longest = scheduler.longest_text();
  if (is_asking) greet(arguments, longest);
  const std::string seed = seed_text(sampling);
  if (!seed.empty()) write_note("chat: " + seed + "\n");
  if (arguments.text.is_verbose) {
    write_note("chat: " + loading_text(writer_model.seconds) + "\n");
  }
  SpokenMessages lines(session, longest, longest < loaded.model.trained_context, is_asking,
                       arguments.text.is_verbose);
  if (!first.empty()) {
    if (is_asking) write_out("> " + first + "\n");
    lines.say(first, "--prompt");
  }
  if (first.empty() || !arguments.is_single_turn) lines.say_all(arguments.is_single_turn);
  if (is_asking && lines.is_at_end()) write_out("\n");
  if (options.drafts > 0) {
    const models::SchedulerStats stats = scheduler.stats();
    write_note("chat: " + held_text(stats.guesses_held, stats.tokens_guessed) + "\n");
  }
  if (lines.unanswered() > 0 && !is_asking) {
    throw Error(ErrorCode::invalid_argument, "chat: lines without an answer; got " +
                                                 std::to_string(lines.unanswered()) +
                                                 ", expected an answer to each");
  }
}

}  // namespace

void add_chat(CommandLine& line) {
  auto arguments = std::make_shared<ChatArguments>();
  arguments->text.tokens = 2048;
  models::SamplingOptions& sampling = arguments->text.sampling.values;
  sampling.temperature = 0.8;
  sampling.top_k = 40;
  sampling.top_p = 0.95;
  sampling.min_p = 0.05;
  Command command = line.add_command(
      "chat", "Talk with a language model, line by line; /help lists what else it does");
  add_model_option(command, arguments->writer.model.path,
                   "GGUF file, or folder as Hugging Face or MLX has it")
      .required();
  command
      .option("-sys,--system,--system-prompt", arguments->system,
              "System message: what the model is told before all else")
      .may_be_empty();
  add_prompt_options(command, arguments->first, "The first message, before those that are typed");
  command.flag("-st,--single-turn", arguments->is_single_turn, "End after the first answer");
  add_text_options(command, arguments->text, "Most tokens of an answer");
  add_context_option(command, arguments->writer.model.context,
                     "Most tokens of the conversation [the model's context, but at most 8192]");
  add_writer_options(command, arguments->writer, true);
  command.action([arguments] { name_dtype_option([&] { run_chat(*arguments); }); });
}

}  // namespace hearth::tools
