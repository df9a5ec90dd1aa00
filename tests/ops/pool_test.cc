// What pools mean where PyTorch says nothing or something else, and at the edges of dtypes.
#include "hearth/ops/pool.h"

#include <random>

#include "check.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "ops/pool/axis_window.h"

namespace hearth {
namespace {

using check::kInf;
using check::kNan;
using check::Values;

TEST(MaxPool, KeepsAWindowThatBeginsInThePaddingBehind) {
  // PyTorch drops the last window of ceil_mode here.
  const Array x = check::array({1, 2, 3}, {1, 1, 3});
  const PoolOptions options = {.stride = {2}, .padding = {1}, .ceil_mode = true};
  const auto [values, indices] = max_pool_with_indices(x, {2}, options);
  check::expect_values(values, {1, 1, 3}, {1, 3, -kInf});
  check::expect_values(indices, {1, 1, 3}, {0, 2, -1});
  check::expect_values(max_pool(x, {2}, options), {1, 1, 3}, {1, 3, -kInf});
  // A mean of nothing is 0, and what lies beyond the padding does not count.
  check::expect_values(avg_pool(x, {2}, {.stride = {2}, .padding = {1}, .ceil_mode = true}),
                       {1, 1, 3}, {0.5, 2.5, 0});
}

TEST(MaxPool, PaddingIsSmallerThanEverything) {
  const Array x = check::array({-5, -7, -kInf, -9}, {1, 1, 2, 2});
  const auto [values, indices] = max_pool_with_indices(x, {3}, {.stride = {1}, .padding = {1}});
  check::expect_values(values, {1, 1, 2, 2}, {-5, -5, -5, -5});
  check::expect_values(indices, {1, 1, 2, 2}, {0, 0, 0, 0});
  // Elements that are no larger than padding are found all the same.
  const Array least = full({1, 1, 2, 3}, -kInf, DType::f64);
  const auto found = max_pool_with_indices(least, {2}, {.stride = {1}, .padding = {1}}).second;
  check::expect_values(found, {1, 1, 3, 4}, {0, 0, 1, 2, 0, 0, 1, 2, 3, 3, 4, 5});
}

TEST(MaxPool, OfIntegersPadsWithTheLeast) {
  for (const DType dtype : {DType::i8, DType::i32, DType::i64, DType::u8, DType::u64}) {
    const Array x = check::array({3, 1, 2}, {1, 1, 3}, dtype);
    const auto [values, indices] =
        max_pool_with_indices(x, {2}, {.stride = {3}, .padding = {1}, .ceil_mode = true});
    check::expect_values(values, {1, 1, 2}, {3, 2});
    check::expect_values(indices, {1, 1, 2}, {0, 2});
  }
  const Array wide =
      max_pool(check::array({-128, 5}, {1, 1, 2}, DType::i8), {1}, {.stride = {3}, .padding = {1}});
  check::expect_values(wide, {1, 1, 2}, {-128, -128});
}

TEST(MaxPool, FirstOfEqualsAndNaNWin) {
  const Array x = check::array({2, 2, 2, kNan, 1, kNan, 2, 7}, {1, 1, 2, 4});
  const auto [values, indices] = max_pool_with_indices(x, {2}, {.stride = {1}});
  check::expect_values(values, {1, 1, 1, 3}, {kNan, kNan, kNan});
  check::expect_values(indices, {1, 1, 1, 3}, {5, 5, 3});
  check::expect_values(max_pool(x, {2}, {.stride = {1}}), {1, 1, 1, 3}, {kNan, kNan, kNan});
  const Array same = check::array({4, 4, 4, 4}, {1, 1, 2, 2});
  check::expect_values(max_pool_with_indices(same, {2}).second, {1, 1, 1, 1}, {0});
}

// What lies behind differs from what is in front: as if the input had been padded by hand.
TEST(Pools, PaddingMayDifferAtTheEnd) {
  const Array x = check::random_array({2, 3, 5, 7});
  const Dims before = {0, 0, 1, 0}, after = {0, 0, 3, 2}, kernel = {3, 2};
  const Array least = full({}, -kInf, DType::f64);
  for (const Dims& stride : {Dims{1}, Dims{2, 3}}) {
    for (const bool ceil_mode : {false, true}) {
      const PoolOptions options = {
          .stride = stride, .padding = {1, 0}, .padding_end = {3, 2}, .ceil_mode = ceil_mode};
      const PoolOptions plain = {.stride = stride, .ceil_mode = ceil_mode};
      const auto [values, indices] = max_pool_with_indices(x, kernel, options);
      const Array expected =
          max_pool(pad(x, before, after, PadMode::constant, least), kernel, plain);
      check::expect_values(values, expected.shape(), expected.to_doubles());
      check::expect_values(max_pool(x, kernel, options), expected.shape(), expected.to_doubles());
      // Places are those of elements.
      const Array flat = reshape(x, {2, 3, 35}), at = reshape(indices, {2, 3, -1});
      const Array found = where(less(at, 0), -kInf, gather(flat, maximum(at, std::int64_t{0}), 2));
      EXPECT_EQ(found.to_doubles(), expected.to_doubles());
      const AvgPoolOptions counted = {
          .stride = stride, .padding = {1, 0}, .padding_end = {3, 2}, .ceil_mode = ceil_mode};
      const Array mean =
          avg_pool(pad(x, before, after), kernel, {.stride = stride, .ceil_mode = ceil_mode});
      check::expect_close(avg_pool(x, kernel, counted), mean.to_doubles(), 1e-12);
      AvgPoolOptions uncounted = counted;
      uncounted.count_include_pad = false;
      const Array share = avg_pool(pad(ones({1, 1, 5, 7}, DType::f64), before, after), kernel,
                                   {.stride = stride, .ceil_mode = ceil_mode});
      const Array real = where(equal(share, 0.0), 0.0, mean / where(equal(share, 0.0), 1.0, share));
      check::expect_close(avg_pool(x, kernel, uncounted), real.to_doubles(), 1e-12);
      check::expect_close(lp_pool(x, 2, kernel, options),
                          lp_pool(pad(x, before, after), 2, kernel, plain).to_doubles(), 1e-12);
    }
  }
  // Gradients go where the elements are.
  const Array leaf = x.require_grad(), other = x.require_grad();
  const AvgPoolOptions options = {.stride = {1}, .padding = {1, 0}, .padding_end = {3, 2}};
  const Array own = backward(sum(square(avg_pool(leaf, kernel, options)))).get(leaf);
  const Array by_hand =
      backward(sum(square(avg_pool(pad(other, before, after), kernel, {.stride = {1}}))))
          .get(other);
  check::expect_close(own, by_hand.to_doubles(), 1e-12);
  const PoolOptions of_max = {.stride = {1}, .padding = {1, 0}, .padding_end = {3, 2}};
  const Array largest = backward(sum(max_pool(leaf, kernel, of_max))).get(leaf);
  const Array expected =
      backward(sum(where(is_finite(max_pool(other, kernel, of_max)),
                         max_pool(pad(other, before, after, PadMode::constant, least), kernel,
                                  {.stride = {1}}),
                         0.0)))
          .get(other);
  EXPECT_EQ(largest.to_doubles(), where(is_finite(expected), expected, 0.0).to_doubles());
}

TEST(Pools, SameKeepsExtents) {
  const Array x = check::random_array({1, 2, 5, 6});
  const auto shape = [&](const Dims& kernel, const PoolOptions& options) {
    return max_pool(x, kernel, options).shape();
  };
  EXPECT_EQ(shape({2}, {.stride = {1}, .same = true}), (Shape{1, 2, 5, 6}));
  EXPECT_EQ(shape({3, 4}, {.stride = {1}, .dilation = {2, 1}, .same = true}), (Shape{1, 2, 5, 6}));
  EXPECT_EQ(shape({3}, {.stride = {2}, .same = true}), (Shape{1, 2, 3, 3}));
  EXPECT_EQ(shape({1}, {.stride = {3}, .same = true}), (Shape{1, 2, 2, 2}));
  // The odd element is at the end.
  check::expect_values(
      avg_pool(check::array({1, 2, 3}, {1, 1, 3}), {2}, {.stride = {1}, .same = true}), {1, 1, 3},
      {1.5, 2.5, 1.5});
  check::expect_values(avg_pool(check::array({1, 2, 3}, {1, 1, 3}), {2},
                                {.stride = {1}, .count_include_pad = false, .same = true}),
                       {1, 1, 3}, {1.5, 2.5, 3});
  EXPECT_EQ(check::error_of(ErrorCode::invalid_argument,
                            [&] { (void)shape({2}, {.padding = {1}, .same = true}); }),
            "max_pool: padding beside same; got [1], expected one of them");
  EXPECT_TRUE(check::error_of(ErrorCode::invalid_argument, [&] {
                (void)avg_pool(x, {2}, {.padding_end = {-1}});
              }).starts_with("avg_pool: padding_end does not fit; got [-1, -1]"));
}

// What a window costs follows from the elements of x that it sees, not from its padding.
TEST(MaxPool, HugeKernelsSeeMostlyPadding) {
  const std::int64_t half = std::int64_t{1} << 29;
  for (const Device& device : testing::devices_under_test()) {
    const Array x = to_device(check::array({1, 4, 2, 3}, {1, 1, 1, 4}), device);
    const Array tall = reshape(x, {1, 1, 4, 1});
    const PoolOptions wide = {.stride = {1}, .padding = {0, half}};
    const auto [most, at] = max_pool_with_indices(x, {1, 2 * half}, wide);
    check::expect_values(most, {1, 1, 1, 5}, {4, 4, 4, 4, 4});
    check::expect_values(at, {1, 1, 1, 5}, {1, 1, 1, 1, 1});
    check::expect_values(max_pool(tall, {2 * half, 1}, {.stride = {1}, .padding = {half, 0}}),
                         {1, 1, 5, 1}, {4, 4, 4, 4, 4});
    check::expect_values(max_pool(x, {1, half}, {.stride = {1, half}, .padding = {0, half}}),
                         {1, 1, 1, 2}, {-kInf, 4});
    check::expect_values(
        max_pool(x, {1, half / 2}, {.stride = {1}, .padding = {0, half / 2}, .dilation = {1, 2}}),
        {1, 1, 1, 6}, {2, 4, 2, 4, 2, 4});
    check::expect_values(
        avg_pool(x, {1, 2 * half},
                 {.stride = {1}, .padding = {0, half}, .count_include_pad = false}),
        {1, 1, 1, 5}, {2.5, 2.5, 2.5, 2.5, 2.5});
  }
}

// As padding to "same" makes them of the smallest images, and windows with gaps between them.
TEST(MaxPool, KernelsLongerThanTheInputAgreeWithPlainLoops) {
  std::mt19937 engine(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  for (int round = 0; round < 400; ++round) {
    const std::int64_t extent = draw(1, 9), kernel = extent + draw(0, 2 * extent + 2);
    const std::int64_t dilation = draw(1, 3), stride = draw(1, round % 4 == 0 ? 40 : 4);
    const std::int64_t span = dilation * (kernel - 1) + 1;
    const std::int64_t padding = (span - extent + 1) / 2 + draw(0, round % 2 == 0 ? 1 : span);
    const std::int64_t positions = (extent + 2 * padding - span) / stride + 1;
    Values x;
    for (std::int64_t i = 0; i < extent; ++i) {
      x.push_back(draw(0, 12) == 0 ? kNan : static_cast<double>(draw(-3, 3)));
    }
    Values values, indices;
    for (std::int64_t o = 0; o < positions; ++o) {
      double best = -kInf, place = -1;
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t i = o * stride - padding + k * dilation;
        if (i < 0 || i >= extent) continue;
        const double v = x[static_cast<std::size_t>(i)];
        if (!(v > best) && !(std::isnan(v) && !std::isnan(best))) continue;
        best = v;
        place = static_cast<double>(i);
      }
      values.push_back(best);
      indices.push_back(place);
    }
    const Array input = to_device(check::array(x, {1, 1, extent}), Device::cpu());
    const PoolOptions options = {.stride = {stride}, .padding = {padding}, .dilation = {dilation}};
    const auto [got, places] = max_pool_with_indices(input, {kernel}, options);
    const std::string what = std::to_string(extent) + " " + std::to_string(kernel) + " " +
                             std::to_string(dilation) + " " + std::to_string(stride) + " " +
                             std::to_string(padding);
    SCOPED_TRACE(what);
    check::expect_values(got, {1, 1, positions}, values);
    check::expect_values(places, {1, 1, positions}, indices);
    check::expect_values(max_pool(input, {kernel}, options), {1, 1, positions}, values);
  }
}

TEST(MaxPool, WindowsWithoutElementsHaveNoGradient) {
  const Array x = check::array({1, 2, 3}, {1, 1, 3}).require_grad();
  const Array y = max_pool(x, {2}, {.stride = {2}, .padding = {1}, .ceil_mode = true});
  const Array grad = check::array({1, 10, 100}, {1, 1, 3});
  const Gradients gradients = backward(sum(mul(where(greater(y, -kInf), y, 0.0), grad)));
  check::expect_values(gradients.get(x), {1, 1, 3}, {1, 0, 10});
}

TEST(MaxPool, OverlappingWindowsAddTheirGradients) {
  const Array x = check::array({1, 5, 2, 4}, {1, 1, 4}).require_grad();
  const Gradients gradients = backward(sum(max_pool(x, {2}, {.stride = {1}})));
  check::expect_values(gradients.get(x), {1, 1, 4}, {0, 2, 0, 1});
}

// Plain loops over windows of random kinds, in every layout.
TEST(Pools, AgreeWithPlainLoops) {
  std::mt19937 source(5);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(source);
  };
  for (int trial = 0; trial < 60; ++trial) {
    AvgPoolOptions options;
    Dims kernel, extents;
    const int axes = static_cast<int>(between(1, 3));
    options.ceil_mode = between(0, 1) == 1;
    options.count_include_pad = between(0, 1) == 1;
    Shape shape = {between(1, 2), between(1, 3)};
    for (int i = 0; i < axes; ++i) {
      kernel.push_back(between(1, 4));
      options.stride.push_back(between(1, 4));
      options.padding.push_back(between(0, 3));
      options.dilation.push_back(between(1, 3));
      const std::int64_t covered = options.dilation[i] * (kernel[i] - 1) + 1;
      const std::int64_t least = covered - 2 * options.padding[i];
      extents.push_back(std::max<std::int64_t>(least, 1) + between(0, i == axes - 1 ? 40 : 4));
      shape.push_back(extents[i]);
    }
    const Array dense = check::random_array(shape, DType::f64, -1, 1, 100 + trial);
    // Rows run backwards, and the channels come last.
    const int last = dense.rank() - 1;
    const Array x =
        trial % 2 == 0
            ? dense
            : movedim(flip(contiguous(movedim(flip(dense, {last}), {1}, {last})), {last - 1}),
                      {last}, {1});
    const Values values = dense.to_doubles();
    Dims positions = extents;
    for (int i = 0; i < axes; ++i) {
      positions[i] =
          window_positions(extents[i], kernel[i], options.stride[i], 2 * options.padding[i],
                           options.dilation[i], options.ceil_mode);
    }
    Values largest, places, means;
    const std::int64_t plane = element_count(extents), taps = element_count(kernel);
    for (std::int64_t p = 0; p < shape[0] * shape[1]; ++p) {
      for (std::int64_t o = 0; o < element_count(positions); ++o) {
        double best = -kInf, total = 0;
        std::int64_t place = -1, real = 0, padded = 0;
        for (std::int64_t k = 0; k < taps; ++k) {
          std::int64_t rest_o = o, rest_k = k, at = 0, step = 1;
          bool is_real = true, is_padded = true;
          for (int i = axes - 1; i >= 0; --i) {
            const std::int64_t c = rest_o % positions[i] * options.stride[i] - options.padding[i] +
                                   rest_k % kernel[i] * options.dilation[i];
            rest_o /= positions[i], rest_k /= kernel[i];
            is_real = is_real && c >= 0 && c < extents[i];
            is_padded = is_padded && c < extents[i] + options.padding[i];
            at += c * step, step *= extents[i];
          }
          padded += is_padded ? 1 : 0;
          if (!is_real) continue;
          ++real;
          const double v = values[static_cast<std::size_t>(p * plane + at)];
          total += v;
          if (place < 0 || v > best) best = v, place = at;
        }
        largest.push_back(best);
        places.push_back(static_cast<double>(place));
        const std::int64_t divisor = options.count_include_pad ? padded : real;
        means.push_back(real == 0 ? 0 : total / static_cast<double>(divisor));
      }
    }
    Shape result = {shape[0], shape[1]};
    for (const std::int64_t count : positions) result.push_back(count);
    const PoolOptions window = {
        options.stride, options.padding, {}, options.dilation, options.ceil_mode};
    const std::string what = "trial " + std::to_string(trial);
    const auto [most, at] = max_pool_with_indices(x, kernel, window);
    check::expect_values(most, result, largest, what);
    check::expect_values(at, result, places, what);
    check::expect_values(max_pool(x, kernel, window), result, largest, what);
    check::expect_values(avg_pool(x, kernel, options), result, means, what);
    check::expect_close(avg_pool(cast(x, DType::f32), kernel, options), means, 1e-6, what);
    check::expect_close(avg_pool(cast(x, DType::f16), kernel, options), means, 2e-3, what);
    check::expect_close(max_pool(cast(x, DType::bf16), kernel, window), largest, 8e-3, what);
  }
}

TEST(AdaptivePools, WindowsCoverTheInput) {
  const Array x = check::array({1, 2, 3, 4, 5, 6, 7}, {1, 1, 7});
  // [0, 3), [2, 5), [4, 7).
  check::expect_values(adaptive_avg_pool(x, {3}), {1, 1, 3}, {2, 4, 6});
  check::expect_values(adaptive_max_pool(x, {3}), {1, 1, 3}, {3, 5, 7});
  check::expect_values(adaptive_max_pool_with_indices(x, {3}).second, {1, 1, 3}, {2, 4, 6});
  check::expect_values(adaptive_avg_pool(x, {1}), {1, 1, 1}, {4});
  const Array image = check::random_array({2, 3, 40, 50});
  check::expect_values(reshape(adaptive_avg_pool(image, {1}), {2, 3}), {2, 3},
                       mean(image, {2, 3}).to_doubles());
}

TEST(LpPool, IsANormOfWindows) {
  const Array x = check::array({-3, 4, 0, 0}, {1, 1, 4});
  check::expect_values(lp_pool(x, 2, {2}), {1, 1, 2}, {5, 0});
  check::expect_values(lp_pool(x, 1, {2}), {1, 1, 2}, {7, 0});
  const Array leaf = x.require_grad();
  check::expect_values(backward(sum(lp_pool(leaf, 2, {2}))).get(leaf), {1, 1, 4},
                       {-0.6, 0.8, 0, 0});
}

TEST(Pools, SecondGradients) {
  const Array x = check::random_array({1, 2, 5, 6}, DType::f64, 0.5, 2);
  check::check_gradients(
      [](std::span<const Array> in) { return square(avg_pool(in[0], {2, 3}, {.stride = {2}})); },
      {x});
  const Array leaf = x.require_grad();
  const Array first = backward(sum(exp(max_pool(leaf, {2}))), {.create_graph = true}).get(leaf);
  const Array second = backward(sum(square(first))).get(leaf);
  // The gradient e^y lies where y came from, and so does that of its square.
  const Values y = first.to_doubles();
  Values expected;
  for (const double each : y) expected.push_back(2 * each * each);
  check::expect_values(second, {1, 2, 5, 6}, expected);
}

template <class Call>
void expect_refused(ErrorCode code, Call call) {
  check::expect_error(code, [&] { static_cast<void>(call()); });
}

TEST(Pools, NothingAndErrors) {
  const Array none = zeros({0, 3, 4, 4});
  EXPECT_EQ(max_pool(none, {2}).to_doubles().size(), 0u);
  EXPECT_EQ(avg_pool(zeros({2, 0, 4, 4}), {2}).shape(), (Shape{2, 0, 2, 2}));
  const Array x = zeros({1, 1, 4, 4});
  const auto refused = [&](ErrorCode code, const Dims& kernel, const PoolOptions& options) {
    expect_refused(code, [&] { return max_pool(x, kernel, options); });
    expect_refused(code, [&] {
      return avg_pool(x, kernel,
                      {options.stride, options.padding, {}, options.dilation, options.ceil_mode});
    });
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  refused(ErrorCode::shape, {5}, {});
  refused(ErrorCode::shape, {2}, {.dilation = {4}});
  refused(ErrorCode::invalid_argument, {0}, {});
  refused(ErrorCode::invalid_argument, {}, {});
  refused(ErrorCode::invalid_argument, {2, 2, 2}, {});
  refused(ErrorCode::invalid_argument, {kHuge}, {});
  refused(ErrorCode::invalid_argument, {2}, {.stride = {0}});
  refused(ErrorCode::invalid_argument, {2}, {.stride = {-1, 1}});
  refused(ErrorCode::invalid_argument, {2}, {.padding = {-1}});
  refused(ErrorCode::invalid_argument, {2}, {.padding = {kHuge}});
  refused(ErrorCode::invalid_argument, {2}, {.dilation = {0}});
  expect_refused(ErrorCode::shape, [] { return max_pool(zeros({4, 4}), {2}); });
  expect_refused(ErrorCode::shape, [] { return avg_pool(zeros({1, 1, 4, 0}), {1}); });
  expect_refused(ErrorCode::dtype, [] { return avg_pool(zeros({1, 1, 4}, DType::i32), {1}); });
  expect_refused(ErrorCode::dtype, [] { return max_pool(zeros({1, 1, 4}, DType::bool_), {1}); });
  expect_refused(ErrorCode::shape, [] {
    return max_pool(zeros({1, 1, 1, 1, 1}), {1}, {.stride = {1}, .padding = {INT32_MAX}});
  });
  expect_refused(ErrorCode::shape, [] {
    return avg_pool(zeros({1, 1, 1}), {1}, {.stride = {1}, .padding = {1 << 27}});
  });
  expect_refused(ErrorCode::invalid_argument, [&] { return adaptive_avg_pool(x, {0}); });
  expect_refused(ErrorCode::invalid_argument, [&] { return adaptive_max_pool(x, {1, 2, 3}); });
  expect_refused(ErrorCode::invalid_argument, [&] { return lp_pool(x, 0, {2}); });
  expect_refused(ErrorCode::invalid_argument, [&] { return lp_pool(x, kNan, {2}); });
}

}  // namespace
}  // namespace hearth
