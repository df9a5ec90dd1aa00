// The files that scripts/golden/numpy_ops.py wrote with NumPy and SciPy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "devices_under_test.h"
#include "golden_file.h"
#include "graph/op_def.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

Array built(const check::WrittenArray& array, MemoryLayout layout, Device device) {
  return build_array({array.shape, array.values}, array.dtype, layout, device);
}

struct GoldenCase {
  std::string op;
  std::string dtype;
  double ulps = 0;
  Params params;
  std::vector<check::WrittenArray> inputs;
  check::WrittenArray output;
};

std::vector<GoldenCase> parse_file(const std::string& name) {
  std::ifstream file = check::golden_file(name);
  std::vector<GoldenCase> cases;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword;
    line >> keyword;
    if (keyword == "case") {
      cases.emplace_back();
      line >> cases.back().op >> cases.back().dtype >> cases.back().ulps;
    } else if (keyword == "param") {
      std::string kind;
      line >> kind;
      Params& params = cases.back().params;
      std::vector<std::string> words;
      for (std::string word; line >> word;) words.push_back(word);
      if (kind == "list") {
        Dims list;
        for (const std::string& word : words) list.push_back(std::stoll(word));
        params.list(list);
      } else if (kind == "f64") {
        params.f64(std::strtod(words.at(0).c_str(), nullptr));
      } else if (kind == "boolean") {
        params.boolean(words.at(0) == "1");
      } else {
        params.i64(std::stoll(words.at(0)));
      }
    } else if (keyword == "input") {
      cases.back().inputs.push_back(check::written_array(line));
    } else if (keyword == "output") {
      cases.back().output = check::written_array(line);
    }
  }
  return cases;
}

// The distance to the next value of `dtype` away from 0.
double unit_of(double value, DType dtype, double magnitude) {
  const double size = std::max(std::abs(value), magnitude);
  if (dtype == DType::f64)
    return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  const auto narrow = static_cast<float>(size);
  return static_cast<double>(std::nextafter(narrow, std::numeric_limits<float>::infinity())) -
         static_cast<double>(narrow);
}

// `magnitude`: the least that errors are relative to.
void expect_case(const GoldenCase& one, MemoryLayout layout, Device device, double magnitude) {
  std::vector<Array> inputs;
  std::vector<const Array*> pointers;
  for (const check::WrittenArray& input : one.inputs) {
    inputs.push_back(built(input, layout, device));
  }
  for (const Array& input : inputs) pointers.push_back(&input);
  const Array result = record(*find_op(one.op), pointers, one.params);
  ASSERT_EQ(result.shape(), one.output.shape) << one.op;
  ASSERT_EQ(result.dtype(), one.output.dtype) << one.op;
  const std::vector<double> values = result.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double want = one.output.values[i];
    if (std::isnan(want) && std::isnan(values[i])) continue;
    if (values[i] == want) continue;
    const double allowed = one.ulps * unit_of(want, result.dtype(), magnitude);
    EXPECT_LE(std::abs(values[i] - want), allowed)
        << one.op << " " << one.dtype << " " << name(layout) << " on " << device.name()
        << ": element " << i << " of " << to_string(one.output.shape) << " is " << values[i]
        << ", expected " << want
        << (one.inputs[0].values.size() == values.size()
                ? ", input " + std::to_string(one.inputs[0].values[i])
                : "");
  }
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, Agrees) {
  const std::vector<GoldenCase> cases = parse_file(GetParam());
  ASSERT_GT(cases.size(), 10u);
  for (const Device device : devices_under_test()) {
    for (const GoldenCase& one : cases) {
      ASSERT_NE(find_op(one.op), nullptr) << one.op;
      // Reductions and norms are judged by their largest result, functions element by element.
      double magnitude = 0;
      if (std::string_view(GetParam()) != "elementwise") {
        for (const double value : one.output.values) {
          if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
        }
      }
      for (const MemoryLayout layout : kElementLayouts) expect_case(one, layout, device, magnitude);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden,
                         ::testing::Values("elementwise", "inverses", "reductions", "norms",
                                           "scans", "decompositions", "fourier"));

}  // namespace
}  // namespace hearth::testing
