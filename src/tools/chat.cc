// `hearth chat`: a conversation with a language model, line by line.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
#include "tools/lm/line_editor.h"
#include "tools/lm/message_reader.h"
#include "tools/lm/prompt_terminal.h"
#include "tools/lm/text_options.h"
#include "tools/lm/writer_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::string_view kDim = "\033[2m", kUndim = "\033[0m";
constexpr std::string_view kResetHint = " (/reset begins the conversation anew)";
constexpr std::string_view kContextHint = "--context has more";

constexpr std::string_view kHelp =
    "/reset          begins the conversation anew\n"
    "/system TEXT    begins it anew, with TEXT told to the model before all else; none: nothing\n"
    "/exit or /bye   ends, as Ctrl-D does; Ctrl-C ends an answer\n"
    "/help or /?     lists this\n"
    "\"\"\"             opens a message of several lines, and closes it\n"
    "\\               at the end of a line: the message goes on with the next one\n"
    "What is pasted is one message, whatever its lines.\n";

struct ChatArguments {
  WriterArguments writer;
  TextArguments text;
  std::string system;
  PromptArguments first;        // message
  bool is_single_turn = false;  // it ends after the first answer
};

volatile std::sig_atomic_t is_interrupted = 0;

void interrupt(int) { is_interrupted = 1; }

// While it lives, Ctrl-C ends an answer and not the program.
class AnswerInterrupts {
 public:
  AnswerInterrupts() : before_(std::signal(SIGINT, interrupt)) { is_interrupted = 0; }
  AnswerInterrupts(const AnswerInterrupts&) = delete;
  AnswerInterrupts& operator=(const AnswerInterrupts&) = delete;
  ~AnswerInterrupts() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
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

// What a line that begins with a slash asks for: nothing is said to the model then.
enum class Asked : std::uint8_t { nothing, done, unknown, end };

// The command at the start of a line, a slash and letters; empty: none, as in a path.
std::string command_of(const std::string& line) {
  if (!line.starts_with('/')) return {};
  const std::string word = line.substr(0, line.find(' '));
  const bool is_name =
      word.size() > 1 && std::all_of(word.begin() + 1, word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '?';
      });
  return is_name ? word : std::string();
}

Asked obey(const std::string& line, models::Conversation& session) {
  if (line == "/exit" || line == "/bye") return Asked::end;
  if (line == "/reset") {
    session.reset();
  } else if (line == "/system" || line.starts_with("/system ")) {
    session.set_system(line.substr(std::min(line.size(), std::string_view("/system ").size())));
  } else if (line == "/help" || line == "/?") {
    write_note(kHelp);
  } else {
    return command_of(line).empty() ? Asked::nothing : Asked::unknown;
  }
  return Asked::done;
}

// What people at a terminal are told first.
void greet(const ChatArguments& arguments, std::int64_t context) {
  std::filesystem::path path = arguments.writer.model.path;
  if (!path.has_filename()) path = path.parent_path();
  write_note("chat: " + path.filename().string() + ", " + counted(context, "token") +
             " of context; /help says what there is beside talking\n");
}

// How answers are written. Only people want to see what the model thought.
models::AnswerWriter answer_writer() {
  models::AnswerWriter writer;
  writer.content = [](std::string_view text) { write_out(text); };
  writer.is_stopped = [] { return is_interrupted != 0; };
  if (isatty(STDOUT_FILENO) != 0) {
    writer.reasoning = [](std::string_view text) {
      write_out(std::string(kDim) + std::string(text) + std::string(kUndim));
    };
  }
  return writer;
}

// The writer's, noted in the times.
models::AnswerWriter timed_writer(const models::AnswerWriter& writer, AnswerTimes& times) {
  models::AnswerWriter timed = writer;
  timed.content = [&](std::string_view text) {
    times.note_text();
    writer.content(text);
  };
  timed.reasoning = [&](std::string_view text) {
    times.note_text();
    if (writer.reasoning) writer.reasoning(text);
  };
  return timed;
}

// Messages of this process's input, and their answers.
class SpokenMessages {
 public:
  // `is_asking`: people type them, and see what is wrong with one where its answer would be.
  // `longest`: tokens of the context; `may_grow`: an option gives it more. `is_verbose`: the times
  // of answers are said.
  SpokenMessages(models::Conversation& session, std::int64_t longest, bool may_grow, bool is_asking,
                 bool is_verbose)
      : session_(session),
        longest_(longest),
        may_grow_(may_grow),
        is_verbose_(is_verbose),
        writer_(answer_writer()),
        editor_(is_asking ? make_line_editor() : nullptr),
        input_(editor_ ? editor_->lines() : std::cin),
        reader_(input_, is_asking),
        is_asking_(is_asking) {}

  // `place`: where the message came from.
  void say(const std::string& message, const std::string& place) {
    bool is_cut = false;
    std::string times_text;
    try {
      const AnswerInterrupts interrupts;
      AnswerTimes times;
      const models::GenerationPiece last = session_.say(message, timed_writer(writer_, times));
      times_text = times.text(last.prompt_tokens, last.cached_tokens, last.new_tokens);
      is_cut = last.finish == models::FinishReason::length &&
               last.prompt_tokens + last.new_tokens >= longest_;
    } catch (const Error& error) {
      // Others go on failing.
      if (!is_asking_ && error.code() != ErrorCode::invalid_argument) throw;
      const std::string what = error.what() + std::string(kResetHint);
      if (is_asking_) {
        write_out(what);
      } else {
        write_note("chat: " + place + ": " + what + "\n");
      }
      ++unanswered_;
    }
    write_out("\n");
    if (is_verbose_ && !times_text.empty()) write_note("chat: " + times_text + "\n");
    if (!is_cut) return;
    write_note("chat: " + place + ": the answer is cut off: the context is full, which is " +
               counted(longest_, "token") +
               (may_grow_ ? "; " + std::string(kContextHint) : std::string()) +
               std::string(kResetHint) + "\n");
  }

  // To the end of the input, a line that asks for the end, or the first answer of a single turn.
  void say_all(bool is_single_turn) {
    while (const std::optional<TypedMessage> message = next()) {
      if (message->text.empty()) continue;
      const std::string place = "line " + std::to_string(reader_.lines());
      switch (message->is_line ? obey(message->text, session_) : Asked::nothing) {
        case Asked::end:
          return;
        case Asked::done:
          break;
        case Asked::unknown:
          write_note("chat: " + place + ": no such command; got " + command_of(message->text) +
                     ", expected one that /help lists\n");
          ++unanswered_;
          break;
        case Asked::nothing:
          say(message->text, place);
          if (is_single_turn) return;
      }
    }
  }

  std::int64_t unanswered() const { return unanswered_; }
  bool is_at_end() const { return input_.eof(); }

 private:
  std::optional<TypedMessage> next() {
    std::optional<PromptTerminal> terminal;
    if (is_asking_ && isatty(STDOUT_FILENO) != 0) terminal.emplace();
    return reader_.next([&](bool is_later) {
      const std::string_view prompt = is_later ? "... " : "> ";
      if (editor_) {
        editor_->set_prompt(prompt);
      } else if (is_asking_) {
        write_out(prompt);
      }
    });
  }

  models::Conversation& session_;
  std::int64_t longest_;
  bool may_grow_, is_verbose_;
  models::AnswerWriter writer_;
  std::unique_ptr<LineEditor> editor_;
  std::istream& input_;
  MessageReader reader_;
  bool is_asking_;
  std::int64_t unanswered_ = 0;
};

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
