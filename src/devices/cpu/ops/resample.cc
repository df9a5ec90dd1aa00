// resample: each spatial axis times a sparse matrix. A row of results at a time: rows of x that it
// is made of are added up, neighbours together, and then the last axis of their sum is resampled.
// Bound by memory where windows are small. Sums are of the compute type, in the order of the
// elements; but along the last axis a long sum of neighbours with one weight, Run::is_sum, has the
// order of row_math().
#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"
#include "ops/image/axis_taps.h"

namespace hearth::cpu {
namespace resampling {
namespace {

constexpr std::int64_t kMinAlike = 16;  // results that are worth a loop of their own
constexpr std::int64_t kMaxPhases = 4;
constexpr std::int64_t kMinSum = 16;  // elements that are worth a vectorized sum

// Results of the last axis that are made alike.
struct Run {
  std::int64_t begin, end;
  std::int64_t count;  // of elements of each, where there are no phases
  std::int64_t
      phases;  // result o has the weights of o - phases, over elements `step` further; or 0
  std::int64_t step;
  bool is_sum;  // of neighbours with one weight
};

// How much further the elements of result b lie than those of a, of the same weights; -1 where they
// have others.
std::int64_t step_between(const AxisTaps& taps, std::int64_t a, std::int64_t b) {
  const std::int64_t count = taps.count(a);
  if (count == 0 || taps.count(b) != count) return -1;
  const auto from = static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(a)]);
  const auto to = static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(b)]);
  const std::int64_t step = taps.index[to] - taps.index[from];
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    if (taps.weight[from + k] != taps.weight[to + k]) return -1;
    if (taps.index[from + k] + step != taps.index[to + k]) return -1;
  }
  return step;
}

// The results from o on that repeat in phases; where they are few, none.
Run repeated(const AxisTaps& taps, std::int64_t o) {
  for (std::int64_t phases = 1; phases <= kMaxPhases; ++phases) {
    if (o + phases >= taps.results()) break;
    const std::int64_t step = step_between(taps, o, o + phases);
    std::int64_t end = o + phases;
    while (step >= 0 && end < taps.results() && step_between(taps, end - phases, end) == step) {
      ++end;
    }
    if (end - o >= kMinAlike) return {o, end, 0, phases, step, false};
  }
  return {o, o, 0, 0, 0, false};
}

std::vector<Run> runs_of(const AxisTaps& taps) {
  std::vector<Run> runs;
  for (std::int64_t o = 0; o < taps.results();) {
    const Run phased = repeated(taps, o);
    if (phased.end > o) {
      runs.push_back(phased);
      o = phased.end;
      continue;
    }
    const auto at = static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(o)]);
    const std::int64_t count = taps.count(o);
    bool is_sum = count >= kMinSum;
    for (std::size_t k = 1; is_sum && k < static_cast<std::size_t>(count); ++k) {
      is_sum = taps.weight[at + k] == taps.weight[at] &&
               taps.index[at + k] == taps.index[at] + static_cast<std::int64_t>(k);
    }
    Run* const last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && last->phases == 0 && last->count == count && last->is_sum == is_sum) {
      last->end = o + 1;
    } else {
      runs.push_back({o, o + 1, count, 0, 0, is_sum});
    }
    ++o;
  }
  return runs;
}

struct State {
  AxisTaps axis[3];  // those that x lacks are in front, of one element
  std::vector<Run> runs;
  std::vector<float> weights;  // of the last axis
};

Prepared prepare(const Signature& signature) {
  auto state = std::make_shared<State>();
  const Resampling resampling{ParamReader(signature.statics)};
  const int axes = resampling.extents.rank();
  for (int i = 0; i < 3 - axes; ++i) state->axis[i] = {{0, 1}, {0}, {1.0}};
  for (int i = 0; i < axes; ++i) state->axis[3 - axes + i] = axis_taps(resampling, i);
  state->runs = runs_of(state->axis[2]);
  state->weights.assign(state->axis[2].weight.begin(), state->axis[2].weight.end());
  return {.state = std::move(state)};
}

template <int kCount, class T>
void gather_taps(const T* x, const std::int32_t* index, const T* weight, std::int64_t n, T* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    T sum = weight[i * kCount] * x[index[i * kCount]];
    for (int k = 1; k < kCount; ++k) sum += weight[i * kCount + k] * x[index[i * kCount + k]];
    y[i] = sum;
  }
}

// Results `results_apart` of each other, over elements `step` apart.
template <int kStep, int kCount, class T>
void slide_few(const T* x, std::int64_t given_step, const std::int32_t* index, const T* weight,
               std::int64_t n, std::int64_t results_apart, T* y) {
  const std::int64_t step = kStep != 0 ? kStep : given_step;
  const T* from[kCount];
  T factor[kCount];
  for (int k = 0; k < kCount; ++k) from[k] = x + index[k], factor[k] = weight[k];
  const auto sum_at = [&](std::int64_t i) {
    T sum = factor[0] * from[0][i * step];
    for (int k = 1; k < kCount; ++k) sum += factor[k] * from[k][i * step];
    return sum;
  };
  if (results_apart == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = sum_at(i);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * results_apart] = sum_at(i);
  }
}

template <int kStep, class T>
void slide(const T* x, std::int64_t given_step, const std::int32_t* index, const T* weight,
           std::int64_t count, std::int64_t n, std::int64_t apart, T* y) {
  if (count == 1) return slide_few<kStep, 1>(x, given_step, index, weight, n, apart, y);
  if (count == 2) return slide_few<kStep, 2>(x, given_step, index, weight, n, apart, y);
  if (count == 3) return slide_few<kStep, 3>(x, given_step, index, weight, n, apart, y);
  if (count == 4) return slide_few<kStep, 4>(x, given_step, index, weight, n, apart, y);
  const std::int64_t step = kStep != 0 ? kStep : given_step;
  for (std::int64_t k = 0; k < count; ++k) {
    const T* const from = x + index[k];
    const T factor = weight[k];
    for (std::int64_t i = 0; i < n; ++i) {
      const T product = factor * from[i * step];
      y[i * apart] = k == 0 ? product : y[i * apart] + product;
    }
  }
}

template <class T>
void run_phases(const AxisTaps& taps, const Run& run, const T* x, const T* weights, T* y) {
  for (std::int64_t phase = 0; phase < run.phases; ++phase) {
    const std::int64_t o = run.begin + phase;
    const std::int64_t n = (run.end - o + run.phases - 1) / run.phases;
    const auto first = static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(o)]);
    const std::int32_t* const index = taps.index.data() + first;
    const T* const weight = weights + first;
    if (run.step == 1) {
      slide<1>(x, 1, index, weight, taps.count(o), n, run.phases, y + o);
    } else if (run.step == 2) {
      slide<2>(x, 2, index, weight, taps.count(o), n, run.phases, y + o);
    } else {
      slide<0>(x, run.step, index, weight, taps.count(o), n, run.phases, y + o);
    }
  }
}

template <class T>
void run_row(const State& state, const Run& run, const T* x, const T* weights, T* y) {
  const AxisTaps& taps = state.axis[2];
  if (run.phases > 0) return run_phases(taps, run, x, weights, y);
  const auto first = static_cast<std::size_t>(taps.begin[static_cast<std::size_t>(run.begin)]);
  const std::int32_t* index = taps.index.data() + first;
  const T* weight = weights + first;
  const std::int64_t n = run.end - run.begin, count = run.count;
  y += run.begin;
  if (count == 0) return void(std::fill_n(y, n, T(0)));
  if (count == 1) return gather_taps<1>(x, index, weight, n, y);
  if (count == 2) return gather_taps<2>(x, index, weight, n, y);
  if (count == 3) return gather_taps<3>(x, index, weight, n, y);
  if (count == 4) return gather_taps<4>(x, index, weight, n, y);
  for (std::int64_t i = 0; i < n; ++i, index += count, weight += count) {
    if (run.is_sum) {
      y[i] = weight[0] * row_math<T>().sum(x + index[0], count);
      continue;
    }
    T sum = weight[0] * x[index[0]];
    for (std::int64_t k = 1; k < count; ++k) sum += weight[k] * x[index[k]];
    y[i] = sum;
  }
}

template <class T>
const T* weights_of(const State& state) {
  if constexpr (std::is_same_v<T, double>) {
    return state.axis[2].weight.data();
  } else {
    return state.weights.data();
  }
}

void launch_rows(const Launch& launch) {
  const auto& state = *static_cast<const State*>(launch.state);
  const Operand x = input_of(launch, 0), out = output_of(launch);
  const int rank = x.shape().rank();
  const std::int64_t width = x.shape()[rank - 1], results = out.shape()[rank - 1];
  std::int64_t stride[3] = {};
  for (int i = 2; i < rank; ++i) stride[5 - rank + i - 2] = x.stride(i);
  const AxisTaps &depth = state.axis[0], &height = state.axis[1];
  const std::int64_t rows_of_plane = depth.results() * height.results();
  const OffsetMap planes(x.shape(), x.strides(), 0, 2);
  const auto rows_read =
      static_cast<std::int64_t>(depth.index.size() * height.index.size()) / rows_of_plane;
  const std::int64_t cost = width * std::max<std::int64_t>(rows_read, 1) +
                            static_cast<std::int64_t>(state.axis[2].index.size());
  with_compute_type(x.dtype(), [&]<class T>() {
    const RowMath<T>& math = row_math<T>();
    for_chunks(planes.count() * rows_of_plane, cost, [&](std::int64_t begin, std::int64_t end) {
      T* const copy = scratch<T>(0, width);
      T* const sums = scratch<T>(1, width);
      T* const kept = scratch<T>(2, results);
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t plane = row / rows_of_plane, at = row % rows_of_plane;
        const auto od = static_cast<std::size_t>(at / height.results());
        const auto oh = static_cast<std::size_t>(at % height.results());
        const std::int64_t base = planes.at(plane);
        const T* sum = nullptr;
        for (std::int64_t a = depth.begin[od]; a < depth.begin[od + 1]; ++a) {
          const auto d = static_cast<std::size_t>(a);
          for (std::int64_t b = height.begin[oh]; b < height.begin[oh + 1]; ++b) {
            const auto h = static_cast<std::size_t>(b);
            const std::int64_t offset =
                base + depth.index[d] * stride[0] + height.index[h] * stride[1];
            const T* const from = read_row(x, offset, stride[2], width, copy);
            const T weight = static_cast<T>(depth.weight[d] * height.weight[h]);
            if (sum != nullptr) {
              math.axpy(sums, weight, from, width);
            } else if (weight == T(1) && depth.count(static_cast<std::int64_t>(od)) == 1 &&
                       height.count(static_cast<std::int64_t>(oh)) == 1) {
              sum = from;
            } else {
              math.scale(from, weight, sums, width, false);
              sum = sums;
            }
          }
        }
        T* const y = row_to_write(out, row * results, kept);
        if (sum == nullptr) {
          std::fill_n(y, results, T(0));
        } else {
          for (const Run& run : state.runs) run_row(state, run, sum, weights_of<T>(state), y);
        }
        write_row(out, row * results, y, results);
      }
    });
  });
}

constexpr Implementation kFamily[] = {
    {.name = "rows", .op = &defs::resample_op, .prepare = prepare, .launch = launch_rows},
};

}  // namespace
}  // namespace resampling

Family resample_family() { return resampling::kFamily; }

}  // namespace hearth::cpu
