#include "tools/idle_options.h"

#include <algorithm>
#include <iterator>

#include "tools/listed_word.h"

namespace hearth::tools {
namespace {

// Names of llama.cpp, with spaces around each, as around commands and values.
struct IdleNames {
  std::string_view options;
  const char* why;
  std::string_view commands;
  // That ask for what is done anyhow, and for something else; empty: the option has none.
  std::string_view values = {}, others = {};
};

// Where there is one of these options in place of a hint, the command does what it says; for the
// other commands option_hints.cc says what to do.
constexpr std::string_view kOfModels =
    " generate chat serve embed perplexity bench-model finetune ";

constexpr IdleNames kIdleNames[] = {
    {" -fa --flash-attn ", "attention always runs without a matrix of scores", kOfModels,
     " on auto enabled true 1 -1 ", " off disabled false 0 0,1 1,0 "},
    {" --mmap --no-mmap --mlock ",
     "files are read where they lie, without a copy, and stay in memory while there is enough of "
     "it",
     kOfModels},
    {" --log-disable ", "there is no log", kOfModels},
    {" --no-warmup ", "nothing is run before what was asked for",
     " generate chat serve embed perplexity finetune "},  // bench-model does run first
    {" -no-cnv --no-conversation ", "this command goes on with a text; `hearth chat` talks",
     " generate "},
    {" -cnv --conversation -i --interactive ", "this command always talks", " chat "},
    {" --jinja ", "chat templates are always run", " chat serve "},
    {" -cb --cont-batching ", "texts that run together always share steps", " serve "},
};

}  // namespace

IdleOption idle_option(std::string_view option, std::string_view next, std::string_view command) {
  const std::size_t end = option.find('=');
  const std::string_view name = option.substr(0, end);
  const auto* found =
      std::find_if(std::begin(kIdleNames), std::end(kIdleNames), [&](const IdleNames& names) {
        return is_listed(names.commands, command) && is_listed(names.options, name);
      });
  if (found == std::end(kIdleNames)) return {};
  if (end != option.npos) {
    return is_listed(found->values, option.substr(end + 1)) ? IdleOption{1, found->why}
                                                            : IdleOption{};
  }
  if (is_listed(found->others, next)) return {};
  return {is_listed(found->values, next) ? 2 : 1, found->why};
}

}  // namespace hearth::tools
