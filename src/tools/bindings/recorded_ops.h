// What ops and functions are made of, and how often they can be differentiated, found by recording
// them: nothing runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/function_ref.h"
#include "graph/op_def.h"

namespace hearth::tools {

// The names of the ops that `record` records on the CPU, each once, sorted. Nothing where it waits
// for a value, so that what it records depends on that.
std::optional<std::vector<std::string>> recorded_ops(FunctionRef<std::vector<Array>()> record);

// Of an op's composite with its first valid sample; empty where it has none.
std::optional<std::vector<std::string>> composite_ops(const OpDef& op);

// Through how many gradients one after the other the op can be differentiated, up to two: its rule
// is made of ops.
int gradients_of(const OpDef& op);

}  // namespace hearth::tools
