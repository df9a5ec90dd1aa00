// What the copies of a TextModel share, and its conversations with them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "hearth/models.h"
#include "hearth/numerics.h"
#include "models/grammar/token_constraints.h"
#include "models/loading/load_model.h"
#include "models/serving/scheduler.h"

namespace hearth {
inline namespace v0 {

// Calls from several threads at once are fine.
class TextModel::Loaded {
 public:
  // Throws Error{invalid_argument} for names of no cache and options out of range, and
  // Error{unsupported} where caches do not fit the model.
  Loaded(models::LoadedModel model, const TextModelOptions& options);

  const models::LoadedModel& model() const noexcept { return model_; }
  const models::LanguageModel& language() const noexcept { return model_.model; }
  const models::Tokenizer& tokenizer() const noexcept { return model_.tokenizer; }

  // Of the thread that loaded the model.
  Numerics loaded_numerics() const noexcept { return numerics_; }
  // Tokens of a text that scheduler() has room for; of an encoder, that the model sees.
  std::int64_t longest_text() const noexcept { return longest_text_; }
  // Throws Error{unsupported} of an encoder, which `what` cannot be of.
  void require_scores(const char* what) const;
  // Made when the first text is asked for.
  models::Scheduler& scheduler();
  // Null where both are empty; Error{invalid_argument} where neither is.
  std::shared_ptr<models::grammar::Constraint> constraint(const std::string& gbnf,
                                                          const std::string& json_schema);

 private:
  models::LoadedModel model_;
  const Numerics numerics_ = numerics();
  models::SchedulerOptions options_;
  std::int64_t longest_text_;
  models::grammar::TokenConstraints constraints_;
  std::mutex mutex_;                            // of what follows
  std::optional<models::Scheduler> scheduler_;  // ends before the model goes
};

}  // namespace v0
}  // namespace hearth
