// What results of an op are compared by.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/table/op_case.h"

namespace hearth::testing {

// Empty, or where `result`, an output of the op, is not what it should be.
inline std::string difference(const OpCase& one, std::size_t output, const Array& result,
                              const HostArray& expected) {
  if (result.shape() != expected.shape) {
    return "shape " + to_string(result.shape()) + ", expected " + to_string(expected.shape);
  }
  const std::vector<double> values = result.to_doubles();
  const DType dtype = result.dtype();
  double magnitude = term_magnitude(one, output);
  for (const double value : expected.values) {
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
  }
  const double allowed = std::max(tolerance_of(dtype), coding_tolerance(one)) * magnitude;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double want = is_float(dtype) ? expected.values[i] : rounded(expected.values[i], dtype);
    if (std::isnan(values[i]) && std::isnan(want)) continue;
    if (values[i] == want || std::abs(values[i] - want) <= allowed) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(values[i]) + ", expected " +
           std::to_string(want);
  }
  return "";
}

// The same of all results of an op.
inline std::string difference(const OpCase& one, const std::vector<Array>& results,
                              const std::vector<HostArray>& expected) {
  if (results.size() != expected.size()) {
    return std::to_string(results.size()) + " results, expected " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string wrong = difference(one, i, results[i], expected[i]);
    if (!wrong.empty()) return "result " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

}  // namespace hearth::testing
