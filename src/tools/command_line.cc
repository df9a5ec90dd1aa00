#include "tools/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "core/closest.h"
#include "core/number_text.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

// What an option of numbers from `low` to `high` takes; not a NaN.
template <class T>
CLI::Validator range_of(T low, T high, const std::string& number) {
  const std::string ends = number_text(low) + " to " + number_text(high);
  const auto refused = [=](const std::string& text) {
    T value{};
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high)
      return std::string();
    return "out of range; got " + text + ", expected " + number + " from " + ends;
  };
  return CLI::Validator([refused](std::string& text) { return refused(text); }, ends, "range");
}

// An unsigned number would wrap below 0, and stop at the largest above it.
std::string refuse_wrapping(const std::string& text) {
  if (text.starts_with('-')) return text + " is negative";
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc::result_out_of_range ? text + " is beyond 2^64 - 1" : std::string();
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::range(std::int64_t low, std::int64_t high) {
  option_->check(range_of(low, high, "a whole number"));
  return *this;
}

Option& Option::range(double low, double high) {
  option_->check(range_of(low, high, "a number"));
  return *this;
}

Option& Option::one_of(std::vector<std::string> values) {
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}

Option& Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::optional_value() {
  option_->expected(0, 1);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

Option Command::option(const std::string& flags, std::string& value, const std::string& summary) {
  return Option(command_->add_option(flags, value, summary));
}

Option Command::option(const std::string& flags, int& value, const std::string& summary) {
  return Option(command_->add_option(flags, value, summary));
}

Option Command::option(const std::string& flags, std::int64_t& value, const std::string& summary) {
  return Option(command_->add_option(flags, value, summary));
}

Option Command::option(const std::string& flags, std::uint64_t& value, const std::string& summary) {
  CLI::Option* const option = command_->add_option(flags, value, summary);
  option->check(refuse_wrapping, "");
  return Option(option);
}

Option Command::option(const std::string& flags, double& value, const std::string& summary) {
  return Option(command_->add_option(flags, value, summary));
}

Option Command::option(const std::string& flags, std::vector<std::string>& values,
                       const std::string& summary) {
  CLI::Option* const option = command_->add_option(flags, values, summary);
  option->expected(1)->take_all();
  return Option(option);
}

Option Command::flag(const std::string& flags, bool& value, const std::string& summary) {
  return Option(command_->add_flag(flags, value, summary));
}

void Command::action(std::function<void()> action) { command_->callback(std::move(action)); }

CommandLine::CommandLine(const std::string& name, const std::string& summary,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const std::string& name, const std::string& summary) {
  return Command(app_->add_subcommand(name, summary));
}

void CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app_->exit(asked, text, text);
    write_out(text.str());
  } catch (const CLI::ParseError& error) {
    if (app_->get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
      return unknown_command(argv[1]);
    }
    std::string command = app_->get_name();
    for (const CLI::App* asked : app_->get_subcommands()) command += " " + asked->get_name();
    throw std::runtime_error(std::string(error.what()) + " (" + command +
                             " --help lists what there is)");
  }
}

void CommandLine::unknown_command(const std::string& word) const {
  if (word == "help") return write_out(app_->help());
  std::vector<std::string> names;
  std::string all;
  for (const CLI::App* command : app_->get_subcommands(nullptr)) {
    names.push_back(command->get_name());
    all += (all.empty() ? "" : ", ") + names.back();
  }
  const std::string meant = closest(word, names);
  throw std::runtime_error("no such subcommand; got \"" + word + "\", expected one of " + all +
                           (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
}

}  // namespace hearth::tools
