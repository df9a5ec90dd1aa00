// Convolutions whose groups have one channel of input, depthwise ones above all: too little for a
// product. A result is summed from rows of a padded plane; where that would be mostly padding, and
// for strided gradients for the input, each element of the kernel goes over the positions that it
// meets, run by run. Sums are of the compute type, in an order that follows from the problem alone.
// Bound by the planes, which stay in a first- or second-level cache.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "devices/cpu/ops/conv/operands.h"
#include "devices/cpu/ops/conv/planes.h"
#include "devices/cpu/rows/rows.h"

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

// One channel of a result from a padded plane: what positions of a row meet lies side by side, and
// where a row begins one place after the other, rows do as well.
template <class T>
class DepthwiseRows {
 public:
  explicit DepthwiseRows(const ConvProblem& p) : planes_(p, Phases::columns), p_(p) {
    is_span_ = p.stride[1] == 1 && planes_.row_size() <= 2 * p.result_of[2];
    starts_.resize(static_cast<std::size_t>(p.taps));
    for (std::int64_t tap = 0; tap < p.taps && fits(); ++tap) {
      offsets_.push_back(planes_.offset_of(tap));
    }
  }

  // Whether planes are not mostly padding.
  bool fits() const { return planes_.are_small(); }
  std::int64_t plane_size() const { return planes_.size(); }
  // Elements that run() writes.
  std::int64_t out_size() const {
    return is_span_ ? p_.result_of[0] * p_.result_of[1] * planes_.row_size() : p_.positions;
  }

  void load(const ConvStrides& strides, const Operand& x, std::int64_t offset, T* plane) const {
    planes_.pack(
        strides,
        [&](std::int64_t at, std::int64_t step, std::int64_t count, T* to) {
          load_row(x.dtype(), x.at(offset + at), step, count, to);
        },
        plane);
  }

  // Sums over positions of grad [positions] times what element `tap` of the kernel meets.
  double product(const T* plane, std::int64_t tap, const T* grad) const {
    const std::int64_t width = p_.result_of[2], rows = p_.result_of[1];
    const T* const first = plane + offsets_[static_cast<std::size_t>(tap)];
    double sum = 0;
    for (std::int64_t row = 0; row < p_.result_of[0] * rows; row += rows) {
      sum +=
          row_math<T>().dot_lines(grad + row * width, width, first + planes_.place_of(row * width),
                                  planes_.row_size() * p_.stride[1], rows, width);
    }
    return sum;
  }

  // out [positions], and some elements behind.
  void run(const T* plane, const T* weight, T start, T* out) {
    const std::int64_t width = p_.result_of[2], size = planes_.row_size();
    const std::int64_t rows = p_.result_of[1], some = is_span_ ? rows : 1;
    const std::int64_t count = (some - 1) * size + width;
    for (std::int64_t row = 0; row < p_.result_of[0] * rows; row += some) {
      const T* const first = plane + planes_.place_of(row * width);
      for (std::size_t i = 0; i < offsets_.size(); ++i) starts_[i] = first + offsets_[i];
      T* const to = out + row * width;
      row_math<T>().weigh_rows(starts_.data(), weight, p_.taps, start, to, count);
      // What lies between rows is left out.
      for (std::int64_t i = 1; i < some; ++i) {
        std::memmove(to + i * width, to + i * size, static_cast<std::size_t>(width) * sizeof(T));
      }
    }
  }

 private:
  const PaddedPlanes planes_;
  const ConvProblem& p_;
  std::vector<std::int64_t> offsets_;
  std::vector<const T*> starts_;
  bool is_span_;
};

// weight [groups * out, taps], dense in compute precision; bias empty or [groups * out].
template <class T>
void depthwise_conv(const ConvProblem& p, const Operand& x, const std::vector<T>& weight,
                    const std::vector<T>& bias, const Operand& out) {
  const ConvStrides strides(*x.spec);
  const std::int64_t cost = p.inputs + p.out * p.taps * p.positions;
  for_chunks(p.batch * p.groups, cost, [&](std::int64_t begin, std::int64_t end) {
    DepthwiseRows<T> depthwise_rows(p);
    const bool in_rows = depthwise_rows.fits();
    T* const plane = scratch<T>(0, in_rows ? depthwise_rows.plane_size() : p.inputs);
    T* const sums = scratch<T>(1, in_rows ? depthwise_rows.out_size() : p.positions);
    for (std::int64_t image = begin; image < end; ++image) {
      const std::int64_t g = image % p.groups;
      const std::int64_t offset = image / p.groups * strides.batch + g * strides.channel;
      if (in_rows) {
        depthwise_rows.load(strides, x, offset, plane);
      } else {
        load_plane(p, strides, x, offset, plane);
      }
      for (std::int64_t o = g * p.out; o < (g + 1) * p.out; ++o) {
        const auto channel = static_cast<std::size_t>(o);
        const T start = bias.empty() ? T(0) : bias[channel];
        if (in_rows) {
          depthwise_rows.run(plane, weight.data() + o * p.taps, start, sums);
        } else {
          std::fill(sums, sums + p.positions, start);
        }
        for (std::int64_t tap = 0; tap < p.taps && !in_rows; ++tap) {
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
void depthwise_input_gradient(const ConvProblem& p, const Operand& grad,
                              const std::vector<T>& weight, const Operand& out) {
  if (p.out == 1 && p.stride == ConvProblem::Extents{1, 1, 1}) {
    std::vector<T> flipped = weight;
    for (std::int64_t g = 0; g < p.groups; ++g) {
      std::reverse(flipped.begin() + g * p.taps, flipped.begin() + (g + 1) * p.taps);
    }
    return depthwise_conv<T>(flipped_problem(p), grad, flipped, {}, out);
  }
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
void depthwise_weight_gradient(const ConvProblem& p, const Operand& x, const Operand& grad,
                               const Operand& out) {
  const ConvStrides strides(*x.spec);
  const std::int64_t cost = p.batch * (p.inputs + p.out * p.taps * p.positions);
  for_chunks(p.groups, cost, [&](std::int64_t begin, std::int64_t end) {
    const DepthwiseRows<T> depthwise_rows(p);
    const bool in_rows = depthwise_rows.fits();
    T* const plane = scratch<T>(0, in_rows ? depthwise_rows.plane_size() : p.inputs);
    T* const copy = scratch<T>(1, p.positions);
    T* const rounded = scratch<T>(2, p.out * p.taps);
    double* const sums = scratch<double>(3, p.out * p.taps);
    for (std::int64_t g = begin; g < end; ++g) {
      std::fill(sums, sums + p.out * p.taps, 0.0);
      for (std::int64_t n = 0; n < p.batch; ++n) {
        const std::int64_t offset = n * strides.batch + g * strides.channel;
        if (in_rows) {
          depthwise_rows.load(strides, x, offset, plane);
        } else {
          load_plane(p, strides, x, offset, plane);
        }
        for (std::int64_t o = 0; o < p.out; ++o) {
          const T* const row =
              read_row(grad, ((n * p.groups + g) * p.out + o) * p.positions, 1, p.positions, copy);
          for (std::int64_t tap = 0; tap < p.taps; ++tap) {
            if (in_rows) {
              sums[o * p.taps + tap] += depthwise_rows.product(plane, tap, row);
              continue;
            }
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

inline bool has_one_channel(const Signature& s) {
  const ConvProblem p = problem_of(s);
  return p.in == 1 && p.groups > 1;
}

// A weight [out, 1, kernel...] in compute precision, dense.
template <class T>
std::vector<T> weight_rows(const Operand& weight) {
  std::vector<T> rows(static_cast<std::size_t>(element_count(weight.shape())));
  load_row(weight.dtype(), weight.data, 1, static_cast<std::int64_t>(rows.size()), rows.data());
  return rows;
}

template <class T>
void run_depthwise(const Launch& launch) {
  const ConvOperands operands(launch);
  const ConvProblem& p = operands.problem;
  const Operand &a = operands.a, &b = operands.b;
  const Operand out = output_of(launch);
  const OpDef* const op = launch.signature->op;
  if (op == &defs::conv_op) {
    depthwise_conv<T>(p, a, weight_rows<T>(b), bias_of<T>(launch), out);
  } else if (op == &defs::conv_input_gradient_op) {
    depthwise_input_gradient<T>(p, a, weight_rows<T>(b), out);
  } else {
    depthwise_weight_gradient<T>(p, a, b, out);
  }
}

inline void launch_depthwise(const Launch& launch) {
  if (element_count(launch.signature->output.shape) == 0) return;
  with_compute_type(launch.signature->output.dtype, [&]<class T>() { run_depthwise<T>(launch); });
}

}  // namespace hearth::cpu
