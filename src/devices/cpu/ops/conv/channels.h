// Convolutions whose groups have one channel of input, depthwise ones above all: too little for a
// product, so each element of the kernel goes over the positions that it meets, run by run. Sums
// are of the compute type, in an order that follows from the problem alone. Bound by the planes,
// which stay in a first- or second-level cache.
#pragma once

#include <vector>

#include "devices/cpu/ops/conv/patches.h"

namespace hearth::cpu {

// A channel of an image in compute precision, dense.
template <class T>
void load_plane(const ConvProblem& p, const ConvStrides& strides, const Operand& x,
                std::int64_t offset, T* plane) {
  if (strides.axis[2] == 1 && strides.axis[1] == p.input[2] &&
      (p.input[0] == 1 || strides.axis[0] == p.input[1] * p.input[2])) {
    return load_row(x.dtype(), x.at(offset), 1, p.inputs, plane);
  }
  for (std::int64_t i = 0; i < p.input[0] * p.input[1]; ++i) {
    const std::int64_t at =
        offset + i / p.input[1] * strides.axis[0] + i % p.input[1] * strides.axis[1];
    load_row(x.dtype(), x.at(at), strides.axis[2], p.input[2], plane + i * p.input[2]);
  }
}

// Where in a plane the first position of a run that meets anything meets it.
inline std::int64_t plane_offset(const ConvProblem& p, const ConvRun& run) {
  return (run.plane * p.input[1] + run.row) * p.input[2] + run.column + run.begin * p.stride[2];
}

// y[i] += factor * x[i], and over steps.
template <class T>
void add_scaled(T factor, const T* x, std::int64_t x_step, T* y, std::int64_t y_step,
                std::int64_t n) {
  if (x_step == 1 && y_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * y_step] += factor * x[i * x_step];
  }
}

template <class T>
T dot(const T* x, const T* y, std::int64_t y_step, std::int64_t n) {
  constexpr std::int64_t kLanes = 8;
  T sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += x[i + lane] * y[(i + lane) * y_step];
    }
  }
  for (; i < n; ++i) sums[i % kLanes] += x[i] * y[i * y_step];
  T all = 0;
  for (const T sum : sums) all += sum;
  return all;
}

// One channel of a result of stride 1 along the last axis: rows of the plane that a row of the
// result meets are added all at once where the elements of the kernel all meet some, and element by
// element, in the same order, at the edges.
template <class T>
class ChannelRows {
 public:
  explicit ChannelRows(const ConvProblem& p) : p_(p) {
    const auto taps = static_cast<std::size_t>(p.taps);
    rows_.resize(taps);
    starts_.resize(taps);
    factors_.resize(taps);
    spans_.resize(taps);
  }

  void run(const T* plane, const T* weight, T start, T* out) {
    was_whole_ = false;
    for (std::int64_t row = 0; row < p_.result_of[0] * p_.result_of[1]; ++row) {
      run_row(plane, weight, row / p_.result_of[1], row % p_.result_of[1], start,
              out + row * p_.result_of[2]);
    }
  }

 private:
  struct Span {
    std::int64_t begin, end;  // positions that meet an element of the row
  };

  void run_row(const T* plane, const T* weight, std::int64_t o0, std::int64_t o1, T start, T* out) {
    const std::int64_t width = p_.result_of[2];
    const std::int64_t z = o0 * p_.stride[0] - p_.before[0], y = o1 * p_.stride[1] - p_.before[1];
    const bool whole = z >= 0 && z + (p_.taps_of[0] - 1) * p_.dilation[0] < p_.input[0] && y >= 0 &&
                       y + (p_.taps_of[1] - 1) * p_.dilation[1] < p_.input[1];
    if (whole && was_whole_ && o1 > 0) {
      // All meet what they met a row before, a step further.
      for (std::size_t i = 0; i < count_; ++i) rows_[i] += p_.stride[1] * p_.input[2];
    } else {
      find_rows(weight, z, y);
    }
    was_whole_ = whole;
    const auto edge = [&](std::int64_t j) {
      T sum = start;
      for (std::size_t i = 0; i < count_; ++i) {
        if (j >= spans_[i].begin && j < spans_[i].end) sum += factors_[i] * plane[rows_[i] + j];
      }
      out[j] = sum;
    };
    for (std::int64_t j = 0; j < inside_.begin; ++j) edge(j);
    for (std::int64_t j = inside_.end; j < width; ++j) edge(j);
    if (inside_.begin < inside_.end) {
      for (std::size_t i = 0; i < count_; ++i) starts_[i] = plane + rows_[i] + inside_.begin;
      row_math<T>().weigh_rows(starts_.data(), factors_.data(), static_cast<std::int64_t>(count_),
                               start, out + inside_.begin, inside_.end - inside_.begin);
    }
  }

  // What the row of the result meets that begins with row (z, y) of the input.
  void find_rows(const T* weight, std::int64_t z, std::int64_t y) {
    const std::int64_t width = p_.result_of[2];
    count_ = 0;
    inside_ = {0, width};
    for (std::int64_t tap = 0; tap < p_.taps_of[0] * p_.taps_of[1]; ++tap) {
      const std::int64_t plane = z + tap / p_.taps_of[1] * p_.dilation[0];
      const std::int64_t row = y + tap % p_.taps_of[1] * p_.dilation[1];
      if (plane < 0 || plane >= p_.input[0] || row < 0 || row >= p_.input[1]) continue;
      for (std::int64_t tap2 = 0; tap2 < p_.taps_of[2]; ++tap2) {
        const std::int64_t column = tap2 * p_.dilation[2] - p_.before[2];
        const Span span{std::clamp<std::int64_t>(-column, 0, width),
                        std::clamp<std::int64_t>(p_.input[2] - column, 0, width)};
        if (span.begin >= span.end) continue;
        // Where the row would begin: it is read within the span only.
        rows_[count_] = (plane * p_.input[1] + row) * p_.input[2] + column;
        factors_[count_] = weight[tap * p_.taps_of[2] + tap2];
        spans_[count_++] = span;
        inside_ = {std::max(inside_.begin, span.begin), std::min(inside_.end, span.end)};
      }
    }
    inside_.end = std::max(inside_.begin, inside_.end);
  }

  const ConvProblem& p_;
  std::vector<std::int64_t> rows_;
  std::vector<const T*> starts_;
  std::vector<T> factors_;
  std::vector<Span> spans_;
  std::size_t count_ = 0;
  Span inside_{};  // positions for which all elements of the kernel meet one
  bool was_whole_ = false;
};

// weight [groups * out, taps], dense in compute precision; bias empty or [groups * out].
template <class T>
void conv_channels(const ConvProblem& p, const Operand& x, const std::vector<T>& weight,
                   const std::vector<T>& bias, const Operand& out) {
  const ConvStrides strides(*x.spec);
  const std::int64_t cost = p.inputs + p.out * p.taps * p.positions;
  for_chunks(p.batch * p.groups, cost, [&](std::int64_t begin, std::int64_t end) {
    T* const plane = scratch<T>(0, p.inputs);
    T* const sums = scratch<T>(1, p.positions);
    ChannelRows<T> channel_rows(p);
    for (std::int64_t image = begin; image < end; ++image) {
      const std::int64_t g = image % p.groups;
      load_plane(p, strides, x, image / p.groups * strides.batch + g * strides.channel, plane);
      for (std::int64_t o = g * p.out; o < (g + 1) * p.out; ++o) {
        const auto channel = static_cast<std::size_t>(o);
        const T start = bias.empty() ? T(0) : bias[channel];
        if (p.stride[2] == 1) {
          channel_rows.run(plane, weight.data() + o * p.taps, start, sums);
        } else {
          std::fill(sums, sums + p.positions, start);
        }
        for (std::int64_t tap = 0; tap < p.taps && p.stride[2] != 1; ++tap) {
          const T factor = weight[static_cast<std::size_t>(o * p.taps + tap)];
          for_runs(p, tap, 0, p.positions, [&](const ConvRun& run) {
            if (run.begin == run.end) return;
            add_scaled(factor, plane + plane_offset(p, run), p.stride[2],
                       sums + run.first + run.begin, 1, run.end - run.begin);
          });
        }
        store_row(out.dtype(), sums, p.positions,
                  out.at((image / p.groups * p.groups * p.out + o) * p.positions));
      }
    }
  });
}

// grad [batch, groups * out, positions], dense.
template <class T>
void conv_input_channels(const ConvProblem& p, const Operand& grad, const std::vector<T>& weight,
                         const Operand& out) {
  const std::int64_t cost = p.inputs + p.out * p.taps * p.positions;
  for_chunks(p.batch * p.groups, cost, [&](std::int64_t begin, std::int64_t end) {
    T* const sums = scratch<T>(0, p.inputs);
    T* const copy = scratch<T>(1, p.positions);
    for (std::int64_t image = begin; image < end; ++image) {
      std::fill(sums, sums + p.inputs, T(0));
      for (std::int64_t o = 0; o < p.out; ++o) {
        const T* const row =
            read_row(grad, (image * p.out + o) * p.positions, 1, p.positions, copy);
        const std::int64_t first_tap = (image % p.groups * p.out + o) * p.taps;
        for (std::int64_t tap = 0; tap < p.taps; ++tap) {
          const T factor = weight[static_cast<std::size_t>(first_tap + tap)];
          for_runs(p, tap, 0, p.positions, [&](const ConvRun& run) {
            if (run.begin == run.end) return;
            add_scaled(factor, row + run.first + run.begin, 1, sums + plane_offset(p, run),
                       p.stride[2], run.end - run.begin);
          });
        }
      }
      store_row(out.dtype(), sums, p.inputs, out.at(image * p.inputs));
    }
  });
}

// Sums over images in f64.
template <class T>
void conv_weight_channels(const ConvProblem& p, const Operand& x, const Operand& grad,
                          const Operand& out) {
  const ConvStrides strides(*x.spec);
  const std::int64_t cost = p.batch * (p.inputs + p.out * p.taps * p.positions);
  for_chunks(p.groups, cost, [&](std::int64_t begin, std::int64_t end) {
    T* const plane = scratch<T>(0, p.inputs);
    T* const copy = scratch<T>(1, p.positions);
    T* const rounded = scratch<T>(2, p.out * p.taps);
    double* const sums = scratch<double>(3, p.out * p.taps);
    for (std::int64_t g = begin; g < end; ++g) {
      std::fill(sums, sums + p.out * p.taps, 0.0);
      for (std::int64_t n = 0; n < p.batch; ++n) {
        load_plane(p, strides, x, n * strides.batch + g * strides.channel, plane);
        for (std::int64_t o = 0; o < p.out; ++o) {
          const T* const row =
              read_row(grad, ((n * p.groups + g) * p.out + o) * p.positions, 1, p.positions, copy);
          for (std::int64_t tap = 0; tap < p.taps; ++tap) {
            for_runs(p, tap, 0, p.positions, [&](const ConvRun& run) {
              if (run.begin == run.end) return;
              sums[o * p.taps + tap] +=
                  static_cast<double>(dot(row + run.first + run.begin, plane + plane_offset(p, run),
                                          p.stride[2], run.end - run.begin));
            });
          }
        }
      }
      for (std::int64_t i = 0; i < p.out * p.taps; ++i) rounded[i] = static_cast<T>(sums[i]);
      store_row(out.dtype(), rounded, p.out * p.taps, out.at(g * p.out * p.taps));
    }
  });
}

}  // namespace hearth::cpu
