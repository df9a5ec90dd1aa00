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

// The least MiB of `options.memory` with which caches hold a text of `tokens`. Throws as
// cache_options() does.
std::int64_t memory_for_text(const LanguageConfig& config, DType compute, SchedulerOptions options,
                             std::int64_t tokens);

}  // namespace hearth::models
