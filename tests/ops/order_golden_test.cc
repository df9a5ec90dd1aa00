// Functions that are no single op, against what scripts/golden/numpy_ops.py wrote with NumPy and
// SciPy: order_statistics.txt and vision.txt.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "golden_file.h"
#include "hearth/ops.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

using check::Values;

Array built(const check::WrittenArray& array, MemoryLayout layout, Device device) {
  return build_array({array.shape, array.values}, array.dtype, layout, device);
}

struct Call {
  std::string function;
  std::map<std::string, std::vector<std::string>> params;
  std::vector<check::WrittenArray> inputs, outputs;

  bool has(const std::string& key) const { return params.count(key) != 0; }
  const std::string& word(const std::string& key) const { return params.at(key).at(0); }
  Values numbers(const std::string& key) const {
    Values values;
    for (const std::string& text : params.at(key)) {
      values.push_back(std::strtod(text.c_str(), nullptr));
    }
    return values;
  }
  double number(const std::string& key) const { return numbers(key).at(0); }
  std::int64_t whole(const std::string& key) const {
    return static_cast<std::int64_t>(number(key));
  }
};

std::vector<Call> calls_of(const std::string& name) {
  std::ifstream file = check::golden_file(name);
  std::vector<Call> calls;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword, key;
    line >> keyword;
    if (keyword == "case") {
      line >> calls.emplace_back().function;
    } else if (keyword == "param") {
      line >> key;
      std::vector<std::string>& words = calls.back().params[key];
      for (std::string word; line >> word;) words.push_back(word);
    } else if (keyword == "input") {
      calls.back().inputs.push_back(check::written_array(line));
    } else if (keyword == "output") {
      calls.back().outputs.push_back(check::written_array(line));
    }
  }
  return calls;
}

Interpolation method_of(const std::string& word) {
  return word == "linear"     ? Interpolation::linear
         : word == "lower"    ? Interpolation::lower
         : word == "higher"   ? Interpolation::higher
         : word == "midpoint" ? Interpolation::midpoint
                              : Interpolation::nearest;
}
MorphBorder border_of(const std::string& word) {
  return word == "constant"     ? MorphBorder::constant
         : word == "replicate"  ? MorphBorder::replicate
         : word == "reflect"    ? MorphBorder::reflect
         : word == "reflect101" ? MorphBorder::reflect101
                                : MorphBorder::wrap;
}

// What the written function is here.
std::vector<Array> outputs_of(const Call& call, const std::vector<Array>& in) {
  const std::string& f = call.function;
  if (f == "quantile") {
    return {quantile(in[0], call.numbers("q"), -1, false, method_of(call.word("method")))};
  }
  if (f == "unique") {
    const auto [values, indices, inverse, counts] = unique_all(in[0]);
    return {values, indices, inverse, counts};
  }
  if (f == "argwhere") return {argwhere(in[0])};
  if (f == "searchsorted") return {searchsorted(in[0], in[1], call.whole("right") != 0)};
  if (f == "bincount") {
    return {bincount(in[0], in.size() > 1 ? in[1] : Array(), call.whole("least"))};
  }
  if (f == "histogram") {
    std::optional<Bounds> bounds;
    if (call.has("low")) bounds = {call.number("low"), call.number("high")};
    const auto [counts, edges] = histogram(in[0], call.whole("bins"), bounds);
    return {counts, edges};
  }
  if (f == "histogram_by_edges") return {histogram_by_edges(in[0], in[1])};
  if (f == "erode" || f == "dilate") {
    const MorphOptions options = {.border = border_of(call.word("border")),
                                  .border_value = call.number("value")};
    return {f == "erode" ? erode(in[0], in[1], options) : dilate(in[0], in[1], options)};
  }
  if (f == "components") {
    const auto [labels, stats, count] = connected_components_with_stats(
        in[0], call.whole("neighbours") == 4 ? Connectivity::four : Connectivity::eight);
    return {labels, narrow(stats, 0, 1, count.item<std::int64_t>()), count};
  }
  if (f == "nms") {
    return {nms(in[0], in[1],
                {.iou_threshold = call.number("iou"),
                 .score_threshold = call.number("score"),
                 .inclusive = call.whole("inclusive") != 0})};
  }
  ADD_FAILURE() << "no function " << f;
  return {};
}

void expect_call(const Call& call, std::size_t i, MemoryLayout layout, Device device) {
  std::vector<Array> inputs;
  for (const check::WrittenArray& input : call.inputs) {
    inputs.push_back(built(input, layout, device));
  }
  const std::vector<Array> outputs = outputs_of(call, inputs);
  ASSERT_EQ(outputs.size(), call.outputs.size());
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    check::expect_values(outputs[j], call.outputs[j].shape, call.outputs[j].values,
                         call.function + ", case " + std::to_string(i) + ", output " +
                             std::to_string(j) + ", " + name(layout) + " on " + device.name());
  }
}

class OrderGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(OrderGolden, EqualsNumpyAndScipy) {
  const std::vector<Call> calls = calls_of(GetParam());
  ASSERT_GT(calls.size(), 10u);
  for (const Device& device : devices_under_test()) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (const MemoryLayout layout : kElementLayouts) expect_call(calls[i], i, layout, device);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, OrderGolden, ::testing::Values("order_statistics", "vision"),
                         [](const auto& file) { return std::string(file.param); });

}  // namespace
}  // namespace hearth::testing
