// Statistics and sums of channels on the simulator, against plain loops in f64: channels that are
// innermost or lie row by row, whole packets and odd extents, views that begin between two packets,
// one element to many chunks, means far from zero.
#include <cmath>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

class ChannelsRun : public ::testing::Test {
 protected:
  void SetUp() override { Device::set_default(hearth::testing::kernel_device_under_test()); }
  void TearDown() override { Device::set_default(before_); }

 private:
  Device before_ = Device();
};

enum class Order { rows, innermost, shifted };

// `x` [batch, channels, ...] with the same elements in another order of memory.
Array ordered(const Array& x, Order order) {
  if (order == Order::rows) return contiguous(x);
  Dims there = {0}, back = {0, x.rank() - 1};
  for (int i = 2; i < x.rank(); ++i) there.push_back(i), back.push_back(i - 1);
  there.push_back(1);
  if (order == Order::innermost) return permute(contiguous(permute(x, there)), back);
  // One element into its memory.
  const Array line = reshape(x, {x.size()});
  const Array longer = cat({narrow(line, 0, 0, 1), line}, 0).eval();
  return reshape(narrow(longer, 0, 1, x.size()), x.shape());
}

// The elements of each channel.
std::vector<Values> by_channel(const Array& x) {
  const Values all = x.to_doubles();
  std::vector<Values> channels(static_cast<std::size_t>(x.shape(1)));
  const std::size_t inner = all.size() / channels.size() / static_cast<std::size_t>(x.shape(0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    channels[i / inner % channels.size()].push_back(all[i]);
  }
  return channels;
}

struct Moments {
  Values mean, variance;
};
Moments moments_of(const Array& x) {
  Moments moments;
  for (const Values& channel : by_channel(x)) {
    double sum = 0, squares = 0;
    for (const double value : channel) sum += value;
    const double mean = sum / static_cast<double>(channel.size());
    for (const double value : channel) squares += (value - mean) * (value - mean);
    moments.mean.push_back(mean);
    moments.variance.push_back(squares / static_cast<double>(channel.size()));
  }
  return moments;
}

std::vector<Array> run_moments(const Array& x) {
  return call_outputs(defs::channel_moments_op, Params(), {&x});
}

double rough(DType dtype) { return dtype == DType::f64 ? 1e-13 : 2e-6; }

constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16, DType::f64};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {1, 1, 1, 1},  {5, 3},       {1, 8, 7, 9},   {2, 1, 33},      {3, 16, 4, 4},
      {4, 24, 5, 5}, {2, 7, 8, 8}, {300, 40},      {2, 3, 2, 1, 5}, {3, 70, 16},
      {1, 2, 1},     {700, 9, 3},  {2, 264, 2, 4},
  };
  return all;
}

TEST_F(ChannelsRun, MomentsInEveryOrderOfMemory) {
  std::uint64_t seed = 0;
  for (const DType dtype : kFloats) {
    for (const Shape& shape : shapes()) {
      const Array x = random_array(shape, dtype, -1, 3, ++seed);
      const Moments expected = moments_of(x);
      for (const Order order : {Order::rows, Order::innermost, Order::shifted}) {
        const std::vector<Array> got = run_moments(ordered(x, order).eval());
        const std::string what = std::string(name(dtype)) + " " + to_string(shape) + " " +
                                 std::to_string(static_cast<int>(order));
        EXPECT_EQ(got[0].dtype(), dtype == DType::f64 ? dtype : DType::f32);
        expect_close(got[0], expected.mean, rough(dtype), what + " mean");
        expect_close(got[1], expected.variance, rough(dtype), what + " variance");
      }
    }
  }
}

TEST_F(ChannelsRun, SumsInEveryOrderOfMemory) {
  std::uint64_t seed = 100;
  for (const DType dtype : kFloats) {
    for (const Shape& shape : shapes()) {
      const Array x = random_array(shape, dtype, -1, 3, ++seed);
      const Array grad = random_array(shape, dtype, -1, 1, ++seed);
      const Values means = moments_of(x).mean;
      // Of a mean that is stored in the dtype of x, and one that is a strided view.
      const Array mean = array(means, {shape[1]}, dtype);
      const Array pairs = stack({mean, mean}, 1).eval();
      const std::vector<Values> xs = by_channel(x), gs = by_channel(grad);
      const Values stored = mean.to_doubles();
      Values plain, products, scale;
      for (std::size_t c = 0; c < xs.size(); ++c) {
        double sum = 0, product = 0;
        for (std::size_t i = 0; i < xs[c].size(); ++i) {
          sum += gs[c][i];
          product += gs[c][i] * (xs[c][i] - stored[c]);
        }
        const auto count = static_cast<double>(xs[c].size());
        plain.push_back(sum / count);
        products.push_back(product / count);
      }
      const double count = static_cast<double>(x.size() / shape[1]);
      for (const Order order : {Order::rows, Order::innermost, Order::shifted}) {
        for (const Order of_grad : {order, Order::rows}) {
          const Array g = ordered(grad, of_grad).eval(), from = ordered(x, order).eval();
          const Array view = squeeze(narrow(pairs, 1, 1, 1), {1});
          const std::vector<Array> got =
              call_outputs(defs::channel_sums_op, Params(), {&g, &from, &view});
          const std::string what = std::string(name(dtype)) + " " + to_string(shape) + " " +
                                   std::to_string(static_cast<int>(order));
          expect_close(div(got[0], count), plain, rough(dtype), what + " sums");
          expect_close(div(got[1], count), products, rough(dtype), what + " products");
        }
      }
    }
  }
}

// In many chunks; a mean 1e4 times the deviation costs none of four digits, nor does a first value
// that is far from all others.
TEST_F(ChannelsRun, ManyChunksFarFromZero) {
  const Shape shape = {8, 16, 48, 48};
  for (const double centre : {0.0, 1e4, -3e6}) {
    Values values = random_values(element_count(shape), -1.7320508, 1.7320508, 7);
    for (double& value : values) value += centre;
    for (const bool is_outlier : {false, true}) {
      if (is_outlier) values[0] = centre + 1e4;
      const Array x = array(values, shape, DType::f32);
      const Moments expected = moments_of(x);
      for (const Order order : {Order::rows, Order::innermost}) {
        const std::vector<Array> got = run_moments(ordered(x, order).eval());
        const std::string what = std::to_string(centre);
        Values shares = got[1].to_doubles();
        for (std::size_t i = 0; i < shares.size(); ++i) shares[i] /= expected.variance[i];
        expect_close(shares, Values(shares.size(), 1.0), 2e-5, what);
        Values errors = got[0].to_doubles();
        for (std::size_t i = 0; i < errors.size(); ++i) {
          errors[i] = (errors[i] - expected.mean[i]) / std::sqrt(expected.variance[i]);
        }
        expect_close(errors, Values(errors.size(), 0.0), 1e-6 + 1e-7 * std::abs(centre), what);
      }
    }
  }
}

TEST_F(ChannelsRun, EqualValuesHaveNoVariance) {
  for (const Order order : {Order::rows, Order::innermost}) {
    const Array x = ordered(full({3, 16, 5, 7}, 0.1, DType::f32), order).eval();
    const std::vector<Array> got = run_moments(x);
    expect_close(got[0], Values(16, static_cast<double>(0.1f)), 0, "mean");
    expect_close(got[1], Values(16, 0.0), 0, "variance");
  }
}

TEST_F(ChannelsRun, WhatIsNoNumberStaysInItsChannel) {
  for (const double special : {kNan, kInf, -kInf}) {
    for (const std::int64_t place : {0, 3, 50}) {
      Values values = random_values(2 * 8 * 30, -1, 1, 3);
      values[static_cast<std::size_t>(2 * 30 + place % 30 + (place > 30 ? 8 * 30 : 0))] = special;
      const Array x = array(values, {2, 8, 30}, DType::f32);
      for (const Order order : {Order::rows, Order::innermost}) {
        const std::vector<Array> got = run_moments(ordered(x, order).eval());
        const Values mean = got[0].to_doubles(), variance = got[1].to_doubles();
        for (std::size_t c = 0; c < 8; ++c) {
          EXPECT_EQ(std::isnan(variance[c]), c == 2) << special << " " << place;
          if (c != 2) {
            EXPECT_TRUE(std::isfinite(mean[c]));
          } else if (std::isnan(special)) {
            EXPECT_TRUE(std::isnan(mean[c]));
          } else {
            EXPECT_EQ(mean[c], special) << place;
          }
        }
      }
    }
  }
}

// The same bits in every run.
TEST_F(ChannelsRun, RepeatsExactly) {
  const Array x = random_array({8, 24, 31, 9}, DType::f32, -2, 2, 9);
  for (const Order order : {Order::rows, Order::innermost}) {
    const Array there = ordered(x, order).eval();
    Values first;
    testing::expect_ran({"channel_moments", "channel_moments_combine"},
                        [&] { first = run_moments(there)[1].to_doubles(); });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run_moments(there)[1].to_doubles(), first);
  }
}

}  // namespace
}  // namespace hearth
