// Normalisation of channels, against PyTorch, finite differences and written-out cases.
#include "ops/channel_golden.h"
#include "unit_roundoff.h"

namespace hearth {
namespace {

using namespace check;

TEST(ChannelNorm, AsTorch) {
  expect_as_torch("batch_norm", {"x", "mean", "variance", "weight", "bias"},
                  [](std::span<const Array> in) {
                    return batch_norm(in[0], in[1], in[2], in[3], in[4], 1e-3);
                  });
  expect_as_torch("batch_norm_train", {"x", "weight", "bias"}, [](std::span<const Array> in) {
    return std::get<0>(batch_norm_train(in[0], in[1], in[2]));
  });
  expect_as_torch("group_norm", {"x", "weight", "bias"},
                  [](std::span<const Array> in) { return group_norm(in[0], 2, in[1], in[2]); });
  expect_as_torch("instance_norm", {"x", "weight", "bias"},
                  [](std::span<const Array> in) { return instance_norm(in[0], in[1], in[2]); });
  for (const int size : {1, 2, 3, 4, 5}) {
    expect_as_torch("local_response_norm_" + std::to_string(size), {"x"},
                    [size](std::span<const Array> in) {
                      return local_response_norm(in[0], size, 0.3, 0.75, 1.5);
                    });
  }
}

TEST(ChannelNorm, StatisticsOfTheBatch) {
  const ChannelCase golden("batch_norm_train");
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Array x = golden.array("x", dtype);
    const auto [output, mean, variance] = batch_norm_train(x);
    const DType wide = dtype == DType::f64 ? dtype : DType::f32;
    EXPECT_EQ(mean.dtype(), wide);
    EXPECT_EQ(variance.dtype(), wide);
    EXPECT_EQ(output.dtype(), dtype);
    EXPECT_EQ(mean.shape(), Shape{4});
    EXPECT_EQ(variance.shape(), Shape{4});
    if (dtype == DType::f64) {
      expect_close(mean, golden.values("mean"), 1e-12);
      expect_close(variance, golden.values("variance"), 1e-12);
      continue;
    }
    // Of x as it is, rounded to a half or not; sums of 30 elements have fewer than 64 roundings.
    const auto of_doubles = batch_norm_train(cast(x, DType::f64));
    const double rough = 64 * testing::unit_roundoff(wide);
    expect_close(mean, std::get<1>(of_doubles).to_doubles(), rough);
    expect_close(variance, std::get<2>(of_doubles).to_doubles(), rough);
  }
}

TEST(ChannelNorm, VarianceFarFromZeroIsExact) {
  // The squares of these numbers need more digits than f32 has.
  Values values;
  for (int i = 0; i < 4096; ++i) values.push_back(30000 + i % 2);
  const Array x = array(values, {16, 1, 256}, DType::f32);
  const auto [output, mean, variance] = batch_norm_train(x);
  expect_values(mean, {1}, {30000.5});
  expect_values(variance, {1}, {0.25});
  Values expected;
  for (int i = 0; i < 4096; ++i) expected.push_back((i % 2 == 0 ? -0.5 : 0.5) / std::sqrt(0.25001));
  expect_close(output, expected, 1e-5);
  expect_close(group_norm(x, 1), expected, 1e-5);
}

TEST(ChannelNorm, OfAnyRankAndLayout) {
  for (const Shape& shape :
       {Shape{6, 4}, Shape{3, 4, 5}, Shape{2, 4, 3, 2}, Shape{2, 4, 1, 2, 3}}) {
    const Array x = random_array(shape);
    Shape column;
    for (int i = 0; i < shape.rank(); ++i) column.push_back(i == 1 ? 4 : 1);
    Dims others;
    for (int i = 0; i < shape.rank(); ++i) {
      if (i != 1) others.push_back(i);
    }
    const Array deviation = sqrt(add(var(x, others, true, 0), 1e-5));
    const Array expected = div(sub(x, mean(x, others, true)), deviation);
    expect_close(std::get<0>(batch_norm_train(x)), expected.to_doubles(), 1e-11);
    // The same values in another layout.
    const Array turned = swap_axes(contiguous(swap_axes(x, 0, 1)), 0, 1);
    expect_close(std::get<0>(batch_norm_train(turned)), expected.to_doubles(), 1e-11);
    const Array flipped = flip(contiguous(flip(x, {0, 1})), {0, 1});
    expect_close(group_norm(flipped, 2), group_norm(x, 2).to_doubles(), 1e-12);
    const Array weight = random_array({4}, DType::f64, 0, 1, 5);
    expect_close(std::get<0>(batch_norm_train(x, weight)),
                 mul(expected, reshape(weight, column)).to_doubles(), 1e-11);
  }
}

TEST(ChannelNorm, Gradients) {
  const Array x = random_array({3, 4, 5}), weight = random_array({4}, DType::f64, 0.5, 2, 2);
  const Array bias = random_array({4}, DType::f64, -1, 1, 3);
  const Many train = [](std::span<const Array> in) {
    return std::get<0>(batch_norm_train(in[0], in[1], in[2], 1e-3));
  };
  const Many statistics = [](std::span<const Array> in) {
    const auto [output, mean, variance] = batch_norm_train(in[0]);
    return cat({mean, variance}, 0);
  };
  const Many groups = [](std::span<const Array> in) {
    return group_norm(in[0], 2, in[1], in[2], 1e-3);
  };
  const Many response = [](std::span<const Array> in) {
    return local_response_norm(in[0], 3, 0.4, 0.75, 1);
  };
  check_gradients(train, {x, weight, bias});
  check_second_gradients(train, {x, weight, bias});
  check_gradients(statistics, {x});
  check_second_gradients(groups, {x, weight, bias});
  check_gradients(response, {x});
  check_second_gradients(response, {x});
}

TEST(ChannelNorm, HalvesRoundOnce) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Array x = random_array({3, 4, 9}, dtype, 50, 60);
    const Array exact = cast(x, DType::f64);
    const Array scale = random_array({4}, DType::f32, 0.5, 2);
    const Array exact_scale = cast(scale, DType::f64);
    const double rough = tolerance(dtype);
    expect_close(std::get<0>(batch_norm_train(x, scale)),
                 std::get<0>(batch_norm_train(exact, exact_scale)).to_doubles(), rough);
    expect_close(group_norm(x, 2, scale), group_norm(exact, 2, exact_scale).to_doubles(), rough);
    expect_close(instance_norm(x), instance_norm(exact).to_doubles(), rough);
    expect_close(local_response_norm(x, 3), local_response_norm(exact, 3).to_doubles(), rough);
    EXPECT_EQ(local_response_norm(x, 3).dtype(), dtype);
  }
  const Array large = full({2, 1, 4}, 60000.0, DType::f16);
  expect_values(std::get<0>(batch_norm_train(large)), {2, 1, 4}, Values(8, 0));
}

TEST(ChannelNorm, OfLittle) {
  // One value of a channel is its mean; without values there is none.
  const Array bias = array({3}, {1}, DType::f32);
  expect_values(std::get<0>(batch_norm_train(ones({1, 1}), Array(), bias)), {1, 1}, {3});
  const auto [output, mean, variance] = batch_norm_train(zeros({0, 2, 3}));
  EXPECT_EQ(output.shape(), (Shape{0, 2, 3}));
  expect_values(mean, {2}, {kNan, kNan});
  expect_values(variance, {2}, {kNan, kNan});
  EXPECT_EQ(std::get<0>(batch_norm_train(zeros({2, 0, 3}))).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(group_norm(zeros({2, 4, 0}), 2).shape(), (Shape{2, 4, 0}));
  EXPECT_EQ(group_norm(zeros({2, 0, 3}), 1).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(instance_norm(zeros({2, 0, 3})).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(local_response_norm(zeros({2, 0, 3}), 3).shape(), (Shape{2, 0, 3}));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  expect_values(local_response_norm(full({1, 2}, 2.0), most, 0, 1, 4), {1, 2}, {0.5, 0.5});
}

TEST(ChannelNorm, NanStaysInItsChannel) {
  Array x = array({1, kNan, 3, 4, 5, 6, 7, 9}, {2, 2, 2}, DType::f32);
  const Values out = std::get<0>(batch_norm_train(x)).to_doubles();
  for (const std::size_t i : {0, 1, 4, 5}) EXPECT_TRUE(std::isnan(out[i])) << i;
  for (const std::size_t i : {2, 3, 6, 7}) EXPECT_FALSE(std::isnan(out[i])) << i;
}

TEST(ChannelNorm, Refuses) {
  const Array x = zeros({2, 4, 3}), three = zeros({3}), four = zeros({4});
  const Array deep = zeros({4}, DType::f64);
  expect_error(ErrorCode::shape, [&] { (void)batch_norm_train(zeros({4})); });
  expect_error(ErrorCode::shape, [&] { (void)batch_norm_train(x, three); });
  expect_error(ErrorCode::shape, [&] { (void)batch_norm(x, four, three); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)batch_norm(x, Array(), four); });
  expect_error(ErrorCode::dtype, [&] { (void)batch_norm(x, four, deep); });
  expect_error(ErrorCode::dtype, [&] { (void)batch_norm_train(zeros({2, 4}, DType::i32)); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)batch_norm_train(x, Array(), Array(), -1); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)batch_norm_train(x, Array(), Array(), kNan); });
  for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3},
                                    std::numeric_limits<std::int64_t>::max()}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)group_norm(x, groups); });
    if (groups == 3) continue;
    expect_error(ErrorCode::invalid_argument, [&] { (void)group_norm(zeros({2, 0}), groups); });
  }
  expect_error(ErrorCode::invalid_argument, [&] { (void)local_response_norm(x, 0); });
  expect_error(ErrorCode::shape, [&] { (void)instance_norm(zeros({3})); });
  expect_error(ErrorCode::invalid_argument, [] { (void)batch_norm_train(Array()); });
}

}  // namespace
}  // namespace hearth
