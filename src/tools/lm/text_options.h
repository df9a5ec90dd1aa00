// The options of commands that write texts: what they begin with, how long they are and where they
// end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/command_line.h"
#include "tools/lm/escapes.h"
#include "tools/lm/sampling_options.h"

namespace hearth::tools {

struct TextArguments {
  std::int64_t tokens = 0;         // at most; the command's default; below 0: until the text ends
  std::vector<std::string> stops;  // as they are written on the command line
  SamplingArguments sampling;
  bool is_verbose = false;  // AnswerTimes are said
};

// Declares --tokens, --stop, --verbose, --escape and all of sampling; `arguments` must live as long
// as the variables of other options.
void add_text_options(Command& command, TextArguments& arguments, const std::string& tokens);

// At most: as many as there could ever be where there is no limit.
std::int64_t most_tokens(const TextArguments& arguments);
// The texts of --stop.
std::vector<std::string> stop_texts(const TextArguments& arguments);

struct PromptArguments {
  std::string text;  // "-": standard input
  std::string file;  // at most one of both
  std::function<bool()> is_given =
      {};  // whether there was any of both; filled in by the declaration
};

// Declares --prompt, which `summary` is of, and --prompt-file.
void add_prompt_options(Command& command, PromptArguments& arguments, const std::string& summary);

// What they name; of a file without the line break at its end. Throws Error{io}, and
// Error{invalid_argument} where both are there.
std::string read_prompt(const PromptArguments& arguments, const EscapeOption& escapes);

// The same, or without any of both options piped_text() of the command, without the line break at
// its end.
std::string read_prompt_or_pipe(const std::string& command, const PromptArguments& arguments,
                                const EscapeOption& escapes);

}  // namespace hearth::tools
