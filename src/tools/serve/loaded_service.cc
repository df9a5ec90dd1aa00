#include "tools/serve/loaded_service.h"

#include <utility>

#include "hearth/error.h"
#include "models/language/model/text_encoder.h"
#include "models/language/require_scores.h"
#include "tools/lm/chat_template_option.h"
#include "tools/serve/answer_objects.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostConstraintBytes = 256 << 20;
// Of texts that become vectors together, but for a single longer one: nobody can end them
// meanwhile.
constexpr std::size_t kMostTokensTogether = 32 << 10;

// The texts from `at` on that become vectors together.
models::TokenLists next_group(const models::TokenLists& texts, std::size_t at) {
  models::TokenLists group;
  for (std::size_t tokens = 0; at < texts.size() && group.size() < models::kTextsTogether; ++at) {
    tokens += texts[at].size();
    if (!group.empty() && tokens > kMostTokensTogether) break;
    group.push_back(texts[at]);
  }
  return group;
}

}  // namespace

LoadedService::LoadedService(models::LoadedModel loaded, const std::string& id,
                             models::SchedulerOptions options,
                             std::unique_ptr<const models::LoadedModel> draft_model,
                             JsonObject template_arguments)
    : loaded_(std::move(loaded)),
      draft_model_(std::move(draft_model)),
      constraints_(loaded_.tokenizer),
      known_(kMostConstraintBytes) {
  const models::LanguageConfig& config = loaded_.model.config;
  card_ = {.id = id,
           .created = seconds_now(),
           .context = config.context,
           .writes = config.gives_scores(),
           .embeds = models::makes_vectors(config),
           .width = config.dim};
  if (!card_.writes && !card_.embeds) models::require_scores(config, "serve: texts");
  if (!card_.writes) {
    no_chat_ =
        "serve: a chat with a model that writes none; got one that makes vectors only, expected "
        "one that writes texts";
    return;
  }
  try {
    chat_.emplace(loaded_, std::move(template_arguments));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    no_chat_ = error.what() + ("; " + std::string(kTemplateRemedy)) +
               " where the server is started, and /v1/completions goes on with texts";
  }
  options.draft_model = draft_model_.get();
  scheduler_ = std::make_unique<models::Scheduler>(loaded_, options);
  card_.context = scheduler_->longest_text();
}

const models::ChatFormat& LoadedService::chat() const {
  if (!chat_) throw Error(ErrorCode::unsupported, no_chat_);
  return *chat_;
}

std::shared_ptr<models::grammar::Constraint> LoadedService::constrain_by_gbnf(
    const std::string& source, const std::function<void()>& watch) {
  return known_.find_or_make(
      "gbnf " + source, [&] { return constraints_.from_gbnf(source); }, watch);
}

std::shared_ptr<models::grammar::Constraint> LoadedService::constrain_by_schema(
    const JsonValue& schema, const std::function<void()>& watch) {
  return known_.find_or_make(
      "schema " + json_text(schema), [&] { return constraints_.from_schema(schema); }, watch);
}

std::shared_ptr<models::GenerationStream> LoadedService::submit(models::GenerationRequest request) {
  if (scheduler_ == nullptr) {
    throw Error(ErrorCode::unsupported,
                "serve: a text of a model that writes none; got one that makes vectors only, "
                "expected a model that sees one way and has an output");
  }
  return scheduler_->submit(std::move(request));
}

std::vector<std::int32_t> LoadedService::tokens_to_embed(std::string_view text,
                                                         const models::EncodeLimits& limits) const {
  return models::tokens_of_text(loaded_.tokenizer, loaded_.model, text, limits);
}

std::vector<std::vector<float>> LoadedService::embed(const models::TokenLists& texts,
                                                     const std::function<void()>& watch) {
  const WorkSlots::Slot slot = embedders_.take(watch);
  set_numerics(numerics_);  // of a thread that answers requests
  std::vector<std::vector<float>> all;
  while (all.size() < texts.size()) {
    watch();
    const Array vectors = models::embed_texts(loaded_.model, next_group(texts, all.size()));
    const std::vector<float> values = vectors.to_vector<float>();
    const auto dim = static_cast<std::ptrdiff_t>(vectors.shape(1));
    for (auto row = values.begin(); row != values.end(); row += dim) {
      all.emplace_back(row, row + dim);
    }
  }
  return all;
}

models::SchedulerStats LoadedService::stats() const {
  return scheduler_ == nullptr ? models::SchedulerStats{} : scheduler_->stats();
}

}  // namespace hearth::tools::serve
