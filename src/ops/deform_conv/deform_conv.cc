// Deformable convolution: what the taps read, put side by side, then a product of matrices.
#include <string>

#include "core/compute_class.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/deform_conv.h"
#include "ops/conv/window.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"
#include "ops/image/weighted_gather.h"

namespace hearth {
namespace {

// The numbers of one call, checked.
struct Deformation {
  std::int64_t batch, in, height, width;
  std::int64_t out, rows, cols;
  std::int64_t high, wide;  // positions of the result
  std::int64_t weight_groups, offset_groups;
  ConvWindow window;

  std::int64_t taps() const { return rows * cols; }
};

[[noreturn]] void fail(ErrorCode code, const std::string& message) {
  throw Error(code, "deform_conv2d: " + message);
}

// One number for both axes, or one for each; none stands for `otherwise`.
Dims of_both_axes(const char* what, const Dims& list, std::int64_t otherwise, std::int64_t least) {
  // Far beyond every extent, and sums of two are no overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  Dims both;
  for (int i = 0; i < 2; ++i) {
    both.push_back(list.empty() ? otherwise : list[list.rank() == 1 ? 0 : i]);
    if (list.rank() <= 2 && both[i] >= least && both[i] <= kMost) continue;
    fail(ErrorCode::invalid_argument, std::string(what) + " does not fit; got " + to_string(list) +
                                          ", expected one or two numbers of at least " +
                                          std::to_string(least));
  }
  return both;
}

void require_shape(const char* what, const Array& x, const Shape& shape) {
  if (x.shape() == shape) return;
  fail(ErrorCode::shape, std::string(what) + " does not fit; got " + to_string(x.shape()) +
                             ", expected " + to_string(shape));
}

void require_dtype(const char* what, const Array& x, DType dtype) {
  if (x.dtype() == dtype) return;
  fail(ErrorCode::dtype, std::string(what) + " has another dtype than x; got " +
                             std::string(name(x.dtype())) + ", expected " +
                             std::string(name(dtype)));
}

void require_groups(const char* what, std::int64_t groups, std::int64_t channels) {
  // Also of no channels at all, no more groups than taps can be counted for.
  if (groups >= 1 && groups <= (channels == 0 ? 1 : channels) && channels % groups == 0) return;
  fail(ErrorCode::invalid_argument, std::string(what) + " do not divide the channels; got " +
                                        std::to_string(groups) + " groups of " +
                                        std::to_string(channels) + " channels, expected a divisor");
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) {
    fail(ErrorCode::shape, "too many elements; got " + std::to_string(a) + " times " +
                               std::to_string(b) + ", expected fewer than 2^63");
  }
  return out;
}

Deformation deformation(const Array& x, const Array& offset, const Array& weight, const Array& mask,
                        const Array& bias, const DeformConvOptions& options) {
  require_float_array("deform_conv2d", x);
  const auto require_rank = [](const char* what, const Array& array, int rank) {
    if (array.defined() && array.rank() == rank) return;
    fail(array.defined() ? ErrorCode::shape : ErrorCode::invalid_argument,
         std::string(what) + " has another rank; got " +
             (array.defined() ? to_string(array.shape()) : std::string("an undefined array")) +
             ", expected rank " + std::to_string(rank));
  };
  require_rank("x", x, 4);
  require_rank("offset", offset, 4);
  require_rank("weight", weight, 4);
  Deformation d;
  d.batch = x.shape()[0], d.in = x.shape()[1], d.height = x.shape()[2], d.width = x.shape()[3];
  d.out = weight.shape()[0], d.rows = weight.shape()[2], d.cols = weight.shape()[3];
  d.weight_groups = options.weight_groups, d.offset_groups = options.offset_groups;
  d.window.stride = of_both_axes("stride", options.stride, 1, 1);
  d.window.before = d.window.after = of_both_axes("padding", options.padding, 0, 0);
  d.window.dilation = of_both_axes("dilation", options.dilation, 1, 1);
  require_groups("weight_groups", d.weight_groups, d.in);
  require_groups("weight_groups", d.weight_groups, d.out);
  require_groups("offset_groups", d.offset_groups, d.in);
  if (d.rows < 1 || d.cols < 1) {
    fail(ErrorCode::shape, "the kernel is empty; got weight " + to_string(weight.shape()) +
                               ", expected [out, in / weight_groups, rows, cols]");
  }
  require_shape("weight", weight, {d.out, d.in / d.weight_groups, d.rows, d.cols});
  d.high = d.window.positions(0, d.height, d.rows);
  d.wide = d.window.positions(1, d.width, d.cols);
  if (d.high < 1 || d.wide < 1) {
    fail(ErrorCode::shape, "the kernel does not fit into the padded input; got x " +
                               to_string(x.shape()) + " and weight " + to_string(weight.shape()) +
                               ", expected a smaller kernel");
  }
  const std::int64_t reads = product(product(d.rows, d.cols), d.offset_groups);
  require_shape("offset", offset, {d.batch, product(2, reads), d.high, d.wide});
  require_dtype("offset", offset, x.dtype());
  require_dtype("weight", weight, x.dtype());
  if (mask.defined()) {
    require_shape("mask", mask, {d.batch, reads, d.high, d.wide});
    require_dtype("mask", mask, x.dtype());
  }
  if (bias.defined()) {
    require_shape("bias", bias, {d.out});
    require_dtype("bias", bias, x.dtype());
  }
  return d;
}

// Where taps read along `axis`: [batch * offset_groups, 1, taps * positions]. What is farther out
// than the elements beside the border counts as if it were there, and reads nothing either.
Array coordinates(const Deformation& d, const Array& moved, int axis) {
  const ConvWindow& window = d.window;
  const Device device = moved.device();
  const std::int64_t extent = axis == 0 ? d.height : d.width;
  const auto ramp = [&](std::int64_t count, std::int64_t step) {
    return mul(arange(0, count, 1, DType::i64, device), step);
  };
  const Array taps = ramp(axis == 0 ? d.rows : d.cols, window.dilation[axis]);
  const Array places = ramp(axis == 0 ? d.high : d.wide, window.stride[axis]);
  const Array starts = axis == 0 ? add(unsqueeze(taps, {1, 2, 3}), unsqueeze(places, {1}))
                                 : add(unsqueeze(taps, {1, 2}), places);
  const Array fixed = cast(sub(starts, window.before[axis]), moved.dtype());
  const Array steps = squeeze(narrow(moved, 4, axis, 1), {4});  // [.., rows, cols, high, wide]
  const Array at = clamp(add(steps, fixed), -2.0, static_cast<double>(extent) + 1);
  return reshape(at, {d.batch * d.offset_groups, 1, d.taps() * d.high * d.wide});
}

// What all taps read: [batch * offset_groups, in / offset_groups, taps * positions].
Array sampled(const Deformation& d, const Array& x, const Array& offset) {
  const std::int64_t planes = d.batch * d.offset_groups, channels = d.in / d.offset_groups;
  const Array moved =
      reshape(offset, {d.batch, d.offset_groups, d.rows, d.cols, 2, d.high, d.wide});
  return sampled_points(reshape(x, {planes, channels, d.height, d.width}), coordinates(d, moved, 0),
                        coordinates(d, moved, 1), false);
}

}  // namespace

inline namespace v0 {

Array deform_conv2d(const Array& x, const Array& offset, const Array& weight, const Array& mask,
                    const Array& bias, const DeformConvOptions& options) try {
  const Deformation d = deformation(x, offset, weight, mask, bias, options);
  const Shape shape = {d.batch, d.out, d.high, d.wide};
  const std::int64_t positions = product(d.high, d.wide);
  Array out;
  if (d.batch == 0 || d.out == 0 || d.in == 0 || x.size() == 0) {
    out = with_zero_gradients(zeros(shape, compute_dtype(x.dtype()), x.device()),
                              {&x, &offset, &weight, &mask});
  } else {
    Array columns = sampled(d, wide(x), wide(offset));
    if (mask.defined()) {
      columns =
          mul(columns, reshape(wide(mask), {d.batch * d.offset_groups, 1, d.taps() * positions}));
    }
    const std::int64_t depth = d.in / d.weight_groups * d.taps();
    const Array taken = reshape(columns, {d.batch, d.weight_groups, depth, positions});
    const Array kernels = reshape(wide(weight), {d.weight_groups, d.out / d.weight_groups, depth});
    out = reshape(matmul(kernels, taken), shape);
  }
  if (bias.defined()) out = add(out, reshape(wide(bias), {d.out, 1, 1}));
  return cast(out, x.dtype());
} catch (const Error& error) {
  throw_as("deform_conv2d", error);
}

}  // namespace v0
}  // namespace hearth
