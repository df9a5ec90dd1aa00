#include "models/serving/cache_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/counted.h"
#include "hearth/error.h"
#include "models/language/mixer.h"
#include "models/language/windows.h"

namespace hearth::models {
namespace {

void require_positive(const char* name, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw Error(ErrorCode::invalid_argument, std::string("scheduler: ") + name +
                                               " out of range; got " + std::to_string(value) +
                                               ", expected 1 to " + std::to_string(most));
}

// What a page of each kind takes, and how many of them one text has.
struct PageSizes {
  std::int64_t of_page, of_window_page;  // bytes
  std::int64_t of_text, of_text_windows;
};

PageSizes page_sizes(const LanguageConfig& config, CacheOptions cache, DType compute,
                     const SchedulerOptions& options) {
  const auto bytes = [&](std::int64_t pages, std::int64_t window_pages) {
    cache.states = cache.saved_states = 0;
    cache.pages = pages;
    cache.window_pages = window_pages;
    return bytes_of_caches(config, cache, compute);
  };
  // Rows of one text in a step: a mixer's block is not cut, guesses come on top.
  const std::int64_t piece = std::max(options.prefill, block_rows(config)) + options.drafts;
  const std::int64_t of_text =
      std::min(kMostPages, pages_of(config.context, options.page_size) + 1);
  return {bytes(1, 0), bytes(0, 1), of_text,
          std::min(of_text, window_pages_of_text(config, piece, options.page_size))};
}

// Pages that so many bytes have room for.
void share_out(std::int64_t memory, const PageSizes& sizes, const SchedulerOptions& options,
               CacheOptions& cache) {
  // More than all texts could ever fill only keeps earlier ones.
  const std::int64_t most = std::min(kMostPages, 2 * sizes.of_text * options.parallel);
  const std::int64_t of_both = sizes.of_page + sizes.of_window_page;
  const auto fitting = [](std::int64_t bytes, std::int64_t size, std::int64_t limit) {
    return size == 0 ? limit : std::clamp<std::int64_t>(bytes / size, 0, limit);
  };
  // Windows of all that run, as far as half of the memory goes, but those of one text; and of what
  // is left beside a whole text half for the windows of texts that ended.
  const std::int64_t of_all = std::min(kMostPages, sizes.of_text_windows * options.parallel);
  std::int64_t windows = std::min(
      of_all, std::max(sizes.of_text_windows, fitting(memory / 2, sizes.of_window_page, of_all)));
  if (options.shares_prefixes) {
    const std::int64_t left =
        memory - windows * sizes.of_window_page - sizes.of_text * sizes.of_page;
    windows += fitting(left / 2, sizes.of_window_page, of_all);
  }
  cache.pages = fitting(memory - windows * sizes.of_window_page, sizes.of_page, most);
  if (cache.pages < windows) cache.pages = windows = fitting(memory, of_both, most);
  cache.window_pages = windows;
}

// States of earlier rows, each of `bytes`, beside those of texts.
std::int64_t saved_states(const PageSizes& sizes, const SchedulerOptions& options,
                          std::int64_t bytes) {
  if (bytes == 0) return 0;
  const std::int64_t texts = options.parallel;
  const std::int64_t of_guesses = options.drafts > 0 ? texts : 0;
  if (!options.shares_prefixes) return of_guesses;
  if (options.pages != 0) return of_guesses + kSavedStatesOfText * texts;
  // With those of texts half of the memory, where that is enough, but what a whole text wants where
  // there is room for that.
  std::int64_t room = options.cache_bytes / 2;
  const std::int64_t beside_text = options.cache_bytes - sizes.of_text * sizes.of_page -
                                   sizes.of_text_windows * sizes.of_window_page;
  const std::int64_t least = texts + of_guesses + 1;
  if (beside_text / bytes >= least) room = std::min(room, beside_text - of_guesses * bytes);
  return of_guesses + std::clamp<std::int64_t>(room / bytes - texts, 1, 8 * texts);
}

struct PlannedCaches {
  CacheOptions caches;
  std::int64_t missing = 0;  // bytes that `cache_bytes` have less than a page takes
};

PlannedCaches plan_caches(const LanguageConfig& config, DType compute,
                          const SchedulerOptions& options) {
  require_positive("page_size", options.page_size, kMostStepRows);
  require_positive("parallel", options.parallel, kMostStepRows);
  require_positive("prefill", options.prefill, kMostStepRows);
  require_positive("most_waiting", options.most_waiting, kMostPages);
  require_positive("save_rows", options.save_rows, kMostStepRows);
  if (options.drafts != 0) require_positive("drafts", options.drafts, kMostStepRows);
  CacheOptions cache{.pages = 1,
                     .page_size = options.page_size,
                     .states = options.parallel,
                     .saved_states = 0,
                     .keys = options.caches.keys.value_or(compute),
                     .values = options.caches.values.value_or(compute)};
  const PageSizes sizes = page_sizes(config, cache, compute, options);
  CacheOptions state = cache;
  state.pages = 0;
  state.states = 1;
  const std::int64_t of_state = bytes_of_caches(config, state, compute);
  if (options.pages != 0) {
    require_positive("pages", options.pages, kMostPages);
  } else {
    require_positive("cache_bytes", options.cache_bytes, kMostCacheBytes);
  }
  cache.saved_states = saved_states(sizes, options, of_state);
  if (options.pages != 0) {
    cache.pages = options.pages;
    const std::int64_t texts = options.parallel * (options.shares_prefixes ? 2 : 1);
    cache.window_pages = std::min(cache.pages, sizes.of_text_windows * texts);
    return {cache};
  }
  const std::int64_t for_pages =
      options.cache_bytes - of_state * (cache.states + cache.saved_states);
  const std::int64_t of_both = sizes.of_page + sizes.of_window_page;
  if (for_pages < of_both) return {cache, of_both - for_pages};
  share_out(for_pages, sizes, options, cache);
  return {cache};
}

}  // namespace

std::optional<CacheOptions> fitting_caches(const LanguageConfig& config, DType compute,
                                           const SchedulerOptions& options) {
  const PlannedCaches plan = plan_caches(config, compute, options);
  if (plan.missing > 0) return std::nullopt;
  return plan.caches;
}

CacheOptions cache_options(const LanguageConfig& config, DType compute,
                           const SchedulerOptions& options) {
  const PlannedCaches plan = plan_caches(config, compute, options);
  if (plan.missing == 0) return plan.caches;
  throw Error(ErrorCode::invalid_argument,
              "scheduler: cache_bytes too small; got " + counted(options.cache_bytes, "byte") +
                  ", expected at least " + std::to_string(options.cache_bytes + plan.missing) +
                  " for " + counted(options.parallel, "text"));
}

std::int64_t longest_text(const LanguageConfig& config, const CacheOptions& cache) {
  return std::min(config.context, cache.pages * cache.page_size);
}

std::int64_t least_cache_bytes(const LanguageConfig& config, DType compute,
                               SchedulerOptions options, std::int64_t tokens) {
  constexpr std::int64_t kMostMebibytes = kMostCacheBytes >> 20;
  const auto holds = [&](std::int64_t mebibytes) {
    options.cache_bytes = mebibytes << 20;
    const std::optional<CacheOptions> caches = fitting_caches(config, compute, options);
    return caches && caches->pages * caches->page_size >= tokens;
  };
  std::int64_t low = 0, high = 1;
  while (high < kMostMebibytes && !holds(high)) low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high << 20;
}

SchedulerOptions within_memory(const LanguageConfig& config, DType compute,
                               SchedulerOptions options, std::int64_t most_bytes) {
  options.cache_bytes = least_cache_bytes(config, compute, options, config.context);
  if (options.cache_bytes <= most_bytes) return options;
  options.cache_bytes = most_bytes;
  const std::int64_t of_state = bytes_of_caches(config, {.pages = 0, .states = 1}, compute);
  if (of_state > 0) {
    options.parallel = std::clamp<std::int64_t>(most_bytes / 2 / of_state, 1, options.parallel);
  }
  return options;
}

SchedulerOptions with_pages_for(SchedulerOptions options, std::int64_t rows) {
  options.pages = pages_of(rows, options.page_size) * options.parallel;
  return options;
}

}  // namespace hearth::models
