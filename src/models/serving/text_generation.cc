#include "models/serving/text_generation.h"

#include <algorithm>
#include <utility>

#include "models/serving/cache_plan.h"
#include "models/serving/prompt_limit.h"
#include "models/serving/read_text.h"
#include "models/serving/scheduler.h"

namespace hearth::models {

GenerationResult generate_text(const LoadedModel& loaded, std::string_view prompt,
                               const TextGenerationOptions& options,
                               const std::function<bool(std::string_view)>& write) {
  GenerationRequest request;
  const std::int64_t context = loaded.model.config.context;
  request.tokens = within_prompt(context, options.tokens, [&](const EncodeLimits& limits) {
    return loaded.tokenizer.encode_prompt(prompt, {.parse_special = options.parse_special}, limits);
  });
  request.most_tokens = options.tokens;
  request.sampling = options.sampling;
  request.stops = options.stops;
  request.constraint = options.constraint;
  request.goes_on = options.goes_on;
  request.kept_tokens = options.kept_tokens;
  // Room for this text and no other.
  const SchedulerOptions one{.parallel = 1,
                             .caches = options.caches,
                             .shares_prefixes = false,
                             .drafts = options.drafts,
                             .draft_model = options.draft_model};
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  const std::int64_t rows = std::min(context, length + std::min(options.tokens, context) + 1);
  Scheduler scheduler(loaded, with_pages_for(one, rows));
  const auto stream = scheduler.submit(std::move(request));
  GeneratedText text = read_text(*stream, write);
  const SchedulerStats stats = scheduler.stats();
  return {std::move(text), stats.tokens_guessed, stats.guesses_held};
}

}  // namespace hearth::models
