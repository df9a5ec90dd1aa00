#include "tools/lm/spoken_messages.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "core/counted.h"
#include "hearth/error.h"
#include "tools/lm/answer_times.h"
#include "tools/lm/prompt_terminal.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::string_view kDim = "\033[2m", kUndim = "\033[0m";
constexpr std::string_view kResetHint = " (/reset begins the conversation anew)";

constexpr std::string_view kHelp =
    "/reset, /clear  begins the conversation anew\n"
    "/system TEXT    begins it anew, with TEXT told to the model before all else; none: nothing\n"
    "/exit or /bye   ends, as Ctrl-D does; Ctrl-C ends an answer\n"
    "/help or /?     lists this\n"
    "\"\"\"             opens a message of several lines, and closes it\n"
    "\\               at the end of a line: the message goes on with the next one\n"
    "What is pasted is one message, whatever its lines.\n";

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

// Words of Ollama's for what is done otherwise, behind "expected ".
std::string instead_of(const std::string& command) {
  if (command == "/set") {
    return "options of `hearth chat`, such as --temp, or /system TEXT; /help lists commands";
  }
  if (command == "/show") {
    return "`hearth info FILE`, which says what is in a model; /help lists commands";
  }
  return "one that /help lists";
}

Asked obey(const std::string& line, models::Conversation& session) {
  if (line == "/exit" || line == "/bye") return Asked::end;
  if (line == "/reset" || line == "/clear") {
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

}  // namespace

SpokenMessages::SpokenMessages(models::Conversation& session, std::int64_t longest, bool may_grow,
                               bool is_asking, bool is_verbose)
    : session_(session),
      longest_(longest),
      may_grow_(may_grow),
      is_verbose_(is_verbose),
      writer_(answer_writer()),
      editor_(is_asking ? make_line_editor() : nullptr),
      input_(editor_ ? editor_->lines() : std::cin),
      reader_(input_, is_asking),
      is_asking_(is_asking) {}

void SpokenMessages::say(const std::string& message, const std::string& place) {
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

void SpokenMessages::say_all(bool is_single_turn) {
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
                   ", expected " + instead_of(command_of(message->text)) + "\n");
        ++unanswered_;
        break;
      case Asked::nothing:
        say(message->text, place);
        if (is_single_turn) return;
    }
  }
}

std::optional<TypedMessage> SpokenMessages::next() {
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

}  // namespace hearth::tools
