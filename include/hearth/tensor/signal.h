// Functions of typed tensors for Fourier transforms, windows and short pieces of signals, and
// Burn's module signal. Complex tensors are pairs of real ones, (re, im). `site` is the caller's
// line.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops/signal.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

namespace tensor_detail {
template <int R>
std::pair<Tensor<R>, Tensor<R>> complex_pair(const std::pair<Array, Array>& both) {
  return {Tensor<R>(both.first), Tensor<R>(both.second)};
}
}  // namespace tensor_detail

template <int R>
std::pair<Tensor<R>, Tensor<R>> fft(const Tensor<R>& re, const Tensor<R>& im, std::int64_t dim = -1,
                                    std::optional<std::int64_t> n = std::nullopt,
                                    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return tensor_detail::complex_pair<R>(hearth::fft(re.array(), im.array(), dim, n));
  });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> ifft(const Tensor<R>& re, const Tensor<R>& im,
                                     std::int64_t dim = -1,
                                     std::optional<std::int64_t> n = std::nullopt,
                                     CallSite site = CallSite::here()) {
  return located(site, [&] {
    return tensor_detail::complex_pair<R>(hearth::ifft(re.array(), im.array(), dim, n));
  });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> rfft(const Tensor<R>& x, std::int64_t dim = -1,
                                     std::optional<std::int64_t> n = std::nullopt,
                                     CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return tensor_detail::complex_pair<R>(hearth::rfft(x.array(), dim, n)); });
}
template <int R>
Tensor<R> irfft(const Tensor<R>& re, const Tensor<R>& im, std::int64_t dim = -1,
                std::optional<std::int64_t> n = std::nullopt, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::irfft(re.array(), im.array(), dim, n)); });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> fftn(const Tensor<R>& re, const Tensor<R>& im, const Dims& dims,
                                     CallSite site = CallSite::here()) {
  return located(site, [&] {
    return tensor_detail::complex_pair<R>(hearth::fftn(re.array(), im.array(), dims));
  });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> ifftn(const Tensor<R>& re, const Tensor<R>& im, const Dims& dims,
                                      CallSite site = CallSite::here()) {
  return located(site, [&] {
    return tensor_detail::complex_pair<R>(hearth::ifftn(re.array(), im.array(), dims));
  });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> rfftn(const Tensor<R>& x, const Dims& dims,
                                      CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return tensor_detail::complex_pair<R>(hearth::rfftn(x.array(), dims)); });
}
template <int R>
Tensor<R> irfftn(const Tensor<R>& re, const Tensor<R>& im, const Dims& dims,
                 std::optional<std::int64_t> n = std::nullopt, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::irfftn(re.array(), im.array(), dims, n)); });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> fft2(const Tensor<R>& re, const Tensor<R>& im,
                                     CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(
      site, [&] { return tensor_detail::complex_pair<R>(hearth::fft2(re.array(), im.array())); });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> ifft2(const Tensor<R>& re, const Tensor<R>& im,
                                      CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(
      site, [&] { return tensor_detail::complex_pair<R>(hearth::ifft2(re.array(), im.array())); });
}
template <int R, TensorKind K>
Tensor<R, K> fftshift(const Tensor<R, K>& x, const Dims& dims, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, K>(hearth::fftshift(x.array(), dims)); });
}
template <int R, TensorKind K>
Tensor<R, K> ifftshift(const Tensor<R, K>& x, const Dims& dims, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, K>(hearth::ifftshift(x.array(), dims)); });
}

// signal [batch, samples], window [win_length]: [batch, frames, frequencies, 2]. PyTorch's
// has [frequencies, frames].
inline Tensor<4> stft(const Tensor<2>& signal, const Tensor<1>& window, const StftOptions& options,
                      CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<4>(hearth::stft(signal.array(), window.array(), options)); });
}
// signal [samples]: [frames, frequencies, 2].
inline Tensor<3> stft(const Tensor<1>& signal, const Tensor<1>& window, const StftOptions& options,
                      CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<3>(hearth::stft(signal.array(), window.array(), options)); });
}
// The other way: [batch, samples].
inline Tensor<2> istft(const Tensor<4>& spectrum, const Tensor<1>& window,
                       const StftOptions& options,
                       std::optional<std::int64_t> length = std::nullopt,
                       CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<2>(hearth::istft(spectrum.array(), window.array(), options, length));
  });
}
// [frames, frequencies, 2] to [samples].
inline Tensor<1> istft(const Tensor<3>& spectrum, const Tensor<1>& window,
                       const StftOptions& options,
                       std::optional<std::int64_t> length = std::nullopt,
                       CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<1>(hearth::istft(spectrum.array(), window.array(), options, length));
  });
}
// The same with the window as an array, as hann_window() gives it.
inline Tensor<4> stft(const Tensor<2>& signal, const Array& window, const StftOptions& options,
                      CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<4>(hearth::stft(signal.array(), window, options)); });
}
inline Tensor<3> stft(const Tensor<1>& signal, const Array& window, const StftOptions& options,
                      CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<3>(hearth::stft(signal.array(), window, options)); });
}
inline Tensor<2> istft(const Tensor<4>& spectrum, const Array& window, const StftOptions& options,
                       std::optional<std::int64_t> length = std::nullopt,
                       CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<2>(hearth::istft(spectrum.array(), window, options, length)); });
}
inline Tensor<1> istft(const Tensor<3>& spectrum, const Array& window, const StftOptions& options,
                       std::optional<std::int64_t> length = std::nullopt,
                       CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<1>(hearth::istft(spectrum.array(), window, options, length)); });
}

namespace signal {
using hearth::irfft;
using hearth::istft;
using hearth::rfft;
using hearth::stft;

// fft by Burn's name.
template <int R>
std::pair<Tensor<R>, Tensor<R>> cfft(const Tensor<R>& re, const Tensor<R>& im,
                                     std::int64_t dim = -1,
                                     std::optional<std::int64_t> n = std::nullopt,
                                     CallSite site = CallSite::here()) {
  return located_as("cfft", site, [&] { return hearth::fft(re, im, dim, n); });
}
inline Tensor<1> hann_window(std::int64_t size, bool periodic = true,
                             CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<1>(hearth::hann_window(size, periodic)); });
}
// With Burn's alpha.
inline Tensor<1> hamming_window(std::int64_t size, bool periodic = true,
                                CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<1>(hearth::hamming_window(size, periodic, 25.0 / 46)); });
}
inline Tensor<1> blackman_window(std::int64_t size, bool periodic = true,
                                 CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<1>(hearth::blackman_window(size, periodic)); });
}
}  // namespace signal

}  // namespace v0
}  // namespace hearth
