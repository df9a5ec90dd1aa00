// Discrete Fourier transforms of any length: the factors 2, 3, 4, 5, 7, 11 and 13 by Stockham's
// stages (Van Loan, "Computational frameworks for the fast Fourier transform", 1992, 1.7), other
// lengths as convolutions (Bluestein 1970).
//
// Several lines are transformed at once, side by side: element i of line l is at i * lanes + l.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

struct Turning {
  double re, im;
};
// e^(-2 pi i at / n), as exact as f64 has it.
inline Turning root_of_unity(std::int64_t at, std::int64_t n) {
  // Into the first eighth of the circle, where sine and cosine are best.
  at %= n;
  const std::int64_t quarter = (at * 8 / n + 1) / 2;
  const auto rest = static_cast<double>(at * 4 - quarter * n);
  const double angle = std::numbers::pi / 2 * rest / static_cast<double>(n);
  const double c = std::cos(angle), s = -std::sin(angle);
  switch (quarter % 4) {
    case 0:
      return {c, s};
    case 1:
      return {s, -c};
    case 2:
      return {-c, -s};
    default:
      return {-s, c};
  }
}

template <class T>
class FftPlan {
 public:
  static constexpr int kLargestFactor = 13;

  explicit FftPlan(std::int64_t n) : n_(n) {
    std::int64_t rest = n;
    for (const int factor : {4, 2, 3, 5, 7, 11, 13}) {
      for (; rest > 1 && rest % factor == 0; rest /= factor) factors_.push_back(factor);
    }
    if (rest > 1) {
      factors_.clear();
      plan_convolution();
      return;
    }
    for (std::int64_t length = n; const int factor : factors_) {
      for (std::int64_t p = 0; p < length / factor; ++p) {
        for (int k = 1; k < factor; ++k) {
          const Turning turn = root_of_unity(p * k, length);
          twiddles_.push_back({static_cast<T>(turn.re), static_cast<T>(turn.im)});
        }
      }
      length /= factor;
    }
    for (int factor : {7, 11, 13}) {
      for (int i = 0; i < factor; ++i) {
        const Turning turn = root_of_unity(i, factor);
        roots_.push_back({static_cast<T>(turn.re), static_cast<T>(turn.im)});
      }
    }
  }

  std::int64_t length() const { return n_; }

  // In place, with as much room. The inverse, not divided by n, is the same of im and re.
  void run(T* re, T* im, T* room_re, T* room_im, std::int64_t lanes) const {
    if (convolution_ != nullptr) return convolve(re, im, lanes);
    const Value* twiddles = twiddles_.data();
    T *from_re = re, *from_im = im, *to_re = room_re, *to_im = room_im;
    std::int64_t length = n_, stride = lanes;
    for (const int factor : factors_) {
      const Stage stage = {from_re, from_im, to_re, to_im, length / factor, stride, twiddles};
      switch (factor) {
        case 2:
          run_stage<2>(stage);
          break;
        case 3:
          run_stage<3>(stage);
          break;
        case 4:
          run_stage<4>(stage);
          break;
        case 5:
          run_stage<5>(stage);
          break;
        default:
          run_long_stage(stage, factor);
      }
      twiddles += length / factor * (factor - 1);
      length /= factor;
      stride *= factor;
      std::swap(from_re, to_re);
      std::swap(from_im, to_im);
    }
    if (from_re == re) return;
    std::copy_n(from_re, n_ * lanes, re);
    std::copy_n(from_im, n_ * lanes, im);
  }

 private:
  struct Value {
    T re, im;
  };
  struct Stage {
    const T *re, *im;
    T *to_re, *to_im;
    std::int64_t parts, stride;
    const Value* twiddles;
  };
  struct Convolution {
    std::unique_ptr<const FftPlan<double>> plan;
    std::vector<Turning> chirp;  // e^(-pi i t^2 / n)
    std::vector<double> re, im;  // the transform of its conjugate, divided by the length
  };

  // For each part p and each of `stride` places: `factor` elements, parts apart, are transformed
  // and turned by p times their number.
  template <int factor>
  static void run_stage(const Stage& stage) {
    const std::int64_t step = stage.parts * stage.stride;
    for (std::int64_t p = 0; p < stage.parts; ++p) {
      const T* const re = stage.re + p * stage.stride;
      const T* const im = stage.im + p * stage.stride;
      T* const to_re = stage.to_re + p * factor * stage.stride;
      T* const to_im = stage.to_im + p * factor * stage.stride;
      Value turns[factor];
      for (int k = 1; k < factor; ++k) turns[k] = stage.twiddles[p * (factor - 1) + k - 1];
      for (std::int64_t q = 0; q < stage.stride; ++q) {
        T x[factor], y[factor], sum_re[factor], sum_im[factor];
        for (int j = 0; j < factor; ++j) {
          x[j] = re[q + step * j];
          y[j] = im[q + step * j];
        }
        butterfly(x, y, sum_re, sum_im);
        to_re[q] = sum_re[0];
        to_im[q] = sum_im[0];
        for (int k = 1; k < factor; ++k) {
          to_re[q + stage.stride * k] = sum_re[k] * turns[k].re - sum_im[k] * turns[k].im;
          to_im[q + stage.stride * k] = sum_re[k] * turns[k].im + sum_im[k] * turns[k].re;
        }
      }
    }
  }

  void run_long_stage(const Stage& stage, int factor) const {
    const Value* const roots = roots_.data() + (factor == 7 ? 0 : factor == 11 ? 7 : 18);
    const std::int64_t step = stage.parts * stage.stride;
    for (std::int64_t p = 0; p < stage.parts; ++p) {
      for (std::int64_t q = 0; q < stage.stride; ++q) {
        const std::int64_t from = p * stage.stride + q, to = p * factor * stage.stride + q;
        for (int k = 0; k < factor; ++k) {
          T re = 0, im = 0;
          for (int j = 0; j < factor; ++j) {
            const Value root = roots[j * k % factor];
            const T x = stage.re[from + step * j], y = stage.im[from + step * j];
            re += x * root.re - y * root.im;
            im += x * root.im + y * root.re;
          }
          const Value turn = k == 0 ? Value{T(1), T(0)} : stage.twiddles[p * (factor - 1) + k - 1];
          stage.to_re[to + stage.stride * k] = re * turn.re - im * turn.im;
          stage.to_im[to + stage.stride * k] = re * turn.im + im * turn.re;
        }
      }
    }
  }

  static void butterfly(const T (&x)[2], const T (&y)[2], T (&re)[2], T (&im)[2]) {
    re[0] = x[0] + x[1];
    im[0] = y[0] + y[1];
    re[1] = x[0] - x[1];
    im[1] = y[0] - y[1];
  }
  static void butterfly(const T (&x)[3], const T (&y)[3], T (&re)[3], T (&im)[3]) {
    constexpr T kSine = T(0.86602540378443864676);
    const T sum_re = x[1] + x[2], sum_im = y[1] + y[2];
    const T turned_re = kSine * (y[1] - y[2]), turned_im = kSine * (x[2] - x[1]);
    const T rest_re = x[0] - sum_re / 2, rest_im = y[0] - sum_im / 2;
    re[0] = x[0] + sum_re;
    im[0] = y[0] + sum_im;
    re[1] = rest_re + turned_re;
    im[1] = rest_im + turned_im;
    re[2] = rest_re - turned_re;
    im[2] = rest_im - turned_im;
  }
  static void butterfly(const T (&x)[4], const T (&y)[4], T (&re)[4], T (&im)[4]) {
    const T even_re = x[0] + x[2], even_im = y[0] + y[2];
    const T odd_re = x[0] - x[2], odd_im = y[0] - y[2];
    const T sum_re = x[1] + x[3], sum_im = y[1] + y[3];
    const T turned_re = y[1] - y[3], turned_im = x[3] - x[1];  // the difference by -i
    re[0] = even_re + sum_re;
    im[0] = even_im + sum_im;
    re[1] = odd_re + turned_re;
    im[1] = odd_im + turned_im;
    re[2] = even_re - sum_re;
    im[2] = even_im - sum_im;
    re[3] = odd_re - turned_re;
    im[3] = odd_im - turned_im;
  }
  static void butterfly(const T (&x)[5], const T (&y)[5], T (&re)[5], T (&im)[5]) {
    constexpr T kCos1 = T(0.30901699437494742410), kCos2 = T(-0.80901699437494742410);
    constexpr T kSin1 = T(0.95105651629515357212), kSin2 = T(0.58778525229247312917);
    const T sum1_re = x[1] + x[4], sum1_im = y[1] + y[4];
    const T sum2_re = x[2] + x[3], sum2_im = y[2] + y[3];
    const T far1_re = y[1] - y[4], far1_im = x[4] - x[1];
    const T far2_re = y[2] - y[3], far2_im = x[3] - x[2];
    re[0] = x[0] + sum1_re + sum2_re;
    im[0] = y[0] + sum1_im + sum2_im;
    const T near1_re = x[0] + kCos1 * sum1_re + kCos2 * sum2_re;
    const T near1_im = y[0] + kCos1 * sum1_im + kCos2 * sum2_im;
    const T near2_re = x[0] + kCos2 * sum1_re + kCos1 * sum2_re;
    const T near2_im = y[0] + kCos2 * sum1_im + kCos1 * sum2_im;
    const T turned1_re = kSin1 * far1_re + kSin2 * far2_re;
    const T turned1_im = kSin1 * far1_im + kSin2 * far2_im;
    const T turned2_re = kSin2 * far1_re - kSin1 * far2_re;
    const T turned2_im = kSin2 * far1_im - kSin1 * far2_im;
    re[1] = near1_re + turned1_re;
    im[1] = near1_im + turned1_im;
    re[4] = near1_re - turned1_re;
    im[4] = near1_im - turned1_im;
    re[2] = near2_re + turned2_re;
    im[2] = near2_im + turned2_im;
    re[3] = near2_re - turned2_re;
    im[3] = near2_im - turned2_im;
  }

  // As t k = (t^2 + k^2 - (k - t)^2) / 2, the transform is a convolution with a chirp.
  void plan_convolution() {
    std::int64_t length = 1;
    while (length < 2 * n_ - 1) length *= 2;
    convolution_ = std::make_unique<Convolution>();
    Convolution& c = *convolution_;
    c.plan = std::make_unique<const FftPlan<double>>(length);
    c.chirp.resize(static_cast<std::size_t>(n_));
    c.re.assign(static_cast<std::size_t>(length), 0);
    c.im.assign(static_cast<std::size_t>(length), 0);
    std::vector<double> room_re(c.re.size()), room_im(c.im.size());
    std::int64_t square = 0;  // t^2 mod 2n
    for (std::int64_t t = 0; t < n_; square = (square + 2 * t + 1) % (2 * n_), ++t) {
      const Turning turn = root_of_unity(square, 2 * n_);
      c.chirp[static_cast<std::size_t>(t)] = turn;
      for (const std::int64_t at : {t, (length - t) % length}) {
        c.re[static_cast<std::size_t>(at)] = turn.re / static_cast<double>(length);
        c.im[static_cast<std::size_t>(at)] = -turn.im / static_cast<double>(length);
      }
    }
    c.plan->run(c.re.data(), c.im.data(), room_re.data(), room_im.data(), 1);
  }

  void convolve(T* re, T* im, std::int64_t lanes) const {
    const Convolution& c = *convolution_;
    const std::int64_t count = c.plan->length() * lanes;
    double* const memory = scratch<double>(12, 4 * count);
    double *const x = memory, *const y = x + count, *const room_x = y + count,
                  *const room_y = room_x + count;
    std::fill_n(x, 2 * count, 0.0);
    for (std::int64_t t = 0; t < n_; ++t) {
      const Turning turn = c.chirp[static_cast<std::size_t>(t)];
      for (std::int64_t at = t * lanes; at < (t + 1) * lanes; ++at) {
        const double a = re[at], b = im[at];
        x[at] = a * turn.re - b * turn.im;
        y[at] = a * turn.im + b * turn.re;
      }
    }
    c.plan->run(x, y, room_x, room_y, lanes);
    for (std::int64_t k = 0; k < c.plan->length(); ++k) {
      const double p = c.re[static_cast<std::size_t>(k)], q = c.im[static_cast<std::size_t>(k)];
      for (std::int64_t at = k * lanes; at < (k + 1) * lanes; ++at) {
        const double a = x[at], b = y[at];
        x[at] = a * p - b * q;
        y[at] = a * q + b * p;
      }
    }
    c.plan->run(y, x, room_y, room_x, lanes);
    for (std::int64_t k = 0; k < n_; ++k) {
      const Turning turn = c.chirp[static_cast<std::size_t>(k)];
      for (std::int64_t at = k * lanes; at < (k + 1) * lanes; ++at) {
        re[at] = static_cast<T>(x[at] * turn.re - y[at] * turn.im);
        im[at] = static_cast<T>(x[at] * turn.im + y[at] * turn.re);
      }
    }
  }

  std::int64_t n_;
  std::vector<int> factors_;
  std::vector<Value> twiddles_;
  std::vector<Value> roots_;
  std::unique_ptr<Convolution> convolution_;  // of lengths with other factors
};

}  // namespace hearth::cpu
