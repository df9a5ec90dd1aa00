// Which dtypes a call takes and which its results have, found by asking it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"

namespace hearth::tools {

// A call that can be made in any dtype.
struct DTypeQuestion {
  std::vector<SampleInput> inputs;
  bool has_parameter = false;  // `dtype`
  // The dtypes of its results, for those of its inputs and parameter. Throws Error{dtype} where it
  // does not take them.
  std::function<std::vector<DType>(const std::vector<DType>& inputs, DType parameter)> results;
};

struct InputRule {
  std::vector<DType> dtypes;
  bool shared = false;  // its dtype is that of all shared inputs of a call
};

struct DTypeRules {
  std::vector<std::optional<InputRule>> inputs;  // nothing where no sample has the input
  std::vector<DType> parameter;                  // values of the parameter `dtype`
  // Of each result "input" where it has the dtype of the shared inputs, "compute" where that which
  // they are computed in (f32 for the half types), "parameter" where the parameter `dtype` says it,
  // a dtype's name where it is the same for all, else "other".
  std::vector<std::string> results;
  // The dtypes, of the shared inputs or else of the parameter, that are refused, each with what the
  // Error says.
  std::vector<std::pair<DType, std::string>> refused;
};

DTypeRules dtype_rules(const DTypeQuestion& question);
// Of the op's valid samples.
DTypeRules dtype_rules(const OpDef& op);

}  // namespace hearth::tools
