#include "tools/serve/answer_form.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/counted.h"
#include "core/without_name.h"
#include "hearth/error.h"
#include "models/grammar/grammar.h"
#include "tools/chat_json/field_error.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostGrammarBytes = 64 << 10;

AnswerForm form_of_schema(JsonValue schema, const std::string& param) {
  return {.schema = std::move(schema), .gbnf = {}, .param = param};
}

// Whether the field is there; "" is none, as clients of llama.cpp send it.
bool is_given(const Fields& fields, std::string_view name) {
  const JsonValue* given = fields.find(name);
  return given != nullptr && *given != JsonValue("");
}

// Of the field `grammar`, which may not be there.
AnswerForm form_of_gbnf(const Fields& fields) {
  const std::string param = fields.path("grammar");
  std::string gbnf = fields.text("grammar").value_or("");
  if (gbnf.size() > kMostGrammarBytes) {
    throw bad_field(param, "is too long; got " + counted(gbnf.size(), "byte") +
                               ", expected at most " + std::to_string(kMostGrammarBytes));
  }
  return {.schema = std::nullopt, .gbnf = std::move(gbnf), .param = param};
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
  if (text->size() > kMostGrammarBytes) {
    throw bad_field(fields.path(name), "is too long; got " + counted(text->size(), "byte") +
                                           ", expected at most " +
                                           std::to_string(kMostGrammarBytes));
  }
  auto schema = parse_json(*text);
  if (!schema) throw bad_field(fields.path(name), "is no JSON; expected a schema");
  return *std::move(schema);
}

// Of vLLM's object, which has one of its members.
AnswerForm form_of_structured(const JsonObject& structured) {
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
  if (given.front() == "grammar") {
    if (!is_given(fields, "grammar")) {
      throw bad_field(fields.path("grammar"), "is empty; expected a grammar (GBNF)");
    }
    return form_of_gbnf(fields);
  }
  const std::string param = fields.path(given.front());
  if (given.front() == "json") return form_of_schema(bare_schema(fields, "json"), param);
  fields.flag("json_object", true);
  return form_of_schema(JsonObject{{"type", "object"}}, param);
}

// Refuses what only a token could begin with that ends texts.
void require_beginning(const std::shared_ptr<models::grammar::Constraint>& constraint,
                       const AnswerForm& form) {
  const auto mask = models::grammar::GrammarMatcher(constraint).mask();
  if (std::any_of(mask->begin(), mask->end(), [](std::uint32_t word) { return word != 0; })) return;
  throw bad_field(form.param,
                  "leaves no token of the model to begin with; expected one, besides "
                  "those that end texts");
}

}  // namespace

AnswerForm read_answer_form(const Fields& fields) {
  const JsonObject* format = fields.object("response_format");
  if (const JsonObject* structured = fields.object("structured_outputs")) {
    for (const char* other : {"json_schema", "guided_json", "grammar", "response_format"}) {
      if (is_given(fields, other)) {
        throw bad_field("structured_outputs", std::string("beside ") + other + "; expected one");
      }
    }
    return form_of_structured(*structured);
  }
  if (const char* name = bare_schema_name(fields)) {
    for (const char* other : {"grammar", "response_format"}) {
      if (is_given(fields, other)) {
        throw bad_field(name, std::string("beside ") + other + "; expected one");
      }
    }
    return form_of_schema(bare_schema(fields, name), name);
  }
  if (format == nullptr) return form_of_gbnf(fields);
  const Fields inside(*format, "response_format.");
  const std::string type = inside.text("type").value_or("");
  if (type == "text") return form_of_gbnf(fields);
  if (type != "json_object" && type != "json_schema") {
    throw bad_field("response_format.type", "is not known; got " + shown(type) +
                                                ", expected text, json_object or json_schema");
  }
  if (is_given(fields, "grammar")) {
    throw bad_field("grammar", "a grammar beside a response_format; expected one");
  }
  if (type == "json_object") {
    const JsonValue* schema = inside.find("schema");
    return form_of_schema(schema != nullptr ? *schema : JsonValue(JsonObject{{"type", "object"}}),
                          "response_format");
  }
  const JsonObject* wrapped = inside.object("json_schema");
  const JsonValue* schema = wrapped == nullptr ? nullptr : Fields(*wrapped, "").find("schema");
  if (schema == nullptr) {
    throw bad_field("response_format.json_schema", "is missing; expected {name, schema}");
  }
  return form_of_schema(*schema, "response_format");
}

std::shared_ptr<models::grammar::Constraint> constrain(const AnswerForm& form, ServedModel& model,
                                                       const std::function<void()>& watch) {
  if (form.is_free()) return nullptr;
  try {
    auto constraint = form.schema ? model.constrain_by_schema(*form.schema, watch)
                                  : model.constrain_by_gbnf(form.gbnf, watch);
    require_beginning(constraint, form);
    return constraint;
  } catch (const Error& error) {
    throw bad_field(form.param, without_name(error.what(), form.param));
  }
}

}  // namespace hearth::tools::serve
