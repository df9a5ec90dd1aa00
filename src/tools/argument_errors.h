// What messages say of arguments that were not declared so.
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace hearth::tools {

// What the option's value is called, "FILE" or "FILE[:SCALE]"; what it may be stands behind a
// colon.
std::string value_word(const CLI::Option& option);

// Of a word that looks like an option, and is none of the command.
std::string no_such_option(const std::string& got, const CLI::App& command);

// The end of a message about the arguments of `command`.
std::string list_hint(const std::string& command);

// What is wrong, what was got and what was expected. Errors of options' values say it themselves.
std::string in_house_form(const CLI::ParseError& error, const CLI::App& command);

}  // namespace hearth::tools
