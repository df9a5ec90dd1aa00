// Gradients that a user's op gives: one for each input, of its shape and dtype, or an error that
// names the op.
#include <gtest/gtest.h>

#include <string>

#include "error_text.h"
#include "hearth/custom_op.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::error_of;

TensorType like_first(std::span<const Array> inputs) {
  return {inputs[0].dtype(), inputs[0].shape()};
}

void copy_first(std::span<const HostTensor> inputs, HostTensor output) {
  const std::int64_t count = element_count(output.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    reinterpret_cast<float*>(output.data)[i] =
        reinterpret_cast<const float*>(inputs[0].data)[i * inputs[0].strides[0]];
  }
}

// Where the ops of this file can run, whatever the default device is.
Array on_cpu(const std::vector<float>& values) {
  return Array::from_data(values, {static_cast<std::int64_t>(values.size())}, Device::cpu());
}

using Rule = std::vector<Array> (*)(std::span<const Array>, const Array&, const Array&);

std::string failure(const char* name, Rule vjp) {
  const CustomOp op({.name = name,
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = like_first,
                     .compute = copy_first,
                     .vjp = vjp});
  const Array x = on_cpu({1, 2, 3}).require_grad();
  const Array y = on_cpu({4, 5, 6}).require_grad();
  return error_of(ErrorCode::invalid_argument, [&] { backward(sum(op({x, y}))); });
}

TEST(CustomGradients, AreAsManyAsInputs) {
  EXPECT_EQ(
      failure("test.one_gradient", [](std::span<const Array>, const Array&,
                                      const Array& grad) { return std::vector<Array>{grad}; }),
      "test.one_gradient: wrong number of gradients; got 1, expected 2, one for each input");
}

TEST(CustomGradients, HaveTheShapeAndDtypeOfTheirInput) {
  EXPECT_EQ(
      failure("test.wrong_shape",
              [](std::span<const Array>, const Array&, const Array& grad) {
                return std::vector<Array>{grad, reshape(grad, {1, 3})};
              }),
      "test.wrong_shape: gradient 1 does not fit its input; got f32 [1, 3], expected f32 [3]");
  EXPECT_EQ(failure("test.wrong_dtype",
                    [](std::span<const Array>, const Array&, const Array& grad) {
                      return std::vector<Array>{cast(grad, DType::f64), Array()};
                    }),
            "test.wrong_dtype: gradient 0 does not fit its input; got f64 [3], expected f32 [3]");
}

// A gradient that stops without a word would train nothing.
TEST(CustomGradients, AreMissedWhereBackwardNeedsThem) {
  const CustomOp op({.name = "test.no_gradient", .infer = like_first, .compute = copy_first});
  const Array x = on_cpu({1, 2, 3}).require_grad();
  const Array plain = on_cpu({1, 2, 3});
  const char* const expected =
      "backward: test.no_gradient has no gradient; got an op of a CustomOpSpec without vjp between "
      "the loss and an array of require_grad(), expected a vjp, is_constant, or detach() of the "
      "op's result or inputs";
  EXPECT_EQ(error_of(ErrorCode::unsupported, [&] { backward(sum(op({x}))); }), expected);
  EXPECT_EQ(error_of(ErrorCode::unsupported, [&] { backward(sum(mul(x, op({mul(x, x)})))); }),
            expected);
  const Function functional = grad([&](const Array& in) { return sum(op({in})); });
  EXPECT_EQ(error_of(ErrorCode::unsupported, [&] { (void)functional(plain); }), expected);
  // Nothing that is to be differentiated passes through.
  const auto gradient = [&](const Array& factor) {
    return backward(sum(mul(x, factor))).get(x).to_vector<float>();
  };
  const std::vector<float> values = {1, 2, 3};
  EXPECT_EQ(gradient(op({plain})), values);
  EXPECT_EQ(gradient(op({x}).detach()), values);
  EXPECT_EQ(gradient(op({x.detach()})), values);
  (void)op({x});  // its result is not part of the loss
  EXPECT_EQ(gradient(plain), values);
}

TEST(CustomGradients, MayBeDeclaredToBeNone) {
  const CustomOp op(
      {.name = "test.constant", .infer = like_first, .compute = copy_first, .is_constant = true});
  const Array x = on_cpu({1, 2, 3}).require_grad();
  EXPECT_EQ(backward(sum(mul(x, op({x})))).get(x).to_vector<float>(),
            (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(error_of(ErrorCode::invalid_argument,
                     [] {
                       CustomOp({.name = "test.constant_with_vjp",
                                 .infer = like_first,
                                 .compute = copy_first,
                                 .vjp = [](std::span<const Array>, const Array&,
                                           const Array& grad) { return std::vector<Array>{grad}; },
                                 .is_constant = true});
                     }),
            "custom_op: test.constant_with_vjp: a constant has no gradient; got is_constant and a "
            "vjp, expected one of them");
}

TEST(CustomOps, TakeAtLeastAsManyInputsAsTheyNeed) {
  const std::string message = error_of(ErrorCode::invalid_argument, [] {
    CustomOp({.name = "test.max_below_min",
              .min_inputs = 2,
              .infer = like_first,
              .compute = copy_first});
  });
  EXPECT_EQ(message,
            "custom_op: test.max_below_min: max_inputs; got 1, expected min_inputs, 2, at least");
}

}  // namespace
}  // namespace hearth
