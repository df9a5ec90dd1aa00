// The file that scripts/golden/images.py wrote with PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "devices_under_test.h"
#include "golden_file.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/ops/image.h"
#include "hearth/ops/pool.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

struct ImageCase {
  std::string text, function;
  std::map<std::string, std::vector<double>> options;
  std::vector<check::WrittenArray> inputs, outputs, grads;

  Dims list(const std::string& name) const {
    Dims items;
    for (const double item : options.at(name)) items.push_back(static_cast<std::int64_t>(item));
    return items;
  }
  bool flag(const std::string& name) const { return options.at(name).at(0) != 0; }
};

std::vector<ImageCase> image_cases() {
  std::ifstream file = check::golden_file("images");
  std::vector<ImageCase> cases;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword;
    line >> keyword;
    if (keyword == "case") {
      ImageCase& one = cases.emplace_back();
      one.text = text;
      line >> one.function;
      for (std::string word; line >> word;) {
        const std::size_t equals = word.find('=');
        std::istringstream numbers(word.substr(equals + 1));
        for (std::string number; std::getline(numbers, number, ',');) {
          one.options[word.substr(0, equals)].push_back(std::strtod(number.c_str(), nullptr));
        }
      }
    } else if (keyword == "input") {
      cases.back().inputs.push_back(check::written_array(line));
    } else if (keyword == "output") {
      cases.back().outputs.push_back(check::written_array(line));
    } else if (keyword == "grad") {
      cases.back().grads.push_back(check::written_array(line));
    }
  }
  return cases;
}

InterpolateMode interpolate_mode(const std::string& name) {
  if (name == "nearest") return InterpolateMode::nearest;
  if (name == "nearest_exact") return InterpolateMode::nearest_exact;
  return name == "linear" ? InterpolateMode::linear : InterpolateMode::cubic;
}

std::vector<Array> results_of(const ImageCase& c, const std::vector<Array>& in) {
  const Array& x = in[0];
  const std::string& f = c.function;
  const auto both = [](std::pair<Array, Array> pair) {
    return std::vector<Array>{std::move(pair.first), std::move(pair.second)};
  };
  if (f == "max_pool") {
    return both(max_pool_with_indices(x, c.list("kernel"),
                                      {.stride = c.list("stride"),
                                       .padding = c.list("padding"),
                                       .dilation = c.list("dilation"),
                                       .ceil_mode = c.flag("ceil")}));
  }
  if (f == "avg_pool") {
    return {avg_pool(x, c.list("kernel"),
                     {.stride = c.list("stride"),
                      .padding = c.list("padding"),
                      .ceil_mode = c.flag("ceil"),
                      .count_include_pad = c.flag("pad")})};
  }
  if (f == "lp_pool") {
    return {lp_pool(x, c.options.at("p")[0], c.list("kernel"), {.stride = c.list("stride")})};
  }
  if (f == "adaptive_avg_pool") return {adaptive_avg_pool(x, c.list("sizes"))};
  if (f == "adaptive_max_pool") return both(adaptive_max_pool_with_indices(x, c.list("sizes")));
  if (f.starts_with("interpolate_")) {
    return {interpolate(x, c.list("sizes"), interpolate_mode(f.substr(12)), c.flag("align"))};
  }
  if (f.starts_with("grid_sample_")) {
    const bool is_nearest = f == "grid_sample_nearest";
    return {grid_sample_2d(x, in[1],
                           {.mode = is_nearest ? GridSampleMode::nearest : GridSampleMode::bilinear,
                            .padding = static_cast<GridSamplePadding>(c.list("padding")[0]),
                            .align_corners = c.flag("align")})};
  }
  if (f == "affine_grid") {
    return {affine_grid_2d(x, c.list("sizes")[0], c.list("sizes")[1], c.flag("align"))};
  }
  if (f == "pixel_shuffle") return {pixel_shuffle(x, c.list("factor")[0])};
  if (f == "pixel_unshuffle") return {pixel_unshuffle(x, c.list("factor")[0])};
  const UnfoldOptions options = {c.list("stride"), c.list("padding"), c.list("dilation")};
  if (f == "unfold") return {unfold4d(x, c.list("kernel"), options)};
  return {fold4d(x, c.list("sizes"), c.list("kernel"), options)};
}

void expect_same(const Array& got, const check::WrittenArray& want, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape) << what;
  ASSERT_EQ(got.dtype(), want.dtype) << what;
  const std::vector<double> values = got.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], want.values[i], 1e-12 * std::max(1.0, std::abs(want.values[i])))
        << what << " at " << i;
  }
}

void expect_case(const ImageCase& one, MemoryLayout layout, Device device) {
  const std::string what = one.text + ", " + name(layout) + " on " + device.name();
  std::vector<Array> inputs;
  for (const check::WrittenArray& input : one.inputs) {
    inputs.push_back(
        build_array({input.shape, input.values}, DType::f64, layout, device).require_grad());
  }
  const std::vector<Array> results = results_of(one, inputs);
  ASSERT_EQ(results.size(), one.outputs.size()) << what;
  for (std::size_t i = 0; i < results.size(); ++i) expect_same(results[i], one.outputs[i], what);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < results[0].size(); ++i) {
    weights.push_back(static_cast<double>(i % 7 - 3));
  }
  const Array weight = Array::from_data(weights, results[0].shape(), device);
  const Gradients gradients = backward(sum(mul(results[0], weight)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Array grad = gradients.get(inputs[i]);
    if (!grad.defined()) grad = zeros_like(inputs[i]);
    expect_same(grad, one.grads[i], what + ": gradient");
  }
}

TEST(ImageGolden, AgreesWithPyTorch) {
  const std::vector<ImageCase> cases = image_cases();
  ASSERT_GT(cases.size(), 80u);
  for (const Device device : devices_under_test()) {
    for (const ImageCase& one : cases) {
      for (const MemoryLayout layout : kElementLayouts) expect_case(one, layout, device);
    }
  }
}

}  // namespace
}  // namespace hearth::testing
