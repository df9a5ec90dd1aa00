// Gradients of values that are split.
#include "autodiff/gradient_parts.h"

#include "check.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::array;
using check::expect_values;

Array leaf() { return array({1, 2, 3, 4, 5, 6}, {2, 3}).require_grad(); }

TEST(GradientParts, OfAWholeAreJoined) {
  const Array x = leaf();
  // Out of order, and of different sizes.
  const Array loss = sum(square(narrow(x, 1, 1, 2))) + sum(narrow(x, 1, 0, 1) * 5.0);
  expect_values(backward(loss).get(x), {2, 3}, {5, 4, 6, 5, 10, 12});
}

TEST(GradientParts, MayOverlapOrLeaveSomethingOut) {
  const Array x = leaf();
  const Array overlapping = sum(narrow(x, 1, 0, 2) * 2.0) + sum(narrow(x, 1, 1, 2) * 3.0);
  expect_values(backward(overlapping).get(x), {2, 3}, {2, 5, 3, 2, 5, 3});
  const Array gap = sum(narrow(x, 1, 2, 1) * 2.0) + sum(narrow(x, 1, 0, 1));
  expect_values(backward(gap).get(x), {2, 3}, {1, 0, 2, 1, 0, 2});
  const Array corner = sum(slice(x, {{1, 2}, {1, 3}}) * 7.0) + sum(narrow(x, 0, 0, 1));
  expect_values(backward(corner).get(x), {2, 3}, {1, 1, 1, 0, 7, 7});
  const Array twice = sum(narrow(x, 0, 0, 1)) + sum(narrow(x, 0, 1, 1)) + sum(narrow(x, 0, 1, 1));
  expect_values(backward(twice).get(x), {2, 3}, {1, 1, 1, 2, 2, 2});
}

TEST(GradientParts, JoinOtherGradientsOfTheWhole) {
  const Array x = leaf();
  const Array halves = sum(narrow(x, 0, 0, 1) * 2.0) + sum(narrow(x, 0, 1, 1) * 3.0);
  expect_values(backward(halves + sum(x * x) + sum(slice(x, {{0, 2, 1}, {0, 3, 2}}))).get(x),
                {2, 3}, {5, 6, 9, 12, 13, 16});
}

TEST(GradientParts, CanBeDifferentiatedThemselves) {
  const auto cubes = [](const Array& x) {
    return sum(square(narrow(x, 0, 0, 1)) * narrow(x, 0, 0, 1)) + sum(square(narrow(x, 0, 1, 2)));
  };
  const Array second = grad([&](const Array& x) {
    return sum(grad(cubes)(x) * array({1, 10, 100}, {3}));
  })(array({2, 3, 4}, {3}));
  expect_values(second, {3}, {12, 20, 200});
}

}  // namespace
}  // namespace hearth
