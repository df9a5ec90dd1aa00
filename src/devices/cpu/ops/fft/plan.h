// Discrete Fourier transforms of any length: the factors 2, 3, 4, 5, 7, 11 and 13 by Stockham's
// stages (Van Loan, "Computational frameworks for the fast Fourier transform", 1992, 1.7), other
// lengths as convolutions (Bluestein's algorithm, 1970).
//
// Stages go over elements that lie side by side. These are lines: element i of line l is at
// i * lanes + l. Or a line goes alone, whose length is a multiple of 4: every fourth element is a
// line then, and four of them are joined at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "devices/cpu/rows/row_fourier.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

struct RootOfUnity {
  double re, im;
};
// e^(-2 pi i at / n), as exact as f64 has it.
inline RootOfUnity root_of_unity(std::int64_t at, std::int64_t n) {
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
  // Of lines side by side, or, where `alone`, of single ones, if the length is one for that.
  explicit FftPlan(std::int64_t n, bool alone) : n_(n) {
    std::int64_t rest = n;
    for (const int factor : {4, 2, 3, 5, 7, 11, 13}) {
      for (; rest > 1 && rest % factor == 0; rest /= factor) factors_.push_back(factor);
    }
    if (rest > 1) {
      factors_.clear();
      plan_bluestein();
      return;
    }
    if (alone && n % 4 == 0) {
      plan_quarters();
      return;
    }
    for (std::int64_t length = n; const int factor : factors_) {
      for (std::int64_t p = 0; p < length / factor; ++p) {
        for (int k = 1; k < factor; ++k) {
          const RootOfUnity root = root_of_unity(p * k, length);
          twiddles_.push_back({static_cast<T>(root.re), static_cast<T>(root.im)});
        }
      }
      length /= factor;
    }
    for (int factor : {7, 11, 13}) {
      for (int i = 0; i < factor; ++i) {
        const RootOfUnity root = root_of_unity(i, factor);
        roots_.push_back({static_cast<T>(root.re), static_cast<T>(root.im)});
      }
    }
  }

  std::int64_t length() const { return n_; }
  // Whether run() takes one line at a time.
  bool alone() const { return bluestein_ != nullptr || quarters_ != nullptr; }

  // Neither of the three overlaps another. The inverse, not divided by n, is the same of im and re.
  void run(ComplexRow<const T> from, ComplexRow<T> to, ComplexRow<T> workspace,
           std::int64_t lanes) const {
    if (bluestein_ != nullptr) return run_bluestein(from, to);
    if (quarters_ == nullptr) return run_stages(from, to, workspace, lanes);
    const Quarters& q = *quarters_;
    q.plan.run_stages(from, workspace, to, 4);
    row_fourier<T>().join_quarters({workspace.re, workspace.im}, n_ / 4, {q.re.data(), q.im.data()},
                                   to);
  }

 private:
  struct Value {
    T re, im;
  };
  struct Quarters {
    explicit Quarters(std::int64_t n) : plan(n / 4, false) {}
    FftPlan plan;
    std::vector<T> re, im;  // e^(-2 pi i j k / n) of j in [1, 3]: [3][n / 4]
  };
  struct Bluestein {
    std::unique_ptr<const FftPlan<double>> plan;
    std::vector<double> chirp_re, chirp_im;  // e^(-pi i t^2 / n)
    std::vector<double> re, im;  // the transform of its conjugate, divided by the length
  };

  void run_stages(ComplexRow<const T> from, ComplexRow<T> to, ComplexRow<T> workspace,
                  std::int64_t lanes) const {
    if (factors_.empty()) {
      std::copy_n(from.re, n_ * lanes, to.re);
      std::copy_n(from.im, n_ * lanes, to.im);
      return;
    }
    const Value* twiddles = twiddles_.data();
    std::int64_t length = n_, stride = lanes;
    ComplexRow<T> next = factors_.size() % 2 == 1 ? to : workspace;
    for (const int factor : factors_) {
      const Value* const roots = roots_.data() + (factor == 7 ? 0 : factor == 11 ? 7 : 18);
      row_fourier<T>().stage(factor,
                             {from, next, length / factor, stride, &twiddles->re, &roots->re});
      twiddles += length / factor * (factor - 1);
      length /= factor;
      stride *= factor;
      from = {next.re, next.im};
      next = next.re == to.re ? workspace : to;
    }
  }

  void plan_quarters() {
    factors_.clear();
    auto quarters = std::make_unique<Quarters>(n_);
    for (std::int64_t j = 1; j < 4; ++j) {
      for (std::int64_t k = 0; k < n_ / 4; ++k) {
        const RootOfUnity root = root_of_unity(j * k, n_);
        quarters->re.push_back(static_cast<T>(root.re));
        quarters->im.push_back(static_cast<T>(root.im));
      }
    }
    quarters_ = std::move(quarters);
  }

  // As t k = (t^2 + k^2 - (k - t)^2) / 2, the transform is a convolution with a chirp.
  void plan_bluestein() {
    std::int64_t length = 4;
    while (length < 2 * n_ - 1) length *= 2;
    bluestein_ = std::make_unique<Bluestein>();
    Bluestein& c = *bluestein_;
    c.plan = std::make_unique<const FftPlan<double>>(length, true);
    c.re.resize(static_cast<std::size_t>(length));
    c.im.resize(static_cast<std::size_t>(length));
    std::vector<double> re(c.re.size()), im(re), workspace_re(re), workspace_im(re);
    std::int64_t square = 0;  // t^2 mod 2n
    for (std::int64_t t = 0; t < n_; square = (square + 2 * t + 1) % (2 * n_), ++t) {
      const RootOfUnity root = root_of_unity(square, 2 * n_);
      c.chirp_re.push_back(root.re);
      c.chirp_im.push_back(root.im);
      for (const std::int64_t at : {t, (length - t) % length}) {
        re[static_cast<std::size_t>(at)] = root.re / static_cast<double>(length);
        im[static_cast<std::size_t>(at)] = -root.im / static_cast<double>(length);
      }
    }
    c.plan->run({re.data(), im.data()}, {c.re.data(), c.im.data()},
                {workspace_re.data(), workspace_im.data()}, 1);
  }

  // One line.
  void run_bluestein(ComplexRow<const T> from, ComplexRow<T> to) const {
    const Bluestein& c = *bluestein_;
    const std::int64_t length = c.plan->length();
    double* const memory = scratch<double>(12, 6 * length);
    const ComplexRow<double> x = {memory, memory + length},
                             y = {memory + 2 * length, memory + 3 * length},
                             workspace = {memory + 4 * length, memory + 5 * length};
    const ComplexRow<const double> chirp = {c.chirp_re.data(), c.chirp_im.data()};
    std::copy_n(from.re, n_, x.re);
    std::copy_n(from.im, n_, x.im);
    row_fourier<double>().multiply(x, chirp, n_);
    std::fill_n(x.re + n_, length - n_, 0.0);
    std::fill_n(x.im + n_, length - n_, 0.0);
    c.plan->run({x.re, x.im}, y, workspace, 1);
    row_fourier<double>().multiply(y, {c.re.data(), c.im.data()}, length);
    c.plan->run({y.im, y.re}, {x.im, x.re}, {workspace.im, workspace.re}, 1);
    row_fourier<double>().multiply(x, chirp, n_);
    const auto narrow = [](double value) { return static_cast<T>(value); };
    std::transform(x.re, x.re + n_, to.re, narrow);
    std::transform(x.im, x.im + n_, to.im, narrow);
  }

  std::int64_t n_;
  std::vector<int> factors_;
  std::vector<Value> twiddles_;
  std::vector<Value> roots_;
  std::unique_ptr<const Quarters> quarters_;  // of lines that go alone
  std::unique_ptr<Bluestein> bluestein_;      // of lengths with other factors
};

}  // namespace hearth::cpu
