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
  if constexpr (sizeof(I) == 4) {
    if (step == 1) return take_steps<1>(x, step, at, n, values, places);
    if (step == 2) return take_steps<2>(x, step, at, n, values, places);
  }
  take_steps<0>(x, step, at, n, values, places);
}

// Takes a row of x whose first element has index `at` into a row of results.
template <class V, class I>
void take_row(const AxisWindow& window, const std::byte* x_at, I at, std::byte* values_at,
              I* places) {
  const V* const x = reinterpret_cast<const V*>(x_at);
  V* const values = reinterpret_cast<V*>(values_at);
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
        take(x + i, 1, static_cast<I>(at + static_cast<I>(i)), 1, values + o, place);
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

template <class V>
void clear_row(std::byte* values, std::int64_t n) {
  std::fill_n(reinterpret_cast<V*>(values), n, least<V>());
}

// The loops of the type that elements are compared as, halves as f32. I holds indices.
template <class I>
struct Loops {
  void (*clear_row)(std::byte* values, std::int64_t n);
  void (*take_row)(const AxisWindow& window, const std::byte* x, I at, std::byte* values,
                   I* places);
  std::int64_t value_bytes;
};
template <class I>
Loops<I> loops_of(DType dtype) {
  Loops<I> loops = {};
  with_element_type(dtype, [&]<class E>() {
    using V = std::conditional_t<std::is_arithmetic_v<E>, E, float>;
    loops = {clear_row<V>, take_row<V, I>, sizeof(V)};
  });
  return loops;
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

template <class I>
void run(const Launch& launch, const Problem& p) {
  const Operand x = input_of(launch, 0);
  const Loops<I> loops = loops_of<I>(x.dtype());
  const bool widens = x.dtype() == DType::f16 || x.dtype() == DType::bf16;
  const std::int64_t bytes = loops.value_bytes, element = widens ? bytes / 2 : bytes;
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
    std::byte* const copy = scratch<std::byte>(0, width * bytes);
    std::byte* const kept = scratch<std::byte>(1, results * bytes);
    I* const places = has_places ? scratch<I>(2, results) : nullptr;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t plane = row / rows_of_plane, at = row % rows_of_plane;
      const std::int64_t od = at / p.axis[1].positions, oh = at % p.axis[1].positions;
      const std::int64_t base = planes.at(plane);
      const WindowPart depth = p.axis[0].part(od), height = p.axis[1].part(oh);
      std::byte* const values = widens || out.absent() ? kept : out.data + row * results * element;
      loops.clear_row(values, results);
      if (has_places) std::fill_n(places, results, I(-1));
      for (std::int64_t a = 0; a < depth.count; ++a) {
        const std::int64_t d = depth.first + a * depth.step;
        for (std::int64_t b = 0; b < height.count; ++b) {
          const std::int64_t h = height.first + b * height.step;
          const std::int64_t offset = base + d * p.stride[0] + h * p.stride[1];
          const std::byte* const in_place = x.data + offset * element;
          const std::byte* from = copy;
          if (widens) {
            load_row(x.dtype(), in_place, p.stride[2], width, reinterpret_cast<float*>(copy));
          } else if (p.stride[2] == 1 || width == 1) {
            from = in_place;
          } else {
            with_storage_type(x.dtype(), [&]<class E>() {
              const E* const elements = reinterpret_cast<const E*>(in_place);
              E* const to = reinterpret_cast<E*>(copy);
              for (std::int64_t i = 0; i < width; ++i) to[i] = elements[i * p.stride[2]];
            });
          }
          loops.take_row(p.axis[2], from, static_cast<I>((d * p.axis[1].extent + h) * width),
                         values, places);
        }
      }
      if (widens && !out.absent()) {
        store_row(out.dtype(), reinterpret_cast<const float*>(values), results,
                  out.at(row * results));
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
  if (plane <= std::numeric_limits<std::int32_t>::max()) {
    run<std::int32_t>(launch, problem);
  } else {
    run<std::int64_t>(launch, problem);
  }
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
