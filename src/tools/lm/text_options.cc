#include "tools/lm/text_options.h"

#include <utility>

#include "hearth/error.h"
#include "io/text_file.h"
#include "tools/lm/option_file.h"
#include "tools/lm/piped_text.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::uint64_t kMostPromptBytes = std::uint64_t{1} << 30;

std::string without_last_break(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

void add_text_options(Command& command, TextArguments& arguments, const std::string& tokens) {
  command
      .option("-n,--tokens,--n-predict,--max-tokens", arguments.tokens,
              tokens + "; -1: until the model ends it")
      .range(-1, kMostTokens)
      .show_default();
  command.option("-r,--stop,--reverse-prompt", arguments.stops,
                 "A text before which writing ends; may be given several times");
  command.flag(
      "--verbose", arguments.is_verbose,
      "Say behind each text, on standard error, how many tokens were read and written, and "
      "how fast");
  add_escape_option(command, arguments.sampling.escapes);
  add_sampling_options(command, arguments.sampling);
}

std::int64_t most_tokens(const TextArguments& arguments) {
  return arguments.tokens < 0 ? kMostTokens : arguments.tokens;
}

std::vector<std::string> stop_texts(const TextArguments& arguments) {
  return arguments.sampling.escapes.read(arguments.stops);
}

void add_prompt_options(Command& command, PromptArguments& arguments, const std::string& summary) {
  const Option text =
      command.option("-p,--prompt", arguments.text, summary + "; -: standard input").may_be_empty();
  const Option file =
      command.option("-f,--prompt-file,--file", arguments.file, "A file with that text")
          .value_name("FILE");
  arguments.is_given = [text, file] { return text.given() || file.given(); };
}

std::string read_prompt(const PromptArguments& arguments, const EscapeOption& escapes) {
  if (!arguments.text.empty() && !arguments.file.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--prompt: two prompts; got --prompt-file too, expected one of them");
  }
  if (arguments.file.empty() && arguments.text != "-") return escapes.read(arguments.text);
  const bool is_file = !arguments.file.empty();
  std::string text = read_option_file(is_file ? "--prompt-file" : "--prompt", "a text", [&] {
    return is_file ? io::read_text(arguments.file, kMostPromptBytes)
                   : io::read_input_text(kMostPromptBytes);
  });
  return without_last_break(std::move(text));
}

std::string read_prompt_or_pipe(const std::string& command, const PromptArguments& arguments,
                                const EscapeOption& escapes) {
  if (arguments.is_given()) return read_prompt(arguments, escapes);
  return without_last_break(piped_text(command, kMostPromptBytes));
}

}  // namespace hearth::tools
