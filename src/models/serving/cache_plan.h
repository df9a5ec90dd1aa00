// How many pages and states the caches of texts have that are written at once.
#pragma once

#include <cstdint>
#include <optional>

#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/serving/scheduler.h"

namespace hearth::models {

// The most that options may ask for: bytes, pages, and rows of a step or texts, which have one
// each.
inline constexpr std::int64_t kMostCacheBytes = std::int64_t{1} << 50;
inline constexpr std::int64_t kMostPages = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostStepRows = std::int64_t{1} << 20;

// States of earlier rows that are kept for each text that runs, where `pages` are given: behind a
// turn and its prompt, and two before those.
inline constexpr std::int64_t kSavedStatesOfText = 4;

// The caches that options ask for, of a model that computes in `compute`; nothing where
// `cache_bytes` have room for no text. Throws Error{invalid_argument} for options out of range.
std::optional<CacheOptions> fitting_caches(const LanguageConfig& config, DType compute,
                                           const SchedulerOptions& options);

// The same; where there is no room it throws Error{invalid_argument}, too.
CacheOptions cache_options(const LanguageConfig& config, DType compute,
                           const SchedulerOptions& options);

// Tokens of a text that these caches hold: the context of the model, or what all pages have.
std::int64_t longest_text(const LanguageConfig& config, const CacheOptions& cache);

// The least `cache_bytes`, a whole number of MiB, with which caches hold a text of `tokens`;
// kMostCacheBytes where less do not. Throws as fitting_caches() does.
std::int64_t least_cache_bytes(const LanguageConfig& config, DType compute,
                               SchedulerOptions options, std::int64_t tokens);

// With the `cache_bytes` that hold a text of the whole context. Where these are more than
// `most_bytes` they are those, and `parallel` no more than half of them has states for, at least 1.
SchedulerOptions within_memory(const LanguageConfig& config, DType compute,
                               SchedulerOptions options, std::int64_t most_bytes);

// With pages for `parallel` texts of so many rows and for nothing else.
SchedulerOptions with_pages_for(SchedulerOptions options, std::int64_t rows);

}  // namespace hearth::models
