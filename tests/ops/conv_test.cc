// What convolutions mean, against plain loops in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/nn/conv.h"
#include "hearth/ops.h"
#include "hearth/parameter.h"
#include "hearth/random.h"

namespace hearth {
namespace {

using Values = std::vector<double>;

// Row-major, of any rank, read by index lists.
struct Grid {
  Shape shape;
  Values values;

  double& at(const Dims& index) {
    std::int64_t offset = 0;
    for (int i = 0; i < shape.rank(); ++i) offset = offset * shape[i] + index[i];
    return values[static_cast<std::size_t>(offset)];
  }
  Array array(DType dtype = DType::f64) const {
    return cast(Array::from_data(values, shape), dtype);
  }
};

Grid random_grid(const Shape& shape, std::mt19937* source) {
  std::uniform_real_distribution<double> values(-1, 1);
  Grid grid{shape, Values(static_cast<std::size_t>(element_count(shape)))};
  for (double& value : grid.values) value = values(*source);
  return grid;
}

// Calls body(index) for every element of a shape, in row-major order.
template <class Body>
void for_each_index(const Shape& shape, const Body& body) {
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    Dims index = Dims::filled(shape.rank(), 0);
    std::int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    body(index);
  }
}

struct Case {
  Shape x, weight;
  Dims stride, padding, padding_end, dilation;
  std::int64_t groups = 1;

  ConvOptions options() const { return {stride, padding, padding_end, dilation, groups}; }
  Shape result() const {
    Shape shape = {x[0], weight[0]};
    for (int i = 0; i + 2 < x.rank(); ++i) {
      const std::int64_t covered = dilation[i] * (weight[i + 2] - 1) + 1;
      shape.push_back((x[i + 2] + padding[i] + padding_end[i] - covered) / stride[i] + 1);
    }
    return shape;
  }
  // Calls body(index of x, index of weight, index of the result) for each product there is.
  template <class Body>
  void for_each_product(const Body& body) const {
    for_each_index(result(), [&](const Dims& out) {
      for_each_index(weight, [&](const Dims& tap) {
        if (tap[0] != out[1]) return;
        const std::int64_t group = out[1] / (weight[0] / groups);
        Dims in = {out[0], group * weight[1] + tap[1]};
        for (int i = 2; i < x.rank(); ++i) {
          in.push_back(out[i] * stride[i - 2] - padding[i - 2] + tap[i] * dilation[i - 2]);
          if (in[i] < 0 || in[i] >= x[i]) return;
        }
        body(in, tap, out);
      });
    });
  }
};

void expect_near(const Array& got, const Grid& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape) << what;
  const Values values = got.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], want.values[i], tolerance) << what << " at " << i;
  }
}

std::vector<Case> cases() {
  std::mt19937 source(1);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(source);
  };
  std::vector<Case> all = {
      {{2, 16, 12, 12}, {24, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
      {{3, 8, 9, 7}, {5, 8, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
      {{1, 12, 11, 10}, {12, 1, 3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, 12},
      {{1, 3, 40, 40}, {8, 3, 7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}, 1},
      {{1, 2, 300}, {2, 2, 5}, {3}, {4}, {0}, {2}, 1},
      {{1, 2, 2, 2}, {2, 2, 5, 5}, {1, 1}, {4, 4}, {4, 4}, {1, 1}, 1},
  };
  for (int i = 0; i < 24; ++i) {
    Case c;
    c.groups = between(1, 3);
    // Few channels, and as many as products without patches want.
    const bool wide = i % 2 == 0;
    c.x = {between(1, 3), c.groups * (wide ? between(5, 19) : between(1, 4))};
    c.weight = {c.groups * (wide ? between(8, 21) : between(1, 4)), c.x[1] / c.groups};
    const int axes = static_cast<int>(between(1, 3));
    for (int axis = 0; axis < axes; ++axis) {
      c.stride.push_back(between(1, 3));
      c.padding.push_back(between(0, 3));
      c.padding_end.push_back(between(0, 3));
      c.dilation.push_back(between(1, 3));
      c.weight.push_back(between(1, 3));
      const std::int64_t covered = c.dilation[axis] * (c.weight[axis + 2] - 1) + 1;
      c.x.push_back(covered + between(0, 5));
    }
    all.push_back(c);
  }
  return all;
}

TEST(Conv, IsTheSumOfItsProducts) {
  std::mt19937 source(2);
  int number = 0;
  for (const Case& c : cases()) {
    Grid x = random_grid(c.x, &source), weight = random_grid(c.weight, &source);
    Grid bias = random_grid({c.weight[0]}, &source);
    Grid out{c.result(), Values(static_cast<std::size_t>(element_count(c.result())))};
    for_each_index(out.shape, [&](const Dims& at) { out.at(at) = bias.at({at[1]}); });
    c.for_each_product([&](const Dims& in, const Dims& tap, const Dims& at) {
      out.at(at) += x.at(in) * weight.at(tap);
    });
    const std::string what = "case " + std::to_string(number++);
    expect_near(conv(x.array(), weight.array(), bias.array(), c.options()), out, 1e-11, what);
    const DType half = DType::f32;
    expect_near(conv(x.array(half), weight.array(half), bias.array(half), c.options()), out, 1e-4,
                what + " in f32");
  }
}

TEST(Conv, GradientsAreTheSumsOfTheirProducts) {
  std::mt19937 source(3);
  int number = 0;
  for (const Case& c : cases()) {
    Grid x = random_grid(c.x, &source), weight = random_grid(c.weight, &source);
    Grid grad = random_grid(c.result(), &source);
    Grid dx{c.x, Values(x.values.size())}, dweight{c.weight, Values(weight.values.size())};
    c.for_each_product([&](const Dims& in, const Dims& tap, const Dims& at) {
      dx.at(in) += grad.at(at) * weight.at(tap);
      dweight.at(tap) += grad.at(at) * x.at(in);
    });
    const Array a = x.array().require_grad(), b = weight.array().require_grad();
    const Array bias = zeros({c.weight[0]}, DType::f64).require_grad();
    const Gradients gradients = backward(sum(conv(a, b, bias, c.options()) * grad.array()));
    const std::string what = "case " + std::to_string(number++);
    expect_near(gradients.at(a), dx, 1e-11, what + ", x");
    expect_near(gradients.at(b), dweight, 1e-11, what + ", weight");
    Dims axes = {0};
    for (int i = 2; i < c.x.rank(); ++i) axes.push_back(i);
    const Values dbias = sum(grad.array(), axes).to_doubles();
    expect_near(gradients.at(bias), {{c.weight[0]}, dbias}, 1e-11, what + ", bias");
  }
}

// A convolution and its gradients, of values that are exact in any dtype, and of x in any order.
void expect_as_f64(const Case& c, DType dtype, bool channels_last, const std::string& what) {
  std::mt19937 source(5);
  const auto rounded = [&](const Shape& shape) {
    return cast(random_grid(shape, &source).array(dtype), DType::f64);
  };
  const Array x = rounded(c.x), weight = rounded(c.weight), bias = rounded({c.weight[0]});
  const Array grad = rounded(c.result());
  const auto results = [&](DType of) {
    Array values = cast(x, of);
    if (channels_last) values = movedim(contiguous(movedim(values, {1}, {-1})), {-1}, {1});
    const Array a = values.require_grad(), b = cast(weight, of).require_grad();
    const Array out = conv(a, b, cast(bias, of), c.options());
    const Gradients gradients = backward(sum(out * cast(grad, of)));
    return std::vector<Array>{out, gradients.at(a), gradients.at(b)};
  };
  const std::vector<Array> want = results(DType::f64), got = results(dtype);
  const double unit = dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 1e-3 : 8e-3;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Values exact = want[i].to_doubles(), values = cast(got[i], DType::f64).to_doubles();
    for (std::size_t j = 0; j < exact.size(); ++j) {
      ASSERT_NEAR(values[j], exact[j], unit * std::max(1.0, std::abs(exact[j])))
          << what << ", result " << i << " at " << j;
    }
  }
}

TEST(Conv, OfAnyDTypeAndOrder) {
  int number = 0;
  for (const Case& c : cases()) {
    const std::string what = "case " + std::to_string(number++);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      expect_as_f64(c, dtype, number % 2 == 0, what + " in " + std::string(name(dtype)));
    }
  }
}

// An infinity meets no weight of another place.
TEST(Conv, InfinitiesStayInTheirWindows) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Grid x{{1, 9, 6, 6}, Values(9 * 36, 1)};
    x.at({0, 8, 2, 3}) = std::numeric_limits<double>::infinity();
    const Array out =
        conv(x.array(dtype), ones({16, 9, 3, 3}, dtype), Array(), {.padding = {1, 1}});
    Grid values{out.shape(), cast(out, DType::f64).to_doubles()};
    for_each_index(values.shape, [&](const Dims& at) {
      const bool meets = std::abs(at[2] - 2) <= 1 && std::abs(at[3] - 3) <= 1;
      EXPECT_EQ(std::isinf(values.at(at)), meets);
      EXPECT_FALSE(std::isnan(values.at(at)));
    });
  }
}

// x of a transposed convolution is what the convolution gives, and the other way round.
TEST(Conv, TransposedIsTheGradientForTheInput) {
  std::mt19937 source(4);
  int number = 0;
  for (const Case& c : cases()) {
    Dims more;
    for (int i = 0; i + 2 < c.x.rank(); ++i) {
      const std::int64_t covered = c.dilation[i] * (c.weight[i + 2] - 1) + 1;
      more.push_back((c.x[i + 2] + c.padding[i] + c.padding_end[i] - covered) % c.stride[i]);
    }
    Grid x = random_grid(c.result(), &source), weight = random_grid(c.weight, &source);
    Grid out{c.x, Values(static_cast<std::size_t>(element_count(c.x)))};
    Grid bias = random_grid({c.x[1]}, &source);
    for_each_index(out.shape, [&](const Dims& at) { out.at(at) = bias.at({at[1]}); });
    c.for_each_product([&](const Dims& in, const Dims& tap, const Dims& at) {
      out.at(in) += x.at(at) * weight.at(tap);
    });
    const ConvTransposeOptions options{c.stride,   c.padding, c.padding_end,
                                       c.dilation, c.groups,  more};
    expect_near(conv_transpose(x.array(), weight.array(), bias.array(), options), out, 1e-11,
                "case " + std::to_string(number++));
  }
}

TEST(Conv, OneNumberIsOfAllAxes) {
  const Array x = random_normal({1, 2, 6, 7}, 0, 1), weight = random_normal({3, 2, 3, 3}, 0, 1);
  EXPECT_EQ(conv(x, weight, Array(), {.stride = {2}, .padding = {1}}).to_doubles(),
            conv(x, weight, Array(), {.stride = {2, 2}, .padding = {1, 1}}).to_doubles());
}

TEST(Conv, OutputPaddingBeyondTheStride) {
  const Array x = ones({1, 1, 2}), weight = ones({1, 1, 3});
  // Extents (2 - 1) * 1 + 3 * (3 - 1) + 1 + 2: the last two meet no product.
  const Array out = conv_transpose(x, weight, Array(), {.dilation = {3}, .output_padding = {2}});
  EXPECT_EQ(out.to_doubles(), (Values{1, 1, 0, 1, 1, 0, 1, 1, 0, 0}));
  // Whole strides beyond it, as well behind elements that the padding had cut off.
  const Array far =
      conv_transpose(x, weight, Array(), {.stride = {2}, .padding = {1}, .output_padding = {5}});
  EXPECT_EQ(far.to_doubles(), (Values{1, 2, 1, 1, 0, 0, 0, 0}));
  const Array leaf = x.require_grad();
  const Array product =
      conv_transpose(leaf, weight, ones({1}), {.stride = {2}, .output_padding = {4}});
  EXPECT_EQ(product.to_doubles(), (Values{2, 2, 3, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(backward(sum(product)).at(leaf).to_doubles(), (Values{3, 3}));
  EXPECT_THROW((void)conv_transpose(x, weight, Array(), {.output_padding = {-1}}), Error);
}

TEST(Conv, OfNothing) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Array no_channels = zeros({1, 0, 5}, dtype), weight = zeros({2, 0, 3}, dtype);
    EXPECT_EQ(conv(no_channels, weight, ones({2}, dtype)).to_doubles(), (Values(6, 1.0)));
    // Of no positions, no product reaches what there is.
    const Array none = zeros({2, 4, 0}, dtype).require_grad();
    const Array wide = ones({4, 3, 2}, dtype).require_grad();
    const Array one = conv_transpose(none, wide, Array(),
                                     {.stride = {1}, .dilation = {2}, .output_padding = {1}});
    EXPECT_EQ(one.to_doubles(), Values(18, 0.0));
    EXPECT_EQ(backward(sum(one)).at(wide).to_doubles(), Values(24, 0.0));
  }
}

// Products of halves beyond their range that cancel over the batch.
TEST(Conv, GradientsOfHalvesAreRoundedOnce) {
  const Array x = reshape(Array::from_data(std::vector<float>{200, 200, 1}, {3}), {3, 1, 1});
  const Array signs = reshape(Array::from_data(std::vector<float>{400, -400, 1}, {3}), {3, 1, 1});
  const Array weight = ones({1, 1, 1}, DType::f16).require_grad();
  const Array out = conv(cast(x, DType::f16), weight);
  EXPECT_EQ(backward(sum(out * cast(signs, DType::f16))).at(weight).to_doubles(), Values{1});
}

TEST(Conv, ExtentsThatOverflowAreRefused) {
  const std::int64_t most = std::int64_t{1} << 31;
  const Array x = zeros({1, 1, 4}), weight = zeros({1, 1, 3});
  EXPECT_THROW((void)conv(x, weight, Array(), {.dilation = {most}}), Error);
  EXPECT_THROW((void)conv(x, weight, Array(), {.groups = INT64_MAX}), Error);
  EXPECT_THROW((void)conv_transpose(x, weight, Array(), {.groups = INT64_MAX}), Error);
  EXPECT_THROW((void)conv_transpose(x, weight, Array(), {.stride = {INT64_MAX}}), Error);
  const auto text = [&](const Array& w, const ConvTransposeOptions& options) {
    return check::error_of(ErrorCode::shape, [&] { (void)conv_transpose(x, w, Array(), options); });
  };
  EXPECT_EQ(text(weight, {.padding = {4}}),
            "conv_transpose: result has no elements, or too many; got x [1, 1, 4], kernel [3] and "
            "padding [4], expected padding that leaves some");
  EXPECT_EQ(text(zeros({2, 1, 3}), {}),
            "conv_transpose: channels do not fit; got x of 1 channels, expected 2 (weight [2, 1, "
            "3])");
  EXPECT_EQ(text(zeros({2, 1}), {}),
            "conv_transpose: operands of wrong rank; got x [1, 1, 4] and weight [2, 1], expected "
            "both of one rank from 3 to 5");
  EXPECT_EQ(text(weight, {.groups = 2}),
            "conv_transpose: groups do not divide the channels; got 2 groups of 1 channels, "
            "expected a divisor");
}

TEST(Conv, SaysWhatDoesNotFit) {
  const Array x = zeros({1, 2, 5, 5}), weight = zeros({3, 2, 3, 3});
  const auto text = [&](ErrorCode code, const ConvOptions& options, const Array& input) {
    return check::error_of(code, [&] { (void)conv(input, weight, Array(), options); });
  };
  EXPECT_EQ(text(ErrorCode::shape, {}, zeros({1, 2, 2, 5})),
            "conv: kernel does not fit into the padded input; got kernel [3, 3], dilation [1, 1] "
            "and input [2, 5], expected an input that covers it");
  EXPECT_EQ(text(ErrorCode::invalid_argument, {.stride = {1, 2, 3}}, x),
            "conv: stride does not fit; got [1, 2, 3], expected 2 numbers from 1 to 2147483647");
  EXPECT_EQ(text(ErrorCode::invalid_argument, {.padding = {-1}}, x),
            "conv: padding does not fit; got [-1, -1], expected 2 numbers from 0 to 2147483647");
  EXPECT_EQ(text(ErrorCode::shape, {.groups = 2}, x),
            "conv: channels do not fit; got x of 2 channels, expected 4 (weight [3, 2, 3, 3], 2 "
            "groups)");
  EXPECT_EQ(text(ErrorCode::shape, {}, zeros({1, 5, 5, 5})),
            "conv: channels do not fit; got x of 5 channels, expected 2 (weight [3, 2, 3, 3], 1 "
            "group)");
  EXPECT_EQ(text(ErrorCode::shape, {.groups = 2}, zeros({1, 4, 5, 5})),
            "conv: groups do not fit; got 2 for 4 channels in and 3 out, expected a divisor of "
            "both");
}

TEST(ConvLayers, HaveTheShapesOfTheirNames) {
  const nn::Conv2d layer(4, 6, {3, 5}, {.padding = {1, 2}, .groups = 2});
  EXPECT_EQ(layer.weight.shape(), (Shape{6, 2, 3, 5}));
  EXPECT_EQ(layer.forward(Tensor<4>::zeros({2, 4, 7, 8})).shape(), (Shape{2, 6, 7, 8}));
  EXPECT_FALSE(nn::Conv1d(2, 2, 3, {}, {.bias = false}).bias.defined());
  const nn::ConvTranspose2d up(6, 4, 2, {.stride = {2}});
  EXPECT_EQ(up.weight.shape(), (Shape{6, 4, 2, 2}));
  EXPECT_EQ(up.forward(Tensor<4>::zeros({1, 6, 5, 4})).shape(), (Shape{1, 4, 10, 8}));
  EXPECT_EQ(layer.forward(Tensor<4>::zeros({1, 4, 3, 5}, DType::bf16)).dtype(), DType::bf16);
  EXPECT_THROW(nn::Conv2d(3, 4, 3, {.groups = 2}), Error);
  EXPECT_EQ(parameters(const_cast<nn::Conv2d&>(layer)).size(), 2U);
}

}  // namespace
}  // namespace hearth
