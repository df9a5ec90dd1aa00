// What goes with Fourier transforms: frequencies, windows, and transforms of short pieces.
#include <cmath>
#include <numbers>
#include <string>

#include "core/throw_as.h"
#include "graph/record/node.h"
#include "hearth/ops.h"
#include "hearth/ops/signal.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace signals {
namespace {

// 0 to count - 1, for numbers that are worked out in f64: on the CPU, which every machine has f64
// on.
Array counted(const char* function, std::int64_t count, DType dtype) {
  if (!is_float(dtype)) {
    throw Error(ErrorCode::dtype, std::string(function) + ": not a float dtype; got " +
                                      std::string(name(dtype)) + ", expected a float dtype");
  }
  if (count < 0 || count > (std::int64_t{1} << 52)) {
    throw Error(ErrorCode::invalid_argument, std::string(function) + ": size out of range; got " +
                                                 std::to_string(count) + ", expected 0 to 2^52");
  }
  return arange(0, count, 1, DType::f64, Device::cpu());
}

Array given(const Array& exact, DType dtype, Device device) {
  return to_device(cast(exact, dtype), device);
}

// a - b cos(2 pi t) + c cos(4 pi t), for t from 0 to 1.
Array cosine_window(const char* function, std::int64_t size, bool periodic, DType dtype,
                    Device device, double a, double b, double c) {
  const Array at = counted(function, size, dtype);
  if (size == 1) return ones({1}, dtype, device);
  const auto period = static_cast<double>(periodic ? size : size - 1);
  const Array angle = div(mul(at, 2 * std::numbers::pi), period);
  Array window = sub(a, mul(cos(angle), b));
  if (c != 0) window = add(window, mul(cos(mul(angle, 2.0)), c));
  return given(window, dtype, device);
}

struct Frames {
  std::int64_t n_fft, hop, win_length, bins;
};

Frames frames_of(const char* function, const StftOptions& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto require = [&](const char* what, std::int64_t value, std::int64_t most) {
    if (value >= 1 && value <= most) return;
    throw Error(ErrorCode::invalid_argument, std::string(function) + ": " + what +
                                                 " out of range; got " + std::to_string(value) +
                                                 ", expected 1 to " + std::to_string(most));
  };
  require("n_fft", options.n_fft, kMost);
  Frames frames = {.n_fft = options.n_fft,
                   .hop = options.hop_length.value_or(std::max<std::int64_t>(1, options.n_fft / 4)),
                   .win_length = options.win_length.value_or(options.n_fft),
                   .bins = options.onesided ? options.n_fft / 2 + 1 : options.n_fft};
  require("hop_length", frames.hop, kMost);
  require("win_length", frames.win_length, frames.n_fft);
  return frames;
}

// [n_fft], of a window of the dtype of `like`, as wide as it is computed in.
Array full_window(const char* function, const Array& window, const Frames& frames,
                  const Array& like) {
  if (window.defined() && window.dtype() != like.dtype()) {
    throw Error(ErrorCode::dtype, std::string(function) + ": the window differs in dtype; got " +
                                      std::string(name(window.dtype())) + ", expected " +
                                      std::string(name(like.dtype())));
  }
  Array own = window.defined() ? window : ones({frames.win_length}, like.dtype(), like.device());
  if (own.shape() != Shape{frames.win_length}) {
    throw Error(ErrorCode::shape, std::string(function) + ": the window does not fit; got " +
                                      to_string(own.shape()) + ", expected [" +
                                      std::to_string(frames.win_length) + "]");
  }
  const std::int64_t missing = frames.n_fft - frames.win_length;
  return pad(wide(own), {missing / 2}, {missing - missing / 2});
}

// frames [batch, count, n_fft], each added hop after the one before: [batch, samples].
Array overlap_added(const char* function, const Array& parts, std::int64_t hop) {
  const std::int64_t batch = parts.shape(0), count = parts.shape(1), n = parts.shape(2);
  std::int64_t samples = 0;
  if (__builtin_mul_overflow(count - 1, hop, &samples) ||
      __builtin_add_overflow(samples, n, &samples)) {
    throw Error(ErrorCode::shape, std::string(function) + ": too many samples; got " +
                                      std::to_string(count) + " frames, each " +
                                      std::to_string(hop) +
                                      " after the one before, expected fewer than 2^63 samples");
  }
  const auto counted = [&](std::int64_t end) {
    return arange(0, end, 1, DType::i64, parts.device());
  };
  const Array places = add(unsqueeze(mul(counted(count), hop), {1}), unsqueeze(counted(n), {0}));
  return select_add(zeros({batch, samples}, parts.dtype(), parts.device()), flat(places),
                    reshape(parts, {batch, count * n}), 1);
}

}  // namespace
}  // namespace signals

inline namespace v0 {

Array fftfreq(std::int64_t n, double spacing, DType dtype, Device device) try {
  if (n == 0) {
    throw Error(ErrorCode::invalid_argument, "fftfreq: no samples; got 0, expected 1 or more");
  }
  const Array at = signals::counted("fftfreq", n, dtype);
  const auto count = static_cast<double>(n), positive = static_cast<double>(n / 2 + n % 2);
  const Array order = where(less(at, positive), at, sub(at, count));
  return signals::given(div(order, count * spacing), dtype, device);
} catch (const Error& error) {
  throw_as("fftfreq", error);
}

Array rfftfreq(std::int64_t n, double spacing, DType dtype, Device device) try {
  if (n < 1) {
    throw Error(ErrorCode::invalid_argument,
                "rfftfreq: no samples; got " + std::to_string(n) + ", expected 1 or more");
  }
  const Array at = signals::counted("rfftfreq", n / 2 + 1, dtype);
  return signals::given(div(at, static_cast<double>(n) * spacing), dtype, device);
} catch (const Error& error) {
  throw_as("rfftfreq", error);
}

Array fftshift(const Array& x, const Dims& axes) try {
  Dims shifts;
  for (const std::int64_t axis : axes) {
    shifts.push_back(x.shape(normalize_axis("fftshift", axis, x.rank())) / 2);
  }
  return roll(x, shifts, axes);
} catch (const Error& error) {
  throw_as("fftshift", error);
}

Array ifftshift(const Array& x, const Dims& axes) try {
  Dims shifts;
  for (const std::int64_t axis : axes) {
    shifts.push_back(-(x.shape(normalize_axis("ifftshift", axis, x.rank())) / 2));
  }
  return roll(x, shifts, axes);
} catch (const Error& error) {
  throw_as("ifftshift", error);
}

Array hann_window(std::int64_t size, bool periodic, DType dtype, Device device) try {
  return signals::cosine_window("hann_window", size, periodic, dtype, device, 0.5, 0.5, 0);
} catch (const Error& error) {
  throw_as("hann_window", error);
}
Array hamming_window(std::int64_t size, bool periodic, double alpha, DType dtype,
                     Device device) try {
  return signals::cosine_window("hamming_window", size, periodic, dtype, device, alpha, 1 - alpha,
                                0);
} catch (const Error& error) {
  throw_as("hamming_window", error);
}
Array blackman_window(std::int64_t size, bool periodic, DType dtype, Device device) try {
  return signals::cosine_window("blackman_window", size, periodic, dtype, device, 0.42, 0.5, 0.08);
} catch (const Error& error) {
  throw_as("blackman_window", error);
}

Array stft(const Array& signal, const Array& window, const StftOptions& options) try {
  require_float_array("stft", signal);
  const signals::Frames frames = signals::frames_of("stft", options);
  if (signal.rank() != 1 && signal.rank() != 2) {
    throw Error(ErrorCode::shape, "stft: no signal; got " + to_string(signal.shape()) +
                                      ", expected [batch, samples] or [samples]");
  }
  Array samples = wide(signal.rank() == 1 ? unsqueeze(signal, {0}) : signal);
  if (options.center) {
    const std::int64_t half = frames.n_fft / 2;
    samples = pad(samples, {0, half}, {0, half}, PadMode::reflect);
  }
  if (samples.shape(1) < frames.n_fft) {
    throw Error(ErrorCode::invalid_argument, "stft: fewer samples than a frame has; got " +
                                                 std::to_string(samples.shape(1)) + ", expected " +
                                                 std::to_string(frames.n_fft) + " or more");
  }
  const Array full = signals::full_window("stft", window, frames, signal);
  const Array parts = mul(unfold(samples, 1, frames.n_fft, frames.hop), full);
  const auto [re, im] = options.onesided ? rfft(parts) : fft(parts, zeros_like(parts));
  const Array both = cast(stack({re, im}, -1), signal.dtype());
  return signal.rank() == 1 ? squeeze(both, {0}) : both;
} catch (const Error& error) {
  throw_as("stft", error);
}

Array istft(const Array& spectrum, const Array& window, const StftOptions& options,
            std::optional<std::int64_t> length) try {
  require_float_array("istft", spectrum);
  const signals::Frames frames = signals::frames_of("istft", options);
  const int rank = spectrum.rank();
  if ((rank != 3 && rank != 4) || spectrum.shape(-1) != 2 || spectrum.shape(-2) != frames.bins ||
      spectrum.shape(-3) < 1) {
    throw Error(ErrorCode::shape, "istft: no spectrum; got " + to_string(spectrum.shape()) +
                                      ", expected [batch, frames, " + std::to_string(frames.bins) +
                                      ", 2] or [frames, " + std::to_string(frames.bins) + ", 2]");
  }
  const Array values = wide(rank == 3 ? unsqueeze(spectrum, {0}) : spectrum);
  const Array re = squeeze(narrow(values, -1, 0, 1), {-1});
  const Array im = squeeze(narrow(values, -1, 1, 1), {-1});
  const Array full = signals::full_window("istft", window, frames, spectrum);
  const Array parts = options.onesided ? irfft(re, im, -1, frames.n_fft) : ifft(re, im).first;
  const Array squares = expand(square(full), {1, values.shape(1), frames.n_fft});
  const Array weight = signals::overlap_added("istft", squares, frames.hop);
  const Array sums = signals::overlap_added("istft", mul(parts, full), frames.hop);
  // Below this nothing but rounding is left of a sample.
  const Array absent = less(weight, 1e-11);
  Array samples = where(absent, 0.0, div(sums, where(absent, 1.0, weight)));
  const std::int64_t start = options.center ? frames.n_fft / 2 : 0;
  const std::int64_t most = std::max<std::int64_t>(0, samples.shape(1) - 2 * start);
  if (length && (*length < 0 || *length > samples.shape(1) - start)) {
    throw Error(ErrorCode::invalid_argument, "istft: the frames do not hold as many samples; got " +
                                                 std::to_string(*length) + ", expected 0 to " +
                                                 std::to_string(samples.shape(1) - start));
  }
  samples = cast(narrow(samples, 1, start, length.value_or(most)), spectrum.dtype());
  return rank == 3 ? squeeze(samples, {0}) : samples;
} catch (const Error& error) {
  throw_as("istft", error);
}

}  // namespace v0
}  // namespace hearth
