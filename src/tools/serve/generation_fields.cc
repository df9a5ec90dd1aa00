#include "tools/serve/generation_fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>
#include <variant>

#include "core/counted.h"
#include "hearth/error.h"
#include "models/sampling/dry_penalty.h"
#include "models/sampling/sampling_fields.h"
#include "tools/lm/step_letters.h"
#include "tools/serve/api_error.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostAnswers = 16;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kMostStopBytes = 512;
constexpr std::size_t kMostBiases = 1024;
constexpr std::size_t kMostGrammarBytes = 64 << 10;
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

std::string checked_stop(const JsonValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) throw bad_field("stop", "is of the wrong type; expected strings");
  if (text->empty() || text->size() > kMostStopBytes) {
    throw bad_field("stop", "a string of so many bytes; got " + std::to_string(text->size()) +
                                ", expected 1 to " + std::to_string(kMostStopBytes));
  }
  return *text;
}

std::vector<std::string> read_stops(const Fields& fields) {
  const JsonValue* value = fields.find("stop");
  if (value == nullptr) return {};
  if (std::holds_alternative<std::string>(*value)) return {checked_stop(*value)};
  if (!std::holds_alternative<JsonArray>(*value)) {
    fields.wrong_type("stop", "a string or an array of strings");
  }
  std::vector<std::string> stops;
  for (const JsonValue& each : *fields.array("stop", kMostStops)) {
    stops.push_back(checked_stop(each));
  }
  return stops;
}

float bias_of(const JsonValue& value) {
  const auto number = any_number(value);
  const bool* is_wanted = std::get_if<bool>(&value);
  if (!number && (is_wanted == nullptr || *is_wanted)) {
    throw bad_field("logit_bias", "a value is of the wrong type; expected a number or false");
  }
  if (number && !(*number >= -kMostBias && *number <= kMostBias)) {
    throw bad_field("logit_bias",
                    "is out of range; got " + json_text(value) + ", expected -100 to 100");
  }
  const bool is_banned = !number || *number <= -kMostBias;
  return is_banned ? -std::numeric_limits<float>::infinity() : static_cast<float>(*number);
}

[[noreturn]] void refuse_biased_token(const JsonValue& got, std::int64_t vocabulary) {
  throw bad_field("logit_bias", "is no token of the model; got " + json_text(got) +
                                    ", expected 0 to " + std::to_string(vocabulary - 1));
}

// The token of a member's name.
std::int32_t token_of_key(const std::string& key, std::int64_t vocabulary) {
  std::int32_t token = -1;
  const char* end = key.data() + key.size();
  const auto [at, status] = std::from_chars(key.data(), end, token);
  if (status != std::errc() || at != end || token < 0 || token >= vocabulary) {
    refuse_biased_token(key, vocabulary);
  }
  return token;
}

// The first element of a pair: a token, or a text for each of its tokens.
std::vector<std::int32_t> tokens_of_pair(const JsonValue& first, const models::Tokenizer& tokens) {
  const auto vocabulary = static_cast<std::int64_t>(tokens.size());
  if (const auto* text = std::get_if<std::string>(&first)) {
    if (text->size() > kMostStopBytes) {
      throw bad_field("logit_bias", "a text is too long; got " + counted(text->size(), "byte") +
                                        ", expected at most " + std::to_string(kMostStopBytes));
    }
    return tokens.encode(*text, {.add_special = false});
  }
  const auto token = whole_number(first);
  if (!token || *token < 0 || *token >= vocabulary) refuse_biased_token(first, vocabulary);
  return {static_cast<std::int32_t>(*token)};
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
        throw bad_field("logit_bias", "an element is no pair; expected [token, bias]");
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
    biases.push_back({token_of_key(key, static_cast<std::int64_t>(tokens.size())), bias_of(value)});
  }
  return biases;
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
      if (name == nullptr) fields.wrong_type("samplers", "names of steps");
      const auto step = models::sampling_steps_from(*name);
      if (step.size() != 1) {
        throw bad_field("samplers", "is no name of one step; got " + json_text(*name));
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
      if (text == nullptr) fields.wrong_type("dry_sequence_breakers", "an array of strings");
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

std::uint64_t read_seed(const Fields& fields) {
  const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
  if (seed && *seed != -1) return static_cast<std::uint64_t>(*seed);
  return std::random_device()();  // of 32 bits, which numbers of any client's JSON have
}

// The first name that is there counts: OpenAI's newer one, its older one, llama.cpp's.
std::int64_t read_most_tokens(const Fields& fields, std::int64_t least) {
  std::optional<std::int64_t> most;
  for (const char* name : {"max_completion_tokens", "max_tokens", "n_predict"}) {
    const auto given = fields.integer(name, -1, kMostNewTokens);
    if (given && *given >= 0 && *given < least) {
      throw bad_field(name, "is out of range; got " + std::to_string(*given) +
                                ", expected -1 for all that there is room for, or at least " +
                                std::to_string(least));
    }
    if (!most) most = given;
  }
  return most.value_or(-1) < 0 ? kMostNewTokens : *most;
}

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
  if (auto steps = read_steps(fields)) options.steps = *std::move(steps);
  options.dry_breakers = read_dry_breakers(fields, model.tokenizer(), options.dry_multiplier > 0);
  try {
    models::check_sampling_options(options, vocabulary);
  } catch (const Error& error) {
    throw bad_field("", error.what());
  }
  return options;
}

std::shared_ptr<models::grammar::Constraint> constraint_of_schema(
    const JsonValue& schema, ServedModel& model, const std::string& param = "response_format") {
  try {
    return model.constrain_by_schema(schema);
  } catch (const Error& error) {
    throw bad_field(param, error.what());
  }
}

// llama.cpp's and vLLM's names for a schema; null where there is none.
const char* bare_schema_name(const Fields& fields) {
  const char* found = nullptr;
  for (const char* name : {"json_schema", "guided_json"}) {
    if (fields.find(name) == nullptr) continue;
    if (found != nullptr) throw bad_field(name, std::string("beside ") + found + "; expected one");
    found = name;
  }
  return found;
}

// vLLM's may be texts of JSON.
JsonValue bare_schema(const Fields& fields, const char* name) {
  const JsonValue& given = *fields.find(name);
  const auto* text = std::get_if<std::string>(&given);
  if (text == nullptr) return given;
  if (text->size() > kMostGrammarBytes) throw bad_field(name, "is too long");
  auto schema = parse_json(*text);
  if (!schema) throw bad_field(name, "is no JSON; expected a schema");
  return *std::move(schema);
}

// What others hold answers by, or tell of them, that would be missed.
void refuse_other_names(const Fields& fields) {
  for (const char* name : {"guided_regex", "guided_grammar", "guided_choice"}) {
    if (fields.find(name) != nullptr) {
      throw bad_field(name, "is not supported; expected grammar (GBNF) or response_format");
    }
  }
  if (fields.number("n_probs", 0, 1 << 20).value_or(0) != 0) {
    throw bad_field("n_probs", "is not supported; expected logprobs, of /v1/completions or chats");
  }
  if (fields.find("lora") != nullptr) {
    throw bad_field("lora",
                    "is not supported in requests; expected --lora of the server's command");
  }
}

}  // namespace

GenerationFields read_generation_fields(const Fields& fields, const ServedModel& model,
                                        std::int64_t least_tokens) {
  GenerationFields read;
  read.model = fields.text("model").value_or(model.card().id);
  read.count = static_cast<std::size_t>(fields.integer("n", 1, kMostAnswers).value_or(1));
  read.is_streamed = fields.flag("stream", false);
  if (const JsonObject* options = fields.object("stream_options")) {
    read.includes_usage = Fields(*options, "stream_options.").flag("include_usage", false);
  }
  models::GenerationRequest& generation = read.generation;
  generation.most_tokens = std::min(read_most_tokens(fields, least_tokens), model.card().context);
  generation.stops = read_stops(fields);
  generation.sampling = read_sampling(fields, model);
  generation.ignores_end = fields.flag("ignore_eos", false);
  return read;
}

std::shared_ptr<models::grammar::Constraint> read_constraint(const Fields& fields,
                                                             ServedModel& model) {
  refuse_other_names(fields);
  const auto gbnf = fields.text("grammar");
  const JsonObject* format = fields.object("response_format");
  if (const char* name = bare_schema_name(fields)) {
    for (const char* other : {"grammar", "response_format"}) {
      if (fields.find(other) != nullptr) {
        throw bad_field(name, std::string("beside ") + other + "; expected one");
      }
    }
    return constraint_of_schema(bare_schema(fields, name), model, name);
  }
  if (gbnf && gbnf->size() > kMostGrammarBytes) {
    throw bad_field("grammar", "is too long; got " + counted(gbnf->size(), "byte") +
                                   ", expected at most " + std::to_string(kMostGrammarBytes));
  }
  if (format != nullptr) {
    const Fields inside(*format, "response_format.");
    const std::string type = inside.text("type").value_or("");
    if (type == "json_object" || type == "json_schema") {
      if (gbnf) throw bad_field("grammar", "a grammar beside a response_format; expected one");
    }
    if (type == "json_object") {
      const JsonValue* schema = inside.find("schema");
      return constraint_of_schema(
          schema != nullptr ? *schema : JsonValue(JsonObject{{"type", "object"}}), model);
    }
    if (type == "json_schema") {
      const JsonObject* wrapped = inside.object("json_schema");
      const JsonValue* schema = wrapped == nullptr ? nullptr : Fields(*wrapped, "").find("schema");
      if (schema == nullptr) {
        throw bad_field("response_format.json_schema", "is missing; expected {name, schema}");
      }
      return constraint_of_schema(*schema, model);
    }
    if (type != "text") {
      throw bad_field("response_format.type", "is not known; got " + json_text(type) +
                                                  ", expected text, json_object or json_schema");
    }
  }
  if (!gbnf || gbnf->empty()) return nullptr;
  try {
    return model.constrain_by_gbnf(*gbnf);
  } catch (const Error& error) {
    throw bad_field("grammar", error.what());
  }
}

std::vector<models::GenerationRequest> GenerationFields::requests(
    const models::TokenLists& prompts) const {
  std::vector<models::GenerationRequest> all;
  for (const auto& tokens : prompts) {
    for (std::size_t i = 0; i < count; ++i) {
      models::GenerationRequest& each = all.emplace_back(generation);
      each.sampling.seed += all.size() - 1;
      each.tokens = tokens;
    }
  }
  return all;
}

void check_prompt(const std::vector<std::int32_t>& tokens, const ServedModel& model,
                  const std::string& param, bool is_answered) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length == 0) throw bad_field(param, "has no tokens; expected at least one");
  const auto vocabulary = static_cast<std::int32_t>(model.tokenizer().size());
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      throw bad_field(param, "is no token of the model; got " + std::to_string(token) +
                                 ", expected 0 to " + std::to_string(vocabulary - 1));
    }
  }
  if (length > model.card().context - (is_answered ? 1 : 0)) {
    throw ApiError(400,
                   param + ": has " + counted(length, "token") +
                       (is_answered ? " and needs room for an answer" : "") +
                       "; the model's context holds " + std::to_string(model.card().context),
                   "invalid_request_error", param, "context_length_exceeded");
  }
}

}  // namespace hearth::tools::serve
