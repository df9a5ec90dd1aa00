// The functions and types of the public headers, as the document of ops has them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "tools/bindings/declarations.h"
#include "tools/bindings/dtype_rules.h"

namespace hearth::tools {

// One entry a name: an overload that leaves out what another takes is that other's call without it.
JsonArray function_entries(const Declarations& declared);
// The types that have no word of their own.
JsonArray type_entries(const Declarations& declared);

// By types of C++, without const, & and *, the words that the document has for them; a type of its
// `types` stands there under its own name.
const std::map<std::string, std::string>& type_words();
// The value of a default argument, in C++, of a type in the document's words; null for what stands
// for none. Throws Error{invalid_argument} for a text that is neither.
JsonValue default_value(const std::string& text, const std::string& type);

JsonArray dtype_names(const std::vector<DType>& dtypes);
// What of the dtypes is refused, and in which words.
JsonArray refusals(const DTypeRules& rules);
// Adds `dtypes` and `shared`; null and false where there is no rule.
void append_rule(JsonObject& entry, const std::optional<InputRule>& rule);

}  // namespace hearth::tools
