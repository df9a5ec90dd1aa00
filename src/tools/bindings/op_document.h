// What `hearth ops --json` prints: all that a generator of bindings needs.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "graph/op_def.h"

namespace hearth::tools {

// What docs/bindings.md describes: {"format": 4, "devices": [...], "ops": [...], "functions":
// [...], "types": [...]}.
JsonObject op_document();

// The rule of reductions, in the words of OpDef::shapes.
inline constexpr const char* kReductionShapes =
    "x [...] -> [... without axes, or 1 there with keepdim]";
// What infer() makes of shapes, in words: OpDef::shapes, or the rule of the op's kind.
std::string shape_rule(const OpDef& op);
// The names of its inputs, from the rule.
std::vector<std::string> input_names(const std::string& shapes);
const char* kind_name(OpKind kind);

}  // namespace hearth::tools
