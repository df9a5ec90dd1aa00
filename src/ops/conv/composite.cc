#include "ops/conv/composite.h"

#include <vector>

#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

// The spatial extents of x between its padding.
Dims padded(const ConvWindow& window, const Dims& extents) {
  Dims out = extents;
  for (int i = 0; i < out.rank(); ++i) out[i] += window.before[i] + window.after[i];
  return out;
}

bool is_padded(const ConvWindow& window) {
  for (int i = 0; i < window.axes(); ++i) {
    if (window.before[i] != 0 || window.after[i] != 0) return true;
  }
  return false;
}

Dims start_of(const Dims& spatial_start) { return with_spatial(0, 0, spatial_start); }

Dims step_of(const ConvWindow& window) { return with_spatial(1, 1, window.stride); }

// Where element `index` of a kernel, in row-major order, first meets the padded input.
Dims offset_of(const ConvWindow& window, const Dims& kernel, std::int64_t index) {
  Dims at = Dims::filled(kernel.rank(), 0);
  for (int i = kernel.rank() - 1; i >= 0; --i) {
    at[i] = index % kernel[i] * window.dilation[i];
    index /= kernel[i];
  }
  return at;
}

Array part_of(const Array& x, const Dims& starts, const Shape& sizes, const Dims& steps) {
  return call(defs::slice_op, Params().list(starts).list(sizes).list(steps), {&x});
}

Array with_part(const Array& x, const Array& value, const Dims& starts, const Dims& steps) {
  Params params;
  params.list(steps);
  for (const std::int64_t start : starts) params.dynamic_i64(start);
  return call(defs::slice_assign_op, params, {&x, &value});
}

// im2col: what each element of the kernel meets, [batch, groups, in / groups * kernel, positions].
Array patches(const Array& x, const ConvWindow& window, const Dims& kernel, const Dims& positions) {
  const Shape& shape = x.shape();
  Array whole = x;
  if (is_padded(window)) {
    const Array none = zeros(with_spatial(shape[0], shape[1], padded(window, spatial(shape))),
                             x.dtype(), x.device());
    whole = with_part(none, x, start_of(window.before), Dims::filled(shape.rank(), 1));
  }
  const Shape sizes = with_spatial(shape[0], shape[1], positions);
  std::vector<Array> parts;
  for (std::int64_t i = 0; i < element_count(kernel); ++i) {
    parts.push_back(part_of(whole, start_of(offset_of(window, kernel, i)), sizes, step_of(window)));
  }
  const std::int64_t inputs = shape[1] / window.groups * element_count(kernel);
  return reshape(stack(parts, 2), {shape[0], window.groups, inputs, element_count(positions)});
}

// [groups, out / groups, in / groups * kernel].
Array matrices(const Array& weight, std::int64_t groups) {
  const Shape& shape = weight.shape();
  return reshape(weight, {groups, shape[0] / groups, element_count(shape) / shape[0]});
}

bool is_empty(const Array& a, const Array& b) { return a.size() == 0 || b.size() == 0; }

}  // namespace

Array conv_of_patches(const Array& x, const Array& weight, const ConvWindow& window) {
  const Dims kernel = spatial(weight.shape());
  Dims positions;
  for (int i = 0; i < window.axes(); ++i) {
    positions.push_back(window.positions(i, spatial(x.shape())[i], kernel[i]));
  }
  const Shape shape = with_spatial(x.shape()[0], weight.shape()[0], positions);
  if (is_empty(x, weight) || element_count(shape) == 0) {
    return contiguous(zeros(shape, x.dtype(), x.device()));
  }
  const Array all = patches(x, window, kernel, positions);
  return reshape(matmul(matrices(weight, window.groups), all), shape);
}

Array conv_input_of_patches(const Array& grad, const Array& weight, const ConvWindow& window,
                            const Dims& extents) {
  const Dims kernel = spatial(weight.shape()), positions = spatial(grad.shape());
  const std::int64_t batch = grad.shape()[0], groups = window.groups;
  const std::int64_t inputs = weight.shape()[1] * groups;
  const Shape shape = with_spatial(batch, inputs, extents);
  if (is_empty(grad, weight)) return contiguous(zeros(shape, grad.dtype(), grad.device()));
  // What each position gives to the elements that it met, in the precision of sums.
  const Array rows =
      reshape(wide(grad), {batch, groups, grad.shape()[1] / groups, element_count(positions)});
  const Array met = reshape(matmul(transpose(matrices(wide(weight), groups)), rows),
                            {batch, inputs, element_count(kernel), element_count(positions)});
  const Shape part = with_spatial(batch, inputs, positions);
  Array sum =
      zeros(with_spatial(batch, inputs, padded(window, extents)), met.dtype(), met.device());
  for (std::int64_t i = 0; i < element_count(kernel); ++i) {
    const Dims starts = start_of(offset_of(window, kernel, i));
    const Array more = reshape(narrow(met, 2, i, 1), part);
    sum =
        with_part(sum, part_of(sum, starts, part, step_of(window)) + more, starts, step_of(window));
  }
  const Array inside = part_of(sum, start_of(window.before), shape, Dims::filled(shape.rank(), 1));
  return cast(inside, grad.dtype());
}

Array conv_weight_of_patches(const Array& x, const Array& grad, const ConvWindow& window,
                             const Dims& kernel) {
  const std::int64_t groups = window.groups, outputs = grad.shape()[1];
  const Shape shape = with_spatial(outputs, x.shape()[1] / groups, kernel);
  if (is_empty(x, grad) || element_count(shape) == 0) {
    return contiguous(zeros(shape, x.dtype(), x.device()));
  }
  const Dims positions = spatial(grad.shape());
  const Array all = patches(x, window, kernel, positions);
  const Array rows =
      reshape(grad, {grad.shape()[0], groups, outputs / groups, element_count(positions)});
  return reshape(cast(sum(matmul(wide(rows), transpose(wide(all))), {0}), x.dtype()), shape);
}

}  // namespace hearth
