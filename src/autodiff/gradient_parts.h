// Gradients of slices: where a value was split, the gradients of its parts make up its own.
#pragma once

#include <optional>
#include <vector>

#include "graph/record/grad_record.h"
#include "hearth/array.h"

namespace hearth {

// The gradient of the elements of a value of `shape` that begin at `starts`.
struct GradientPart {
  Shape shape;
  Dims starts;
  Array gradient;
};

// The part that the gradient of `record` is of the gradient of its input, if the record is of a
// slice of neighbouring elements.
std::optional<GradientPart> gradient_part(const GradRecord& record, const Array& gradient);

// `sum`, which may be undefined, and all parts. Parts that lie side by side along one axis and
// leave nothing out are joined by one copy; others are written over zeros each, and added. One of
// the two is there.
Array joined_parts(Array sum, std::vector<GradientPart> parts);

}  // namespace hearth
