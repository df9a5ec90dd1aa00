// The functions and types of the public headers, as the document of ops has them.
#pragma once

#include <optional>
#include <vector>

#include "core/json.h"
#include "tools/bindings/declarations.h"
#include "tools/bindings/dtype_rules.h"

namespace hearth::tools {

// One entry a name: an overload that leaves out what another takes is that other's call without it.
JsonArray function_entries(const Declarations& declared);
// The types that have no word of their own.
JsonArray type_entries(const Declarations& declared);

JsonArray dtype_names(const std::vector<DType>& dtypes);
// What of the dtypes is refused, and in which words.
JsonArray refusals(const DTypeRules& rules);
// Adds `dtypes` and `shared`; null and false where there is no rule.
void append_rule(JsonObject& entry, const std::optional<InputRule>& rule);

}  // namespace hearth::tools
