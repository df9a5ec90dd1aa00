// What resizing, sampling and patches of images mean at the edges.
#include "hearth/ops/image.h"

#include <cmath>
#include <numbers>

#include "check.h"
#include "ops/image/axis_taps.h"

namespace hearth {
namespace {

using check::kInf;
using check::kNan;
using check::Values;

template <class Call>
void expect_no_image(ErrorCode code, Call call) {
  check::expect_error(code, [&] { static_cast<void>(call()); });
}

// Element of x at the point `at`, by six weights that add to 1.
double lanczos_at(const Values& x, double at) {
  const auto kernel = [](double t) {
    if (t == 0) return 1.0;
    const double a = t * std::numbers::pi;
    return std::abs(t) < 3 ? std::sin(a) / a * std::sin(a / 3) / (a / 3) : 0.0;
  };
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = kernel(at - static_cast<double>(i));
    sum += weight * x[i];
    weights += weight;
  }
  return sum / weights;
}

TEST(Interpolate, LanczosDropsWhatLiesOutside) {
  for (const bool align : {false, true}) {
    for (const auto& [in, out] :
         std::vector<std::pair<int, int>>{{7, 12}, {12, 7}, {1, 4}, {2, 9}, {30, 30}, {9, 1}}) {
      const Values x = check::random_values(in);
      Values expected;
      for (int o = 0; o < out; ++o) {
        const double at =
            align ? o * (in - 1.0) / std::max(out - 1, 1) : (o + 0.5) * in / out - 0.5;
        expected.push_back(lanczos_at(x, at));
      }
      const Array y =
          interpolate(check::array(x, {1, 1, in}), {out}, InterpolateMode::lanczos, align);
      check::expect_close(y, expected, 1e-12, std::to_string(in) + " to " + std::to_string(out));
    }
  }
}

TEST(Interpolate, PointsAreExact) {
  for (std::int64_t in = 1; in < 130; in += 3) {
    Values numbers;
    for (std::int64_t i = 0; i < in; ++i) numbers.push_back(static_cast<double>(i));
    const Array x = check::array(numbers, {1, 1, in}, DType::f32);
    for (std::int64_t out = 1; out < 130; out += 2) {
      Values nearest, exact;
      for (std::int64_t o = 0; o < out; ++o) {
        nearest.push_back(static_cast<double>(o * in / out));
        exact.push_back(static_cast<double>((2 * o + 1) * in / (2 * out)));
      }
      EXPECT_EQ(interpolate(x, {out}).to_doubles(), nearest);
      EXPECT_EQ(interpolate(x, {out}, InterpolateMode::nearest_exact).to_doubles(), exact);
    }
  }
  // Where a float holds no halves any more.
  Resampling resampling;
  resampling.rule = ResampleRule::linear;
  resampling.flag = true;
  resampling.extents = {(1 << 26) - 1};
  resampling.window.positions = {3};
  const AxisTaps taps = axis_taps(resampling, 0);
  ASSERT_EQ(taps.index, (std::vector<std::int32_t>{0, (1 << 25) - 1, (1 << 26) - 2}));
}

TEST(Interpolate, ElementsThatAPointLiesOnAreCopied) {
  const Array x = check::array({1, kInf, -2, kNan, 3}, {1, 1, 5});
  for (const auto mode :
       {InterpolateMode::nearest, InterpolateMode::nearest_exact, InterpolateMode::linear,
        InterpolateMode::cubic, InterpolateMode::lanczos}) {
    for (const bool align : {false, true}) {
      check::expect_values(interpolate(x, {5}, mode, align), {1, 1, 5}, {1, kInf, -2, kNan, 3});
    }
  }
}

TEST(Interpolate, AlignsCornersUnlessTold) {
  const Array x = check::array({0, 1}, {1, 1, 2});
  check::expect_values(interpolate(x, {4}, InterpolateMode::linear), {1, 1, 4},
                       {0, 1.0 / 3, 2.0 / 3, 1});
  check::expect_values(interpolate(x, {4}, InterpolateMode::linear, false), {1, 1, 4},
                       {0, 0.25, 0.75, 1});
}

TEST(Interpolate, HalvesAreRoundedOnce) {
  const Array x = check::random_array({2, 3, 9, 11}, DType::f64);
  for (const auto mode : {InterpolateMode::linear, InterpolateMode::cubic}) {
    const Array exact = interpolate(cast(x, DType::f16), {20, 5}, mode, false);
    const Array again =
        cast(interpolate(cast(cast(x, DType::f16), DType::f32), {20, 5}, mode, false), DType::f16);
    EXPECT_EQ(exact.to_doubles(), again.to_doubles());
  }
}

TEST(Interpolate, SecondGradients) {
  const Array x = check::random_array({1, 2, 4, 3}, DType::f64);
  for (const auto mode :
       {InterpolateMode::linear, InterpolateMode::cubic, InterpolateMode::lanczos}) {
    check::check_gradients(
        [&](std::span<const Array> in) {
          const Array leaf = in[0];
          return square(interpolate(square(leaf), {3, 7}, mode, false));
        },
        {x});
  }
}

TEST(Interpolate, Errors) {
  const Array x = zeros({1, 1, 4, 4});
  expect_no_image(ErrorCode::invalid_argument, [&] { return interpolate(x, {0, 2}); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return interpolate(x, {2}); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return interpolate(x, {-1, 2}); });
  expect_no_image(ErrorCode::invalid_argument,
                  [&] { return interpolate(x, {2, std::int64_t{1} << 62}); });
  expect_no_image(ErrorCode::shape, [&] { return interpolate(x, {2, INT32_MAX}); });
  expect_no_image(ErrorCode::shape, [&] { return interpolate(zeros({4, 4}), {2}); });
  expect_no_image(ErrorCode::shape, [&] { return interpolate(zeros({1, 1, 0}), {2}); });
  expect_no_image(ErrorCode::dtype, [&] { return interpolate(zeros({1, 1, 4}, DType::i32), {2}); });
  EXPECT_EQ(interpolate(zeros({0, 2, 4}), {3}).shape(), (Shape{0, 2, 3}));
}

Array points(const Values& values) {
  return check::array(values, {1, 1, static_cast<std::int64_t>(values.size()) / 2, 2});
}

TEST(GridSample, TakesAnyCoordinate) {
  const Array x = check::array({1, 2, 3, 4}, {1, 1, 2, 2});
  const Array grid = points({kNan, kNan, kInf, kInf, -kInf, -1, 1e300, 0, 0, 0});
  const auto sample = [&](GridSamplePadding padding, GridSampleMode mode) {
    return grid_sample_2d(x, grid, {.mode = mode, .padding = padding, .align_corners = true});
  };
  const Shape shape = {1, 1, 1, 5};
  for (const auto mode : {GridSampleMode::bilinear, GridSampleMode::nearest}) {
    // NaN is -1; of 0.5 the even neighbour is 0.
    const double middle = mode == GridSampleMode::bilinear ? 2.5 : 1;
    check::expect_values(sample(GridSamplePadding::zeros, mode), shape, {1, 0, 0, 0, middle});
    const double right = mode == GridSampleMode::bilinear ? 3 : 2;
    check::expect_values(sample(GridSamplePadding::border, mode), shape, {1, 4, 1, right, middle});
    const Values mirrored = sample(GridSamplePadding::reflection, mode).to_doubles();
    EXPECT_EQ(mirrored[0], 1);
    for (const double value : mirrored) EXPECT_TRUE(value >= 1 && value <= 4) << value;
  }
  // One element is all there is to mirror.
  const Array one = check::array({7}, {1, 1, 1, 1});
  for (const bool align : {false, true}) {
    const Array y = grid_sample_2d(
        one, grid, {.padding = GridSamplePadding::reflection, .align_corners = align});
    check::expect_values(y, shape, {7, 7, 7, 7, 7});
  }
}

TEST(GridSample, ZerosMaskEachElementByItself) {
  const Array x = check::array({1, 2, 3, 4}, {1, 1, 2, 2});
  // Half an element outside at the corner: a quarter of the element there.
  check::expect_values(grid_sample_2d(x, points({-1, -1})), {1, 1, 1, 1}, {0.25});
  check::expect_values(grid_sample_2d(x, points({-1, -1}), {.align_corners = true}), {1, 1, 1, 1},
                       {1});
  // An element of weight 0 that does not exist is no part of the result.
  const Array wild = check::array({kInf, 2, 3, 4}, {1, 1, 2, 2});
  check::expect_values(grid_sample_2d(wild, points({1, 1}), {.align_corners = true}), {1, 1, 1, 1},
                       {4});
}

TEST(GridSample, GradientsOfBothAndSecondOnes) {
  const Array x = check::random_array({2, 2, 4, 5});
  const Array grid = check::random_array({2, 3, 3, 2}, DType::f64, -1.2, 1.2, 9);
  for (const auto padding :
       {GridSamplePadding::zeros, GridSamplePadding::border, GridSamplePadding::reflection}) {
    check::check_gradients(
        [&](std::span<const Array> in) {
          return square(grid_sample_2d(in[0], in[1], {.padding = padding}));
        },
        {x, grid});
  }
}

TEST(GridSample, Errors) {
  const Array x = zeros({1, 2, 3, 3}), grid = zeros({1, 4, 4, 2});
  EXPECT_EQ(grid_sample_2d(x, grid).shape(), (Shape{1, 2, 4, 4}));
  EXPECT_EQ(grid_sample_2d(x, zeros({1, 0, 4, 2})).shape(), (Shape{1, 2, 0, 4}));
  expect_no_image(ErrorCode::shape, [&] { return grid_sample_2d(x, zeros({2, 4, 4, 2})); });
  expect_no_image(ErrorCode::shape, [&] { return grid_sample_2d(x, zeros({1, 4, 4, 3})); });
  expect_no_image(ErrorCode::shape, [&] { return grid_sample_2d(zeros({1, 2, 0, 3}), grid); });
  expect_no_image(ErrorCode::dtype, [&] { return grid_sample_2d(x, cast(grid, DType::f64)); });
  expect_no_image(ErrorCode::dtype,
                  [&] { return grid_sample_2d(cast(x, DType::i32), cast(grid, DType::i32)); });
  expect_no_image(ErrorCode::shape, [&] { return affine_grid_2d(x, 2, 2); });
  expect_no_image(ErrorCode::invalid_argument,
                  [&] { return affine_grid_2d(zeros({1, 2, 3}), -1, 2); });
  expect_no_image(ErrorCode::shape, [&] {
    return affine_grid_2d(zeros({1, 2, 3}), std::int64_t{1} << 40, std::int64_t{1} << 40);
  });
}

TEST(AffineGrid, TheIdentityKeepsAnImage) {
  const Array x = check::random_array({1, 2, 4, 6});
  const Array theta = check::array({1, 0, 0, 0, 1, 0}, {1, 2, 3});
  for (const bool align : {false, true}) {
    const Array grid = affine_grid_2d(theta, 4, 6, align);
    check::expect_values(grid_sample_2d(x, grid, {.align_corners = align}), {1, 2, 4, 6},
                         x.to_doubles());
  }
  check::expect_values(affine_grid_2d(theta, 1, 2), {1, 1, 2, 2}, {-1, 0, 1, 0});
}

TEST(Patches, FoldIsTheAdjointOfUnfold) {
  const UnfoldOptions options = {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}};
  const Array x = check::random_array({2, 3, 7, 6});
  const Array columns = unfold4d(x, {3, 2}, options);
  const Array other = check::random_array(columns.shape(), DType::f64, -1, 1, 4);
  const Array folded = fold4d(other, {7, 6}, {3, 2}, options);
  EXPECT_EQ(folded.shape(), x.shape());
  EXPECT_NEAR(sum(mul(columns, other)).item<double>(), sum(mul(x, folded)).item<double>(), 1e-10);
  // Integers too, and each element as often as windows see it.
  const Array ones_seen = fold4d(unfold4d(ones({1, 1, 3, 3}, DType::i32), {2}), {3}, {2});
  check::expect_values(ones_seen, {1, 1, 3, 3}, {1, 2, 1, 2, 4, 2, 1, 2, 1});
}

TEST(Patches, PixelsAreChannels) {
  const Array x = check::array({1, 2, 3, 4}, {1, 4, 1, 1}, DType::i32);
  check::expect_values(pixel_shuffle(x, 2), {1, 1, 2, 2}, {1, 2, 3, 4});
  const Array image = check::random_array({2, 3, 6, 4});
  EXPECT_EQ(pixel_shuffle(pixel_unshuffle(image, 2), 2).to_doubles(), image.to_doubles());
  expect_no_image(ErrorCode::shape, [&] { return pixel_shuffle(image, 2); });
  expect_no_image(ErrorCode::shape, [&] { return pixel_unshuffle(image, 4); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return pixel_unshuffle(image, 0); });
  expect_no_image(ErrorCode::invalid_argument,
                  [&] { return pixel_shuffle(image, std::int64_t{1} << 40); });
}

TEST(Patches, Errors) {
  const Array x = zeros({1, 2, 4, 4});
  expect_no_image(ErrorCode::shape, [&] { return unfold4d(x, {5}); });
  expect_no_image(ErrorCode::shape, [&] { return unfold4d(zeros({2, 4, 4}), {2}); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return unfold4d(x, {0}); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return unfold4d(x, {2, 2, 2}); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return unfold4d(x, {2}, {.stride = {0}}); });
  expect_no_image(ErrorCode::invalid_argument, [&] { return unfold4d(x, {2}, {.padding = {-1}}); });
  expect_no_image(ErrorCode::shape, [&] { return fold4d(zeros({1, 8, 9}), {5}, {2}); });
  expect_no_image(ErrorCode::shape, [&] { return fold4d(zeros({1, 7, 9}), {4}, {2}); });
  expect_no_image(ErrorCode::shape,
                  [&] { return unfold4d(zeros({1, 1, 1, 1}), {1}, {.padding = {INT32_MAX}}); });
  EXPECT_EQ(fold4d(zeros({0, 8, 9}), {4}, {2}).shape(), (Shape{0, 2, 4, 4}));
  EXPECT_EQ(unfold4d(zeros({1, 0, 4, 4}), {2}).shape(), (Shape{1, 0, 9}));
}

}  // namespace
}  // namespace hearth
