// What the tests of optimizers share: a model and how values are compared.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "hearth/ops.h"
#include "hearth/optim.h"

namespace hearth {

struct Model {
  Array w = Array::from_data(std::vector<float>{1, -2}, {2}).require_grad();
  Array b = Array::from_data(std::vector<float>{0.5}, {1}).require_grad();

  Array loss() const { return sum(square(w)) + sum(b * 3.0); }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("w", self.w);
    visitor("b", self.b);
  }
};

using Values = std::vector<double>;

inline void expect_near(const Array& array, const std::vector<double>& expected,
                        double tolerance = 1e-6) {
  const auto values = array.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance);
}

}  // namespace hearth
