// Rows of 10^5 elements and more: the error of softmax and its kin, the norms, cross_entropy and
// their gradients is that of sum(), whatever the length of a row and whatever its elements have in
// common.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"

namespace hearth {
namespace {

using check::Values;

// What a result may be off for being made of sums, as a share of the largest one.
constexpr double kShare = 1e-6;
// The same where e^y is taken of results y of about -15, which are rounded themselves.
constexpr double kPowerShare = 2.5e-6;

Values drawn(std::int64_t count, double low, double high) {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<double> draw(low, high);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = draw(random);
  return values;
}

// All 0 but the first, which is 1: every addition to a sum of their powers rounds the same way.
Values nearly_equal(std::int64_t count) {
  Values values(static_cast<std::size_t>(count), 0.0);
  values[0] = 1;
  return values;
}

// Weights that are 1 for the first `head`, and then so small that `together` of them vanish beside
// `together` ones: what threads of a kernel add to their first sums.
Values vanishing(std::int64_t count, std::int64_t head, int together) {
  Values weights(static_cast<std::size_t>(count), 0.98 * 0x1p-24);
  std::fill_n(weights.begin(), head, 1.0);
  for (std::size_t i = static_cast<std::size_t>(head); i < weights.size(); ++i) {
    weights[i] *= together / 16.0;
  }
  return weights;
}

// And of gradients of layer_norm where few elements are far from the others: terms cancel there.
constexpr double kSteepShare = 1e-5;

// Half a unit in the last place, and half of the least number.
double rounding(double x, DType dtype) {
  switch (dtype) {
    case DType::f16:
      return std::ldexp(std::abs(x), -11) + std::ldexp(1.0, -25);
    case DType::bf16:
      return std::ldexp(std::abs(x), -8);
    case DType::f32:
      return std::ldexp(std::abs(x), -24);
    default:
      return 0;
  }
}

// Against `of(i)`; NaN never passes.
template <class Of>
void expect_all(const Array& got, Of of, const std::string& what, double share = kShare) {
  const Values values = got.to_doubles();
  double largest = 0, worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = of(i);
    largest = std::max(largest, std::abs(expected));
    const double off = std::abs(values[i] - expected) - rounding(expected, got.dtype());
    if (off <= worst) continue;
    worst = off;
    at = i;
    if (std::isnan(off)) break;
  }
  EXPECT_TRUE(worst <= share * largest)
      << what << " element " << at << ": got " << values[at] << ", expected " << of(at)
      << ", off by " << worst / largest << " of the largest";
}

// A row x of length n on `device`, with upstream gradients g.
class LongRow {
 public:
  LongRow(const Device& device, const Values& x, DType dtype, std::string what, bool steep = false)
      : n_(static_cast<std::int64_t>(x.size())),
        what_(std::move(what)),
        steep_(steep),
        x_(to_device(check::array(x, {1, n_}, dtype), device)),
        g_(to_device(check::array(drawn(n_, 0.5, 1.5), {1, n_}, dtype), device)),
        values_(x_.to_doubles()),
        grads_(g_.to_doubles()) {
    for (const double value : values_) {
      top_ = std::max(top_, value);
      mean_ += value;
      squares_ += static_cast<long double>(value) * value;
    }
    mean_ /= static_cast<long double>(n_);
    squares_ /= static_cast<long double>(n_);
    for (const double value : values_) {
      variance_ += (value - mean_) * (value - mean_);
      powers_ += std::exp(value - top_);
    }
    variance_ /= static_cast<long double>(n_);
  }

  void expect_softmax() const {
    const double log_sum = top_ + static_cast<double>(std::log(powers_));
    const auto p = [&](std::size_t i) { return std::exp(values_[i] - log_sum); };
    expect_all(softmax(x_), p, what_ + " softmax");
    const auto log_p = [&](std::size_t i) { return values_[i] - log_sum; };
    expect_all(log_softmax(x_), log_p, what_ + " log_softmax");
    expect_all(logsumexp(x_), [&](std::size_t) { return log_sum; }, what_ + " logsumexp");
    const std::size_t target = values_.size() / 3;
    const Array targets =
        to_device(check::ints({static_cast<std::int64_t>(target)}, {1}), x_.device());
    expect_all(
        cross_entropy(x_, targets, Reduction::none), [&](std::size_t) { return -log_p(target); },
        what_ + " cross_entropy");

    // Of what the results are, rounded as they are.
    const auto gradient = [&](auto op) {
      return grad([&](const Array& x) { return sum(op(x) * g_); })(x_);
    };
    const Values y = softmax(x_).to_doubles();
    long double dot = 0, total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      dot += static_cast<long double>(y[i]) * grads_[i];
      total += grads_[i];
    }
    expect_all(
        gradient([](const Array& x) { return softmax(x); }),
        [&](std::size_t i) { return y[i] * static_cast<double>(grads_[i] - dot); },
        what_ + " gradient of softmax");
    const Values log_y = log_softmax(x_).to_doubles();
    expect_all(
        gradient([](const Array& x) { return log_softmax(x); }),
        [&](std::size_t i) { return static_cast<double>(grads_[i] - std::exp(log_y[i]) * total); },
        what_ + " gradient of log_softmax", kPowerShare);
  }

  void expect_norms() const {
    expect_norm([](const Array& x) { return layer_norm(x); }, mean_, variance_,
                what_ + " layer_norm");
    expect_norm([](const Array& x) { return rms_norm(x); }, 0, squares_, what_ + " rms_norm");
  }

 private:
  template <class Op>
  void expect_norm(Op op, long double mean, long double variance, const std::string& what) const {
    const auto factor = static_cast<double>(1 / std::sqrt(variance + 1e-5L));
    const auto h = [&](std::size_t i) { return static_cast<double>(values_[i] - mean) * factor; };
    expect_all(op(x_), h, what);
    long double a = 0, b = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      a += grads_[i];
      b += static_cast<long double>(grads_[i]) * h(i);
    }
    const double mean_g = mean == 0 ? 0 : static_cast<double>(a / static_cast<long double>(n_));
    const double mean_gh = static_cast<double>(b / static_cast<long double>(n_));
    expect_all(
        grad([&](const Array& x) { return sum(op(x) * g_); })(x_),
        [&](std::size_t i) { return factor * (grads_[i] - mean_g - h(i) * mean_gh); },
        what + " gradient", steep_ ? kSteepShare : kShare);
  }

  std::int64_t n_;
  std::string what_;
  bool steep_;
  Array x_, g_;
  Values values_, grads_;
  double top_ = -check::kInf;
  long double mean_ = 0, variance_ = 0, squares_ = 0, powers_ = 0;
};

void expect_row(const Device& device, const Values& x, DType dtype, const std::string& what) {
  const LongRow row(
      device, x, dtype,
      device.name() + " " + std::string(name(dtype)) + " " + std::to_string(x.size()) + " " + what);
  row.expect_softmax();
  row.expect_norms();
}

// The same along the first axis of x [length, 16]; what it should be comes from f64.
void expect_columns(const Device& device, const Values& values) {
  const auto length = static_cast<std::int64_t>(values.size()) / 16;
  const Shape shape{length, 16};
  const Array x = to_device(check::array(values, shape, DType::f32), device);
  const Array g = to_device(check::array(drawn(length * 16, 0, 1), shape, DType::f32), device);
  std::string what = device.name();
  what += " columns of ";
  what += std::to_string(length);
  const auto expect = [&](const std::string& name, auto op) {
    const auto gradient = [&](const Array& of, const Array& upstream) {
      return grad([&](const Array& in) { return sum(op(in) * upstream); })(of);
    };
    const auto close = [&](const Array& got, const Array& expected, const std::string& of,
                           double share) {
      const Values wanted = expected.to_doubles();
      expect_all(got, [&](std::size_t i) { return wanted[i]; }, what + " " + of, share);
    };
    const Array wide = cast(x, DType::f64);
    close(op(x), op(wide), name, kShare);
    const Array upstream = op(x).shape() == shape ? g : slice(g, {{0, 1}});
    close(gradient(x, upstream), gradient(wide, cast(upstream, DType::f64)), "gradient of " + name,
          kPowerShare);
  };
  expect("softmax", [](const Array& in) { return softmax(in, 0); });
  expect("log_softmax", [](const Array& in) { return log_softmax(in, 0); });
  expect("logsumexp", [](const Array& in) { return logsumexp(in, 0, true); });
}

// Rows are of the least length at which plain sums of a thread fail: 64 turns of 512 threads, which
// take four packets of four, and of 32 simdgroups, which take eight elements of a column.
TEST(LongRows, KernelsAreAsExactAsSums) {
  const Device device = testing::kernel_device_under_test();
  Values weights = vanishing(64 * 8192, 2048, 4);
  for (double& weight : weights) weight = std::sqrt(weight);
  LongRow(device, weights, DType::f32, device.name(), true).expect_norms();
  for (double& weight : weights) weight = 2 * std::log(weight);
  LongRow(device, weights, DType::f32, device.name()).expect_softmax();
  Values columns;
  for (const double weight : vanishing(64 * 256, 256, 16)) {
    columns.insert(columns.end(), 16, std::log(weight));
  }
  expect_columns(device, columns);
}

TEST(LongRows, ColumnsAreAsExactAsSums) {
  expect_columns(Device::cpu(), drawn(16 * 100'001, 0, 1));
  expect_columns(Device::cpu(), drawn(16 * 100'001, 0, 1e-3));
}

TEST(LongRows, AreAsExactAsSums) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const double offset : {0.0, 1000.0}) {
      expect_row(Device::cpu(), drawn(300'000, offset, offset + 1), dtype,
                 "from " + std::to_string(offset));
    }
  }
  expect_row(Device::cpu(), nearly_equal(300'000), DType::f32, "nearly equal");
  for (const double offset : {0.0, 1000.0}) {
    expect_row(Device::cpu(), drawn(4'000'000, offset, offset + 1), DType::f32,
               "from " + std::to_string(offset));
  }
}

}  // namespace
}  // namespace hearth
