// The file that scripts/golden/updates.py wrote with PyTorch.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "golden_file.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

struct UpdateCase {
  std::string text, function, update;
  std::int64_t axis = 0;
  std::vector<check::WrittenArray> inputs, grads;
  check::WrittenArray output;
};

std::vector<UpdateCase> update_cases() {
  std::ifstream file = check::golden_file("updates");
  std::vector<UpdateCase> cases;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword;
    line >> keyword;
    if (keyword == "case") {
      UpdateCase& one = cases.emplace_back();
      one.text = text;
      line >> one.function >> one.update >> one.axis;
    } else if (keyword == "input") {
      cases.back().inputs.push_back(check::written_array(line));
    } else if (keyword == "output") {
      cases.back().output = check::written_array(line);
    } else if (keyword == "grad") {
      cases.back().grads.push_back(check::written_array(line));
    }
  }
  return cases;
}

TEST(UpdatesGolden, AgreeWithPyTorch) {
  const std::map<std::string, IndexingUpdateOp> updates = {{"assign", IndexingUpdateOp::assign},
                                                           {"add", IndexingUpdateOp::add},
                                                           {"mul", IndexingUpdateOp::mul},
                                                           {"min", IndexingUpdateOp::min},
                                                           {"max", IndexingUpdateOp::max}};
  const std::vector<UpdateCase> cases = update_cases();
  ASSERT_GE(cases.size(), 30U);
  for (const Device device : devices_under_test()) {
    for (const UpdateCase& c : cases) {
      const std::string what = c.text + " on " + device.name();
      const auto made = [&](const check::WrittenArray& written) {
        const DType dtype = is_float(written.dtype) ? DType::f32 : written.dtype;
        return to_device(check::array(written.values, written.shape, dtype), device);
      };
      const Array x = made(c.inputs[0]).require_grad(), values = made(c.inputs[2]).require_grad();
      const Array at = made(c.inputs[1]);
      const IndexingUpdateOp update = updates.at(c.update);
      const Array out = c.function == "scatter" ? scatter(x, at, values, c.axis, update)
                                                : select_assign(x, at, values, c.axis, update);
      const double tolerance = check::tolerance(DType::f32);
      check::expect_close(out, c.output.values, tolerance, what);
      std::vector<float> weights;
      for (std::int64_t i = 0; i < out.size(); ++i) {
        weights.push_back(static_cast<float>(i % 7 - 3));
      }
      const Gradients gradients =
          backward(sum(mul(out, Array::from_data(weights, out.shape(), device))));
      check::expect_close(gradients.get(x), c.grads[0].values, tolerance, what + ", of x");
      check::expect_close(gradients.get(values), c.grads[1].values, tolerance,
                          what + ", of values");
    }
  }
}

}  // namespace
}  // namespace hearth::testing
