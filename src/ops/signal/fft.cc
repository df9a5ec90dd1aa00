// Fourier transforms along an axis. None is divided by its length, so the gradient of one is the
// one in the other direction.
#include <string>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/signal.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/signal/fourier.h"

namespace hearth {
namespace fourier {
namespace {

constexpr ParamSpec kFftParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "inverse", .type = ParamType::boolean, .optional = true}};
constexpr ParamSpec kIrfftParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "n", .type = ParamType::i64, .range = "2 (bins - 1) or one more, at least 1"}};

bool transformed_dtype(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

void require_pair(const Inference& inference) {
  const Array &re = inference.input(0), &im = inference.input(1);
  require_accepted(inference, re.dtype());
  if (re.dtype() != im.dtype()) {
    inference.fail(ErrorCode::dtype, "re and im differ in dtype; got " +
                                         std::string(name(re.dtype())) + " and " +
                                         std::string(name(im.dtype())) + ", expected one dtype");
  }
  if (re.shape() == im.shape()) return;
  inference.fail(ErrorCode::shape, "re and im differ; got " + to_string(re.shape()) + " and " +
                                       to_string(im.shape()) + ", expected one shape");
}

void infer_fft(Inference& inference) {
  require_pair(inference);
  const Shape& shape = inference.input(0).shape();
  require_axis(inference, ParamReader(inference.params.statics().span()).i64(), shape.rank());
  inference.shape = shape;
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  inference.more_outputs[0] = {shape, inference.dtype};
}

void infer_rfft(Inference& inference) {
  const Array& x = inference.input(0);
  require_accepted(inference, x.dtype());
  const int axis =
      require_axis(inference, ParamReader(inference.params.statics().span()).i64(), x.rank());
  inference.shape = x.shape();
  if (x.shape()[axis] == 0) {
    inference.fail(ErrorCode::invalid_argument, "no elements; got " + to_string(x.shape()) +
                                                    " along axis " + std::to_string(axis) +
                                                    ", expected one or more");
  }
  inference.shape[axis] = x.shape()[axis] / 2 + 1;
  inference.dtype = inference.scalar_dtype = x.dtype();
  inference.more_outputs[0] = {inference.shape, inference.dtype};
}

void infer_irfft(Inference& inference) {
  require_pair(inference);
  ParamReader statics(inference.params.statics().span());
  const Shape& shape = inference.input(0).shape();
  const int axis = require_axis(inference, statics.i64(), shape.rank());
  const std::int64_t n = statics.i64();
  if (n < 1 || n / 2 + 1 != shape[axis]) {
    inference.fail(ErrorCode::shape, "bins do not fit; got " + std::to_string(shape[axis]) +
                                         " for a length of " + std::to_string(n) +
                                         ", expected a length of at least 1 and half of it and " +
                                         "one bins");
  }
  inference.shape = shape;
  inference.shape[axis] = n;
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

std::vector<Array> record_fft(const Array& re, const Array& im, std::int64_t axis, bool inverse) {
  return call_outputs(defs::fft_op, Params().i64(axis).boolean(inverse), {&re, &im});
}
std::vector<Array> record_rfft(const Array& x, std::int64_t axis) {
  return call_outputs(defs::rfft_op, Params().i64(axis), {&x});
}
Array record_irfft(const Array& re, const Array& im, std::int64_t axis, std::int64_t n) {
  return call(defs::irfft_op, Params().i64(axis).i64(n), {&re, &im});
}

// Lines along `axis` as rows of a matrix, and back.
Array as_rows(const Array& x, int axis) {
  const Array moved = movedim(x, {axis}, {-1});
  const std::int64_t n = moved.shape().back();
  return reshape(moved, {n == 0 ? 0 : moved.size() / n, n});
}
Array from_rows(const Array& rows, const Shape& shape, int axis) {
  Shape moved = shape;
  moved.erase(axis);
  moved.push_back(rows.shape().back());
  return movedim(reshape(rows, moved), {-1}, {axis});
}

std::vector<Array> fft_composite(const Composite& c) {
  ParamReader statics = c.statics();
  const auto axis = static_cast<int>(statics.i64());
  const bool inverse = statics.boolean();
  const Shape& shape = c.input(0).shape();
  if (element_count(shape) == 0) return {c.input(0), c.input(1)};
  const ComplexArray y =
      fourier_by_products({as_rows(c.input(0), axis), as_rows(c.input(1), axis)}, inverse);
  return {from_rows(y.re, shape, axis), from_rows(y.im, shape, axis)};
}

std::vector<Array> rfft_composite(const Composite& c) {
  const auto axis = static_cast<int>(c.statics().i64());
  const Array& x = c.input(0);
  const std::int64_t bins = x.shape()[axis] / 2 + 1;
  const std::vector<Array> all = record_fft(x, zeros_like(x), axis, false);
  return {narrow(all[0], axis, 0, bins), narrow(all[1], axis, 0, bins)};
}

// With a factor for the first bin, and the last one of an even length, and another for the rest.
Array weighted_bins(const Array& x, int axis, std::int64_t n, double ends, double others) {
  const std::int64_t bins = n / 2 + 1, last = n % 2 == 0 ? 1 : 0;
  Shape shape = Shape::filled(x.rank(), 1);
  const auto part = [&](std::int64_t count, double value) {
    shape[axis] = count;
    return full(shape, value, x.dtype(), x.device());
  };
  if (n == 1) return mul(x, ends);
  return mul(x, cat({part(1, ends), part(bins - 1 - last, others), part(last, ends)}, axis));
}

Array irfft_composite(const Composite& c) {
  ParamReader statics = c.statics();
  const auto axis = static_cast<int>(statics.i64());
  const std::int64_t n = statics.i64();
  const Array& re = c.input(0);
  const Array im = weighted_bins(c.input(1), axis, n, 0, 1);
  const std::int64_t mirrored = n - n / 2 - 1;
  const auto back = [&](const Array& x) { return flip(narrow(x, axis, 1, mirrored), {axis}); };
  if (mirrored == 0) return record_fft(re, im, axis, true)[0];
  return record_fft(cat({re, back(re)}, axis), cat({im, neg(back(im))}, axis), axis, true)[0];
}

Array given_or_zeros(const Array& grad, const Array& other) {
  return grad.defined() ? grad : zeros_like(other);
}

Grads fft_gradient(const Vjp& v) {
  ParamReader statics = v.statics();
  const std::int64_t axis = statics.i64();
  const bool inverse = statics.boolean();
  const Array re = given_or_zeros(v.output_grad(0), v.output_grad(1));
  const Array im = given_or_zeros(v.output_grad(1), v.output_grad(0));
  std::vector<Array> both = record_fft(re, im, axis, !inverse);
  return grads(std::move(both[0]), std::move(both[1]));
}

Grads rfft_gradient(const Vjp& v) {
  const auto axis = static_cast<int>(v.statics().i64());
  const std::int64_t n = v.shape(0)[axis];
  const Array re = given_or_zeros(v.output_grad(0), v.output_grad(1));
  const Array im = given_or_zeros(v.output_grad(1), v.output_grad(0));
  return grads(record_irfft(weighted_bins(re, axis, n, 1, 0.5), weighted_bins(im, axis, n, 1, 0.5),
                            axis, n));
}

Grads irfft_gradient(const Vjp& v) {
  const auto axis = static_cast<int>(v.statics().i64());
  const std::int64_t n = v.grad.shape()[axis];
  const std::vector<Array> both = record_rfft(v.grad, axis);
  return grads(weighted_bins(both[0], axis, n, 1, 2), weighted_bins(both[1], axis, n, 0, 2));
}

std::vector<SampleCase> fft_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t axis, bool inverse) {
    samples.emplace_back().inputs = {{shape}, {shape}};
    samples.back().params.i64(axis).boolean(inverse);
  };
  add({2, 8}, 1, false);
  add({3, 2}, 0, true);
  add({2, 5, 3}, 1, false);
  add({1, 7}, 1, true);
  add({2, 30}, 1, false);
  add({3, 17}, 1, false);
  add({1, 34}, 1, true);
  add({2, 143}, 1, false);
  add({9, 4}, 0, false);
  add({4, 1}, 1, false);
  add({0, 3}, 1, false);
  add({3, 0}, 1, false);
  add({3}, 1, false);
  samples.back().error = kArgumentError;
  samples.emplace_back().inputs = {{{3}}, {{4}}};
  samples.back().params.i64(0).boolean(false);
  samples.back().error = kShapeError;
  return samples;
}

std::vector<SampleCase> rfft_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t axis) {
    samples.emplace_back().inputs = {{shape}};
    samples.back().params.i64(axis);
  };
  add({2, 8}, 1);
  add({6, 3}, 0);
  add({2, 5, 3}, 1);
  add({1, 7}, 1);
  add({2, 34}, 1);
  add({2, 1}, 1);
  add({2, 2}, 1);
  add({0, 3}, 1);
  add({3, 0}, 1);
  samples.back().error = kArgumentError;
  return samples;
}

std::vector<SampleCase> irfft_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t axis, std::int64_t n) {
    samples.emplace_back().inputs = {{shape}, {shape}};
    samples.back().params.i64(axis).i64(n);
  };
  add({2, 5}, 1, 8);
  add({4, 3}, 0, 6);
  add({2, 3, 3}, 1, 5);
  add({2, 18}, 1, 34);
  add({2, 1}, 1, 1);
  add({2, 2}, 1, 2);
  add({0, 3}, 1, 4);
  add({2, 3}, 1, 6);
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace
}  // namespace fourier

constinit const OpDef defs::fft_op = {
    .name = "fft",
    .summary = "The Fourier transform of complex lines, not divided by their length.",
    .shapes = "re [...], im [...] -> re [...] and im [...]",
    .method = "",
    .params = fourier::kFftParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .outputs = 2,
    .infer = fourier::infer_fft,
    .vjp = fourier::fft_gradient,
    .composite_outputs = fourier::fft_composite,
    .accepts_dtype = fourier::transformed_dtype,
    .samples = fourier::fft_samples,
};

constinit const OpDef defs::rfft_op = {
    .name = "rfft",
    .summary = "The first half of the Fourier transform of real lines.",
    .shapes = "x [..., n, ...] -> re and im [..., n / 2 + 1, ...], n at axis",
    .method = "",
    .params = kAxis,
    .outputs = 2,
    .infer = fourier::infer_rfft,
    .vjp = fourier::rfft_gradient,
    .composite_outputs = fourier::rfft_composite,
    .accepts_dtype = fourier::transformed_dtype,
    .samples = fourier::rfft_samples,
};

constinit const OpDef defs::irfft_op = {
    .name = "irfft",
    .summary = "The real lines whose rfft is given; as an op alone, not divided by their length.",
    .shapes = "re [..., n / 2 + 1, ...], im [..., n / 2 + 1, ...] -> [..., n, ...], n at axis",
    .method = "",
    .params = fourier::kIrfftParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = fourier::infer_irfft,
    .vjp = fourier::irfft_gradient,
    .composite = fourier::irfft_composite,
    .accepts_dtype = fourier::transformed_dtype,
    .samples = fourier::irfft_samples,
};

namespace fourier {
namespace {

// x with `count` elements along `axis`: cut, or padded with 0.
Array with_extent(const Array& x, int axis, std::int64_t count) {
  const std::int64_t extent = x.shape()[axis];
  if (count <= extent) return narrow(x, axis, 0, count);
  const Dims before = Dims::filled(x.rank(), 0);
  Dims after = before;
  after[axis] = count - extent;
  return pad(x, before, after);
}

void require_length(const char* function, std::int64_t n) {
  constexpr std::int64_t kMost = std::int64_t{1} << 52;
  if (n >= 1 && n <= kMost) return;
  throw Error(ErrorCode::invalid_argument, std::string(function) + ": length out of range; got " +
                                               std::to_string(n) + ", expected 1 to 2^52");
}

int axis_of(const char* function, const Array& x, std::int64_t axis) {
  require_float_array(function, x);
  return normalize_axis(function, axis, x.rank());
}

std::pair<Array, Array> complex_transform(const char* function, const Array& re, const Array& im,
                                          std::int64_t axis, std::optional<std::int64_t> n,
                                          bool inverse) try {
  const int along = axis_of(function, re, axis);
  axis_of(function, im, axis);
  if (re.shape() != im.shape()) {
    throw Error(ErrorCode::shape, std::string(function) + ": re and im differ; got " +
                                      to_string(re.shape()) + " and " + to_string(im.shape()) +
                                      ", expected one shape");
  }
  const std::int64_t count = n.value_or(re.shape()[along]);
  require_length(function, count);
  const std::vector<Array> both = record_fft(with_extent(wide(re), along, count),
                                             with_extent(wide(im), along, count), along, inverse);
  const auto finished = [&](const Array& part) {
    const Array scaled = inverse ? mul(part, 1 / static_cast<double>(count)) : part;
    return cast(scaled, re.dtype());
  };
  return {finished(both[0]), finished(both[1])};
} catch (const Error& error) {
  throw_as(function, error);
}

std::pair<Array, Array> over_axes(const char* function, const Array& re, const Array& im,
                                  const Dims& axes, bool inverse) {
  require_float_array(function, re);
  axis_bits(function, axes, re.rank());
  std::pair<Array, Array> y = {re, im};
  for (const std::int64_t axis : axes) {
    y = complex_transform(function, y.first, y.second, axis, std::nullopt, inverse);
  }
  return y;
}

void require_axes(const char* function, const Dims& axes) {
  if (axes.rank() > 0) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(function) + ": no axes; got none, expected one or more");
}

Dims all_but_last(const Dims& axes) {
  return Dims(axes.data(), static_cast<std::size_t>(axes.rank() - 1));
}

}  // namespace
}  // namespace fourier

inline namespace v0 {

std::pair<Array, Array> fft(const Array& re, const Array& im, std::int64_t axis,
                            std::optional<std::int64_t> n) {
  return fourier::complex_transform("fft", re, im, axis, n, false);
}
std::pair<Array, Array> ifft(const Array& re, const Array& im, std::int64_t axis,
                             std::optional<std::int64_t> n) {
  return fourier::complex_transform("ifft", re, im, axis, n, true);
}

std::pair<Array, Array> rfft(const Array& x, std::int64_t axis, std::optional<std::int64_t> n) try {
  const int along = fourier::axis_of("rfft", x, axis);
  const std::int64_t count = n.value_or(x.shape()[along]);
  fourier::require_length("rfft", count);
  const std::vector<Array> both =
      fourier::record_rfft(fourier::with_extent(wide(x), along, count), along);
  return {cast(both[0], x.dtype()), cast(both[1], x.dtype())};
} catch (const Error& error) {
  throw_as("rfft", error);
}

Array irfft(const Array& re, const Array& im, std::int64_t axis,
            std::optional<std::int64_t> n) try {
  const int along = fourier::axis_of("irfft", re, axis);
  fourier::axis_of("irfft", im, axis);
  if (re.shape() != im.shape()) {
    throw Error(ErrorCode::shape, "irfft: re and im differ; got " + to_string(re.shape()) +
                                      " and " + to_string(im.shape()) + ", expected one shape");
  }
  const std::int64_t count = n.value_or(2 * (re.shape()[along] - 1));
  fourier::require_length("irfft", count);
  const std::int64_t bins = count / 2 + 1;
  const Array lines =
      fourier::record_irfft(fourier::with_extent(wide(re), along, bins),
                            fourier::with_extent(wide(im), along, bins), along, count);
  return cast(mul(lines, 1 / static_cast<double>(count)), re.dtype());
} catch (const Error& error) {
  throw_as("irfft", error);
}

std::pair<Array, Array> fftn(const Array& re, const Array& im, const Dims& axes) try {
  return fourier::over_axes("fftn", re, im, axes, false);
} catch (const Error& error) {
  throw_as("fftn", error);
}
std::pair<Array, Array> ifftn(const Array& re, const Array& im, const Dims& axes) try {
  return fourier::over_axes("ifftn", re, im, axes, true);
} catch (const Error& error) {
  throw_as("ifftn", error);
}

std::pair<Array, Array> rfftn(const Array& x, const Dims& axes) try {
  fourier::require_axes("rfftn", axes);
  axis_bits("rfftn", axes, x.rank());
  const auto [re, im] = rfft(x, axes.back());
  return fourier::over_axes("rfftn", re, im, fourier::all_but_last(axes), false);
} catch (const Error& error) {
  throw_as("rfftn", error);
}

Array irfftn(const Array& re, const Array& im, const Dims& axes,
             std::optional<std::int64_t> n) try {
  fourier::require_axes("irfftn", axes);
  axis_bits("irfftn", axes, re.rank());
  const auto [x, y] = fourier::over_axes("irfftn", re, im, fourier::all_but_last(axes), true);
  return irfft(x, y, axes.back(), n);
} catch (const Error& error) {
  throw_as("irfftn", error);
}

std::pair<Array, Array> fft2(const Array& re, const Array& im) try {
  return fourier::over_axes("fft2", re, im, {-2, -1}, false);
} catch (const Error& error) {
  throw_as("fft2", error);
}
std::pair<Array, Array> ifft2(const Array& re, const Array& im) try {
  return fourier::over_axes("ifft2", re, im, {-2, -1}, true);
} catch (const Error& error) {
  throw_as("ifft2", error);
}

}  // namespace v0
}  // namespace hearth
