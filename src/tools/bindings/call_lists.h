// The lists that function_calls() is made of, by the headers of what they call.
#pragma once

#include <vector>

#include "tools/bindings/function_calls.h"

namespace hearth::tools {

std::vector<FunctionCall> array_calls();
std::vector<FunctionCall> image_calls();
std::vector<FunctionCall> layer_calls();
std::vector<FunctionCall> loss_calls();
std::vector<FunctionCall> matrix_calls();
std::vector<FunctionCall> signal_calls();
std::vector<FunctionCall> statistic_calls();

}  // namespace hearth::tools
