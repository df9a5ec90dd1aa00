#include "tools/serve/read_sampling.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <variant>

#include "core/counted.h"
#include "hearth/error.h"
#include "models/sampling/dry_penalty.h"
#include "models/sampling/sampling_fields.h"
#include "tools/chat_json/field_error.h"
#include "tools/lm/step_letters.h"
#include "tools/serve/token_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostBiases = 1024;
constexpr std::size_t kMostBiasedTextBytes = 512;
constexpr double kMostBias = 100;
constexpr std::size_t kMostBreakers = 16;
constexpr std::size_t kMostBreakerBytes = 40;

void read_field(const Fields& fields, const models::SamplingField& field, double& option) {
  for (const std::string_view name : {field.other_request, field.request}) {
    if (name.empty()) continue;
    if (const auto given = fields.number(name, field.low, field.high)) option = *given;
  }
}
void read_field(const Fields& fields, const models::SamplingField& field, std::int64_t& option) {
  const auto given = fields.integer(field.request, static_cast<std::int64_t>(field.low),
                                    static_cast<std::int64_t>(field.high));
  if (given) option = *given;
}

float bias_of(const JsonValue& value) {
  const auto number = any_number(value);
  const bool* is_wanted = std::get_if<bool>(&value);
  if (!number && (is_wanted == nullptr || *is_wanted)) {
    throw bad_type("logit_bias", value, "a number or false");
  }
  if (number && !(*number >= -kMostBias && *number <= kMostBias)) {
    throw bad_field("logit_bias",
                    "is out of range; got " + json_text(value) + ", expected -100 to 100");
  }
  const bool is_banned = !number || *number <= -kMostBias;
  return is_banned ? -std::numeric_limits<float>::infinity() : static_cast<float>(*number);
}

// The token of a member's name.
std::int32_t token_of_key(const std::string& key, const models::Tokenizer& tokens) {
  std::int32_t token = -1;
  const char* end = key.data() + key.size();
  const auto [at, status] = std::from_chars(key.data(), end, token);
  if (status != std::errc() || at != end || token < 0 ||
      static_cast<std::size_t>(token) >= tokens.size()) {
    throw no_token("logit_bias", shown(key), tokens);
  }
  return token;
}

// The first element of a pair: a token, or a text for each of its tokens.
std::vector<std::int32_t> tokens_of_pair(const JsonValue& first, const models::Tokenizer& tokens) {
  if (const auto* text = std::get_if<std::string>(&first)) {
    if (text->size() > kMostBiasedTextBytes) {
      throw bad_field("logit_bias", "a text is too long; got " + counted(text->size(), "byte") +
                                        ", expected at most " +
                                        std::to_string(kMostBiasedTextBytes));
    }
    return tokens.encode(*text, {.add_special = false});
  }
  return {token_of(first, "logit_bias", tokens)};
}

// Of OpenAI's form, an object, or of llama.cpp's, pairs.
std::vector<models::LogitBias> read_biases(const Fields& fields, const models::Tokenizer& tokens) {
  const JsonValue* given = fields.find("logit_bias");
  if (given == nullptr) return {};
  std::vector<models::LogitBias> biases;
  if (std::holds_alternative<JsonArray>(*given)) {
    for (const JsonValue& each : *fields.array("logit_bias", kMostBiases)) {
      const auto* pair = std::get_if<JsonArray>(&each);
      if (pair == nullptr || pair->size() != 2) {
        throw bad_field("logit_bias",
                        "an element is no pair; got " + shown(each) + ", expected [token, bias]");
      }
      const float bias = bias_of(pair->back());
      for (const std::int32_t token : tokens_of_pair(pair->front(), tokens)) {
        biases.push_back({token, bias});
      }
    }
    return biases;
  }
  if (!std::holds_alternative<JsonObject>(*given)) {
    fields.wrong_type("logit_bias", "an object or an array of pairs");
  }
  const auto& object = std::get<JsonObject>(*given);
  if (object.size() > kMostBiases) {
    throw bad_field("logit_bias", "has too many members; got " + std::to_string(object.size()) +
                                      ", expected at most " + std::to_string(kMostBiases));
  }
  for (const auto& [key, value] : object) {
    biases.push_back({token_of_key(key, tokens), bias_of(value)});
  }
  return biases;
}

// Refuses biases that leave no token of the model.
void require_unbanned(const std::vector<models::LogitBias>& biases, std::int64_t vocabulary) {
  if (static_cast<std::int64_t>(biases.size()) < vocabulary) return;
  std::set<std::int32_t> banned;
  for (const models::LogitBias& bias : biases) {
    if (std::isinf(bias.value)) banned.insert(bias.token);
  }
  if (static_cast<std::int64_t>(banned.size()) < vocabulary) return;
  throw bad_field("logit_bias", "bans all tokens of the model; expected one that is left");
}

// The steps in order: an array of names, or llama.cpp's letters. Nothing where none are given.
std::optional<std::vector<models::SamplingStep>> read_steps(const Fields& fields) {
  constexpr std::size_t kMostSteps = 32;
  const JsonValue* given = fields.find("samplers");
  if (given == nullptr) return std::nullopt;
  std::vector<models::SamplingStep> steps;
  try {
    if (const auto* letters = std::get_if<std::string>(given)) return steps_of_letters(*letters);
    if (!std::holds_alternative<JsonArray>(*given)) {
      fields.wrong_type("samplers", "an array of names, or a string of letters");
    }
    for (const JsonValue& each : *fields.array("samplers", kMostSteps)) {
      const auto* name = std::get_if<std::string>(&each);
      if (name == nullptr) throw bad_type("samplers", each, "names of steps");
      const auto step = models::sampling_steps_from(*name);
      if (step.size() != 1) {
        throw bad_field("samplers", "is no name of one step; got " + shown(*name) +
                                        ", expected such as \"top_k\"");
      }
      steps.push_back(step.front());
    }
  } catch (const Error& error) {
    throw bad_field("samplers", error.what());
  }
  return steps;
}

// Where DRY is on; without the field those of the commands.
std::vector<std::vector<std::int32_t>> read_dry_breakers(const Fields& fields,
                                                         const models::Tokenizer& tokens,
                                                         bool is_on) {
  std::vector<std::string> texts = models::default_dry_breakers();
  if (const JsonArray* given = fields.array("dry_sequence_breakers", kMostBreakers)) {
    texts.clear();
    for (const JsonValue& each : *given) {
      const auto* text = std::get_if<std::string>(&each);
      if (text == nullptr) throw bad_type("dry_sequence_breakers", each, "strings");
      if (text->empty() || text->size() > kMostBreakerBytes) {
        throw bad_field("dry_sequence_breakers",
                        "a string of so many bytes; got " + std::to_string(text->size()) +
                            ", expected 1 to " + std::to_string(kMostBreakerBytes));
      }
      texts.push_back(*text);
    }
  }
  if (!is_on) return {};
  return models::dry_breakers_of(tokens, texts);
}

// Of 64 bits, with a sign or without: -2 and 2^64 - 2 are one. As without a seed one is drawn for
// -1, but not for 2^64 - 1, which is what answers call that seed where it was given.
std::uint64_t read_seed(const Fields& fields) {
  const JsonValue* given = fields.find("seed");
  const auto* large = given == nullptr ? nullptr : std::get_if<std::uint64_t>(given);
  if (large != nullptr) return *large;
  const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
  if (seed && *seed != -1) return static_cast<std::uint64_t>(*seed);
  return std::random_device()();  // of 32 bits, which numbers of any client's JSON have
}

}  // namespace

models::SamplingOptions read_sampling(const Fields& fields, const ServedModel& model) {
  const auto vocabulary = static_cast<std::int64_t>(model.tokenizer().size());
  models::SamplingOptions options = model.default_sampling();
  options.seed = read_seed(fields);
  for (const models::SamplingField& field : models::sampling_fields()) {
    std::visit([&](auto member) { read_field(fields, field, options.*member); }, field.member);
  }
  if (const auto kind = fields.integer("mirostat", 0, 2)) {
    options.mirostat = static_cast<models::Mirostat>(*kind);
  }
  options.logit_bias = read_biases(fields, model.tokenizer());
  require_unbanned(options.logit_bias, vocabulary);
  if (auto steps = read_steps(fields)) options.steps = *std::move(steps);
  options.dry_breakers = read_dry_breakers(fields, model.tokenizer(), options.dry_multiplier > 0);
  try {
    models::check_sampling_options(options, vocabulary);
  } catch (const Error& error) {
    throw bad_field("", error.what());
  }
  return options;
}

}  // namespace hearth::tools::serve
