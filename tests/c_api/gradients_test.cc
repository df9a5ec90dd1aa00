#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

using Floats = std::vector<float>;

Held leaf_of(const Held& array) {
  hearth_array leaf = {0};
  EXPECT_EQ(hearth_array_require_grad(array.handle, &leaf), HEARTH_OK) << hearth_error_message();
  return Held(leaf);
}

TEST(CGradients, BackwardGivesThoseOfLeaves) {
  const Held x = leaf_of(floats({1, 2, 3}, {3})), other = leaf_of(floats({1}, {1}));
  hearth_array_info info;
  ASSERT_EQ(hearth_array_describe(x.handle, &info), HEARTH_OK);
  EXPECT_EQ(info.flags, std::uint32_t{HEARTH_IS_LEAF});
  const Held squares = apply("square", {hearth_of_array(x.handle)});
  ASSERT_EQ(hearth_array_describe(squares.handle, &info), HEARTH_OK);
  EXPECT_EQ(info.flags, 0u) << "made of a leaf, but none";
  const Held loss = apply("sum", {hearth_of_array(squares.handle)});
  hearth_gradients gradients;
  ASSERT_EQ(hearth_backward(loss.handle, HEARTH_RETAIN, &gradients), HEARTH_OK);
  hearth_array of_x = {0}, of_other = {77};
  ASSERT_EQ(hearth_gradients_get(gradients, x.handle, &of_x), HEARTH_OK);
  ASSERT_EQ(hearth_gradients_get(gradients, other.handle, &of_other), HEARTH_OK);
  EXPECT_EQ(values_of(Held(of_x)), (Floats{2, 4, 6}));
  EXPECT_EQ(of_other.id, 0u) << "the loss does not depend on it";
  hearth_array none = {77};
  expect_refused(hearth_gradients_get(gradients, squares.handle, &none),
                 HEARTH_ERROR_INVALID_ARGUMENT, "hearth_gradients_get: leaf: not a leaf");
  expect_refused(hearth_gradients_get(gradients, {0}, &none), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_gradients_get: leaf: no such handle; got a zero handle");
  EXPECT_EQ(none.id, 77u) << "a call that fails leaves its results alone";
  const std::int64_t handles = statistic("handles.gradients");
  EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
  EXPECT_EQ(statistic("handles.gradients"), handles - 1);
  expect_refused(hearth_gradients_release(gradients), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_gradients_release: gradients: no such handle");
  EXPECT_EQ(hearth_backward(loss.handle, 0, &gradients), HEARTH_OK) << "the first kept its values";
  EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
  expect_refused(hearth_backward(loss.handle, 0, &gradients), HEARTH_ERROR_INVALID_ARGUMENT,
                 "expected the loss to be recorded anew in each step, or the first to retain them");
  expect_refused(hearth_backward(loss.handle, 4, &gradients), HEARTH_ERROR_INVALID_ARGUMENT,
                 "unknown flags; got 4");
}

TEST(CGradients, NothingIsTrackedBetweenBeginAndEnd) {
  const Held x = leaf_of(floats({1, 2, 3}, {3}));
  ASSERT_EQ(hearth_no_grad_begin(), HEARTH_OK);
  ASSERT_EQ(hearth_no_grad_begin(), HEARTH_OK);
  ASSERT_EQ(hearth_no_grad_end(), HEARTH_OK);
  const Held untracked = apply("sum", {hearth_of_array(x.handle)});
  ASSERT_EQ(hearth_no_grad_end(), HEARTH_OK);
  expect_refused(hearth_no_grad_end(), HEARTH_ERROR_INVALID_ARGUMENT, "nothing has begun");
  hearth_gradients gradients;
  expect_refused(hearth_backward(untracked.handle, 0, &gradients), HEARTH_ERROR_INVALID_ARGUMENT,
                 "backward: nothing to differentiate; got a loss that depends on no leaf");
  const Held tracked = apply("sum", {hearth_of_array(x.handle)});
  EXPECT_EQ(hearth_backward(tracked.handle, 0, &gradients), HEARTH_OK);
  EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
}

TEST(CGradients, OneRuleByItself) {
  const Held x = floats({1, 2, 3, 4, 5}, {1, 1, 5}), weight = floats({1, 2, 3}, {1, 1, 3});
  const Held gradient = floats({1, 1, 1}, {1, 1, 3});
  const std::vector<hearth_value> inputs = {hearth_of_array(x.handle),
                                            hearth_of_array(weight.handle), hearth_of_nothing()};
  hearth_array results[3] = {};
  ASSERT_EQ(hearth_apply_vjp(hearth_function_named("conv"), inputs.data(), 3, nullptr, 0, 0,
                             gradient.handle, results, 3),
            HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(values_of(Held(results[0])), (Floats{1, 3, 6, 5, 3}));
  EXPECT_EQ(values_of(Held(results[1])), (Floats{6, 9, 12}));
  EXPECT_EQ(results[2].id, 0u) << "there is no bias";
  expect_refused(hearth_apply_vjp(hearth_function_named("conv"), inputs.data(), 3, nullptr, 0, 1,
                                  gradient.handle, results, 3),
                 HEARTH_ERROR_INVALID_ARGUMENT, "result");
  expect_refused(hearth_apply_vjp(hearth_function_named("conv"), inputs.data(), 3, nullptr, 0, 0,
                                  gradient.handle, results, 2),
                 HEARTH_ERROR_INVALID_ARGUMENT, "no room for the results");
}

TEST(CGradients, OneRuleBesideArraysWithoutGradients) {
  const Held weight = floats({1, 2, 3, 4}, {2, 2}), gradient = floats({1, 2, 3, 4}, {2, 2});
  const std::int32_t rows[] = {1, 1};
  const std::int64_t shape[] = {2};
  Held indices;
  ASSERT_EQ(hearth_array_from_bytes(rows, sizeof rows, HEARTH_I32, shape, 1, HEARTH_DEFAULT_DEVICE,
                                    &indices.handle),
            HEARTH_OK);
  const std::vector<hearth_value> inputs = {hearth_of_array(weight.handle),
                                            hearth_of_array(indices.handle)};
  hearth_array results[2] = {};
  ASSERT_EQ(hearth_apply_vjp(hearth_function_named("embedding"), inputs.data(), 2, nullptr, 0, 0,
                             gradient.handle, results, 2),
            HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(values_of(Held(results[0])), (Floats{0, 0, 4, 6}));
  EXPECT_EQ(results[1].id, 0u) << "integers have no gradient";
}

}  // namespace
}  // namespace hearth::c_api::testing
