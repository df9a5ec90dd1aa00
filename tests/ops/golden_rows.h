// Files of tests/golden whose rows name a function, its options, inputs, results and gradients, as
// scripts/golden/rows.py writes them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "golden_file.h"
#include "hearth/array.h"

namespace hearth::testing {

// What a result should be, and how far it may be off: see rows.py.
struct GoldenResult {
  double computed = 0;
  double stored = 0;
  check::WrittenArray array;
};

struct GoldenRow {
  std::string text;  // the line that names it
  std::string function;
  std::map<std::string, std::vector<std::string>> options;
  std::vector<check::WrittenArray> inputs;
  std::vector<GoldenResult> outputs, grads;

  bool has(const std::string& option) const { return options.count(option) != 0; }
  const std::string& word(const std::string& option) const { return options.at(option).at(0); }
  double number(const std::string& option, double otherwise) const;
  std::int64_t whole(const std::string& option, std::int64_t otherwise = 0) const;
  std::vector<double> numbers(const std::string& option) const;  // none where it is not given
  Dims list(const std::string& option) const;                    // empty where it is not given
};

std::vector<GoldenRow> golden_rows(const std::string& file);

// What the function of a row gives for its inputs.
using GoldenFunction =
    std::function<std::vector<Array>(const GoldenRow& row, const std::vector<Array>& inputs)>;

// Compares each row of the file, results and gradients, with what the function of its name gives:
// on every device under test, with inputs in every layout of memory and, where they are of f64 in
// the file, in every float dtype, or in those that the row's option `dtypes` names. Where
// HEARTH_TEST_EFFORT is less than 100, these take turns.
void expect_golden(const std::string& file, const std::map<std::string, GoldenFunction>& functions);

}  // namespace hearth::testing
