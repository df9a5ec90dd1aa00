#include "models/serving/cache_plan.h"

#include <algorithm>
#include <string>

#include "core/counted.h"
#include "hearth/error.h"

namespace hearth::models {
namespace {

void require_positive(const char* name, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw Error(ErrorCode::invalid_argument, std::string("scheduler: ") + name +
                                               " out of range; got " + std::to_string(value) +
                                               ", expected 1 to " + std::to_string(most));
}

}  // namespace

CacheOptions cache_options(const LanguageConfig& config, DType compute,
                           const SchedulerOptions& options) {
  constexpr std::int64_t kMostPages = std::int64_t{1} << 24;
  constexpr std::int64_t kMostRows = std::int64_t{1} << 20;
  require_positive("page_size", options.page_size, kMostRows);
  require_positive("most_running", options.most_running, kMostRows);
  require_positive("prefill_rows", options.prefill_rows, kMostRows);
  require_positive("most_waiting", options.most_waiting, kMostPages);
  require_positive("save_rows", options.save_rows, kMostRows);
  if (options.drafts != 0) require_positive("drafts", options.drafts, kMostRows);
  CacheOptions cache{.pages = 1,
                     .page_size = options.page_size,
                     .states = options.most_running,
                     .saved_states = 0,
                     .keys = options.keys.value_or(compute),
                     .values = options.values.value_or(compute)};
  CacheOptions page = cache, state = cache;
  page.states = 0;
  state.pages = 0;
  state.states = 1;
  const std::int64_t of_page = cache_bytes(config, page, compute);
  const std::int64_t of_state = cache_bytes(config, state, compute);
  if (options.pages != 0) {
    require_positive("pages", options.pages, kMostPages);
  } else {
    require_positive("memory", options.memory, std::int64_t{1} << 50);
  }
  if (of_state > 0 && options.drafts > 0) cache.saved_states = options.most_running;
  if (of_state > 0 && options.shares_prefixes) {
    // States of earlier rows, and those of texts: half of the memory, where that is enough.
    const std::int64_t fitting = options.memory / 2 / of_state - options.most_running;
    cache.saved_states += std::clamp<std::int64_t>(fitting, 1, 8 * options.most_running);
  }
  if (options.pages != 0) {
    cache.pages = options.pages;
    return cache;
  }
  const std::int64_t for_pages = options.memory - of_state * (cache.states + cache.saved_states);
  const std::int64_t of_text = pages_of(config.context, options.page_size) + 1;
  // More than all texts could ever fill only keeps earlier ones.
  const std::int64_t most = std::min(kMostPages, 2 * of_text * options.most_running);
  if (for_pages < of_page) {
    throw Error(ErrorCode::invalid_argument,
                "scheduler: memory too small; got " + counted(options.memory, "byte") +
                    ", expected at least " + std::to_string(options.memory - for_pages + of_page) +
                    " for " + counted(options.most_running, "text"));
  }
  cache.pages = of_page == 0 ? most : std::clamp<std::int64_t>(for_pages / of_page, 1, most);
  return cache;
}

}  // namespace hearth::models
