#include "tools/lm/sampling_options.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "io/file.h"
#include "models/grammar/token_constraints.h"
#include "models/sampling/dry_penalty.h"

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

// The option of a field that models' makers may have a say in.
template <class T>
Option field_option(Command& command, SamplingArguments& arguments, const char* flag,
                    T models::SamplingOptions::* field, const char* summary) {
  const Option option = command.option(flag, arguments.values.*field, summary);
  arguments.given.push_back([&arguments, option, field](models::SamplingOptions& to) {
    if (option.given()) to.*field = arguments.values.*field;
  });
  return option;
}

std::string grammar_text(const std::string& path) {
  const auto bytes = io::read_file(path, kMaxGrammarBytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool wants_grammar(const SamplingArguments& arguments) {
  if (!arguments.grammar.empty() && !arguments.json_schema.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--grammar: two grammars; got --json-schema too, expected one of both");
  }
  return !arguments.grammar.empty() || !arguments.json_schema.empty();
}

}  // namespace

void add_sampling_options(Command& command, SamplingArguments& arguments) {
  models::SamplingOptions& values = arguments.values;
  using Values = models::SamplingOptions;
  const auto option = [&](const char* flag, auto field, const char* summary) {
    return field_option(command, arguments, flag, field, summary);
  };
  option("--temperature", &Values::temperature, "0: the likeliest token always")
      .range(0.0, 100.0)
      .show_default();
  command
      .option("--dynatemp-range", values.temperature_range,
              "Temperatures within this of --temperature, higher for undecided scores [0: off]")
      .range(0.0, 1024.0);
  command.option("--dynatemp-exp", values.temperature_exponent, "Exponent of --dynatemp-range")
      .range(1e-9, 1024.0)
      .show_default();
  option("--top-k", &Values::top_k, "Of the k likeliest only; 0: of all")
      .range(0, std::int64_t{1} << 30)
      .show_default();
  option("--top-p", &Values::top_p, "Of the likeliest that have this probability together")
      .range(1e-9, 1.0)
      .show_default();
  option("--min-p", &Values::min_p, "Of those at least this times as likely as the likeliest")
      .range(0.0, 1.0)
      .show_default();
  command
      .option("--typical-p", values.typical_p,
              "Of those of nearly the expected surprise, of this probability together [1: off]")
      .range(1e-9, 1.0);
  command
      .option("--top-n-sigma", values.top_n_sigma,
              "Of scores within n standard deviations of the highest [0: off]")
      .range(0.0, 1e9);
  option("--xtc-probability", &Values::xtc_probability,
         "How often all but the least of the likeliest tokens are dropped [0: off]")
      .range(0.0, 1.0);
  option("--xtc-threshold", &Values::xtc_threshold,
         "From which probability on --xtc-probability takes tokens for likely")
      .range(1e-9, 1.0)
      .show_default();
  option("--repeat-penalty", &Values::repetition_penalty,
         "Scores of tokens that stand in the text are divided by this [1: off]")
      .range(1e-9, 1e9);
  command
      .option("--presence-penalty", values.presence_penalty,
              "What scores of tokens that stand in the text are less by [0: off]")
      .range(-1e9, 1e9);
  command
      .option("--frequency-penalty", values.frequency_penalty,
              "What they are less by for each time [0: off]")
      .range(-1e9, 1e9);
  option("--repeat-last-n", &Values::penalty_last, "Last tokens that penalties see; -1: all")
      .range(-1, std::int64_t{1} << 30)
      .show_default();
  command
      .option("--dry-multiplier", values.dry_multiplier,
              "What a token that goes on with a repetition costs [0: off]")
      .range(0.0, 1e9);
  command.option("--dry-base", values.dry_base, "Times this for each token that repeats")
      .range(1.0, 1e9)
      .show_default();
  command
      .option("--dry-allowed-length", values.dry_allowed_length,
              "Repeated tokens from which on DRY counts")
      .range(1, std::int64_t{1} << 30)
      .show_default();
  command.option("--dry-penalty-last-n", values.dry_last, "Last tokens that DRY sees; -1: all")
      .range(-1, std::int64_t{1} << 30)
      .show_default();
  command.option("--dry-sequence-breaker", arguments.dry_breakers,
                 "Text across which nothing repeats; may be given several times; none: no breaker "
                 "[line break, colon, quote, asterisk]");
  const Option mirostat = command
                              .option("--mirostat", arguments.mirostat,
                                      "1 or 2: its version, instead of other steps [0]")
                              .range(std::int64_t{0}, std::int64_t{2});
  arguments.given.push_back([&arguments, mirostat](Values& to) {
    if (mirostat.given()) to.mirostat = static_cast<models::Mirostat>(arguments.mirostat);
  });
  option("--mirostat-tau", &Values::mirostat_tau, "Bits of surprise to aim at")
      .range(0.0, 1000.0)
      .show_default();
  option("--mirostat-eta", &Values::mirostat_eta, "How fast mirostat learns")
      .range(0.0, 1000.0)
      .show_default();
  command.option(
      "--logit-bias", arguments.logit_bias,
      "ID=NUMBER, added to the score of a token, or ID=-inf; may be given several times");
  command.option("--samplers", arguments.steps,
                 "The order of steps [penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;xtc;"
                 "temperature]; what is left out is not done");
  command.option("--grammar", arguments.grammar, "File with a GBNF grammar that the text follows");
  command.option("--json-schema", arguments.json_schema,
                 "File with a JSON schema that the text follows");
  command.option("--seed", values.seed, "Of the draws").show_default();
}

models::SamplingOptions sampling_options(const SamplingArguments& arguments,
                                         const models::LoadedModel& loaded) {
  models::SamplingOptions options = loaded.recommended.over(arguments.values);
  for (const auto& take : arguments.given) take(options);
  if (!arguments.steps.empty()) options.steps = models::sampling_steps_from(arguments.steps);
  for (const std::string& text : arguments.logit_bias) {
    options.logit_bias.push_back(read_bias(text));
  }
  if (options.dry_multiplier > 0 && arguments.dry_breakers != std::vector<std::string>{"none"}) {
    options.dry_breakers = models::dry_breakers_of(loaded.tokenizer, arguments.dry_breakers);
  }
  return options;
}

std::shared_ptr<models::grammar::Constraint> sampling_constraint(
    const SamplingArguments& arguments, const models::Tokenizer& tokenizer) {
  if (!wants_grammar(arguments)) return nullptr;
  const bool is_schema = !arguments.json_schema.empty();
  const std::string& path = is_schema ? arguments.json_schema : arguments.grammar;
  try {
    const std::string text = grammar_text(path);
    const models::grammar::TokenConstraints constraints(tokenizer);
    return is_schema ? constraints.from_schema_text(text) : constraints.from_gbnf(text);
  } catch (const Error& error) {
    throw Error(error.code(), path + ": " + error.what());
  }
}

}  // namespace hearth::tools
