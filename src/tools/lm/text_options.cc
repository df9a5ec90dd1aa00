#include "tools/lm/text_options.h"

#include "hearth/error.h"
#include "io/text_file.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::uint64_t kMostPromptBytes = std::uint64_t{1} << 30;

std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '\\' && at + 1 < text.size() ? text[at + 1] : '\0';
    const char meant = next == 'n'    ? '\n'
                       : next == 'r'  ? '\r'
                       : next == 't'  ? '\t'
                       : next == '\\' ? '\\'
                                      : '\0';
    plain += meant == '\0' ? text[at] : meant;
    if (meant != '\0') ++at;
  }
  return plain;
}

}  // namespace

void add_text_options(Command& command, TextArguments& arguments, const std::string& tokens) {
  command
      .option("-n,--tokens,--n-predict,--max-tokens", arguments.tokens,
              tokens + "; -1: until it ends")
      .range(-1, kMostTokens)
      .show_default();
  command.option("--stop", arguments.stops,
                 "The text ends before this, in which \\n is a line break; may be given again");
  add_sampling_options(command, arguments.sampling);
}

std::int64_t most_tokens(const TextArguments& arguments) {
  return arguments.tokens < 0 ? kMostTokens : arguments.tokens;
}

std::vector<std::string> stop_texts(const TextArguments& arguments) {
  std::vector<std::string> texts;
  for (const std::string& stop : arguments.stops) texts.push_back(without_escapes(stop));
  return texts;
}

void add_prompt_options(Command& command, PromptArguments& arguments) {
  command.option("-p,--prompt", arguments.text, "What the text starts with; -: standard input");
  command.option("-f,--prompt-file,--file", arguments.file, "A file that has the prompt")
      .value_name("FILE");
}

std::string read_prompt(const PromptArguments& arguments) {
  if (!arguments.text.empty() && !arguments.file.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--prompt: two prompts; got --prompt-file too, expected one of both");
  }
  if (arguments.file.empty() && arguments.text != "-") return arguments.text;
  std::string text =
      io::read_text(arguments.file.empty() ? "/dev/stdin" : arguments.file, kMostPromptBytes);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace hearth::tools
