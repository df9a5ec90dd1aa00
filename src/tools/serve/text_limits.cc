#include "tools/serve/text_limits.h"

#include <algorithm>
#include <cstdint>

#include "tools/serve/api_error.h"

namespace hearth::tools::serve {

std::function<void()> watch_of(const ApiRequest& request, const Service& service) {
  return [&request, is_stopping = service.is_stopping] {
    if (is_stopping->load()) throw stopping();
    if (!request.still_waits()) throw cancelled();
  };
}

models::EncodeLimits text_limits(const ApiRequest& request, const Service& service,
                                 std::size_t most) {
  return {.most = most, .watch = watch_of(request, service)};
}

std::size_t most_prompt_tokens(const ServedModel& model, bool is_answered) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(model.card().context - (is_answered ? 1 : 0), 0));
}

FieldError prompt_too_long(const std::string& param, const std::string& tokens,
                           const ServedModel& model, bool is_answered) {
  return bad_field(param,
                   "is too long for the model's context; got " + tokens + ", expected at most " +
                       std::to_string(most_prompt_tokens(model, is_answered)) +
                       (is_answered ? ", which leave room for an answer" : ""),
                   "context_length_exceeded");
}

}  // namespace hearth::tools::serve
