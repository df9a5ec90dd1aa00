// Pictures and boxes: morphology, connected components, suppression of overlapping boxes. Rules for
// all functions: hearth/ops.h.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

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
  std::optional<std::array<std::int64_t, 2>> anchor = std::nullopt;
  std::int64_t iterations = 1;
  MorphBorder border = MorphBorder::constant;
  // Of a constant border, a number or an array of rank 0; undefined: what changes no result.
  Array border_value = {};
};
// The least of the elements where `kernel`, bool [rows, cols], is true: for bool whether all are.
// NaN wins. Gradients are those of min.
HEARTH_API Array erode(const Array& x, const Array& kernel, const MorphOptions& options = {});
// The same of a whole rectangle, at rows + cols steps an element in place of rows * cols.
HEARTH_API Array erode(const Array& x, std::int64_t rows, std::int64_t cols,
                       const MorphOptions& options = {});
// As erode, of the largest: for bool whether any is. The kernel is not turned around.
HEARTH_API Array dilate(const Array& x, const Array& kernel, const MorphOptions& options = {});
HEARTH_API Array dilate(const Array& x, std::int64_t rows, std::int64_t cols,
                        const MorphOptions& options = {});

// ---- On the host
// These wait for their inputs, which are read, and upload what the host makes of them:
// Statistics::syncs counts one wait a call. Without gradients.

// Which neighbours of an element belong together: those beside it, or those at corners too.
enum class Connectivity : std::uint8_t { four, eight };
// Of images [..., height, width], bool, each by itself: the number of the component that an element
// belongs to, from 1 on in the order of their first elements, and 0 where the image is false. i64
// or i32.
HEARTH_API Array connected_components(const Array& image,
                                      Connectivity connectivity = Connectivity::eight,
                                      DType dtype = DType::i64);
// What connected_components() gives, and, by label, [..., labels], of the dtype of labels: the
// number of elements, and the rows and columns of the first and of the last. Label 0 stands for
// what is false. There are as many labels as in the image that has most of them; of those that an
// image has not all is 0.
struct Components {
  Array labels;
  Array area, top, left, bottom, right;
  Array max_label;  // [...]: the number of components
};
HEARTH_API Components connected_components_with_stats(
    const Array& image, Connectivity connectivity = Connectivity::eight, DType dtype = DType::i64);

struct NmsOptions {
  double iou_threshold = 0.5;
  double score_threshold = -std::numeric_limits<double>::infinity();
  std::optional<std::int64_t> max_boxes = std::nullopt;
  // Whether coordinates name the first and last pixel of a box, so that it is 1 wider and higher.
  bool inclusive = false;
};
// The boxes that stay, i64 [count], by descending scores, of equal ones the first: each whose score
// is at least score_threshold and whose intersection with each better box that stays is at most
// iou_threshold of their union. Boxes [n, 4] are x1, y1, x2, y2, scores [n]; floats, compared in
// f64. A score that is NaN is below every threshold.
HEARTH_API Array nms(const Array& boxes, const Array& scores, const NmsOptions& options = {});

}  // namespace v0
}  // namespace hearth
