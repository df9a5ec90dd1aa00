// max_pool with and without indices. A row of results at a time: each element of the window goes
// over all positions of the row that meet it, so that neighbours are computed together. The
// elements of a window meet in row-major order, which makes the first of equals win. Bound by
// memory.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"
#include "ops/pool/axis_window.h"

namespace hearth::cpu {
namespace pool {
namespace {

// What elements are compared as: halves as f32.
template <class E>
using Value = std::conditional_t<std::is_arithmetic_v<E>, E, float>;

template <class V>
constexpr V least() {
  if constexpr (std::is_floating_point_v<V>) {
    return -std::numeric_limits<V>::infinity();
  } else {
    return std::numeric_limits<V>::min();
  }
}

// Three spatial axes; those that x lacks are in front, of one element.
struct Problem {
  explicit Problem(const Launch& launch) {
    const TensorSpec& x = launch.signature->inputs[0];
    ParamReader statics = statics_of(launch);
    const PoolWindow window(statics);
    const int axes = x.shape.rank() - 2;
    for (int i = 0; i < 3; ++i) axis[i] = {1, 1, 1, 1, 0, 1};
    for (int i = 0; i < axes; ++i) {
      axis[3 - axes + i] = window.axis(i, x.shape[i + 2]);
      stride[3 - axes + i] = x.strides[i + 2];
    }
  }
  AxisWindow axis[3];
  std::int64_t stride[3] = {};
};

// Takes x[i * step] at index `at` + i * step into n results. `places` may be null.
template <int kStep, class V, class I>
void take_steps(const V* x, std::int64_t given_step, I at, std::int64_t n, V* values, I* places) {
  const std::int64_t step = kStep != 0 ? kStep : given_step;
  if (places == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) {
      const V v = x[i * step];
      const bool wins = (v > values[i]) | (v != v);
      values[i] = wins ? v : values[i];
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const V v = x[i * step], old = values[i];
    const bool wins = (v > old) | ((v != v) & (old == old));
    values[i] = wins ? v : old;
    places[i] = wins ? static_cast<I>(at + static_cast<I>(i * step)) : places[i];
  }
}

template <class V, class I>
void take(const V* x, std::int64_t step, I at, std::int64_t n, V* values, I* places) {
  if (step == 1) return take_steps<1>(x, step, at, n, values, places);
  if (step == 2) return take_steps<2>(x, step, at, n, values, places);
  take_steps<0>(x, step, at, n, values, places);
}

// Takes a row of x whose first element has index `at` into a row of results.
template <class V, class I>
void take_row(const AxisWindow& window, const V* x, I at, V* values, I* places) {
  const std::int64_t stride = window.stride;
  // Of the kernel, the elements that some position meets inside the row.
  const std::int64_t last_start = (window.positions - 1) * stride - window.padding;
  const std::int64_t begin = last_start < 0 ? ceil_div(-last_start, window.dilation) : 0;
  const std::int64_t end =
      std::min(window.kernel, (window.extent - 1 + window.padding) / window.dilation + 1);
  // Windows far apart leave most of them none: position by position is shorter then.
  if (window.is_bins() || end - begin > window.extent + window.positions) {
    for (std::int64_t o = 0; o < window.positions; ++o) {
      const WindowPart part = window.part(o);
      I* const place = places == nullptr ? nullptr : places + o;
      for (std::int64_t n = 0; n < part.count; ++n) {
        const std::int64_t i = part.first + n * part.step;
        take_steps<1>(x + i, 1, static_cast<I>(at + static_cast<I>(i)), 1, values + o, place);
      }
    }
    return;
  }
  for (std::int64_t k = begin; k < end; ++k) {
    // Position o meets element o * stride + shift.
    const std::int64_t shift = k * window.dilation - window.padding;
    const std::int64_t first = shift < 0 ? ceil_div(-shift, stride) : 0;
    const std::int64_t last = std::min(window.positions, (window.extent - 1 - shift) / stride + 1);
    if (first >= last) continue;
    const std::int64_t from = first * stride + shift;
    take(x + from, stride, static_cast<I>(at + static_cast<I>(from)), last - first, values + first,
         places == nullptr ? nullptr : places + first);
  }
}

// The first element of a window whose elements are all of the least value; -1 where there is none.
std::int64_t first_place(const Problem& p, const std::int64_t* position) {
  std::int64_t place = 0;
  for (int i = 0; i < 3; ++i) {
    const WindowPart part = p.axis[i].part(position[i]);
    if (part.count < 1) return -1;
    place = place * p.axis[i].extent + part.first;
  }
  return place;
}

template <class E, class I>
void run(const Launch& launch, const Problem& p) {
  using V = Value<E>;
  const Operand x = input_of(launch, 0);
  const Operand out = output_of(launch);
  const bool has_places = launch.output_count > 1 && !output_of(launch, 1).absent();
  const std::int64_t width = p.axis[2].extent, results = p.axis[2].positions;
  const std::int64_t rows_of_plane = p.axis[0].positions * p.axis[1].positions;
  const OffsetMap planes(x.shape(), x.strides(), 0, 2);
  const auto row_cost = [](const AxisWindow& window) {
    return std::min(window.extent,
                    window.is_bins() ? window.extent / window.positions + 1 : window.kernel);
  };
  const std::int64_t cost = width * row_cost(p.axis[0]) * row_cost(p.axis[1]) + results;
  for_chunks(planes.count() * rows_of_plane, cost, [&](std::int64_t begin, std::int64_t end) {
    V* const copy = scratch<V>(0, width);
    V* const kept = scratch<V>(1, results);
    I* const places = has_places ? scratch<I>(2, results) : nullptr;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t plane = row / rows_of_plane, at = row % rows_of_plane;
      const std::int64_t od = at / p.axis[1].positions, oh = at % p.axis[1].positions;
      const std::int64_t base = planes.at(plane);
      const WindowPart depth = p.axis[0].part(od), height = p.axis[1].part(oh);
      V* values = kept;
      if constexpr (std::is_same_v<V, E>) {
        if (!out.absent()) values = reinterpret_cast<E*>(out.data) + row * results;
      }
      std::fill_n(values, results, least<V>());
      if (has_places) std::fill_n(places, results, I(-1));
      for (std::int64_t a = 0; a < depth.count; ++a) {
        const std::int64_t d = depth.first + a * depth.step;
        for (std::int64_t b = 0; b < height.count; ++b) {
          const std::int64_t h = height.first + b * height.step;
          const std::int64_t offset = base + d * p.stride[0] + h * p.stride[1];
          const V* from = copy;
          if constexpr (std::is_same_v<V, E>) {
            const E* const elements = reinterpret_cast<const E*>(x.data) + offset;
            if (p.stride[2] == 1 || width == 1) {
              from = elements;
            } else {
              for (std::int64_t i = 0; i < width; ++i) copy[i] = elements[i * p.stride[2]];
            }
          } else {
            load_row(x.dtype(), x.at(offset), p.stride[2], width, copy);
          }
          take_row(p.axis[2], from, static_cast<I>((d * p.axis[1].extent + h) * width), values,
                   places);
        }
      }
      if constexpr (!std::is_same_v<V, E>) {
        if (!out.absent()) store_row(out.dtype(), values, results, out.at(row * results));
      }
      if (!has_places) continue;
      auto* const to = reinterpret_cast<std::int64_t*>(output_of(launch, 1).data) + row * results;
      for (std::int64_t o = 0; o < results; ++o) {
        const std::int64_t position[] = {od, oh, o};
        to[o] = places[o] >= 0 ? static_cast<std::int64_t>(places[o]) : first_place(p, position);
      }
    }
  });
}

void launch_max_pool(const Launch& launch) {
  const Problem problem(launch);
  const std::int64_t plane =
      element_count({problem.axis[0].extent, problem.axis[1].extent, problem.axis[2].extent});
  with_element_type(launch.signature->inputs[0].dtype, [&]<class E>() {
    if (plane <= std::numeric_limits<std::int32_t>::max()) {
      run<E, std::int32_t>(launch, problem);
    } else {
      run<E, std::int64_t>(launch, problem);
    }
  });
}

constexpr Implementation kFamily[] = {
    {.name = "rows", .op = &defs::max_pool_op, .launch = launch_max_pool},
    {.name = "rows",
     .op = &defs::max_pool_with_indices_op,
     .launch = launch_max_pool,
     .may_omit = 3},
};

}  // namespace
}  // namespace pool

Family pool_family() { return pool::kFamily; }

}  // namespace hearth::cpu
