// Answers of which a grammar says that they are a text of JSON, or calls of tools instead.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "models/chat/answer_format.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// A function that may be called, and the schema of its arguments.
struct CallableTool {
  std::string name;
  JsonValue parameters;
};

// The grammar, in GBNF, of answers that are JSON of `schema` or else calls of the tools: one, or
// where there may be `several` one after the other, with the marks that models of this format and
// template (`source`) write around them. Arguments are JSON, between the marks of formats that
// write them otherwise, too. Throws what gbnf_of_schema() throws, and Error{unsupported} for
// formats whose calls have no mark that tells them from JSON: what begins with { may be both there,
// or a header that comes before says what it is.
std::string gbnf_of_answer_or_calls(const AnswerFormat& format, std::string_view source,
                                    const Tokenizer& tokenizer, const JsonValue& schema,
                                    std::span<const CallableTool> tools, bool several);

}  // namespace hearth::models
