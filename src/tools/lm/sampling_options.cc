#include "tools/lm/sampling_options.h"

#include <charconv>
#include <filesystem>
#include <limits>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/quoted.h"
#include "core/without_name.h"
#include "hearth/error.h"
#include "io/text_file.h"
#include "models/grammar/token_constraints.h"
#include "models/sampling/dry_penalty.h"
#include "models/sampling/sampling_fields.h"
#include "tools/lm/option_file.h"
#include "tools/lm/step_letters.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxGrammarBytes = 16u << 20;

// "ID=VALUE", where the value may be -inf or false.
models::LogitBias read_bias(const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string_view id = std::string_view(text).substr(0, sign);
  const std::string_view value =
      sign == std::string::npos ? std::string_view() : std::string_view(text).substr(sign + 1);
  models::LogitBias bias{0, -std::numeric_limits<float>::infinity()};
  const auto reads = [](std::string_view word, auto* number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
    return error == std::errc() && end == word.data() + word.size();
  };
  if (!reads(id, &bias.token) || (value != "false" && !reads(value, &bias.value))) {
    throw Error(ErrorCode::invalid_argument, "--logit-bias: not of this form; got " +
                                                 hearth::quoted(text) +
                                                 ", expected ID=NUMBER, ID=-inf or ID=false");
  }
  return bias;
}

// The option of a field, whose value counts only where it was given.
void add_field_option(Command& command, SamplingArguments& arguments,
                      const models::SamplingField& field) {
  const auto add = [&](auto member) {
    Option option = command.option(std::string(field.flags), arguments.values.*member,
                                   std::string(field.summary));
    option.accept([&field](double value) { return models::allows(field, value); },
                  models::range_text(field));
    option.show_default();
    arguments.given.push_back([&arguments, option, member](AskedSampling& to) {
      if (option.given()) to.options.*member = arguments.values.*member;
    });
  };
  std::visit(add, field.member);
}

std::string default_steps() {
  std::string names;
  for (const models::SamplingStep step : models::default_sampling_steps()) {
    names += (names.empty() ? "" : ";") + std::string(name(step));
  }
  return names;
}

std::string shown_breakers() {
  std::string texts;
  for (const std::string& text : models::default_dry_breakers()) {
    texts += (texts.empty() ? "" : " ") + json_text(text);
  }
  return texts;
}

// Whether this is the grammar or schema itself, and not the path of its file.
bool is_written_out(const std::string& value, bool is_schema) {
  std::error_code ignored;
  if (std::filesystem::exists(value, ignored)) return false;
  const std::size_t start = value.find_first_not_of(" \t\r\n");
  return is_schema ? start != std::string::npos && value[start] == '{'
                   : value.find("::=") != std::string::npos;
}

// Whether a text that names no file was meant as what it holds, for it has what paths do not.
bool looks_written_out(const std::string& value) {
  std::error_code ignored;
  return value.find_first_of("\"|\n") != std::string::npos &&
         !std::filesystem::exists(value, ignored);
}

[[noreturn]] void refuse_text(const std::string& option, const std::string& value, bool is_schema) {
  throw Error(ErrorCode::invalid_argument,
              option + ": neither a file nor a " + (is_schema ? "schema" : "grammar") + "; got " +
                  hearth::quoted(value) + ", which is the name of no file, and has no " +
                  (is_schema ? "{ at its beginning, expected a file or a schema such as "
                               "{\"type\": \"object\"}"
                             : "::=, expected a file or rules such as root ::= \"yes\""));
}

// Those that end texts, which a bias makes impossible.
void ban_ends(const models::Tokenizer& tokenizer, models::SamplingOptions& options) {
  for (std::int32_t token = 0; token < static_cast<std::int32_t>(tokenizer.size()); ++token) {
    if (!tokenizer.is_end_of_generation(token)) continue;
    options.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
  }
}

bool wants_grammar(const SamplingArguments& arguments) {
  if (!arguments.grammar.empty() && !arguments.json_schema.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--grammar: two grammars; got --json-schema too, expected one of them");
  }
  const bool is_there = !arguments.grammar.empty() || !arguments.json_schema.empty();
  if (is_there && arguments.ignores_end) {
    throw Error(ErrorCode::invalid_argument,
                std::string("--ignore-eos: no text of the grammar could end; got ") +
                    (arguments.grammar.empty() ? "--json-schema" : "--grammar") +
                    " too, expected one of them");
  }
  return is_there;
}

}  // namespace

void add_sampling_options(Command& command, SamplingArguments& arguments) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    add_field_option(command, arguments, field);
  }
  command.option(
      "--dry-sequence-breaker", arguments.dry_breakers,
      "A text that ends repetitions for DRY; may be given several times; none: no such text [" +
          shown_breakers() + "]");
  const Option mirostat =
      command
          .option("--mirostat", arguments.mirostat,
                  "Draw by Mirostat 1 or 2 in place of the other steps; 0: off [0]")
          .range(std::int64_t{0}, std::int64_t{2});
  arguments.given.push_back([&arguments, mirostat](AskedSampling& to) {
    if (mirostat.given()) to.options.mirostat = static_cast<models::Mirostat>(arguments.mirostat);
  });
  command.option("--logit-bias", arguments.logit_bias,
                 "ID=NUMBER adds the number to the score of that token, ID=-inf bans it; may be "
                 "given several times");
  command.flag("--ignore-eos", arguments.ignores_end,
               "Never draw a token that ends the text, which is as long as --tokens then");
  command.option("--samplers", arguments.steps,
                 "The steps of drawing, in their order [" + default_steps() +
                     "]; those left out are not done");
  command.option("--sampling-seq,--sampler-seq", arguments.step_letters,
                 "The same by llama.cpp's letters: " + step_letters());
  command.option("--grammar,--grammar-file", arguments.grammar,
                 "A GBNF grammar that the text must follow: a file, or the grammar itself");
  command.option("-j,--json-schema,--json-schema-file", arguments.json_schema,
                 "A JSON schema that the text must follow: a file, or the schema itself");
  command.option("-s,--seed", arguments.seed,
                 "Seed of the random draws; -1: a new one each time [-1]");
  arguments.given.push_back([&arguments](AskedSampling& to) {
    to.has_drawn_seed = arguments.seed == -1;
    to.options.seed =
        to.has_drawn_seed ? std::random_device()() : static_cast<std::uint64_t>(arguments.seed);
  });
}

AskedSampling asked_sampling(const SamplingArguments& arguments,
                             const models::LoadedModel& loaded) {
  AskedSampling asked{.options = loaded.recommended.over(arguments.values)};
  for (const auto& take : arguments.given) take(asked);
  models::SamplingOptions& options = asked.options;
  if (!arguments.steps.empty() && !arguments.step_letters.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--samplers: two orders; got --sampling-seq too, expected one of them");
  }
  if (!arguments.steps.empty()) options.steps = models::sampling_steps_from(arguments.steps);
  if (!arguments.step_letters.empty()) options.steps = steps_of_letters(arguments.step_letters);
  for (const std::string& text : arguments.logit_bias) {
    options.logit_bias.push_back(read_bias(text));
  }
  if (arguments.ignores_end) ban_ends(loaded.tokenizer, options);
  if (options.dry_multiplier > 0 && arguments.dry_breakers != std::vector<std::string>{"none"}) {
    options.dry_breakers =
        models::dry_breakers_of(loaded.tokenizer, arguments.escapes.read(arguments.dry_breakers));
  }
  return asked;
}

std::string seed_text(const AskedSampling& sampling) {
  const models::SamplingOptions& options = sampling.options;
  const bool draws = options.temperature > 0 || options.temperature_range > 0;
  if (!sampling.has_drawn_seed || !draws) return {};
  return "--seed " + std::to_string(options.seed) + " draws the same again";
}

std::shared_ptr<models::grammar::Constraint> sampling_constraint(
    const SamplingArguments& arguments, const models::Tokenizer& tokenizer) {
  if (!wants_grammar(arguments)) return nullptr;
  const bool is_schema = !arguments.json_schema.empty();
  const std::string& value = is_schema ? arguments.json_schema : arguments.grammar;
  const bool is_text = is_written_out(value, is_schema);
  const std::string option = is_schema ? "--json-schema" : "--grammar";
  if (!is_text && looks_written_out(value)) refuse_text(option, value, is_schema);
  const std::string text =
      is_text ? value
              : read_option_file(option,
                                 is_schema ? "a JSON schema, or a file with one"
                                           : "a grammar of GBNF, or a file with one",
                                 [&] { return io::read_text(value, kMaxGrammarBytes); });
  const models::grammar::TokenConstraints constraints(tokenizer);
  try {
    return is_schema ? constraints.from_schema_text(text) : constraints.from_gbnf(text);
  } catch (const Error& error) {
    const std::string file = is_text ? "" : ": " + hearth::quoted(value);
    const char* const name = is_schema ? "json_schema" : "grammar";
    throw Error(error.code(), option + file + ": " + without_name(error.what(), name));
  }
}

}  // namespace hearth::tools
