// Suppression of boxes that overlap better ones, on the host.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/vision.h"
#include "ops/definition/rules.h"
#include "ops/definition/sync.h"

namespace hearth {
namespace boxes {
namespace {

struct Box {
  double x1, y1, x2, y2;
};

double area_of(const Box& box, double border) {
  return (box.x2 - box.x1 + border) * (box.y2 - box.y1 + border);
}

// What two boxes share, of what they cover; NaN where they cover nothing.
double overlap(const Box& a, const Box& b, double border) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1) + border;
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1) + border;
  const double both = std::max(width, 0.0) * std::max(height, 0.0);
  return both / (area_of(a, border) + area_of(b, border) - both);
}

void require_boxes(const Array& boxes, const Array& scores, const NmsOptions& options) {
  require_defined("nms", boxes);
  require_defined("nms", scores);
  require_float_array("nms", boxes);
  require_float_array("nms", scores);
  if (boxes.rank() != 2 || boxes.shape(1) != 4 || scores.rank() != 1 ||
      scores.shape(0) != boxes.shape(0)) {
    throw Error(ErrorCode::shape, "nms: no boxes with scores; got boxes " +
                                      to_string(boxes.shape()) + " and scores " +
                                      to_string(scores.shape()) + ", expected [n, 4] and [n]");
  }
  if (std::isnan(options.iou_threshold) ||
      (options.score_threshold && std::isnan(*options.score_threshold))) {
    throw Error(ErrorCode::invalid_argument, "nms: no threshold; got NaN, expected a number");
  }
  if (options.max_boxes && *options.max_boxes < 0) {
    throw Error(ErrorCode::invalid_argument, "nms: negative number of boxes; got " +
                                                 std::to_string(*options.max_boxes) +
                                                 ", expected 0 or more");
  }
}

std::vector<std::int64_t> kept(const std::vector<double>& values, std::int64_t n,
                               const NmsOptions& options) {
  const auto box_at = [&](std::int64_t i) {
    const double* const at = values.data() + 4 * i;
    return Box{at[0], at[1], at[2], at[3]};
  };
  const auto score_at = [&](std::int64_t i) { return values[static_cast<std::size_t>(4 * n + i)]; };
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) {
    if (score_at(i) >= options.score_threshold.value_or(-kInfinity)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return score_at(a) != score_at(b) ? score_at(a) > score_at(b) : a < b;
  });
  const auto most = static_cast<std::size_t>(options.max_boxes.value_or(n));
  const double border = options.inclusive ? 1 : 0;
  std::vector<std::int64_t> stay;
  for (const std::int64_t i : order) {
    if (stay.size() >= most) break;
    const Box box = box_at(i);
    const bool is_suppressed = std::any_of(stay.begin(), stay.end(), [&](std::int64_t better) {
      return overlap(box_at(better), box, border) > options.iou_threshold;
    });
    if (!is_suppressed) stay.push_back(i);
  }
  return stay;
}

}  // namespace
}  // namespace boxes

inline namespace v0 {

Array nms(const Array& boxes, const Array& scores, const NmsOptions& options) try {
  boxes::require_boxes(boxes, scores, options);
  const NoGrad no_grad;
  const std::int64_t n = boxes.shape(0);
  std::vector<std::int64_t> stay;
  if (n > 0) {
    const Array both = wide(cat({flat(boxes), scores}, 0));
    count_sync();
    stay = boxes::kept(both.to_doubles(), n, options);
  }
  return Array::from_data(stay, {static_cast<std::int64_t>(stay.size())}, boxes.device());
} catch (const Error& error) {
  throw_as("nms", error);
}

}  // namespace v0
}  // namespace hearth
