// What chat and plain completions have in common in their requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/serving/request.h"
#include "tools/serve/fields.h"
#include "tools/serve/served_model.h"

namespace hearth::tools::serve {

struct GenerationFields {
  // Without tokens and constraint.
  models::GenerationRequest generation;
  std::int64_t count = 1;  // of answers: n
  bool is_streamed = false;
  bool includes_usage = false;  // in a stream
  std::string model;            // as the request calls it
};

// Fields that are not there mean what OpenAI says: temperature 1, top_p 1 and no other step.
// `most_tokens` is what a request means that names no limit, and `least_tokens` the least that it
// may name. Throws ApiError.
GenerationFields read_generation_fields(const Fields& fields, const ServedModel& model,
                                        std::int64_t most_tokens, std::int64_t least_tokens = 1);

// The constraint of response_format or of a GBNF `grammar`; null where any text will do.
std::shared_ptr<models::grammar::Constraint> read_constraint(const Fields& fields,
                                                             ServedModel& model);

// Refuses prompts without tokens and those that leave no room for an answer.
void check_prompt(const std::vector<std::int32_t>& tokens, const ServedModel& model);

}  // namespace hearth::tools::serve
