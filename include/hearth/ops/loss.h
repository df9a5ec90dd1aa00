// Losses. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Losses

enum class Reduction : std::uint8_t { none, mean, sum };
// -log softmax(logits)[target] in nats: logits [..., classes], index targets [...]. Rows whose
// target is `ignore_index` give 0 and do not count in the mean. Half logits give f32. A target out
// of range gives NaN. `label_smoothing` (0 to 1) of the target is spread evenly over all classes.
HEARTH_API Array cross_entropy(const Array& logits, const Array& targets,
                               Reduction reduction = Reduction::mean,
                               std::int64_t ignore_index = -100, double label_smoothing = 0);

}  // namespace v0
}  // namespace hearth
