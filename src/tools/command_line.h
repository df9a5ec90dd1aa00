// Declaring the command line: subcommands, their options and flags.
//
// Everything declared refers to a variable that holds the default and takes what is given; it must
// live until CommandLine::run has returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hearth::tools {

class ShortNames;

// A handle to a declared option; the CommandLine owns what it stands for.
class Option {
 public:
  Option& required();
  // --help names the value that the variable holds now.
  Option& show_default();
  // Refuses values outside of [low, high].
  Option& range(std::int64_t low, std::int64_t high);
  Option& range(double low, double high);
  // Refuses numbers that `allows` does not, which `range` says: "(0, 1]".
  Option& accept(std::function<bool(double)> allows, const std::string& range);
  // Capital letters mean small ones, for one_of() too, and for what the next two were given before.
  Option& lower_case();
  // The first of a pair means the second, for one_of() too; --help does not list them.
  Option& other_words(std::vector<std::pair<std::string, std::string>> pairs);
  // Refuses a word before one_of() does, and says what is expected.
  Option& refuse_word(const std::string& word, const std::string& expected);
  Option& one_of(std::vector<std::string> values);
  // Refuses values of which `fault` says anything.
  Option& check(const std::function<std::string(const std::string&)>& fault);
  // Of a text: "" is a value, which is refused otherwise.
  Option& may_be_empty();
  // What --help calls the value.
  Option& value_name(const std::string& name);
  // The option may stand without a value, which leaves the variable as it is.
  Option& optional_value();

  // Whether the option was given; known once the command runs.
  bool given() const;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

// A handle to a subcommand; the CommandLine owns what it stands for.
class Command {
 public:
  // `flags`: as they are written, for instance "-s,--seed"; a plain word for an argument without
  // one. Names of one dash may have several letters, "-ctk", beside a long one.
  Option option(const std::string& flags, std::string& value, const std::string& summary);
  Option option(const std::string& flags, int& value, const std::string& summary);
  Option option(const std::string& flags, std::int64_t& value, const std::string& summary);
  Option option(const std::string& flags, std::uint64_t& value, const std::string& summary);
  Option option(const std::string& flags, double& value, const std::string& summary);
  // May be given several times, with one value each.
  Option option(const std::string& flags, std::vector<std::string>& values,
                const std::string& summary);
  // An option without a value, which sets the variable; by names behind an exclamation mark, as in
  // "--escape,!--no-escape", to false.
  Option flag(const std::string& flags, bool& value, const std::string& summary);

  // What the command does. Owns what it captures for as long as the CommandLine lives.
  void action(std::function<void()> action);

 private:
  friend class CommandLine;
  Command(CLI::App* command, ShortNames* names) : command_(command), names_(names) {}

  template <class T>
  CLI::Option* add(const std::string& flags, T& value, const std::string& summary);

  CLI::App* command_;
  ShortNames* names_;
};

class CommandLine {
 public:
  // `version`: what --version prints.
  CommandLine(const std::string& name, const std::string& summary, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command add_command(const std::string& name, const std::string& summary);

  // Runs the command that was asked for, or prints help (`help` and `help COMMAND` too) or the
  // version. Throws std::runtime_error for arguments that were not declared so, and whatever the
  // command throws.
  void run(int argc, char** argv);

 private:
  void unknown_command(const std::string& word) const;

  std::unique_ptr<ShortNames> names_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace hearth::tools
