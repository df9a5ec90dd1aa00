// Pools: max_pool with and without indices, and those that resample sums.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops/pool.h"
#include "ops/conv/window.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/image/resample.h"
#include "ops/linalg/powers.h"

namespace hearth {
namespace pools {
namespace {

constexpr ParamSpec kParams[] = {
    kPoolWindow[0],
    {.name = "kernel", .type = ParamType::i64_list, .range = "[1, inf), or none"},
    {.name = "stride", .type = ParamType::i64_list, .range = "[1, inf), or none"},
    {.name = "padding", .type = ParamType::i64_list, .range = "[0, inf), or none"},
    {.name = "dilation", .type = ParamType::i64_list, .range = "[1, inf), or none"}};

constexpr ParamSpec kBackwardParams[] = {
    {.name = "extents", .type = ParamType::i64_list, .range = "[1, inf)"},
    kParams[0],
    kParams[1],
    kParams[2],
    kParams[3],
    kParams[4],
    // Indices are those that max_pool_with_indices() gave: none needs to be looked at.
    {.name = "own_indices", .type = ParamType::boolean, .optional = true}};

Params params_of(const PoolWindow& window) {
  Params params;
  window.append_to(&params);
  return params;
}
PoolWindow window_of(ParamReader statics) { return PoolWindow(statics); }

void infer(Inference& inference) {
  require_input(inference, 0);
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.dtype);
  const Shape& x = inference.input(0).shape();
  if (x.rank() < 3 || x.rank() > 5) {
    inference.fail(ErrorCode::shape, "x of wrong rank; got " + to_string(x) +
                                         ", expected [batch, channels, spatial...] with one to "
                                         "three spatial axes");
  }
  const PoolWindow window = window_of(ParamReader(inference.params.statics().span()));
  window.check(inference, spatial(x), false);
  inference.shape = with_spatial(x[0], x[1], window.positions);
  check_shape(inference.op.name.text, inference.shape);
}

void infer_with_indices(Inference& inference) {
  infer(inference);
  inference.more_outputs[0] = {inference.shape, DType::i64};
}

// [batch, channels, elements...] with the spatial axes as one.
Array planes(const Array& x) {
  const Shape& shape = x.shape();
  return reshape(x, {shape[0], shape[1], element_count(spatial(shape))});
}

Params backward_params(const Dims& extents, const PoolWindow& window, bool own_indices = false) {
  Params params;
  params.list(extents);
  window.append_to(&params);
  params.boolean(own_indices);
  return params;
}

Grads gradient(const Vjp& v) {
  const Params params = backward_params(spatial(v.shape(0)), window_of(v.statics()), true);
  const Array indices = v.output(1);
  return grads(call(defs::max_pool_backward_op, params, {&v.grad, &indices}));
}

void infer_backward(Inference& inference) {
  require_input(inference, 0);
  require_input(inference, 1);
  require_float(inference, 0, "grad");
  const Array &grad = inference.input(0), &indices = inference.input(1);
  if (indices.dtype() != DType::i64) {
    inference.fail(ErrorCode::dtype, "indices of wrong dtype; got " +
                                         std::string(name(indices.dtype())) + ", expected i64");
  }
  if (grad.shape() != indices.shape()) {
    inference.fail(ErrorCode::shape, "grad and indices differ; got " + to_string(grad.shape()) +
                                         " and " + to_string(indices.shape()) +
                                         ", expected one shape");
  }
  if (grad.rank() < 3 || grad.rank() > 5) {
    inference.fail(ErrorCode::shape, "grad of wrong rank; got " + to_string(grad.shape()) +
                                         ", expected [batch, channels, positions...] with one to "
                                         "three spatial axes");
  }
  ParamReader statics(inference.params.statics().span());
  const Dims extents = statics.list();
  const PoolWindow window(statics);
  if (extents.rank() != grad.rank() - 2) {
    inference.fail(ErrorCode::invalid_argument, "extents do not fit; got " + to_string(extents) +
                                                    ", expected " +
                                                    std::to_string(grad.rank() - 2));
  }
  window.check(inference, extents, false);
  if (window.positions != spatial(grad.shape())) {
    inference.fail(ErrorCode::shape, "grad does not fit; got " + to_string(grad.shape()) +
                                         ", expected positions " + to_string(window.positions));
  }
  inference.shape = with_spatial(grad.shape()[0], grad.shape()[1], extents);
  check_shape(inference.op.name.text, inference.shape);
  inference.dtype = inference.scalar_dtype = grad.dtype();
}

// Whether indices [batch, channels, positions...] are of elements of their windows.
Array of_own_window(const Array& indices, const PoolWindow& window, const Dims& extents) {
  const int axes = extents.rank();
  Array own, rest = indices;
  const auto also = [&own](const Array& more) {
    own = own.defined() ? logical_and(own, more) : more;
  };
  for (int i = axes - 1; i >= 0; --i) {
    const AxisWindow along = window.axis(i, extents[i]);
    std::vector<std::int64_t> firsts, ends;
    for (std::int64_t o = 0; o < along.positions; ++o) {
      const WindowPart part = along.part(o);
      firsts.push_back(part.first);
      ends.push_back(part.first + (part.count - 1) * part.step + 1);
    }
    Shape shape;
    for (int axis = 0; axis < axes; ++axis) shape.push_back(axis == i ? along.positions : 1);
    const Array first = Array::from_data(firsts, shape, indices.device());
    Array at = rest;
    if (i > 0) {  // a negative index leaves a negative place along an axis
      rest = div(rest, extents[i]);
      at = sub(at, mul(rest, extents[i]));
    }
    also(greater_equal(at, first));
    also(less(at, Array::from_data(ends, shape, indices.device())));
    const bool has_gaps = !along.is_bins() && along.dilation > 1;
    if (has_gaps) also(equal(remainder(sub(at, first), along.dilation), 0));
  }
  return own;
}

// Where an index [batch, channels, positions...] adds something; undefined: everywhere. Takes the
// parameters of max_pool_backward.
Array adding(const Array& indices, ParamReader statics) {
  const Dims extents = statics.list();
  const PoolWindow window(statics);
  if (!statics.boolean()) return of_own_window(indices, window, extents);
  return window.has_empty(extents) ? greater_equal(indices, 0) : Array();
}

Array backward_composite(const Composite& c) {
  ParamReader statics = c.statics();
  const Dims extents = statics.list();
  Array values = c.input(0), indices = c.input(1);
  const Shape& shape = c.input(0).shape();
  if (const Array adds = adding(indices, c.statics()); adds.defined()) {
    values = where(adds, values, 0);
    indices = where(adds, indices, 0);
  }
  const Array zero =
      zeros({shape[0], shape[1], element_count(extents)}, values.dtype(), values.device());
  return reshape(scatter_add(zero, planes(indices), planes(values), 2),
                 with_spatial(shape[0], shape[1], extents));
}

std::vector<SampleCase> backward_samples() {
  std::vector<SampleCase> cases;
  const auto add = [&](const Dims& extents, const PoolWindow& window, double lo, double hi,
                       int error = SampleCase::kValid, bool own_indices = false) {
    const Shape shape = with_spatial(2, 3, window.positions);
    cases.push_back(
        {{{shape}, {.shape = shape, .lo = lo, .hi = hi, .dtype = static_cast<int>(DType::i64)}},
         backward_params(extents, window, own_indices),
         error});
  };
  PoolWindow window;
  window.kernel = {3, 3}, window.stride = {1, 1}, window.padding = {1, 1};
  window.dilation = {1, 1}, window.positions = {3, 3};
  add({3, 3}, window, 4, 4);
  add({3, 3}, window, 4, 4, SampleCase::kValid, true);
  window.positions = {4, 0};
  add({3, 3}, window, 4, 4, kShapeError);
  window.kernel = {4}, window.stride = {2}, window.padding = {1};
  window.dilation = {2}, window.positions = {1};
  add({6}, window, 1, 1);
  PoolWindow bins;
  bins.positions = {1, 1, 1};
  add({2, 3, 4}, bins, 0, 23);
  add({2, 3}, bins, 0, 5, kArgumentError);
  // Indices of other windows, of gaps in their own, and of nothing.
  window.kernel = {4}, window.stride = {2}, window.padding = {1};
  window.dilation = {2}, window.positions = {2};
  add({8}, window, -3, 10);
  window.kernel = {2, 2}, window.stride = {2, 1}, window.padding = {0, 1};
  window.dilation = {1, 1}, window.positions = {2, 4};
  add({4, 3}, window, -4, 14);
  bins.positions = {2, 2, 3};
  add({3, 2, 4}, bins, -1, 24);
  return cases;
}

Grads backward_gradient(const Vjp& v) {
  const Array adds = adding(v.input(1), v.statics());
  const Array indices = adds.defined() ? where(adds, v.input(1), 0) : v.input(1);
  const Array taken = reshape(gather(planes(v.grad), planes(indices), 2), v.shape(0));
  return grads(adds.defined() ? where(adds, taken, 0.0) : taken, Array());
}

// The elements that windows see along each axis: [batch, channels, positions, elements], those of a
// smaller window repeating its last. Windows without any see element 0.
Array seen(Array x, const PoolWindow& window) {
  const int axes = x.rank() - 2;
  for (int i = 0; i < axes; ++i) {
    const int at = 2 + 2 * i;
    const AxisWindow along = window.axis(i, x.shape()[at]);
    std::int64_t most = 1;
    for (std::int64_t o = 0; o < along.positions; ++o) most = std::max(most, along.part(o).count);
    std::vector<std::int64_t> indices;
    for (std::int64_t o = 0; o < along.positions; ++o) {
      const WindowPart part = along.part(o);
      for (std::int64_t k = 0; k < most; ++k) {
        const std::int64_t last = std::max<std::int64_t>(part.count - 1, 0);
        indices.push_back(part.count < 1 ? 0 : part.first + std::min(k, last) * part.step);
      }
    }
    Shape split = x.shape();
    split[at] = along.positions;
    split.insert(at + 1, most);
    const auto size = static_cast<std::int64_t>(indices.size());
    x = reshape(select(x, Array::from_data(indices, {size}, x.device()), at), split);
  }
  Dims order = {0, 1};
  std::int64_t elements = 1;
  for (int i = 0; i < axes; ++i) order.push_back(2 + 2 * i);
  for (int i = 0; i < axes; ++i) {
    order.push_back(3 + 2 * i);
    elements *= x.shape()[3 + 2 * i];
  }
  const Shape& shape = x.shape();
  return reshape(permute(x, order),
                 {shape[0], shape[1], element_count(window.positions), elements});
}

// [1, 1, positions]: whether a window sees nothing but padding.
Array empty_windows(const PoolWindow& window, const Dims& extents, Device device) {
  std::vector<std::int64_t> none(static_cast<std::size_t>(element_count(window.positions)), 0);
  for (std::size_t i = 0; i < none.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    for (int axis = extents.rank() - 1; axis >= 0; --axis) {
      const AxisWindow along = window.axis(axis, extents[axis]);
      if (along.part(rest % along.positions).count < 1) none[i] = 1;
      rest /= along.positions;
    }
  }
  return equal(Array::from_data(none, {1, 1, static_cast<std::int64_t>(none.size())}, device), 1);
}

std::vector<Array> with_indices_composite(const Composite& c) {
  const Array& x = c.input(0);
  const PoolWindow window = window_of(c.statics());
  const Dims extents = spatial(x.shape());
  const Shape shape = with_spatial(x.shape()[0], x.shape()[1], window.positions);
  if (x.size() == 0) {
    return {contiguous(zeros(shape, x.dtype(), x.device())),
            contiguous(zeros(shape, DType::i64, x.device()))};
  }
  const Array elements = seen(x, window);
  const Array at = argmax(elements, 3, true);
  Array places = reshape(arange(0, element_count(extents), 1, DType::i64, x.device()),
                         with_spatial(1, 1, extents));
  places = expand(seen(places, window), elements.shape());
  Array values = squeeze(gather(elements, at, 3), {3});
  Array indices = squeeze(gather(places, at, 3), {3});
  if (window.has_empty(extents)) {
    const Array none = empty_windows(window, extents, x.device());
    const Array least = is_float(x.dtype())
                            ? full({1}, -kInfinity, x.dtype(), x.device())
                            : full({1}, integer_limits(x.dtype()).least, x.dtype(), x.device());
    values = where(none, least, values);
    indices = where(none, -1, indices);
  }
  return {reshape(values, shape), reshape(indices, shape)};
}

Array composite(const Composite& c) { return with_indices_composite(c)[0]; }

struct Case {
  Shape x;
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};
std::vector<SampleCase> samples() {
  const std::vector<Case> windows = {
      {{2, 3, 9}, {3}, {2}, {1}, {1}},
      {{1, 2, 10}, {3}, {2}, {0}, {2}, true},
      {{2, 3, 6, 8}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {{2, 3, 7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true},
      {{1, 2, 5, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 2, 8, 7}, {2, 3}, {3, 1}, {1, 2}, {2, 1}},
      {{1, 2, 4, 5, 6}, {2, 3, 2}, {2, 1, 2}, {0, 1, 0}, {1, 1, 2}},
      {{0, 3, 4, 4}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
  };
  std::vector<SampleCase> cases;
  const auto add = [&](const Shape& x, const PoolWindow& window, int error) {
    cases.push_back({{{.shape = x, .distinct = true}}, params_of(window), error});
  };
  for (const Case& each : windows) {
    PoolWindow window;
    window.kernel = each.kernel, window.stride = each.stride;
    window.padding = each.padding, window.dilation = each.dilation;
    for (int i = 0; i < each.kernel.rank(); ++i) {
      window.positions.push_back(window_positions(each.x[i + 2], each.kernel[i], each.stride[i],
                                                  2 * each.padding[i], each.dilation[i],
                                                  each.ceil_mode));
    }
    add(each.x, window, SampleCase::kValid);
  }
  PoolWindow bins;
  bins.positions = {3, 4};
  add({2, 2, 7, 5}, bins, SampleCase::kValid);
  bins.positions = {5, 1};
  add({1, 2, 3, 4}, bins, SampleCase::kValid);
  add({1, 2, 3, 4, 5}, bins, kArgumentError);
  add({3, 4}, bins, kShapeError);
  add({1, 2, 3, 0}, bins, kShapeError);
  PoolWindow uneven;  // two elements behind, none in front
  uneven.positions = {5, 3}, uneven.kernel = {3, 3}, uneven.stride = {1, 2};
  uneven.padding = {0, 1}, uneven.dilation = {1, 1};
  add({2, 3, 5, 4}, uneven, SampleCase::kValid);
  uneven.positions = {2, 3};
  add({2, 3, 5, 4}, uneven, kArgumentError);
  PoolWindow wide_window;
  wide_window.positions = {0}, wide_window.kernel = {5}, wide_window.stride = {1};
  wide_window.padding = {0}, wide_window.dilation = {1};
  add({1, 2, 4}, wide_window, kShapeError);
  wide_window.kernel = {0};
  add({1, 2, 4}, wide_window, kArgumentError);
  return cases;
}

Dims extents_of(const Array& x) {
  return x.defined() && x.rank() > 2 && x.rank() < 6 ? spatial(x.shape()) : Dims();
}

// Windows, and what of the padding behind the input differs from that in front of it.
struct UnevenWindow {
  PoolWindow window;
  WindowPadding padding;
  bool is_valid = false;

  bool is_even() const { return padding.before == padding.after; }
};

// Positions are 0 where other numbers are no window; the op says which.
template <class Options>
UnevenWindow uneven_window(const char* op, const Dims& extents, const Dims& kernel,
                           const Options& options) {
  if (kernel.rank() == 0) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) +
                    ": no kernel; got an empty list, expected an extent for each spatial axis");
  }
  require_padding_or_same(op, options.same, options.padding, options.padding_end);
  const int axes = extents.rank();
  UnevenWindow out;
  PoolWindow& window = out.window;
  window.kernel = per_axis(kernel, axes, Dims());
  window.stride = per_axis(options.stride, axes, window.kernel);
  window.dilation = per_axis(options.dilation, axes, 1);
  out.padding = options.same ? same_padding(extents, window.kernel, window.stride, window.dilation)
                             : padding_of(options.padding, options.padding_end, axes);
  window.padding = out.padding.before;
  window.positions = Dims::filled(axes, 0);
  const auto are = [&](const Dims& list, std::int64_t least) {
    return list.rank() == axes && std::all_of(list.begin(), list.end(), [&](std::int64_t item) {
             return item >= least && item <= INT32_MAX;
           });
  };
  if (!are(extents, 1) || !are(window.kernel, 1) || !are(window.stride, 1) ||
      !are(window.padding, 0) || !are(window.dilation, 1)) {
    return out;
  }
  if (!are(out.padding.after, 0)) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": padding_end does not fit; got " +
                                                 to_string(out.padding.after) + ", expected " +
                                                 std::to_string(axes) + " numbers from 0 to " +
                                                 std::to_string(INT32_MAX));
  }
  for (int i = 0; i < axes; ++i) {
    window.positions[i] = window_positions(extents[i], window.kernel[i], window.stride[i],
                                           out.padding.before[i] + out.padding.after[i],
                                           window.dilation[i], options.ceil_mode);
  }
  out.is_valid = true;
  return out;
}

template <class Options>
PoolWindow window_of(const char* op, const Dims& extents, const Dims& kernel,
                     const Options& options) {
  return uneven_window(op, extents, kernel, options).window;
}

PoolWindow bins_of(const Array& x, const Dims& sizes) {
  PoolWindow window;
  window.positions = per_axis(sizes, extents_of(x).rank(), sizes);
  return window;
}

// Whether one bin covers everything: the mean of rows.
bool is_global(const Dims& extents, const Dims& sizes) {
  if (extents.rank() == 0 || (sizes.rank() != 1 && sizes.rank() != extents.rank())) return false;
  const auto fits = [](std::int64_t extent) { return extent >= 1 && extent <= kMaxAxisTaps; };
  return std::all_of(extents.begin(), extents.end(), fits) &&
         std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size == 1; });
}

Array resampled_by(const Array& x, ResampleRule rule, bool flag, const PoolWindow& window) {
  Resampling resampling;
  resampling.rule = rule;
  resampling.flag = flag;
  resampling.extents = extents_of(x);
  resampling.window = window;
  return resampled(x, resampling);
}

std::pair<Array, Array> with_indices(const Array& x, const PoolWindow& window) {
  std::vector<Array> both = call_outputs(defs::max_pool_with_indices_op, params_of(window), {&x});
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace
}  // namespace pools

constinit const OpDef defs::max_pool_op = {
    .name = "max_pool",
    .summary = "The largest element of each window over spatial axes; NaN wins.",
    .shapes = "x [batch, channels, spatial...] -> [batch, channels, positions...]",
    .method = "",
    .params = pools::kParams,
    .infer = pools::infer,
    .composite = pools::composite,
    .tracked_as = &defs::max_pool_with_indices_op,
    .accepts_dtype = numeric_dtype,
    .samples = pools::samples,
};

constinit const OpDef defs::max_pool_with_indices_op = {
    .name = "max_pool_with_indices",
    .summary = "The largest element of each window, and its place in the elements of its channel.",
    .shapes =
        "x [batch, channels, spatial...] -> values and indices [batch, channels, positions...]",
    .method = "",
    .params = pools::kParams,
    .outputs = 2,
    .infer = pools::infer_with_indices,
    .vjp = pools::gradient,
    .saves = Saves::output1,
    .composite_outputs = pools::with_indices_composite,
    .accepts_dtype = numeric_dtype,
    .samples = pools::samples,
};

constinit const OpDef defs::max_pool_backward_op = {
    .name = "max_pool_backward",
    .summary = "The gradient of the input of max_pool_with_indices().",
    .shapes =
        "grad [batch, channels, positions...], indices [batch, channels, positions...] -> "
        "[batch, channels, spatial...]",
    .method = "",
    .params = pools::kBackwardParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = pools::infer_backward,
    .vjp = pools::backward_gradient,
    .saves = Saves::input1,
    .composite = pools::backward_composite,
    .accepts_dtype = is_float,
    .samples = pools::backward_samples,
};

inline namespace v0 {

Array max_pool(const Array& x, const Dims& kernel, const PoolOptions& options) try {
  return call(defs::max_pool_op,
              pools::params_of(pools::window_of("max_pool", pools::extents_of(x), kernel, options)),
              {&x});
} catch (const Error& error) {
  throw_as("max_pool", error);
}

std::pair<Array, Array> max_pool_with_indices(const Array& x, const Dims& kernel,
                                              const PoolOptions& options) try {
  return pools::with_indices(
      x, pools::window_of("max_pool_with_indices", pools::extents_of(x), kernel, options));
} catch (const Error& error) {
  throw_as("max_pool_with_indices", error);
}

Array max_pool_backward(const Array& grad, const Array& indices, const Dims& extents,
                        const Dims& kernel, const PoolOptions& options) try {
  const Array places =
      indices.defined() && indices.dtype() == DType::i32 ? cast(indices, DType::i64) : indices;
  const PoolWindow window = pools::window_of("max_pool_backward", extents, kernel, options);
  return call(defs::max_pool_backward_op, pools::backward_params(extents, window),
              {&grad, &places});
} catch (const Error& error) {
  throw_as("max_pool_backward", error);
}

Array avg_pool(const Array& x, const Dims& kernel, const AvgPoolOptions& options) try {
  const pools::UnevenWindow all =
      pools::uneven_window("avg_pool", pools::extents_of(x), kernel, options);
  const bool counts_padding = options.count_include_pad;
  if (!counts_padding || !all.is_valid || all.is_even()) {
    return pools::resampled_by(x, ResampleRule::mean, counts_padding, all.window);
  }
  // Zeros for what one side has more than the other, which then are elements of the input.
  Dims before = {0, 0}, after = {0, 0};
  PoolWindow even = all.window;
  for (int i = 0; i < even.padding.rank(); ++i) {
    even.padding[i] = std::min(all.padding.before[i], all.padding.after[i]);
    before.push_back(all.padding.before[i] - even.padding[i]);
    after.push_back(all.padding.after[i] - even.padding[i]);
  }
  return pools::resampled_by(pad(x, before, after), ResampleRule::mean, true, even);
} catch (const Error& error) {
  throw_as("avg_pool", error);
}

Array lp_pool(const Array& x, double p, const Dims& kernel, const PoolOptions& options) try {
  if (!(p > 0) || p == kInfinity) {
    throw Error(ErrorCode::invalid_argument,
                "lp_pool: p out of range; got " + number_text(p) + ", expected a finite p > 0");
  }
  require_float_array("lp_pool", x);
  const Array sums =
      pools::resampled_by(power_of_magnitude(wide(x), p), ResampleRule::sum, false,
                          pools::window_of("lp_pool", pools::extents_of(x), kernel, options));
  return cast(root_of_powers(sums, p), x.dtype());
} catch (const Error& error) {
  throw_as("lp_pool", error);
}

Array adaptive_avg_pool(const Array& x, const Dims& sizes) try {
  if (const Dims extents = pools::extents_of(x); pools::is_global(extents, sizes)) {
    require_float_array("adaptive_avg_pool", x);
    Dims axes;
    for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
    return cast(mean(wide(x), axes, true), x.dtype());
  }
  return pools::resampled_by(x, ResampleRule::mean, false, pools::bins_of(x, sizes));
} catch (const Error& error) {
  throw_as("adaptive_avg_pool", error);
}

Array adaptive_max_pool(const Array& x, const Dims& sizes) try {
  return call(defs::max_pool_op, pools::params_of(pools::bins_of(x, sizes)), {&x});
} catch (const Error& error) {
  throw_as("adaptive_max_pool", error);
}

std::pair<Array, Array> adaptive_max_pool_with_indices(const Array& x, const Dims& sizes) try {
  return pools::with_indices(x, pools::bins_of(x, sizes));
} catch (const Error& error) {
  throw_as("adaptive_max_pool_with_indices", error);
}

}  // namespace v0
}  // namespace hearth
