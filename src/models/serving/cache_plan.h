// How many pages and states the caches of texts have that are written at once.
#pragma once

#include <cstdint>

#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/serving/scheduler.h"

namespace hearth::models {

// The caches that options ask for, of a model that computes in `compute`. Throws
// Error{invalid_argument} for options out of range.
CacheOptions cache_options(const LanguageConfig& config, DType compute,
                           const SchedulerOptions& options);

}  // namespace hearth::models
