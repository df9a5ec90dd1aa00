// A model from a file as the API needs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hearth/numerics.h"
#include "models/grammar/token_constraints.h"
#include "models/loading/load_model.h"
#include "tools/serve/constraint_cache.h"
#include "tools/serve/served_model.h"
#include "tools/serve/work_slots.h"

namespace hearth::tools::serve {

class LoadedService final : public ServedModel {
 public:
  // Throws what ChatFormat and Scheduler throw, but for a model without a chat template: only
  // chat() refuses then. `draft_model` guesses options.drafts tokens ahead; null: they are looked
  // up. `template_arguments` are those of chats that do not say otherwise.
  LoadedService(models::LoadedModel loaded, const std::string& id, models::SchedulerOptions options,
                std::unique_ptr<const models::LoadedModel> draft_model = nullptr,
                JsonObject template_arguments = {});

  const ModelCard& card() const override { return card_; }
  const models::Tokenizer& tokenizer() const override { return loaded_.tokenizer; }
  const models::ChatFormat& chat() const override;
  // Whether chat() has an answer.
  bool has_chat() const { return chat_.has_value(); }
  models::SamplingOptions default_sampling() const override { return loaded_.recommended.over({}); }
  std::shared_ptr<models::grammar::Constraint> constrain_by_gbnf(
      const std::string& source, const std::function<void()>& watch) override;
  std::shared_ptr<models::grammar::Constraint> constrain_by_schema(
      const JsonValue& schema, const std::function<void()>& watch) override;
  std::shared_ptr<models::GenerationStream> submit(models::GenerationRequest request) override;
  std::vector<std::int32_t> tokens_to_embed(std::string_view text,
                                            const models::EncodeLimits& limits) const override;
  std::vector<std::vector<float>> embed(const models::TokenLists& texts,
                                        const std::function<void()>& watch) override;
  models::SchedulerStats stats() const override;

 private:
  models::LoadedModel loaded_;
  std::unique_ptr<const models::LoadedModel> draft_model_;
  ModelCard card_;
  std::optional<models::ChatFormat> chat_;
  std::string no_chat_;  // why there is none
  models::grammar::TokenConstraints constraints_;
  ConstraintCache known_;
  const Numerics numerics_ = numerics();          // of the thread that made this
  WorkSlots embedders_{1};                        // a device does one thing at a time
  std::unique_ptr<models::Scheduler> scheduler_;  // last, so that it goes first
};

}  // namespace hearth::tools::serve
