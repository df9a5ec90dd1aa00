// Programs that were once planned wrongly.
#include <gtest/gtest.h>

#include <cmath>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

Array counted(const Shape& shape) { return linear_ramp(element_count(shape), 0, 1); }

// A part that starts where the whole starts and has its strides was taken for the whole.
TEST(Planner, PartOfAFusedValueBesideTheWhole) {
  for (const Device device : testing::devices_under_test()) {
    const Array sixty = to_device(counted({60}), device);
    const Array x = mul(reshape(sixty, {6, 10}).eval(), 2.0);
    const Array difference = sub(x, slice(x, {{0, 1}}));
    EXPECT_EQ(difference.to_vector<float>()[25], 40);
    const Array y = mul(reshape(sixty, {6, 1, 10}).eval(), 2.0);
    const Array again = sub(expand(y, {6, 2, 10}), slice(y, {{0, 1}}));
    EXPECT_EQ(again.to_vector<float>()[45], 2 * (25 - 5));
  }
}

// A number whose handle lives was read from memory that was filled only at the end of the plan.
TEST(Planner, HeldNumberWithReadersInsideThePlan) {
  const Array number = full({3, 3}, 2.0);
  const Array total = sum(number);
  const Array chain = mul(add(number, 1.0), 2.0);
  EXPECT_EQ(total.item(), 18);
  EXPECT_EQ(number.to_vector<float>()[8], 2);
  EXPECT_EQ(chain.to_vector<float>()[4], 6);
}

// Two results of one region in different orders of memory: the second was written by the steps of
// the first, beyond its end. Held results, also beside a reduction, with lines that are short.
TEST(Planner, HeldResultsOfTwoOrders) {
  const auto from_rows_of_channels = [](const Device& device, const Shape& shape) {
    const int rank = shape.rank();
    Shape memory = shape;
    memory.erase(1);
    memory.push_back(shape[1]);
    Dims axes = {0, rank - 1};
    for (int i = 1; i < rank - 1; ++i) axes.push_back(i);
    return permute(to_device(reshape(counted(memory), memory), device).eval(), axes);
  };
  for (const Device device : testing::devices_under_test()) {
    for (const Shape& shape : {Shape{1, 2, 1, 2}, Shape{2, 3, 4, 5}, Shape{2, 16, 9, 7},
                               Shape{3, 64, 28, 28}, Shape{2, 3, 4, 5, 6}}) {
      const Array x = from_rows_of_channels(device, shape);
      const Array u = to_device(reshape(add(counted(shape), 1.0), shape), device).eval();
      const Array t = mul(x, 2.0), g = mul(t, u);
      const Array rows = sum(add(g, t), {-1}), channels = sum(sub(g, t), {1});
      const check::Values a = x.to_doubles(), b = u.to_doubles(), doubled = t.to_doubles(),
                          products = g.to_doubles();
      ASSERT_EQ(products.size(), a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(doubled[i], 2 * a[i]) << device.name() << " " << to_string(shape) << " " << i;
        ASSERT_EQ(products[i], static_cast<float>(2 * a[i] * b[i]))
            << device.name() << " " << to_string(shape) << " " << i;
      }
      const Array again = to_device(cast(Array::from_data(products, shape), DType::f32), device);
      const Array doubles = to_device(cast(Array::from_data(doubled, shape), DType::f32), device);
      const auto expect_sums = [&](const Array& got, const Array& expected) {
        const check::Values values = got.to_doubles(), wanted = expected.to_doubles();
        ASSERT_EQ(values.size(), wanted.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          ASSERT_NEAR(values[i], wanted[i], 1e-5 * std::abs(wanted[i]))
              << device.name() << " " << i;
        }
      };
      expect_sums(rows, sum(add(again, doubles), {-1}));
      expect_sums(channels, sum(sub(again, doubles), {1}));
    }
  }
}

}  // namespace
}  // namespace hearth
