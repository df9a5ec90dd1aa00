// What chat and plain completions have in common in their requests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/serving/request.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/served_model.h"

namespace hearth::tools::serve {

// That a request may ask for; the context ends an answer before.
inline constexpr std::int64_t kMostNewTokens = std::int64_t{1} << 40;

struct GenerationFields {
  // Without tokens and constraint.
  models::GenerationRequest generation;
  std::size_t count = 1;  // of answers to a prompt: n
  bool is_streamed = false;
  bool includes_usage = false;  // in a stream
  std::string model;            // as the request calls it

  // `count` requests of each prompt, one prompt after the other. All have seeds of their own.
  std::vector<models::GenerationRequest> requests(const models::TokenLists& prompts) const;
};

// Without a limit, or with -1, an answer goes on until it ends or the context does. `least_tokens`
// is the least limit that a request may name. Throws FieldError, for unsupported_fields.h, too.
GenerationFields read_generation_fields(const Fields& fields, const ServedModel& model,
                                        std::int64_t least_tokens = 1);

// Refuses a constraint beside tokens that there shall be at least.
void set_constraint(models::GenerationRequest& generation,
                    std::shared_ptr<models::grammar::Constraint> constraint);

// Refuses prompts without tokens and those that the context does not hold, or leaves no room for
// an answer, where one is asked for. `param` is the field that they are of.
void check_prompt(const std::vector<std::int32_t>& tokens, const ServedModel& model,
                  const std::string& param, bool is_answered = true);

}  // namespace hearth::tools::serve
