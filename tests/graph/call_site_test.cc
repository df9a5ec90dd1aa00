#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using check::error_of;

class CallSites : public testing::Test {
 protected:
  void TearDown() override { submit(); }  // nothing is left on the tape for the next test

  const Tensor<2> x_ = Tensor<2>::ones({2, 3});
  const Tensor<2> y_ = Tensor<2>::ones({4, 3});
  const Tensor<1> row_ = Tensor<1>::ones({3});
};

TEST_F(CallSites, AMethodFromTheTableSaysItsCallersLine) {
  EXPECT_LOCATED(Tensor<2>().relu());
  EXPECT_LOCATED(x_.add(y_));
  EXPECT_LOCATED(Tensor<2>().add(1.0));
  EXPECT_LOCATED(Tensor<2>().mul_scalar(2));
  EXPECT_LOCATED(x_.lower(y_));
  EXPECT_LOCATED(Tensor<2>().sum());
  EXPECT_LOCATED(x_.max_dim(2));
  EXPECT_LOCATED(x_.sum_dims({0, 0}));
}

TEST_F(CallSites, AMethodOfItsOwnSaysItsCallersLine) {
  EXPECT_LOCATED(x_.matmul(y_));
  EXPECT_LOCATED(x_.reshape({4, 2}));
  EXPECT_LOCATED(x_.reshape(4, 2));
  EXPECT_LOCATED(Tensor<2>::cat({x_, y_}, 1));
  EXPECT_LOCATED(x_.select(0, Tensor<1, Int>()));
  EXPECT_LOCATED(x_.argmax(5));
  EXPECT_LOCATED(x_.max_dim_with_indices(5));
  EXPECT_LOCATED(x_.split(0, 1));
  EXPECT_LOCATED(Tensor<2>::zeros({2, -1}));
  EXPECT_LOCATED(Tensor<2>(row_.array()));
  EXPECT_LOCATED((Tensor<2>{{1, 2}, {3}}));
  EXPECT_LOCATED(x_.item());
  EXPECT_LOCATED(x_.backward());
}

TEST_F(CallSites, AMethodMadeOfMethodsSaysItsCallersLineOnce) {
  EXPECT_LOCATED(row_.dot(Tensor<1>::ones({2})));
  EXPECT_LOCATED(x_.t().squeeze(0));
  EXPECT_LOCATED(x_.set(Tensor<2, Bool>(), 1.0));
}

// Functions of ops.h are asked one by one in tools/typed_functions_test.cc.
TEST_F(CallSites, AFunctionSaysItsCallersLine) {
  EXPECT_LOCATED(matmul(x_, y_));
  EXPECT_LOCATED(linear(x_, Tensor<2>()));
  EXPECT_LOCATED(activation::gelu(Tensor<2>()));
  EXPECT_LOCATED(activation::gelu_approximate(Tensor<2>()));
  EXPECT_LOCATED(module::embedding(x_, Tensor<2, Int>()));
  EXPECT_LOCATED(loss::mse(x_, y_));
  EXPECT_LOCATED(loss::cross_entropy_with_logits(x_, Tensor<1, Int>()));
}

TEST_F(CallSites, AnErrorNamesWhatWasCalledNotItsParts) {
  const auto starts = [](const std::string& name, const std::function<void()>& program) {
    const std::string text = error_of(program);
    EXPECT_TRUE(text.starts_with(name + ": ")) << text;
  };
  starts("dot", [&] { static_cast<void>(row_.dot(Tensor<1>::ones({2}))); });
  starts("mse", [&] { static_cast<void>(loss::mse(x_, y_)); });
  starts("swap_dims", [&] { static_cast<void>(x_.swap_dims(0, 2)); });
  starts("squeeze", [&] { static_cast<void>(x_.squeeze<1>()); });
  starts("max_dim", [&] { static_cast<void>(x_.max_dim(2)); });
  starts("powf", [&] { static_cast<void>(x_.powf(y_)); });
  starts("max_pair", [&] { static_cast<void>(x_.max_pair(y_)); });
  starts("maximum", [&] { static_cast<void>(maximum(x_, y_)); });
  starts("less", [&] { static_cast<void>(x_ < y_); });
  starts("one_hot", [] { static_cast<void>(Tensor<1, Int>().one_hot(3)); });
  starts("cross_entropy_with_logits",
         [&] { static_cast<void>(loss::cross_entropy_with_logits(x_, Tensor<1, Int>())); });
}

TEST_F(CallSites, TheTextBeforeItIsTheArraysOwn) {
  const std::string text = error_of([&] { static_cast<void>(x_.matmul(y_)); });
  const std::string own = error_of([&] { static_cast<void>(matmul(x_.array(), y_.array())); });
  EXPECT_EQ(text.substr(0, text.rfind(" at ")), own);
}

TEST_F(CallSites, TheCodeStaysTheErrors) {
  try {
    static_cast<void>(x_.matmul(y_));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape);
  }
}

// Of calls within one another the innermost says more.
TEST_F(CallSites, IsSaidOnce) {
  const std::string file = __FILE__;
  const unsigned line = __LINE__ + 1;
  const auto inner = [&] { return x_.matmul(y_); };
  const std::string text =
      error_of([&] { static_cast<void>(located(hearth::CallSite::here(), inner)); });
  EXPECT_TRUE(text.ends_with(" at " + file + ":" + std::to_string(line))) << text;
  EXPECT_EQ(text.find(".cc:"), text.rfind(".cc:")) << text;
}

TEST_F(CallSites, IsSaidOnceUnderAnotherName) {
  const auto inner = [&] { return x_.matmul(y_); };
  const std::string text =
      error_of([&] { static_cast<void>(located_as("outer", hearth::CallSite::here(), inner)); });
  EXPECT_TRUE(text.starts_with("outer: ")) << text;
  EXPECT_EQ(text.find(".cc:"), text.rfind(".cc:")) << text;
}

TEST_F(CallSites, IsNotSaidWhereThereIsNone) {
  const std::string text =
      error_of([&] { static_cast<void>(x_.matmul(y_, hearth::CallSite::none())); });
  EXPECT_EQ(text, error_of([&] { static_cast<void>(matmul(x_.array(), y_.array())); }));
}

TEST_F(CallSites, AnOperatorOfTwoTensorsSaysItsCallersLine) {
  EXPECT_LOCATED(x_ + y_);
  EXPECT_LOCATED(x_ - y_);
  EXPECT_LOCATED(x_ * y_);
  EXPECT_LOCATED(x_ / y_);
  EXPECT_LOCATED(x_ % y_);
  EXPECT_LOCATED(x_ < y_);
  EXPECT_LOCATED(x_ >= y_);
  EXPECT_LOCATED(x_.bool_() & y_.bool_());
  const unsigned line = __LINE__ + 2;
  const std::string text = error_of([&] {
    static_cast<void>(x_ + y_ * (y_ + x_));  // the innermost, in its line
  });
  EXPECT_TRUE(text.ends_with(":" + std::to_string(line))) << text;
}

// Others have no room for a site, and that of a header would mislead.
TEST_F(CallSites, AnotherOperatorSaysItsOpOnly) {
  Tensor<2> z = x_;
  for (const std::string& text :
       {error_of([&] { static_cast<void>(x_ == y_); }), error_of([&] { z += y_; }),
        error_of([&] { static_cast<void>(-Tensor<2>()); }),
        error_of([&] { static_cast<void>(x_[2]); }),
        error_of([&] { static_cast<void>(x_.slice(at(7))); })}) {
    EXPECT_EQ(text.find(".cc:"), std::string::npos) << text;
    EXPECT_EQ(text.find(".h:"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace hearth
