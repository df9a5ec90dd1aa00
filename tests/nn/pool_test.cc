// Layers of pools and images are the functions, with Burn's defaults.
#include "hearth/nn/pool.h"

#include "check.h"
#include "hearth/tensor/pool.h"

namespace hearth {
namespace {

TEST(PoolLayers, StepByTheirKernelUnlessTold) {
  const Array x = check::random_array({2, 3, 8, 6}, DType::f32);
  EXPECT_EQ(nn::MaxPool2d{2}.forward(x).to_doubles(), max_pool(x, {2, 2}).to_doubles());
  const nn::MaxPool2d overlapping{{3, 2}, {.stride = {2}, .padding = {1}}};
  EXPECT_EQ(overlapping.forward(x).to_doubles(),
            max_pool(x, {3, 2}, {.stride = {2, 2}, .padding = {1, 1}}).to_doubles());
  // Padding counts as zeros.
  const nn::AvgPool2d mean{3, {.stride = {1}, .padding = {1}}};
  const double corner = mean.forward(ones({1, 1, 3, 3})).to_doubles()[0];
  EXPECT_NEAR(corner, 4.0 / 9, 1e-6);
  EXPECT_EQ(nn::AdaptiveAvgPool2d{1}.forward(x).shape(), (Shape{2, 3, 1, 1}));
  const Tensor<3> row(reshape(x, {2, 3, 48}));
  EXPECT_EQ(nn::MaxPool1d{4}.forward(row).array().shape(), (Shape{2, 3, 12}));
  EXPECT_EQ(nn::AvgPool3d{2}.forward(zeros({1, 1, 2, 4, 4})).shape(), (Shape{1, 1, 1, 2, 2}));
}

TEST(PoolLayers, ExtentsStayTheSame) {
  const Array x = check::random_array({1, 2, 5, 6}, DType::f32);
  const nn::MaxPool2d largest{2, {.stride = {1}, .same = true}};
  EXPECT_EQ(largest.forward(x).shape(), x.shape());
  const nn::AvgPool2d mean{{3, 2}, {.stride = {1}, .padding = {1, 0}, .padding_end = {1, 1}}};
  EXPECT_EQ(mean.forward(x).shape(), x.shape());
  const nn::Conv2d conv(2, 4, {4, 3}, {.stride = {2, 1}, .same = true});
  EXPECT_EQ(conv.forward(x).shape(), (Shape{1, 4, 3, 6}));
  const Array padded = pad(x, {0, 0, 1, 1}, {0, 0, 2, 1});
  EXPECT_EQ(conv.forward(x).to_doubles(),
            hearth::conv(padded, conv.weight.array(), conv.bias.array(), {.stride = {2, 1}})
                .to_doubles());
  check::expect_error(ErrorCode::invalid_argument, [] {
    static_cast<void>(nn::Conv2d(2, 4, 3, {.padding = {1}, .same = true}));
  });
}

TEST(PoolLayers, ImagesGetSizesOrFactors) {
  const Array x = check::random_array({1, 2, 4, 6});
  const nn::Interpolate2d sized{.sizes = {{8, 3}}, .mode = InterpolateMode::linear};
  EXPECT_EQ(sized.forward(x).to_doubles(),
            interpolate(x, {8, 3}, InterpolateMode::linear, true).to_doubles());
  const nn::Interpolate2d scaled{.factors = {{2, 0.5}}, .mode = InterpolateMode::cubic};
  EXPECT_EQ(scaled.forward(x).to_doubles(),
            interpolate(x, {8, 3}, InterpolateMode::cubic, true).to_doubles());
  check::expect_error(ErrorCode::invalid_argument,
                      [&] { static_cast<void>(nn::Interpolate2d{}.forward(x)); });
  check::expect_error(ErrorCode::invalid_argument, [&] {
    static_cast<void>(nn::Interpolate2d{.factors = {{check::kNan, 1}}}.forward(x));
  });
  check::expect_error(ErrorCode::invalid_argument, [&] {
    static_cast<void>(nn::Interpolate2d{.factors = {{1e300, 1}}}.forward(x));
  });
}

TEST(PoolLayers, PatchesAndPixels) {
  const Array x = check::random_array({1, 4, 4, 6});
  const Array seen = nn::Unfold4d{2, {.stride = {2}}}.forward(x);
  EXPECT_EQ(seen.to_doubles(), unfold4d(x, {2, 2}, {.stride = {2, 2}}).to_doubles());
  const nn::Fold4d fold{{4, 6}, 2, {.stride = {2}}};
  EXPECT_EQ(fold.forward(seen).to_doubles(), x.to_doubles());
  const Array pixels = nn::PixelShuffle{2}.forward(x);
  EXPECT_EQ(pixels.shape(), (Shape{1, 1, 8, 12}));
  EXPECT_EQ(nn::PixelUnshuffle{2}.forward(pixels).to_doubles(), x.to_doubles());
}

TEST(PoolFunctions, HaveBurnsNames) {
  const Array x = check::random_array({1, 2, 6, 6}, DType::f32);
  const Tensor<4> image(x);
  const auto [values, indices] = module::max_pool2d_with_indices(image, {3});
  EXPECT_EQ(values.array().to_doubles(), module::max_pool2d(image, {3}).array().to_doubles());
  EXPECT_EQ(indices.array().dtype(), DType::i64);
  EXPECT_EQ(module::avg_pool2d(image, {2}).array().shape(), (Shape{1, 2, 3, 3}));
  EXPECT_EQ(module::adaptive_avg_pool2d(image, {4}).array().shape(), (Shape{1, 2, 4, 4}));
  EXPECT_EQ(module::interpolate(image, {3, 3}).array().shape(), (Shape{1, 2, 3, 3}));
  EXPECT_EQ(module::fold4d(module::unfold4d(image, {3}), {6}, {3}).array().shape(), x.shape());
  try {
    static_cast<void>(module::max_pool2d(image, {7}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("max_pool2d: "), 0u) << error.what();
  }
}

}  // namespace
}  // namespace hearth
