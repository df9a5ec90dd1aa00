// The formulas of elementwise ops, read from the texts of kernels/formulas that every target runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::tools {

// A function of an op's name: an op has one for each kind of element that has a formula of its own.
struct FormulaText {
  std::string elements;  // "any", "floats", "f32", "f64", "integers" or "masks"
  std::string text;      // what stands between its braces, indented as if it stood alone
  std::string path;      // "src/kernels/formulas/scalar_ops.h"
};

// In the order of the texts; nothing for what is no formula.
std::vector<FormulaText> formula_texts(std::string_view op);

}  // namespace hearth::tools
