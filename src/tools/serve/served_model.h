// What the API needs of a model. The real one is loaded_service.h; tests have one that writes what
// they tell it to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/chat/chat_format.h"
#include "models/language/model/text_encoder.h"
#include "models/serving/scheduler.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::tools::serve {

struct ModelCard {
  std::string id;            // what clients call it
  std::int64_t created = 0;  // seconds since 1970
  std::int64_t context = 0;  // tokens of prompt and answer at most
  bool writes = false;       // texts
  bool embeds = false;       // texts as vectors
  std::int64_t width = 0;    // numbers of such a vector
};

// Calls from several threads at once are fine. Methods throw Error. Those that take a `watch` call
// it while they wait for their turn, embed() also between texts, and end with what it throws.
class ServedModel {
 public:
  virtual ~ServedModel() = default;

  virtual const ModelCard& card() const = 0;
  virtual const models::Tokenizer& tokenizer() const = 0;
  // How it is talked to. Throws Error{unsupported} where nothing says so.
  virtual const models::ChatFormat& chat() const = 0;
  // What holds of requests that do not say otherwise; without a word of the model's makers it is as
  // OpenAI has it.
  virtual models::SamplingOptions default_sampling() const { return {}; }
  // Shared by texts of the same grammar: `source` is GBNF, or a schema as JSON.
  virtual std::shared_ptr<models::grammar::Constraint> constrain_by_gbnf(
      const std::string& source, const std::function<void()>& watch) = 0;
  virtual std::shared_ptr<models::grammar::Constraint> constrain_by_schema(
      const JsonValue& schema, const std::function<void()>& watch) = 0;
  // As Scheduler::submit().
  virtual std::shared_ptr<models::GenerationStream> submit(models::GenerationRequest request) = 0;
  // Of a text that becomes a vector: behind the model's prompt, and cut where its files say so;
  // else the limits hold.
  virtual std::vector<std::int32_t> tokens_to_embed(std::string_view text,
                                                    const models::EncodeLimits& limits) const {
    return tokenizer().encode(text, {}, limits);
  }
  // One vector a text, as the model's files have it: most say that it has length 1.
  virtual std::vector<std::vector<float>> embed(const models::TokenLists& texts,
                                                const std::function<void()>& watch) = 0;
  virtual models::SchedulerStats stats() const = 0;
};

}  // namespace hearth::tools::serve
