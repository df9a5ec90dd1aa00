// Fourier transforms of every length, windows, and transforms of short pieces.
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/hearth.h"
#include "hearth/ops/signal.h"
#include "runtime/device/worker_pool.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

using Pair = std::pair<Array, Array>;

// By its definition, of lines of n.
std::pair<Values, Values> defined_transform(const Values& re, const Values& im, std::int64_t n,
                                            bool inverse) {
  Values out_re(re.size()), out_im(re.size());
  for (std::size_t start = 0; start < re.size(); start += static_cast<std::size_t>(n)) {
    for (std::int64_t k = 0; k < n; ++k) {
      double x = 0, y = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        const auto at = start + static_cast<std::size_t>(t);
        const double angle = (inverse ? 2 : -2) * std::numbers::pi *
                             static_cast<double>(k * t % n) / static_cast<double>(n);
        x += re[at] * std::cos(angle) - im[at] * std::sin(angle);
        y += re[at] * std::sin(angle) + im[at] * std::cos(angle);
      }
      const double share = inverse ? 1 / static_cast<double>(n) : 1;
      out_re[start + static_cast<std::size_t>(k)] = x * share;
      out_im[start + static_cast<std::size_t>(k)] = y * share;
    }
  }
  return {out_re, out_im};
}

double share_of(DType dtype) { return dtype == DType::f64 ? 1e-13 : 2e-6; }

class Fourier : public BothWays {};

TEST_P(Fourier, FollowsItsDefinition) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (std::int64_t n = 1; n <= 160; n += n < 40 ? 1 : 7) {
      const std::string what = std::to_string(n) + " " + std::string(name(dtype));
      const Array re = random_array({11, n}, dtype, -1, 1, 1);
      const Array im = random_array({11, n}, dtype, -1, 1, 2);
      const Values x = re.to_doubles(), y = im.to_doubles();
      const auto forward = defined_transform(x, y, n, false);
      const auto back = defined_transform(x, y, n, true);
      const Pair got = fft(re, im), inverse = ifft(re, im);
      expect_within(got.first.to_doubles(), forward.first, share_of(dtype), what);
      expect_within(got.second.to_doubles(), forward.second, share_of(dtype), what);
      expect_within(inverse.first.to_doubles(), back.first, share_of(dtype), what);
      expect_within(inverse.second.to_doubles(), back.second, share_of(dtype), what);
      const auto whole = defined_transform(x, Values(x.size(), 0), n, false);
      const Array whole_re = array(whole.first, {11, n}), whole_im = array(whole.second, {11, n});
      const Pair half = rfft(re);
      const std::int64_t bins = n / 2 + 1;
      expect_within(half.first.to_doubles(), narrow(whole_re, 1, 0, bins).to_doubles(),
                    share_of(dtype), what);
      expect_within(half.second.to_doubles(), narrow(whole_im, 1, 0, bins).to_doubles(),
                    share_of(dtype), what, 1);
      expect_within(irfft(half.first, half.second, -1, n).to_doubles(), x, share_of(dtype), what);
    }
  }
}

// Lines that lie in one piece, and the same across memory; against the definition.
TEST_P(Fourier, LinesAloneAndSideBySide) {
  for (const std::int64_t n : {64, 128, 256, 364, 396, 500, 728, 1001, 1024}) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const std::string what = std::to_string(n) + " " + std::string(name(dtype));
      const Array re = random_array({3, n}, dtype, -1, 1, 5),
                  im = random_array({3, n}, dtype, -1, 1, 6);
      const auto across = [](const Array& x) { return contiguous(transpose(x)); };
      const auto want = defined_transform(re.to_doubles(), im.to_doubles(), n, false);
      const Pair alone = fft(re, im), beside = fft(across(re), across(im), 0);
      for (const Pair& got : {alone, Pair{across(beside.first), across(beside.second)}}) {
        expect_within(got.first.to_doubles(), want.first, share_of(dtype), what);
        expect_within(got.second.to_doubles(), want.second, share_of(dtype), what);
      }
      const Pair half = rfft(re), half_beside = rfft(across(re), 0);
      expect_within(across(half_beside.first).to_doubles(), half.first.to_doubles(),
                    share_of(dtype), what);
      expect_within(across(half_beside.second).to_doubles(), half.second.to_doubles(),
                    share_of(dtype), what);
      EXPECT_EQ(rfft(re).second.to_doubles(), half.second.to_doubles()) << what;
      // Imaginary parts that no real line has change nothing.
      const Array odd = add(half.second, cast(equal(arange(0, n / 2 + 1), 0.0), dtype));
      expect_within(irfft(half.first, odd, -1, n).to_doubles(), re.to_doubles(), share_of(dtype),
                    what);
      expect_within(irfft(across(half.first), across(odd), 0, n).to_doubles(),
                    across(re).to_doubles(), share_of(dtype), what);
    }
  }
}

TEST_P(Fourier, LongLengthsComeBack) {
  for (const std::int64_t n : {1000, 1009, 1024, 2018, 4096, 4757, 10007, 15015, 65536}) {
    const Array re = random_array({2, n}, DType::f64, -1, 1, 3);
    const Array im = random_array({2, n}, DType::f64, -1, 1, 4);
    const Pair y = fft(re, im);
    const Pair x = ifft(y.first, y.second);
    expect_within(x.first, re, 1e-12, std::to_string(n));
    expect_within(x.second, im, 1e-12, std::to_string(n));
    // A few elements by their definition.
    for (const std::int64_t k : {std::int64_t{1}, n / 3, n - 1}) {
      const Values a = narrow(re, 0, 0, 1).to_doubles(), b = narrow(im, 0, 0, 1).to_doubles();
      double want = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(k * t % n) / n;
        want += a[static_cast<std::size_t>(t)] * std::cos(angle) -
                b[static_cast<std::size_t>(t)] * std::sin(angle);
      }
      EXPECT_NEAR(narrow(narrow(y.first, 0, 0, 1), 1, k, 1).item(), want, 1e-9) << n << " " << k;
    }
  }
}

TEST_P(Fourier, AxesAndViews) {
  const Array re = random_array({6, 5, 4}, DType::f64, -1, 1, 5);
  const Array im = random_array({6, 5, 4}, DType::f64, -1, 1, 6);
  for (const std::int64_t axis : {0, 1, 2, -1, -3}) {
    const Pair want = fft(contiguous(movedim(re, {axis}, {-1})), movedim(im, {axis}, {-1}));
    const Pair got = fft(re, im, axis);
    expect_within(got.first, movedim(want.first, {-1}, {axis}), 1e-14);
    expect_within(got.second, movedim(want.second, {-1}, {axis}), 1e-14);
    const Pair turned = fft(flip(re, {axis}), flip(im, {axis}), axis);
    const Pair same = fft(contiguous(flip(re, {axis})), contiguous(flip(im, {axis})), axis);
    expect_within(turned.first, same.first, 1e-14);
  }
  const Pair two = fft2(re, im);
  const Pair step = fft(re, im, 1);
  const Pair both = fft(step.first, step.second, 2);
  expect_within(two.first, both.first, 1e-13);
  const Pair back = ifft2(two.first, two.second);
  expect_within(back.first, re, 1e-13);
  const Pair all = fftn(re, im, {0, 1, 2});
  expect_within(ifftn(all.first, all.second, {2, 0, 1}).second, im, 1e-13);
  const Pair half = rfftn(re, {0, 1, 2});
  EXPECT_EQ(half.first.shape(), (Shape{6, 5, 3}));
  expect_within(half.first, narrow(fftn(re, zeros_like(re), {0, 1, 2}).first, 2, 0, 3), 1e-13);
  expect_within(irfftn(half.first, half.second, {0, 1, 2}, 4), re, 1e-13);
}

TEST_P(Fourier, LengthsCutAndPad) {
  const Array x = random_array({3, 10}, DType::f64);
  const Array none = zeros_like(x);
  expect_within(fft(x, none, 1, 7).first, fft(narrow(x, 1, 0, 7), narrow(none, 1, 0, 7)).first,
                1e-14);
  const Array longer = pad(x, {0, 0}, {0, 5});
  expect_within(rfft(x, 1, 15).second, rfft(longer).second, 1e-14);
  const Pair half = rfft(x);
  expect_within(irfft(half.first, half.second, 1, 6),
                irfft(narrow(half.first, 1, 0, 4), narrow(half.second, 1, 0, 4)), 1e-14);
  EXPECT_EQ(irfft(half.first, half.second).shape(), (Shape{3, 10}));
  EXPECT_EQ(irfft(half.first, half.second, 1, 11).shape(), (Shape{3, 11}));
  EXPECT_EQ(rfft(zeros({2, 0}), 1, 4).first.shape(), (Shape{2, 3}));
  EXPECT_EQ(rfft(zeros({0, 4})).first.shape(), (Shape{0, 3}));
}

TEST_P(Fourier, SpecialValues) {
  const Array x = array({1, kNan, 2, 3, 1, 1, 1, 1}, {2, 4});
  const Values got = rfft(x).first.to_doubles();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(got[i]));
  expect_close(Values(got.begin() + 3, got.end()), {4, 0, 0}, 1e-14);
  // What a real line cannot have counts as 0.
  expect_values(irfft(array({1, 0, 0}, {3}), array({5, 0, 7}, {3})), {4}, Values(4, 0.25));
  const Array half = array({1, 2, 3, 4}, {4}, DType::f16);
  EXPECT_EQ(rfft(half).first.dtype(), DType::f16);
  expect_values(rfft(half).first, {3}, {10, -2, -2});
}

TEST_P(Fourier, Gradients) {
  for (const std::int64_t n : {1, 2, 5, 6}) {
    const Array re = random_array({2, n}, DType::f64, -1, 1, 7);
    const Array im = random_array({2, n}, DType::f64, -1, 1, 8);
    const auto joined = [](const Pair& y) {
      return square(cat({flatten(y.first), flatten(y.second)}, 0));
    };
    const std::vector<std::pair<Many, std::vector<Array>>> cases = {
        {[&](auto in) { return joined(fft(in[0], in[1])); }, {re, im}},
        {[&](auto in) { return joined(ifft(in[0], in[1], 0)); }, {re, im}},
        {[&](auto in) { return joined(rfft(in[0])); }, {re}},
        {[&](auto in) { return square(rfft(in[0]).second); }, {re}},
        {[&](auto in) { return square(irfft(in[0], in[1], -1, 2 * n - 1)); }, {re, im}},
        {[&](auto in) { return square(irfft(in[0], in[1], -1, 2 * n)); }, {re, im}}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(std::to_string(n) + " case " + std::to_string(i));
      check_gradients(cases[i].first, cases[i].second);
      check_second_gradients(cases[i].first, cases[i].second);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Fourier, ::testing::Bool(), way_name);

TEST(FourierErrors, SayWhatIsWrong) {
  const Array x = zeros({2, 3});
  expect_error(ErrorCode::invalid_argument, [&] { (void)fft(x, x, 2); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)fft(x, x, 1, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)rfft(x, 1, -3); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)rfft(x, 1, std::numeric_limits<std::int64_t>::max()); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)irfft(x, x, 1, std::numeric_limits<std::int64_t>::min()); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)rfft(zeros({2, 0})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)irfft(zeros({1}), zeros({1})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)rfft(zeros({})); });
  expect_error(ErrorCode::shape, [&] { (void)fft(x, zeros({3})); });
  expect_error(ErrorCode::dtype, [&] { (void)rfft(ints({1, 2}, {2})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)fftn(x, x, {1, 1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)rfftn(x, {}); });
}

TEST(FourierThreads, GiveTheSame) {
  const Array x = random_array({300, 210}, DType::f32, -1, 1, 9);
  const Values alone = [&] {
    const ThreadLimit one(1);
    return rfft(x, 0).second.to_doubles();
  }();
  EXPECT_EQ(rfft(x, 0).second.to_doubles(), alone);
}

TEST(FourierDevices, Agree) {
  for (const Device& device : devices_under_test()) {
    for (const std::int64_t n : {6, 34, 130, 192}) {
      const Array host = random_array({3, n}, DType::f32, -1, 1, 10);
      const Array x = to_device(host, device);
      expect_within(rfft(x).first, rfft(host).first, 4e-6, device.name());
      expect_within(fft(x, x).second, fft(host, host).second, 4e-6, device.name());
      const Pair half = rfft(x);
      expect_within(irfft(half.first, half.second, -1, n), host, 4e-6, device.name());
    }
  }
}

TEST(Frequencies, AreThoseOfNumpy) {
  expect_values(fftfreq(5, 0.5, DType::f64), {5}, {0, 0.4, 0.8, -0.8, -0.4});
  expect_values(fftfreq(4, 1, DType::f64), {4}, {0, 0.25, -0.5, -0.25});
  expect_values(rfftfreq(5, 1, DType::f64), {3}, {0, 0.2, 0.4});
  expect_values(rfftfreq(4, 2, DType::f32), {3}, {0, 0.125, 0.25});
  expect_values(fftshift(ints({0, 1, 2, 3, 4}, {5}), {0}), {5}, {3, 4, 0, 1, 2});
  expect_values(ifftshift(ints({3, 4, 0, 1, 2}, {5}), {-1}), {5}, {0, 1, 2, 3, 4});
  expect_error(ErrorCode::invalid_argument, [] { (void)fftfreq(0); });
  expect_error(ErrorCode::invalid_argument, [] { (void)rfftfreq(-1); });
  for (const std::int64_t n : {INT64_MIN, INT64_MAX}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)fftfreq(n); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)rfftfreq(n); });
  }
  expect_error(ErrorCode::dtype, [] { (void)fftfreq(3, 1, DType::i32); });
  expect_error(ErrorCode::invalid_argument, [] { (void)fftshift(zeros({3}), {1}); });
}

// scipy.signal.get_window
TEST(Windows, AreThoseOfSciPy) {
  expect_values(hann_window(4, true, DType::f64), {4}, {0, 0.5, 1, 0.5});
  expect_values(hann_window(5, false, DType::f64), {5}, {0, 0.5, 1, 0.5, 0});
  expect_values(hamming_window(4, true, 0.54, DType::f64), {4}, {0.08, 0.54, 1, 0.54});
  expect_values(hamming_window(4, true, 0.75, DType::f64), {4}, {0.5, 0.75, 1, 0.75});
  expect_values(signal::hamming_window(4).array(), {4}, {4.0 / 46, 25.0 / 46, 1, 25.0 / 46});
  expect_values(blackman_window(4, true, DType::f64), {4}, {0, 0.34, 1, 0.34});
  expect_values(blackman_window(5, false, DType::f32), {5}, {0, 0.34, 1, 0.34, 0});
  const auto expect_rules = [](const auto& window) {
    expect_values(window(0, true, DType::f32), {0}, {});
    expect_values(window(1, true, DType::f32), {1}, {1});
    expect_values(window(1, false, DType::f32), {1}, {1});
    for (const std::int64_t size : {std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
      for (const bool periodic : {false, true}) {
        expect_error(ErrorCode::invalid_argument,
                     [&] { (void)window(size, periodic, DType::f32); });
      }
    }
    expect_error(ErrorCode::dtype, [&] { (void)window(4, true, DType::i32); });
    expect_error(ErrorCode::dtype, [&] { (void)window(1, true, DType::i32); });
  };
  expect_rules([](auto... options) { return hann_window(options...); });
  expect_rules([](std::int64_t size, bool periodic, DType dtype) {
    return hamming_window(size, periodic, 0.54, dtype);
  });
  expect_rules([](auto... options) { return blackman_window(options...); });
}

TEST(Stft, TransformsFrames) {
  const Array x = random_array({2, 37}, DType::f64, -1, 1, 11);
  const Array window = hann_window(8, true, DType::f64);
  const StftOptions options = {.n_fft = 8, .hop_length = 3, .center = false};
  const Array y = stft(x, window, options);
  ASSERT_EQ(y.shape(), (Shape{2, 10, 5, 2}));
  const Array frame = mul(narrow(x, 1, 12, 8), window);
  const Pair want = rfft(frame);
  expect_within(narrow(y, 1, 4, 1).to_doubles(), stack({want.first, want.second}, -1).to_doubles(),
                1e-13);
  // The middle of frame i is sample 3 i, of a mirrored signal.
  const Array centred = stft(x, window, {.n_fft = 8, .hop_length = 3});
  ASSERT_EQ(centred.shape(), (Shape{2, 13, 5, 2}));
  const Array mirrored = pad(x, {0, 4}, {0, 4}, PadMode::reflect);
  expect_within(centred, stft(mirrored, window, options), 1e-13);
  EXPECT_EQ(stft(flatten(x), Array(), {.n_fft = 8, .onesided = false}).shape(), (Shape{38, 8, 2}));
  // A short window lies in the middle.
  const Array shorter = hann_window(5, true, DType::f64);
  expect_within(stft(x, shorter, {.n_fft = 8, .win_length = 5}),
                stft(x, pad(shorter, {1}, {2}), {.n_fft = 8}), 1e-14);
}

TEST(Stft, ComesBack) {
  const Array x = random_array({2, 64}, DType::f64, -1, 1, 12);
  for (const bool center : {true, false}) {
    for (const bool onesided : {true, false}) {
      for (const std::int64_t n_fft : {8, 9}) {
        const StftOptions options = {
            .n_fft = n_fft, .hop_length = 2, .center = center, .onesided = onesided};
        const Array window = hamming_window(n_fft, true, 0.54, DType::f64);
        const Array y = stft(x, window, options);
        const Array back = istft(y, window, options);
        const std::int64_t held = back.shape(1);
        EXPECT_GE(held, 62);
        expect_within(back, narrow(x, 1, 0, held), 1e-12);
        EXPECT_EQ(istft(narrow(y, 0, 0, 1), window, options, 40).shape(), (Shape{1, 40}));
        expect_within(istft(squeeze(narrow(y, 0, 1, 1), {0}), window, options),
                      flatten(narrow(narrow(x, 0, 1, 1), 1, 0, held)), 1e-12);
      }
    }
  }
}

TEST(Stft, HasGradients) {
  const Array x = random_array({1, 20}, DType::f64, -1, 1, 13);
  const Array window = hann_window(6, true, DType::f64);
  check_gradients([](auto in) { return stft(in[0], in[1], {.n_fft = 6, .hop_length = 2}); },
                  {x, window});
  const Array y = stft(x, window, {.n_fft = 6, .hop_length = 2});
  check_gradients([&](auto in) { return istft(in[0], window, {.n_fft = 6, .hop_length = 2}); },
                  {y.eval()});
}

TEST(Stft, RefusesWhatDoesNotFit) {
  const Array x = zeros({2, 16}), window = hann_window(8);
  const auto refused = [&](ErrorCode code, const StftOptions& options) {
    expect_error(code, [&] { (void)stft(x, window, options); });
  };
  refused(ErrorCode::invalid_argument, {});
  refused(ErrorCode::invalid_argument, {.n_fft = -4});
  refused(ErrorCode::invalid_argument, {.n_fft = 8, .hop_length = 0});
  refused(ErrorCode::invalid_argument, {.n_fft = 8, .win_length = 9});
  refused(ErrorCode::shape, {.n_fft = 9});
  refused(ErrorCode::invalid_argument, {.n_fft = 20, .win_length = 8, .center = false});
  expect_error(ErrorCode::shape, [&] { (void)stft(zeros({1, 2, 16}), window, {.n_fft = 8}); });
  expect_error(ErrorCode::shape, [&] { (void)istft(zeros({2, 3, 4, 2}), window, {.n_fft = 8}); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)istft(zeros({2, 3, 5, 2}), window, {.n_fft = 8}, 1000); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)istft(zeros({2, 3, 5, 2}), window, {.n_fft = 8}, -1); });
  // 2^24 hops of 2^40 samples.
  expect_error(ErrorCode::shape, [] {
    const Array frames = zeros({1, (1 << 24) + 1, 1, 2});
    (void)istft(frames, Array(), {.n_fft = 1, .hop_length = std::int64_t{1} << 40});
  });
}

TEST(Stft, TypedOneTakesAWindowOfEitherForm) {
  const StftOptions options{.n_fft = 8};
  const Array window = hann_window(8);
  const auto x = Tensor<2>(random_array({2, 32}, DType::f32));
  const Tensor<4> y = stft(x, window, options);
  expect_within(y.array(), stft(x, signal::hann_window(8), options).array(), 0);
  const Tensor<2> back = istft(y, window, options);
  expect_within(back.array(), x.array(), 1e-6);
  const Tensor<3> one = stft(x[0], window, options);
  const Tensor<1> alone = istft(one, window, options, 32);
  expect_within(alone.array(), x[0].array(), 1e-6);
  // None stands for ones.
  EXPECT_EQ(stft(x, Array(), options).shape(), (Shape{2, 17, 5, 2}));
}

}  // namespace
}  // namespace hearth
