// Patches of images: what windows see as columns, the sum of what they saw, and channels as pixels.
#include <algorithm>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/image.h"
#include "ops/conv/window.h"
#include "ops/definition/rules.h"
#include "ops/pool/axis_window.h"

namespace hearth {
namespace patches {
namespace {

// Of both spatial axes.
struct Window {
  Dims kernel, stride, padding, dilation, positions;
  std::int64_t elements() const { return kernel[0] * kernel[1]; }
  std::int64_t windows() const { return positions[0] * positions[1]; }
};

// Throws what is wrong with windows over an image of `sizes`.
Window window_over(const std::string& op, const Dims& sizes, const Dims& kernel,
                   const UnfoldOptions& options) {
  Window window{per_axis(kernel, 2, 0), per_axis(options.stride, 2, 1),
                per_axis(options.padding, 2, 0), per_axis(options.dilation, 2, 1),
                Dims::filled(2, 0)};
  const auto check = [&](const Dims& list, std::int64_t least, const char* what) {
    bool fits = list.rank() == 2;
    for (const std::int64_t item : list) fits = fits && item >= least && item <= INT32_MAX;
    if (fits) return;
    throw Error(ErrorCode::invalid_argument, op + ": " + what + " does not fit; got " +
                                                 to_string(list) + ", expected two numbers from " +
                                                 std::to_string(least) + " to " +
                                                 std::to_string(INT32_MAX));
  };
  check(sizes, 0, "image");
  check(window.kernel, 1, "kernel");
  check(window.stride, 1, "stride");
  check(window.padding, 0, "padding");
  check(window.dilation, 1, "dilation");
  for (int i = 0; i < 2; ++i) {
    window.positions[i] = window_positions(sizes[i], window.kernel[i], window.stride[i],
                                           2 * window.padding[i], window.dilation[i], false);
    if (window.positions[i] > 0) continue;
    throw Error(ErrorCode::shape, op + ": kernel does not fit into the padded image; got kernel " +
                                      to_string(window.kernel) + ", dilation " +
                                      to_string(window.dilation) + ", padding " +
                                      to_string(window.padding) + " and image " + to_string(sizes) +
                                      ", expected an image that covers it");
  }
  return window;
}

void require_rank(const std::string& op, const Array& x, int rank) {
  if (x.rank() == rank) return;
  throw Error(ErrorCode::shape, op + ": x of wrong rank; got " + to_string(x.shape()) +
                                    ", expected rank " + std::to_string(rank));
}

// x [..., kernel, positions, inner] of windows along an axis, added up where they lie:
// [..., extent, inner] with the padding.
Array folded(const Array& x, const Window& window, int axis, std::int64_t extent) {
  const int at = x.rank() - 3;
  Shape shape = x.shape(), part = x.shape();
  shape.erase(at);
  shape[at] = extent;
  part.erase(at);
  Array sum = zeros(shape, x.dtype(), x.device());
  const std::int64_t stride = window.stride[axis], positions = window.positions[axis];
  for (std::int64_t k = 0; k < window.kernel[axis]; ++k) {
    const std::int64_t start = k * window.dilation[axis];
    std::vector<Slice> slices(static_cast<std::size_t>(at) + 1);
    slices.back() = {start, start + (positions - 1) * stride + 1, stride};
    const Array more = reshape(narrow(x, at, k, 1), part);
    sum = slice_assign(sum, slices, add(slice(sum, slices), more));
  }
  return sum;
}

void require_factor(const std::string& op, std::int64_t factor) {
  if (factor >= 1 && factor <= 1 << 15) return;
  throw Error(
      ErrorCode::invalid_argument,
      op + ": factor out of range; got " + std::to_string(factor) + ", expected from 1 to 32768");
}

}  // namespace
}  // namespace patches

inline namespace v0 {

Array unfold4d(const Array& x, const Dims& kernel, const UnfoldOptions& options) try {
  patches::require_rank("unfold4d", x, 4);
  const Shape& shape = x.shape();
  const patches::Window window =
      patches::window_over("unfold4d", {shape[2], shape[3]}, kernel, options);
  Array seen = x;
  if (window.padding[0] != 0 || window.padding[1] != 0) {
    const Dims around = {0, 0, window.padding[0], window.padding[1]};
    seen = pad(x, around, around);
  }
  // [batch, channels, rows, columns, kernel rows, kernel columns], as views.
  for (int i = 0; i < 2; ++i) {
    const std::int64_t covered = window.dilation[i] * (window.kernel[i] - 1) + 1;
    seen = unfold(seen, 2 + i, covered, window.stride[i]);
    if (window.dilation[i] == 1) continue;
    std::vector<Slice> slices(static_cast<std::size_t>(seen.rank()));
    slices.back().step = window.dilation[i];
    seen = slice(seen, slices);
  }
  Shape columns = {shape[0], shape[1], 1};
  for (const std::int64_t extent : {window.kernel[0], window.kernel[1], window.windows()}) {
    columns[2] = extent;
    check_shape("unfold4d", columns);
  }
  std::int64_t rows = 0;
  if (__builtin_mul_overflow(shape[1], window.elements(), &rows)) {
    throw Error(ErrorCode::shape, "unfold4d: too many rows; got " + to_string(shape) +
                                      " and kernel " + to_string(window.kernel) +
                                      ", expected fewer elements");
  }
  return reshape(permute(seen, {0, 1, 4, 5, 2, 3}), {shape[0], rows, window.windows()});
} catch (const Error& error) {
  throw_as("unfold4d", error);
}

Array fold4d(const Array& x, const Dims& sizes, const Dims& kernel,
             const UnfoldOptions& options) try {
  patches::require_rank("fold4d", x, 3);
  if (is_bool(x.dtype())) {
    throw Error(ErrorCode::dtype, "fold4d: bool has no sums; got bool, expected numbers");
  }
  const Dims extents = per_axis(sizes, 2, 0);
  const patches::Window window = patches::window_over("fold4d", extents, kernel, options);
  const Shape& shape = x.shape();
  const std::int64_t elements = window.elements();
  if (shape[1] % elements != 0 || shape[2] != window.windows()) {
    throw Error(ErrorCode::shape, "fold4d: x does not fit; got " + to_string(shape) +
                                      ", expected rows that are a multiple of " +
                                      std::to_string(elements) + " and " +
                                      std::to_string(window.windows()) + " columns");
  }
  const std::int64_t batch = shape[0], channels = shape[1] / elements;
  const std::int64_t height = extents[0] + 2 * window.padding[0];
  const std::int64_t width = extents[1] + 2 * window.padding[1];
  check_shape("fold4d", {batch, channels, window.kernel[0] * window.positions[0], width});
  check_shape("fold4d", {batch, channels, height, width});
  const Array split = reshape(wide(x), {batch, channels, window.kernel[0], window.kernel[1],
                                        window.positions[0], window.positions[1]});
  // [..., kernel rows, rows, kernel columns, columns, 1], then [..., kernel rows, rows, width].
  const Array columns = unsqueeze(permute(split, {0, 1, 2, 4, 3, 5}), {6});
  const Array lines = squeeze(patches::folded(columns, window, 1, width), {5});
  const Array image = patches::folded(lines, window, 0, height);
  const Array rows = narrow(image, 2, window.padding[0], extents[0]);
  return cast(narrow(rows, 3, window.padding[1], extents[1]), x.dtype());
} catch (const Error& error) {
  throw_as("fold4d", error);
}

Array pixel_shuffle(const Array& x, std::int64_t factor) try {
  patches::require_rank("pixel_shuffle", x, 4);
  patches::require_factor("pixel_shuffle", factor);
  const Shape& shape = x.shape();
  if (shape[1] % (factor * factor) != 0) {
    throw Error(ErrorCode::shape, "pixel_shuffle: channels do not fit; got " + to_string(shape) +
                                      ", expected a multiple of " +
                                      std::to_string(factor * factor));
  }
  const std::int64_t channels = shape[1] / (factor * factor);
  const Array split = reshape(x, {shape[0], channels, factor, factor, shape[2], shape[3]});
  return reshape(permute(split, {0, 1, 4, 2, 5, 3}),
                 {shape[0], channels, shape[2] * factor, shape[3] * factor});
} catch (const Error& error) {
  throw_as("pixel_shuffle", error);
}

Array pixel_unshuffle(const Array& x, std::int64_t factor) try {
  patches::require_rank("pixel_unshuffle", x, 4);
  patches::require_factor("pixel_unshuffle", factor);
  const Shape& shape = x.shape();
  if (shape[2] % factor != 0 || shape[3] % factor != 0) {
    throw Error(ErrorCode::shape, "pixel_unshuffle: image does not fit; got " + to_string(shape) +
                                      ", expected a height and width that are multiples of " +
                                      std::to_string(factor));
  }
  const std::int64_t height = shape[2] / factor, width = shape[3] / factor;
  const Array split = reshape(x, {shape[0], shape[1], height, factor, width, factor});
  return reshape(permute(split, {0, 1, 3, 5, 2, 4}),
                 {shape[0], shape[1] * factor * factor, height, width});
} catch (const Error& error) {
  throw_as("pixel_unshuffle", error);
}

}  // namespace v0
}  // namespace hearth
