// Arguments that were taken without a word, or ran on for ever.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "check.h"
#include "error_text.h"
#include "hearth/nn.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using namespace check;

TEST(OpArguments, ACacheTakesKeysAndValuesOfItsShape) {
  nn::KvCache cache(1, 1, 4, 2);
  const auto ones4 = [](std::int64_t batch, std::int64_t rows, std::int64_t dim) {
    return Tensor<4>(ones({batch, 1, rows, dim}));
  };
  expect_error(ErrorCode::shape, [&] { cache.append(ones4(1, 3, 2), ones4(1, 1, 2)); });
  expect_error(ErrorCode::shape, [&] { cache.append(ones4(1, 2, 1), ones4(1, 2, 1)); });
  expect_error(ErrorCode::shape, [&] { cache.append(ones4(2, 1, 2), ones4(2, 1, 2)); });
  expect_error(ErrorCode::shape, [&] { cache.append(ones4(1, 5, 2), ones4(1, 5, 2)); });
  EXPECT_EQ(cache.length, 0);
  cache.append(ones4(1, 4, 2), ones4(1, 4, 2));
  EXPECT_EQ(cache.length, 4);
}

TEST(OpArguments, PaddedTokensFitIntoMemory) {
  for (const std::int64_t length : {std::int64_t{1} << 40, INT64_MAX}) {
    expect_error(ErrorCode::invalid_argument,
                 [&] { nn::generate_padding_mask(0, {{1, 2}, {3}}, length, true); });
  }
}

TEST(OpArguments, BinsOfAHistogramAreApart) {
  const Array x = array({0, 1, 2, 3}, {4}, DType::f64);
  for (const double bound : {1e308, 1.5e308}) {
    const auto [counts, edges] = histogram(x, 4, Bounds{-bound, bound});
    EXPECT_EQ(counts.to_doubles(), (Values{0, 0, 4, 0}));
    EXPECT_EQ(edges.to_doubles(), (Values{-bound, -bound / 2, 0, bound / 2, bound}));
  }
  const auto refuses = [](DType dtype, double low, double high) {
    expect_error(ErrorCode::invalid_argument,
                 [&] { histogram(ones({3}, dtype), 4, Bounds{low, high}); });
  };
  refuses(DType::f32, -1e308, 1e308);
  refuses(DType::f32, 0, 1e39);
  refuses(DType::f32, 1, 1 + 1e-10);
  refuses(DType::f16, 0, 70000);
  refuses(DType::f64, 0, kInf);
  refuses(DType::f64, kNan, 1);
}

TEST(OpArguments, NumbersInMessagesAreThoseGiven) {
  const auto says = [](const char* number, auto call) {
    const std::string text = error_of(ErrorCode::invalid_argument, call);
    EXPECT_TRUE(contains(text, std::string("got ") + number + ",") ||
                contains(text, std::string(" ") + number + ","))
        << text;
  };
  const Array x = ones({1, 1, 3});
  says("-1e-09", [] { (void)random_normal({2}, 0, -1e-9); });
  says("-1e-09", [&] { (void)lp_pool(x, -1e-9, {2}); });
  says("-1e-09", [&] { (void)pinv(ones({2, 2}), -1e-9); });
  says("1.0000000001", [] {
    (void)cross_entropy(ones({2, 3}), zeros({2}, DType::i64), Reduction::mean, -100, 1 + 1e-10);
  });
}

TEST(OpArguments, AVarianceOfTooFewIsNan) {
  const Array x = array({3, 1, 2, 5, 4}, {5});
  for (const std::int64_t correction : {std::int64_t{5}, std::int64_t{6}, INT64_MAX}) {
    EXPECT_TRUE(std::isnan(var(x, {0}, false, correction).item())) << correction;
    EXPECT_TRUE(std::isnan(hearth::std(x, {0}, false, correction).item())) << correction;
  }
  EXPECT_NEAR(var(x, {0}, false, INT64_MIN).item(), 0, 1e-12);
}

TEST(OpArguments, EnumsAreOfTheirValues) {
  const Array x = ones({2, 3}), image = ones({1, 1, 3, 3});
  const Array mask = cast(ones({3, 3}), DType::bool_);
  const auto refuses = [](auto call) { expect_error(ErrorCode::invalid_argument, call); };
  refuses([&] { (void)mse_loss(x, x, static_cast<Reduction>(9)); });
  refuses([&] { (void)cross_entropy(x, ints({0, 1}, {2}), static_cast<Reduction>(9)); });
  refuses([&] { (void)pad(x, {1, 1}, {1, 1}, static_cast<PadMode>(9)); });
  refuses([&] {
    (void)grid_sample_2d(image, zeros({1, 2, 2, 2}), {.mode = static_cast<GridSampleMode>(7)});
  });
  refuses([&] {
    (void)grid_sample_2d(image, zeros({1, 2, 2, 2}),
                         {.padding = static_cast<GridSamplePadding>(7)});
  });
  refuses([&] { (void)quantile(x, {0.5}, 1, false, static_cast<Interpolation>(9)); });
  refuses([&] { (void)connected_components(mask, static_cast<Connectivity>(7)); });
  refuses([&] { (void)dilate(x, mask, {.border = static_cast<MorphBorder>(9)}); });
  refuses([&] { (void)dilate(x, mask, {.iterations = INT64_MAX}); });
  refuses([&] { (void)rope_frequencies(8, 1e4, {.kind = static_cast<RopeScalingKind>(9)}); });
}

TEST(OpArguments, MessagesQuoteLittle) {
  const std::string far(100'000, '\x01');
  const std::string message = error_of([&] { (void)einsum("ab" + far, {ones({2, 2})}); });
  EXPECT_LT(message.size(), 600U);
  EXPECT_TRUE(contains(message, "einsum: in \"ab\\x01\\x01")) << message;
  EXPECT_TRUE(contains(message, "got \"\\x01\", expected")) << message;
  for (const char each : message) EXPECT_TRUE(each >= ' ' && each <= '~');
}

TEST(OpArguments, BothEndsOfARangeAreSaid) {
  const Array x = ones({1, 2, 4}), weight = ones({2, 2, 1});
  EXPECT_TRUE(contains(error_of([&] { (void)conv(x, weight, {}, {.groups = INT64_MAX}); }),
                       "expected 1 to 2147483647"));
  EXPECT_TRUE(contains(error_of([] { (void)hann_window(INT64_MAX); }), "expected 0 to 2^52"));
}

TEST(OpArguments, WindowsHaveTheDtypeOfTheirSignal) {
  const Array half = ones({8}, DType::f16);
  EXPECT_EQ(stft(half, ones({4}, DType::f16), {.n_fft = 4}).dtype(), DType::f16);
  for (const DType dtype : {DType::f64, DType::i32}) {
    expect_error(ErrorCode::dtype, [&] { (void)stft(ones({8}), ones({4}, dtype), {.n_fft = 4}); });
  }
}

}  // namespace
}  // namespace hearth
