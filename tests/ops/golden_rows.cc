#include "ops/golden_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "devices_under_test.h"
#include "graph/effort.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "ops/table/op_case.h"
#include "unit_roundoff.h"

namespace hearth::testing {
namespace {

// What f16 has no normal number for is rounded to multiples of 2^-24.
double least_rounding(DType dtype) { return dtype == DType::f16 ? 0x1p-25 : 0; }

GoldenResult written_result(std::istringstream& line) {
  GoldenResult result;
  std::string computed, stored;
  line >> computed >> stored;
  result.computed = std::strtod(computed.c_str(), nullptr);
  result.stored = std::strtod(stored.c_str(), nullptr);
  result.array = check::written_array(line);
  return result;
}

// Where `got`, computed of inputs of `dtype`, is not what the row says; or empty.
std::string difference(const Array& got, const GoldenResult& want, DType dtype) {
  if (got.shape() != want.array.shape) {
    return "shape " + to_string(got.shape()) + ", expected " + to_string(want.array.shape);
  }
  const bool is_exact = !is_float(want.array.dtype);
  if (is_exact ? got.dtype() != want.array.dtype : !is_float(got.dtype())) {
    return "dtype " + std::string(hearth::name(got.dtype()));
  }
  const double computing = unit_roundoff(dtype == DType::f64 ? DType::f64 : DType::f32);
  const double between = unit_roundoff(dtype);
  const std::vector<double> values = got.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = want.array.values[i];
    if (values[i] == expected || (std::isnan(values[i]) && std::isnan(expected))) continue;
    const double allowed = computing * want.computed + between * want.stored +
                           unit_roundoff(got.dtype()) * std::abs(expected) +
                           least_rounding(got.dtype());
    if (!is_exact && std::abs(values[i] - expected) <= allowed) continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << i << " is " << values[i] << ", expected " << expected << " within "
         << allowed;
    return text.str();
  }
  return "";
}

std::vector<DType> dtypes_of(const GoldenRow& row) {
  bool varies = false;
  for (const check::WrittenArray& input : row.inputs) varies |= input.dtype == DType::f64;
  if (!varies) return {DType::f64};
  if (!row.has("dtypes")) return {DType::f64, DType::f32, DType::f16, DType::bf16};
  std::vector<DType> dtypes;
  for (const std::string& word : row.options.at("dtypes")) dtypes.push_back(dtype_from_name(word));
  return dtypes;
}

std::vector<Array> inputs_of(const GoldenRow& row, DType dtype, MemoryLayout layout,
                             Device device) {
  std::vector<Array> inputs;
  for (const check::WrittenArray& input : row.inputs) {
    const bool varies = input.dtype == DType::f64;
    const Array array =
        build_array({input.shape, input.values}, varies ? dtype : input.dtype, layout, device);
    inputs.push_back(varies && !row.grads.empty() ? array.require_grad() : array);
  }
  return inputs;
}

// The gradients of the row's inputs of f64, zeros where there is none.
std::vector<Array> gradients_of(const GoldenRow& row, const std::vector<Array>& inputs,
                                const std::vector<Array>& results) {
  Array weighed;
  for (const Array& result : results) {
    if (!is_float(result.dtype())) continue;
    HostArray weights{result.shape(), {}};
    for (std::int64_t i = 0; i < result.size(); ++i) {
      weights.values.push_back(static_cast<double>(i % 7 - 3));
    }
    // Each result is weighed in its own dtype; what the sum of all is does not matter.
    const Array part = cast(
        sum(mul(result,
                build_array(weights, result.dtype(), MemoryLayout::contiguous, result.device()))),
        results[0].dtype());
    weighed = weighed.defined() ? add(weighed, part) : part;
  }
  const Gradients found = backward(weighed);
  std::vector<Array> gradients;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (row.inputs[i].dtype != DType::f64) continue;
    const Array gradient = found.get(inputs[i]);
    gradients.push_back(gradient.defined() ? gradient : zeros_like(inputs[i]));
  }
  return gradients;
}

void expect_row(const GoldenRow& row, const GoldenFunction& function, Device device, DType dtype,
                MemoryLayout layout) {
  const std::string what = row.text + ", " + std::string(hearth::name(dtype)) + " " + name(layout) +
                           " on " + device.name() + ": ";
  const std::vector<Array> inputs = inputs_of(row, dtype, layout, device);
  const std::vector<Array> results = function(row, inputs);
  ASSERT_EQ(results.size(), row.outputs.size()) << what;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(difference(results[i], row.outputs[i], dtype), "") << what << "output " << i;
  }
  if (row.grads.empty()) return;
  const std::vector<Array> gradients = gradients_of(row, inputs, results);
  ASSERT_EQ(gradients.size(), row.grads.size()) << what;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    ASSERT_EQ(difference(gradients[i], row.grads[i], dtype), "") << what << "gradient " << i;
  }
}

// In every dtype and layout; of less effort than all of them, each pair has its turn.
void expect_row(const GoldenRow& row, const GoldenFunction& function, Device device,
                std::size_t* turn) {
  std::vector<std::pair<DType, MemoryLayout>> ways;
  for (const MemoryLayout layout : kElementLayouts) {
    for (const DType dtype : dtypes_of(row)) {
      if (is_under_test(dtype) && device.supports(dtype)) ways.emplace_back(dtype, layout);
    }
  }
  if (ways.empty()) return;
  for (std::int64_t left = scaled(std::ssize(ways)); left > 0; --left) {
    const auto& [dtype, layout] = ways[(*turn)++ % ways.size()];
    expect_row(row, function, device, dtype, layout);
  }
}

}  // namespace

std::vector<double> GoldenRow::numbers(const std::string& option) const {
  std::vector<double> found;
  if (!has(option)) return found;
  for (const std::string& item : options.at(option)) {
    found.push_back(std::strtod(item.c_str(), nullptr));
  }
  return found;
}

double GoldenRow::number(const std::string& option, double otherwise) const {
  return has(option) ? numbers(option).at(0) : otherwise;
}

std::int64_t GoldenRow::whole(const std::string& option, std::int64_t otherwise) const {
  return has(option) ? static_cast<std::int64_t>(numbers(option).at(0)) : otherwise;
}

Dims GoldenRow::list(const std::string& option) const {
  Dims items;
  for (const double item : numbers(option)) items.push_back(static_cast<std::int64_t>(item));
  return items;
}

std::vector<GoldenRow> golden_rows(const std::string& name) {
  std::ifstream file = check::golden_file(name);
  std::vector<GoldenRow> rows;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword;
    line >> keyword;
    if (keyword == "case") {
      GoldenRow& row = rows.emplace_back();
      row.text = text;
      line >> row.function;
      for (std::string word; line >> word;) {
        const std::size_t equals = word.find('=');
        std::istringstream items(word.substr(equals + 1));
        std::vector<std::string>& option = row.options[word.substr(0, equals)];
        for (std::string item; std::getline(items, item, ',');) option.push_back(item);
      }
    } else if (keyword == "input") {
      rows.back().inputs.push_back(check::written_array(line));
    } else if (keyword == "output") {
      rows.back().outputs.push_back(written_result(line));
    } else if (keyword == "grad") {
      rows.back().grads.push_back(written_result(line));
    }
  }
  return rows;
}

void expect_golden(const std::string& file,
                   const std::map<std::string, GoldenFunction>& functions) {
  const std::vector<GoldenRow> rows = golden_rows(file);
  ASSERT_FALSE(rows.empty());
  std::size_t turn = 0;
  for (const Device& device : devices_under_test()) {
    for (const GoldenRow& row : rows) {
      ASSERT_EQ(functions.count(row.function), 1u) << row.text;
      expect_row(row, functions.at(row.function), device, &turn);
    }
  }
}

}  // namespace hearth::testing
