// The kernels of Fourier transforms, against the CPU's in f64: lines that threadgroups hold, of
// every stage, lines in two passes, lengths that become convolutions; along every axis, of views,
// with one result wanted; and which kernels did it.
#include <cmath>
#include <string>
#include <utility>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "hearth/ops/signal.h"
#include "kernels/fft/lengths.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

Array on_kernels(const Array& x) {
  return to_device(x, hearth::testing::kernel_device_under_test()).eval();
}

// The error, as a part of the largest element.
double worst(const Array& got, const Array& expected) {
  const Values a = got.to_doubles(), b = expected.to_doubles();
  EXPECT_EQ(a.size(), b.size());
  double far = 0, largest = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    far = std::max(far, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : kInf);
    largest = std::max(largest, std::abs(b[i]));
  }
  return far / largest;
}

double limit_of(DType dtype) { return dtype == DType::f64 ? 4e-15 : 1.2e-6; }

// All transforms of lines of n along an axis of [3, n] or [n, 3].
void expect_transforms(std::int64_t n, std::int64_t axis, DType dtype, const char* kernel) {
  const std::int64_t lines = n < 40 ? 150 : 3;
  const Shape shape = axis == 0 ? Shape{n, lines} : Shape{lines, n};
  const std::string what = std::to_string(n) + " " + std::string(name(dtype));
  const Array re = random_array(shape, dtype, -1, 1, 1), im = random_array(shape, dtype, -1, 1, 2);
  const Array wide_re = cast(re, DType::f64), wide_im = cast(im, DType::f64);
  const Array x = on_kernels(re), y = on_kernels(im);
  const double limit = limit_of(dtype);
  hearth::testing::expect_ran(kernel, [&] {
    const auto got = fft(x, y, axis), want = fft(wide_re, wide_im, axis);
    EXPECT_LE(worst(got.first, want.first), limit) << what;
    EXPECT_LE(worst(got.second, want.second), limit) << what;
    const auto back = ifft(x, y, axis), want_back = ifft(wide_re, wide_im, axis);
    EXPECT_LE(worst(back.first, want_back.first), limit) << what;
    EXPECT_LE(worst(back.second, want_back.second), limit) << what;
  });
  const auto half = rfft(x, axis), want = rfft(wide_re, axis);
  EXPECT_LE(worst(half.first, want.first), limit) << what;
  EXPECT_TRUE(n <= 2 || worst(half.second, want.second) <= limit) << what;
  // One result alone.
  EXPECT_EQ(rfft(x, axis).second.to_doubles(), half.second.to_doubles()) << what;
  EXPECT_EQ(rfft(x, axis).first.to_doubles(), half.first.to_doubles()) << what;
  const std::int64_t bins = n / 2 + 1;
  const Array bins_re = narrow(x, axis, 0, bins), bins_im = narrow(y, axis, 0, bins);
  EXPECT_LE(worst(irfft(bins_re, bins_im, axis, n),
                  irfft(narrow(wide_re, axis, 0, bins), narrow(wide_im, axis, 0, bins), axis, n)),
            limit)
      << what;
}

TEST(FftKernels, LinesInThreadgroups) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n :
         {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  12,  14,  15,  16,  21,  25,  27,   32,
          35, 49, 60, 63, 64, 75, 98, 100, 105, 128, 210, 343, 360, 512, 625, 735, 1000, 1024}) {
      expect_transforms(n, n % 2, dtype, "fft_lines");
    }
  }
  expect_transforms(2048, 1, DType::f32, "fft_lines");
  expect_transforms(1800, 0, DType::f32, "fft_lines");
}

TEST(FftKernels, LongLinesInPasses) {
  for (const std::int64_t n : {16384, 16807, 36000, 65536}) {
    expect_transforms(n, 1, DType::f32, "fft_lines");
  }
  expect_transforms(30000, 0, DType::f32, "fft_lines");
  expect_transforms(10000, 1, DType::f64, "fft_lines");
}

TEST(FftKernels, OtherLengthsAreConvolutions) {
  for (const std::int64_t n : {11, 13, 17, 22, 26, 34, 121, 143, 509, 514, 1009}) {
    expect_transforms(n, n % 3 == 0 ? 0 : 1, DType::f32, "fft_convolved");
  }
  expect_transforms(509, 1, DType::f64, "fft_convolved");
  expect_transforms(509, 0, DType::f64, "fft_convolved");
  expect_transforms(4093, 1, DType::f32, "fft_lines");  // one launch or more
  expect_transforms(70001, 1, DType::f32, "fft_filtered");
}

TEST(FftKernels, ViewsAndAxes) {
  const Array re = random_array({7, 5, 30, 4}, DType::f32, -1, 1, 3);
  const Array im = random_array({7, 5, 30, 4}, DType::f32, -1, 1, 4);
  const Array x = on_kernels(re), y = on_kernels(im);
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    const auto got = fft(flip(x, {axis}), movedim(y, {0}, {0}), axis);
    const auto want = fft(flip(re, {axis}), im, axis);
    EXPECT_LE(worst(got.first, want.first), 1e-6) << axis;
    EXPECT_LE(worst(got.second, want.second), 1e-6) << axis;
    const Array turned = movedim(x, {0, 2}, {2, 0}), here = movedim(re, {0, 2}, {2, 0});
    EXPECT_LE(worst(rfft(turned, axis).first, rfft(here, axis).first), 1e-6) << axis;
    EXPECT_LE(worst(rfft(flip(turned, {axis}), axis).second, rfft(flip(here, {axis}), axis).second),
              1e-6)
        << axis;
  }
  const Array line = expand(narrow(x, 0, 0, 1), {7, 5, 30, 4});
  const Array line_here = expand(narrow(re, 0, 0, 1), {7, 5, 30, 4});
  EXPECT_LE(worst(fft(line, y, 2).second, fft(line_here, im, 2).second), 1e-6);
}

// Lines that stay in threadgroup memory where there is much of it, and those that no way suits.
TEST(FftLengths, FollowMemoryAndRegisters) {
  using gpu::fourier::Length;
  using gpu::fourier::Method;
  runtime::DeviceTraits card;
  card.large_threadgroup_memory = 227 << 10;
  const gpu::fourier::Limits large(card, DType::f32), wide(card, DType::f64);
  const gpu::fourier::Limits small(runtime::common_traits(), DType::f32);
  EXPECT_EQ(large.points(2), 8192);
  EXPECT_EQ(large.points(5), 4096);
  EXPECT_EQ(large.points(7), 2048);
  EXPECT_EQ(wide.points(2), 4096);
  EXPECT_EQ(small.points(2), 2048);
  EXPECT_EQ(Length(8192, large).method, Method::mixed_radix);
  EXPECT_EQ(Length(8192, small).method, Method::passes);
  EXPECT_EQ(Length(4093, large).method, Method::bluestein);
  EXPECT_EQ(Length(4093, large).padded, 8192);
  for (const std::int64_t n : {5000, 7168, 1 << 20, 30000}) {
    const Length length(n, large);
    EXPECT_EQ(length.method, Method::passes) << n;
    EXPECT_EQ(length.rows * length.columns, n);
    EXPECT_TRUE(large.hold(length.rows) && large.hold(length.columns)) << n;
  }
  EXPECT_EQ(Length(std::int64_t{1} << 40, large).method, Method::none);
  EXPECT_EQ(Length((std::int64_t{1} << 26) - 1, large).method, Method::none);
  card.threadgroup_memory = card.large_threadgroup_memory = 1;
  EXPECT_EQ(Length(8, gpu::fourier::Limits(card, DType::f32)).method, Method::none);
}

TEST(FftKernels, LinesDoNotMix) {
  for (const std::int64_t n : {8, 17, 1024, 16384}) {
    Values values(static_cast<std::size_t>(3 * n), 1.0);
    values[static_cast<std::size_t>(n) + 1] = kNan;
    const auto [re, im] = rfft(on_kernels(array(values, {3, n}, DType::f32)));
    const Values got = re.to_doubles();
    const auto bins = static_cast<std::size_t>(n / 2 + 1);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(std::isnan(got[i]), i / bins == 1) << n << " " << i;
      if (i % bins == 0 && i / bins != 1) {
        EXPECT_NEAR(got[i], static_cast<double>(n), 1e-3 * static_cast<double>(n));
      }
    }
  }
}

}  // namespace
}  // namespace hearth
