#include "tools/argument_errors.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <vector>

#include "core/closest.h"
#include "tools/option_hints.h"

namespace hearth::tools {
namespace {

std::string behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? text : text.substr(at + mark.size());
}

// What the option is called in sentences: "--file", or "model" of an argument.
std::string plain_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : option.get_name();
}

// How the option is written: "--file FILE", or "a FILE or --model FILE" of an argument.
std::string way_to_give(const CLI::Option& option) {
  const std::string value = value_word(option);
  std::string way = option.get_positional() ? "a " + value : "";
  if (!option.get_lnames().empty()) {
    way += (way.empty() ? "--" : " or --") + option.get_lnames().front() + " " + value;
  }
  return way;
}

// What is missing of an option of that name: all of it, or only its value.
std::string missing_text(const CLI::App& command, const std::string& name, bool has_option) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option == nullptr) return name + " is missing; got none, expected one";
  if (has_option)
    return name + " has no value; got " + name + " alone, expected " + way_to_give(*option);
  const std::string plain = plain_name(*option);
  return plain + " is missing; got no " + plain + ", expected " + way_to_give(*option);
}

// What to do with a word that belongs to no option.
std::string unexpected_argument(const CLI::App& command, const std::string& got) {
  const CLI::Option* const prompt = command.get_option_no_throw("--prompt");
  const bool takes_text = prompt != nullptr && prompt->get_type_name() == "TEXT";
  return "unexpected argument; got " + got + ", expected " +
         (takes_text ? "--prompt in front of a text" : "options only");
}

}  // namespace

std::string value_word(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::size_t end = type.find(':');
  while (end != type.npos && end > 0 && type[end - 1] == '[') end = type.find(':', end + 1);
  return type.substr(0, end);
}

std::string no_such_option(const std::string& got, const CLI::App& command) {
  const std::string begin = "no such option; got " + got + ", expected ";
  if (const char* const hint = option_hint(got, command.get_name())) return begin + hint;
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string meant = closest(got, names);
  return begin + (meant.empty() ? "an option of this command" : "perhaps " + meant);
}

std::string list_hint(const std::string& command) {
  return " (" + command + " --help lists what there is)";
}

std::string in_house_form(const CLI::ParseError& error, const CLI::App& command) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return missing_text(command, text.substr(0, text.find(" is required")), false);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string option = text.substr(0, text.find(':'));
    const std::string received = behind(text, "required but received ");
    if (received == text) return missing_text(command, option, true);
    return option + " is given more than once; got " + received + " values, expected one";
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return text;
  // Of several words, in whatever order they come, the first one that looks like an option.
  std::istringstream words(behind(text, "not expected: "));
  std::string got;
  for (std::string word; words >> word && !got.starts_with('-');) {
    if (got.empty() || word.starts_with('-')) got = word;
  }
  if (!got.starts_with('-')) return unexpected_argument(command, got);
  return no_such_option(got, command);
}

}  // namespace hearth::tools
