#include "tools/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/closest.h"
#include "core/number_text.h"
#include "tools/argument_errors.h"
#include "tools/command_hints.h"
#include "tools/help_formatter.h"
#include "tools/idle_options.h"
#include "tools/output.h"
#include "tools/short_names.h"

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

// Refuses what is no T.
template <class T>
std::string refuse_words(const std::string& text) {
  T value{};
  if (CLI::detail::lexical_cast(text, value)) return {};
  const std::string number = std::is_integral_v<T> ? "a whole number" : "a number";
  return "not " + number + "; got " + text + ", expected " + number;
}

// A number would stop at the ends of its type.
template <class T>
std::string refuse_stopping(const std::string& text) {
  using Limits = std::numeric_limits<T>;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), nullptr, 0);
  if (errno != ERANGE && value >= Limits::min() && value <= Limits::max()) return {};
  return "out of range; got " + text + ", expected a whole number from " +
         std::to_string(Limits::min()) + " to " + std::to_string(Limits::max());
}

// An unsigned number would wrap below 0, and stop at the largest above it.
std::string refuse_wrapping(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.starts_with('-') && status != std::errc::result_out_of_range) {
    return refuse_words<std::uint64_t>(text);
  }
  return "out of range; got " + text + ", expected a whole number from 0 to 2^64 - 1";
}

// Names of checks that others take the place of.
constexpr const char* kNotEmpty = "not empty";
constexpr const char* kFits = "fits";

template <class T>
void check_whole_number(CLI::Option* option) {
  option->check(refuse_words<std::int64_t>, "");
  const auto refused = [](std::string& text) { return refuse_stopping<T>(text); };
  option->check(CLI::Validator(refused, "", kFits));
}

// Refuses "", which would mean what it means that an option is not given.
void refuse_empty(CLI::Option* option) {
  const auto refused = [option](std::string& text) {
    if (!text.empty()) return std::string();
    const std::string what = value_word(*option);
    return "empty; got \"\", expected " + (what == "TEXT" ? "a text" : what);
  };
  option->check(CLI::Validator(refused, "", kNotEmpty));
}

std::string listed(const std::vector<std::string>& words, const std::string& between) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

// Whether the word names an option that takes the word behind it as its value.
bool takes_value(const CLI::App& command, const std::string& word) {
  const CLI::Option* const option =
      word.starts_with('-') ? command.get_option_no_throw(word) : nullptr;
  return option != nullptr && option->get_items_expected_min() > 0;
}

// The first word such as -ngl, which would be read as -n with the value "gl"; empty: none. Numbers
// may stand behind their letter, as in -n5.
std::string joined_letters(const CLI::App& command, const std::vector<std::string>& words) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    if (takes_value(command, word)) {
      ++i;
    } else if (word.size() > 2 && word[0] == '-' && is_letter(word[1]) &&
               (is_letter(word[2]) || word[2] == '-')) {
      const bool is_number = word[2] == '-' && word.size() > 3 && word[3] >= '0' && word[3] <= '9';
      if (!is_number) return word;
    }
  }
  return {};
}

// With names of several letters behind one dash as the long ones they stand for.
std::vector<std::string> with_long_names(const CLI::App& command, const ShortNames& names,
                                         std::vector<std::string> words) {
  for (std::size_t i = 2; i < words.size() && words[i] != "--"; ++i) {
    words[i] = names.long_name(command, words[i]);
    if (takes_value(command, words[i])) ++i;
  }
  return words;
}

// Without options that ask for what the command does anyhow, of which it warns.
std::vector<std::string> without_idle_options(const CLI::App& command,
                                              const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      kept.insert(kept.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const std::string next = i + 1 < words.size() ? words[i + 1] : std::string();
    const IdleOption idle = i < 2 || command.get_option_no_throw(words[i]) != nullptr
                                ? IdleOption{}
                                : idle_option(words[i], next, command.get_name());
    if (idle.words > 0) {
      write_note(command.get_name() + ": warning: " + words[i] + " has no effect: " + idle.why +
                 "\n");
      i += static_cast<std::size_t>(idle.words) - 1;
      continue;
    }
    kept.push_back(words[i]);
    if (i >= 2 && takes_value(command, words[i]) && i + 1 < words.size()) {
      kept.push_back(words[++i]);
    }
  }
  return kept;
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
  option_->get_validator(kFits)->active(false);
  option_->check(range_of(low, high, "a whole number"));
  return *this;
}

Option& Option::range(double low, double high) {
  option_->check(range_of(low, high, "a number"));
  return *this;
}

Option& Option::accept(std::function<bool(double)> allows, const std::string& range) {
  const auto refused = [allows = std::move(allows), range](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && allows(value)) return std::string();
    return "out of range; got " + text + ", expected a number of " + range;
  };
  option_->check(refused, "in " + range);
  return *this;
}

Option& Option::lower_case() {
  option_->transform(
      [](std::string text) {
        for (char& c : text) {
          if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        }
        return text;
      },
      "");
  return *this;
}

Option& Option::may_be_empty() {
  option_->get_validator(kNotEmpty)->active(false);
  return *this;
}

Option& Option::one_of(std::vector<std::string> values) {
  may_be_empty();  // it says what else is expected
  const std::string all = listed(values, ", ");
  const auto refused = [values = std::move(values), all](const std::string& text) {
    if (std::find(values.begin(), values.end(), text) != values.end()) return std::string();
    const std::string meant = closest(text, values);
    return "no such value; got " + text + ", expected one of " + all +
           (meant.empty() ? "" : "; perhaps " + meant);
  };
  option_->check(refused, "{" + all + "}");
  return *this;
}

Option& Option::other_words(std::vector<std::pair<std::string, std::string>> pairs) {
  option_->transform(
      [pairs = std::move(pairs)](const std::string& text) {
        const auto found = std::find_if(pairs.begin(), pairs.end(),
                                        [&](const auto& pair) { return pair.first == text; });
        return found == pairs.end() ? text : found->second;
      },
      "");
  return *this;
}

Option& Option::refuse_word(const std::string& word, const std::string& expected) {
  const auto refused = [=](std::string& text) {
    return text == word ? "no such value; got " + text + ", expected " + expected : std::string();
  };
  option_->transform(CLI::Validator(refused, "", ""));
  return *this;
}

Option& Option::check(const std::function<std::string(const std::string&)>& fault) {
  option_->check(fault, "");
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

template <class T>
CLI::Option* Command::add(const std::string& flags, T& value, const std::string& summary) {
  const SplitNames names = split_names(flags);
  CLI::Option* option = nullptr;
  if constexpr (std::is_same_v<T, bool>) {
    option = command_->add_flag(names.known, value, summary);
  } else {
    option = command_->add_option(names.known, value, summary);
  }
  names_->add(option, names.short_names);
  return option;
}

Option Command::option(const std::string& flags, std::string& value, const std::string& summary) {
  CLI::Option* const option = add(flags, value, summary);
  refuse_empty(option);
  return Option(option);
}

Option Command::option(const std::string& flags, int& value, const std::string& summary) {
  CLI::Option* const option = add(flags, value, summary);
  check_whole_number<int>(option);
  return Option(option);
}

Option Command::option(const std::string& flags, std::int64_t& value, const std::string& summary) {
  CLI::Option* const option = add(flags, value, summary);
  check_whole_number<std::int64_t>(option);
  return Option(option);
}

Option Command::option(const std::string& flags, std::uint64_t& value, const std::string& summary) {
  CLI::Option* const option = add(flags, value, summary);
  option->check(refuse_wrapping, "");
  return Option(option);
}

Option Command::option(const std::string& flags, double& value, const std::string& summary) {
  CLI::Option* const option = add(flags, value, summary);
  option->check(refuse_words<double>, "");
  return Option(option);
}

Option Command::option(const std::string& flags, std::vector<std::string>& values,
                       const std::string& summary) {
  CLI::Option* const option = add(flags, values, summary);
  // The word behind a value is not a second one: it may be the model.
  option->expected(1)->take_all()->allow_extra_args(false);
  refuse_empty(option);
  return Option(option);
}

Option Command::flag(const std::string& flags, bool& value, const std::string& summary) {
  return Option(add(flags, value, summary));
}

void Command::action(std::function<void()> action) { command_->callback(std::move(action)); }

CommandLine::CommandLine(const std::string& name, const std::string& summary,
                         const std::string& version)
    : names_(std::make_unique<ShortNames>()), app_(std::make_unique<CLI::App>(summary, name)) {
  app_->formatter(std::make_shared<HelpFormatter>(*names_));
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const std::string& name, const std::string& summary) {
  return {app_->add_subcommand(name, summary), names_.get()};
}

void CommandLine::run(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  const std::vector<CLI::App*> commands = app_->get_subcommands(nullptr);
  if (words.size() > 2 && words[1] == "help") {
    const auto is_asked = [&](const CLI::App* each) { return each->get_name() == words[2]; };
    if (std::none_of(commands.begin(), commands.end(), is_asked)) return unknown_command(words[2]);
    words = {words[0], words[2], "--help"};
  }
  for (const CLI::App* command : commands) {
    if (words.size() < 2 || command->get_name() != words[1]) continue;
    words = with_long_names(*command, *names_, std::move(words));
    words = without_idle_options(*command, words);
    const std::string joined = joined_letters(*command, words);
    if (joined.empty()) continue;
    throw std::runtime_error(no_such_option(joined, *command) +
                             list_hint(app_->get_name() + " " + words[1]));
  }
  std::vector<const char*> all;
  for (const std::string& word : words) all.push_back(word.c_str());
  try {
    app_->parse(static_cast<int>(all.size()), all.data());
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app_->exit(asked, text, text);
    write_out(text.str());
  } catch (const CLI::ParseError& error) {
    if (app_->get_subcommands().empty() && words.size() < 2) return write_out(app_->help());
    if (app_->get_subcommands().empty() && !words[1].starts_with('-')) {
      return unknown_command(words[1]);
    }
    if (app_->get_subcommands().empty()) {
      throw std::runtime_error("no such option; got " + words[1] +
                               ", expected a subcommand in front of it" +
                               list_hint(app_->get_name()));
    }
    std::string command = app_->get_name();
    const CLI::App* at = app_.get();
    for (const CLI::App* asked : app_->get_subcommands()) {
      command += " " + asked->get_name();
      at = asked;
    }
    throw std::runtime_error(in_house_form(error, *at) + list_hint(command));
  }
}

void CommandLine::unknown_command(const std::string& word) const {
  if (word == "help") return write_out(app_->help());
  if (const char* instead = command_hint(word)) {
    throw std::runtime_error("no such subcommand; got \"" + word + "\", expected " + instead);
  }
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
