// How many pages and states the caches of texts have that are written at once.
#pragma once

#include <cstdint>

#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/serving/scheduler.h"

namespace hearth::models {

// The most that options may ask for: pages, and rows of a step or texts, which have one each.
inline constexpr std::int64_t kMostPages = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostStepRows = std::int64_t{1} << 20;

// States of earlier rows that are kept for each text that runs, where `pages` are given: behind a
// turn and its prompt, and two before those.
inline constexpr std::int64_t kSavedStatesOfText = 4;

// The caches that options ask for, of a model that computes in `compute`. Throws
// Error{invalid_argument} for options out of range.
CacheOptions cache_options(const LanguageConfig& config, DType compute,
                           const SchedulerOptions& options);

// Tokens of a text that these caches hold: the context of the model, or what all pages have.
std::int64_t longest_text(const LanguageConfig& config, const CacheOptions& cache);

// The least MiB of `options.cache_bytes` with which caches hold a text of `tokens`. Throws as
// cache_options() does.
std::int64_t memory_for_text(const LanguageConfig& config, DType compute, SchedulerOptions options,
                             std::int64_t tokens);

}  // namespace hearth::models
