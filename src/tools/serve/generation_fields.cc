#include "tools/serve/generation_fields.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "core/counted.h"
#include "hearth/error.h"
#include "tools/chat_json/field_error.h"
#include "tools/serve/read_sampling.h"
#include "tools/serve/text_limits.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostAnswers = 16;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kMostStopBytes = 512;
constexpr std::size_t kMostGrammarBytes = 64 << 10;

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
  if (text->size() > kMostGrammarBytes) throw bad_field(fields.path(name), "is too long");
  auto schema = parse_json(*text);
  if (!schema) throw bad_field(fields.path(name), "is no JSON; expected a schema");
  return *std::move(schema);
}

// Null where the grammar is empty.
std::shared_ptr<models::grammar::Constraint> constraint_of_gbnf(const std::string& gbnf,
                                                                ServedModel& model,
                                                                const std::string& param) {
  if (gbnf.size() > kMostGrammarBytes) {
    throw bad_field(param, "is too long; got " + counted(gbnf.size(), "byte") +
                               ", expected at most " + std::to_string(kMostGrammarBytes));
  }
  if (gbnf.empty()) return nullptr;
  try {
    return model.constrain_by_gbnf(gbnf);
  } catch (const Error& error) {
    throw bad_field(param, error.what());
  }
}

// Of vLLM's object, which has one of its members: nothing where that is a grammar.
std::optional<AnswerSchema> schema_of_structured(const JsonObject& structured) {
  const Fields fields(structured, "structured_outputs.");
  std::vector<std::string> given;
  for (const auto& [name, value] : structured) {
    if (std::holds_alternative<std::nullptr_t>(value) || value == JsonValue(false)) continue;
    if (name != "json" && name != "json_object" && name != "grammar") {
      throw bad_field(fields.path(name),
                      "is not supported; expected json, json_object or grammar (GBNF)");
    }
    given.push_back(name);
  }
  if (given.size() != 1) {
    throw bad_field("structured_outputs", "has " + counted(given.size(), "member") +
                                              "; expected one of json, json_object and grammar");
  }
  if (given.front() == "grammar") return std::nullopt;
  const std::string param = fields.path(given.front());
  if (given.front() == "json") return AnswerSchema{bare_schema(fields, "json"), param};
  fields.flag("json_object", true);
  return AnswerSchema{JsonObject{{"type", "object"}}, param};
}

// What others hold answers by, that would be missed.
void refuse_other_names(const Fields& fields) {
  for (const char* name : {"guided_regex", "guided_grammar", "guided_choice"}) {
    if (fields.find(name) != nullptr) {
      throw bad_field(name, "is not supported; expected grammar (GBNF) or response_format");
    }
  }
  const auto refuse = [&](const char* name, const char* expected) {
    const JsonValue* given = fields.find(name);
    if (given == nullptr || *given == JsonValue(JsonArray{})) return;
    throw bad_field(name, std::string("is not supported; expected ") + expected);
  };
  refuse("stop_token_ids", "stop, with the texts of the tokens");
  refuse("allowed_token_ids", "grammar (GBNF), which may name tokens");
  refuse("bad_words", "logit_bias, with false for what shall not be written");
  refuse_truncation(fields);
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

std::optional<AnswerSchema> read_answer_schema(const Fields& fields) {
  const JsonObject* format = fields.object("response_format");
  if (const JsonObject* structured = fields.object("structured_outputs")) {
    for (const char* other : {"json_schema", "guided_json", "grammar", "response_format"}) {
      if (fields.find(other) != nullptr) {
        throw bad_field("structured_outputs", std::string("beside ") + other + "; expected one");
      }
    }
    return schema_of_structured(*structured);
  }
  if (const char* name = bare_schema_name(fields)) {
    for (const char* other : {"grammar", "response_format"}) {
      if (fields.find(other) != nullptr) {
        throw bad_field(name, std::string("beside ") + other + "; expected one");
      }
    }
    return AnswerSchema{bare_schema(fields, name), name};
  }
  if (format == nullptr) return std::nullopt;
  const Fields inside(*format, "response_format.");
  const std::string type = inside.text("type").value_or("");
  if (type == "text") return std::nullopt;
  if (type != "json_object" && type != "json_schema") {
    throw bad_field("response_format.type", "is not known; got " + json_text(type) +
                                                ", expected text, json_object or json_schema");
  }
  if (fields.text("grammar")) {
    throw bad_field("grammar", "a grammar beside a response_format; expected one");
  }
  if (type == "json_object") {
    const JsonValue* schema = inside.find("schema");
    return AnswerSchema{schema != nullptr ? *schema : JsonValue(JsonObject{{"type", "object"}}),
                        "response_format"};
  }
  const JsonObject* wrapped = inside.object("json_schema");
  const JsonValue* schema = wrapped == nullptr ? nullptr : Fields(*wrapped, "").find("schema");
  if (schema == nullptr) {
    throw bad_field("response_format.json_schema", "is missing; expected {name, schema}");
  }
  return AnswerSchema{*schema, "response_format"};
}

std::shared_ptr<models::grammar::Constraint> read_constraint(const Fields& fields,
                                                             ServedModel& model) {
  refuse_other_names(fields);
  if (const auto answer = read_answer_schema(fields)) {
    try {
      return model.constrain_by_schema(answer->schema);
    } catch (const Error& error) {
      throw bad_field(answer->param, error.what());
    }
  }
  if (const JsonObject* structured = fields.object("structured_outputs")) {
    const Fields inside(*structured, "structured_outputs.");
    return constraint_of_gbnf(inside.text("grammar").value_or(""), model, inside.path("grammar"));
  }
  return constraint_of_gbnf(fields.text("grammar").value_or(""), model, "grammar");
}

void refuse_truncation(const Fields& fields) {
  if (fields.find("truncate_prompt_tokens") == nullptr) return;
  throw bad_field("truncate_prompt_tokens",
                  "is not supported; expected a prompt that the context holds");
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
  if (tokens.size() > most_prompt_tokens(model, is_answered)) {
    throw prompt_too_long(param, counted(length, "token"), model, is_answered);
  }
}

}  // namespace hearth::tools::serve
