#include "models/loaded_text_model.h"

#include <utility>

#include "hearth/error.h"
#include "models/language/cache.h"
#include "models/language/require_scores.h"
#include "models/serving/cache_plan.h"

namespace hearth {
inline namespace v0 {
namespace {

models::SchedulerOptions scheduler_options(const models::LanguageModel& model,
                                           const TextModelOptions& options) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;  // where nobody says how many
  models::SchedulerOptions scheduler{
      .parallel = options.parallel,
      .prefill = options.prefill,
      .caches = models::cache_types_from_names(options.keys, options.values),
      .drafts = options.drafts};
  if (options.cache_bytes == 0) {
    return models::within_memory(model.config, model.compute, scheduler, kMostBytes);
  }
  scheduler.cache_bytes = options.cache_bytes;
  return scheduler;
}

}  // namespace

TextModel::Loaded::Loaded(models::LoadedModel model, const TextModelOptions& options)
    : model_(std::move(model)),
      longest_text_(language().config.context),
      constraints_(model_.tokenizer) {
  if (!language().config.gives_scores()) return;
  const models::CacheTypes types = models::cache_types_from_names(options.keys, options.values);
  models::require_cache_types(language().config, types.keys.value_or(language().compute),
                              types.values.value_or(language().compute));
  options_ = scheduler_options(language(), options);
  longest_text_ = models::longest_text(
      language().config, models::cache_options(language().config, language().compute, options_));
}

void TextModel::Loaded::require_scores(const char* what) const {
  models::require_scores(language().config, std::string("text model: ") + what);
}

models::Scheduler& TextModel::Loaded::scheduler() {
  const std::lock_guard lock(mutex_);
  if (!scheduler_) {
    const WithNumerics own(numerics_);  // which its thread takes over
    scheduler_.emplace(model_, options_);
  }
  return *scheduler_;
}

std::shared_ptr<models::grammar::Constraint> TextModel::Loaded::constraint(
    const std::string& gbnf, const std::string& json_schema) {
  if (gbnf.empty() && json_schema.empty()) return nullptr;
  if (!gbnf.empty() && !json_schema.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "text model: two grammars; got a grammar and a JSON schema, expected one of them");
  }
  return gbnf.empty() ? constraints_.from_schema_text(json_schema) : constraints_.from_gbnf(gbnf);
}

}  // namespace v0
}  // namespace hearth
