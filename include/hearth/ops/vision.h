// Pictures and boxes: morphology, connected components, suppression of overlapping boxes. Rules for
// all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Morphology
// Of images [..., height, width] of any dtype, each by itself; results have their shape. At element
// (y, x) a kernel [rows, cols] covers the elements (y + i - anchor row, x + j - anchor column).

// What a kernel finds beyond the border: one value, the nearest element, elements mirrored with the
// border element (dcb|abcd|cba... of abcd: reflect, reflect101 leaves the border element out), or
// elements from the other side.
enum class MorphBorder : std::uint8_t { constant, replicate, reflect, reflect101, wrap };
struct MorphOptions {
  // Row and column of the kernel; its middle, rounded up, where absent.
  std::optional<Dims> anchor = std::nullopt;
  std::int64_t iterations = 1;
  MorphBorder border = MorphBorder::constant;
  // Of a constant border; where absent, what changes no result.
  std::optional<double> border_value = std::nullopt;
};
// The least of the elements where `kernel`, bool [rows, cols], is true: for bool whether all are.
// NaN wins. Gradients are those of min.
HEARTH_API Array erode(const Array& x, const Array& kernel, const MorphOptions& options = {});
// erode by a whole rectangle, at rows + cols steps an element in place of rows * cols.
HEARTH_API Array erode_rectangle(const Array& x, std::int64_t rows, std::int64_t cols,
                                 const MorphOptions& options = {});
// The largest of the elements where `kernel`, bool [rows, cols], is true: for bool whether any is.
// NaN wins. Gradients are those of max. The kernel is not turned around.
HEARTH_API Array dilate(const Array& x, const Array& kernel, const MorphOptions& options = {});
// dilate by a whole rectangle, at rows + cols steps an element in place of rows * cols.
HEARTH_API Array dilate_rectangle(const Array& x, std::int64_t rows, std::int64_t cols,
                                  const MorphOptions& options = {});

// ---- On the host
// These wait for their inputs, which are read, and upload what the host makes of them:
// Statistics::syncs counts one wait a call. Without gradients.

// Which neighbours of an element belong together: those beside it, or those at corners too.
enum class Connectivity : std::uint8_t { four, eight };
// The number of the component that each element belongs to, from 1 on in the order of their first
// elements, and 0 where the image is false. Images [..., height, width] are bool, each by itself;
// `dtype` is i64 or i32.
HEARTH_API Array connected_components(const Array& image,
                                      Connectivity connectivity = Connectivity::eight,
                                      DType dtype = DType::i64);
// The labels of connected_components, and of each image by label, in the dtype of labels: [...,
// labels, 5], the number of elements, their first row, first column, last row and last column; and
// [...], the number of components. Label 0 stands for what is false. There are as many labels as in
// the image that has most of them; of those that an image has not, all is 0.
HEARTH_API std::tuple<Array, Array, Array> connected_components_with_stats(
    const Array& image, Connectivity connectivity = Connectivity::eight, DType dtype = DType::i64);

struct NmsOptions {
  double iou_threshold = 0.5;
  std::optional<double> score_threshold = std::nullopt;
  std::optional<std::int64_t> max_boxes = std::nullopt;
  // Whether coordinates name the first and last pixel of a box, so that it is 1 wider and higher.
  bool inclusive = false;
};
// The boxes that stay, i64 [count], by descending scores, of equal ones the first: each whose score
// is at least score_threshold, where there is one, and whose intersection with each better box that
// stays is at most iou_threshold of their union. Boxes [n, 4] are x1, y1, x2, y2, scores [n];
// floats, compared in f64. Boxes whose score is NaN never stay.
HEARTH_API Array nms(const Array& boxes, const Array& scores, const NmsOptions& options = {});

}  // namespace v0
}  // namespace hearth
