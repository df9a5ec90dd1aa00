// Fourier transforms, windows and transforms of short pieces of a signal. Complex arrays are pairs
// of real ones, (re, im). Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Fourier transforms
// Along `axis`, of any length n, which is its extent unless given; longer lines are cut, shorter
// ones padded with 0. Error{invalid_argument} for n < 1. Float dtypes; f16 and bf16 are computed in
// f32 and rounded.

// y[k] = sum over t of x[t] e^(-2 pi i k t / n). re and im have one shape.
HEARTH_API std::pair<Array, Array> fft(const Array& re, const Array& im, std::int64_t axis = -1,
                                       std::optional<std::int64_t> n = std::nullopt);
// x[t] = 1/n sum over k of y[k] e^(2 pi i k t / n): undoes fft.
HEARTH_API std::pair<Array, Array> ifft(const Array& re, const Array& im, std::int64_t axis = -1,
                                        std::optional<std::int64_t> n = std::nullopt);
// The first n / 2 + 1 elements of the fft of a real x; the others are their conjugates.
HEARTH_API std::pair<Array, Array> rfft(const Array& x, std::int64_t axis = -1,
                                        std::optional<std::int64_t> n = std::nullopt);
// The real x of n elements, 2 (extent - 1) unless given, whose rfft is (re, im). What a real x
// cannot have, im of the first element and of the last one of an even n, counts as 0.
HEARTH_API Array irfft(const Array& re, const Array& im, std::int64_t axis = -1,
                       std::optional<std::int64_t> n = std::nullopt);

// ---- Hadamard transform

// The orthonormal Walsh-Hadamard transform of x [..., n] of floats, in natural order, of each of
// the blocks that the last axis has: they are as long as the largest power of two that divides n.
// y[i] = 1/sqrt(b) sum over j of (-1)^(bits that i and j share) x[j]. It undoes itself, keeps dot
// products, and spreads an outlier over its block. f16 and bf16 are computed in f32 and rounded.
HEARTH_API Array hadamard(const Array& x);

// ---- Fourier transforms along several axes
// Of lines as long as the axes are. Float dtypes; f16 and bf16 are computed in f32 and rounded.

// fft along each of `axes`, which differ.
HEARTH_API std::pair<Array, Array> fftn(const Array& re, const Array& im, const Dims& axes);
// Undoes fftn.
HEARTH_API std::pair<Array, Array> ifftn(const Array& re, const Array& im, const Dims& axes);
// rfft of a real x along the last of `axes`, then fft along the others.
HEARTH_API std::pair<Array, Array> rfftn(const Array& x, const Dims& axes);
// Undoes rfftn: `n`, 2 (extent - 1) unless given, is the extent of the result along the last of
// `axes`.
HEARTH_API Array irfftn(const Array& re, const Array& im, const Dims& axes,
                        std::optional<std::int64_t> n = std::nullopt);
// fftn along the last two axes.
HEARTH_API std::pair<Array, Array> fft2(const Array& re, const Array& im);
// Undoes fft2.
HEARTH_API std::pair<Array, Array> ifft2(const Array& re, const Array& im);

// ---- Frequencies

// The frequency of each element of an fft of n samples that are `spacing` apart: 0, 1, ..., -2, -1,
// divided by n times `spacing`. Float dtypes.
HEARTH_API Array fftfreq(std::int64_t n, double spacing = 1, DType dtype = DType::f32,
                         Device device = Device());
// The frequency of each element of an rfft of n samples: 0, 1, ..., n / 2, divided by n times
// `spacing`. Float dtypes.
HEARTH_API Array rfftfreq(std::int64_t n, double spacing = 1, DType dtype = DType::f32,
                          Device device = Device());
// x with frequency 0 in the middle of `axes`, at extent / 2. Any dtype.
HEARTH_API Array fftshift(const Array& x, const Dims& axes);
// Undoes fftshift.
HEARTH_API Array ifftshift(const Array& x, const Dims& axes);

// ---- Windows
// [size], of a float dtype, for t from 0 to 1; symmetric, or, with `periodic`, the first `size` of
// a symmetric window of size + 1. A window of size 1 is [1], periodic or not. A negative size is an
// Error{invalid_argument}.

// 0.5 - 0.5 cos(2 pi t).
HEARTH_API Array hann_window(std::int64_t size, bool periodic = true, DType dtype = DType::f32,
                             Device device = Device());
// alpha - (1 - alpha) cos(2 pi t).
HEARTH_API Array hamming_window(std::int64_t size, bool periodic = true, double alpha = 0.54,
                                DType dtype = DType::f32, Device device = Device());
// 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t).
HEARTH_API Array blackman_window(std::int64_t size, bool periodic = true, DType dtype = DType::f32,
                                 Device device = Device());

// ---- Short pieces of a signal

// Frames of n_fft samples, `hop_length` (n_fft / 4 unless given) apart, each times a window of
// `win_length` (n_fft unless given) samples in its middle. `center`: frame i has sample i *
// hop_length in its middle, and the signal is mirrored at its ends. `onesided`: n_fft / 2 + 1
// frequencies of a frame, else n_fft.
struct StftOptions {
  std::int64_t n_fft = 0;                                 // has no default: 1 or more
  std::optional<std::int64_t> hop_length = std::nullopt;  // 1 or more
  std::optional<std::int64_t> win_length = std::nullopt;  // 1 to n_fft
  bool center = true;
  bool onesided = true;
};
// The transform of each frame of signal [batch, samples] or [samples], times window [win_length],
// or undefined for ones: [batch, frames, frequencies, 2] or [frames, frequencies, 2], real parts
// before imaginary ones. PyTorch's has [frequencies, frames].
HEARTH_API Array stft(const Array& signal, const Array& window, const StftOptions& options);
// Undoes stft: the sum of overlapping frames, divided by that of squares of the window, 0 where
// that is 0. [batch, samples] or [samples] of `length` samples, or of all that the frames hold.
HEARTH_API Array istft(const Array& spectrum, const Array& window, const StftOptions& options,
                       std::optional<std::int64_t> length = std::nullopt);

}  // namespace v0
}  // namespace hearth
