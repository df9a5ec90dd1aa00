// What form the text of an answer has.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/json.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/served_model.h"

namespace hearth::tools::serve {

struct AnswerForm {
  std::optional<JsonValue> schema;
  std::string gbnf;   // where there is no schema
  std::string param;  // the field that it is of

  // Any text will do.
  bool is_free() const noexcept { return !schema && gbnf.empty(); }
};

// The schema of response_format, in `json_schema` or `guided_json`, or in vLLM's
// `structured_outputs`; or a GBNF `grammar`, which structured_outputs may have too. Throws
// FieldError.
AnswerForm read_answer_form(const Fields& fields);

// Null where it is free; `watch` is that of ServedModel. Throws FieldError for what is no schema or
// grammar that texts end by.
std::shared_ptr<models::grammar::Constraint> constrain(const AnswerForm& form, ServedModel& model,
                                                       const std::function<void()>& watch);

}  // namespace hearth::tools::serve
