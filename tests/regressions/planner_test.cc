// Programs that were once planned wrongly.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hearth
