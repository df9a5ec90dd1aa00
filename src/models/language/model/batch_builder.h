// The arrays of a batch on their way to the device.
#pragma once

#include <span>

#include "models/language/batch.h"
#include "models/language/cache.h"
#include "models/language/model/sequences.h"

namespace hearth::models {

// The next rows of sequences, whose pages hold them. Shapes are rounded up to few; padding writes
// to the last page and the last state that `caches` count.
Batch batch_of(std::span<const SequenceRows> rows, const CacheOptions& caches, bool has_windows,
               Device device);

}  // namespace hearth::models
