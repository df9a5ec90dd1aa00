// What `hearth ops --json` prints: all that a generator of bindings needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "graph/op_def.h"

namespace hearth::tools {

// {"format": 2, "ops": [...], "functions": [...], "types": [...]}: the op table, the functions of
// the public headers that record ops, one op or several, and the types of their parameters.
JsonObject op_document();

// What infer() makes of shapes, in words: OpDef::shapes, or the rule of the op's kind.
std::string shape_rule(const OpDef& op);
// The names of its inputs, from the rule.
std::vector<std::string> input_names(const OpDef& op);
// By types of C++, without const, & and *, the words that the document has for them; a type of its
// `types` stands there under its own name.
const std::map<std::string, std::string>& type_words();
const char* kind_name(OpKind kind);

}  // namespace hearth::tools
