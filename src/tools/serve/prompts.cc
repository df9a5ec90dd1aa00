#include "tools/serve/prompts.h"

#include <string>
#include <variant>
#include <vector>

#include "tools/serve/api_error.h"
#include "tools/serve/generation_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostPrompts = 1024;

// A text or tokens.
std::vector<std::int32_t> read_one_prompt(const JsonValue& prompt, const Fields& fields,
                                          const ServedModel& model) {
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    return model.tokenizer().encode_prompt(*text);
  }
  constexpr const char* kExpected = "a text, tokens, or an array of these";
  const auto* list = std::get_if<JsonArray>(&prompt);
  if (list == nullptr) fields.wrong_type("prompt", kExpected);
  std::vector<std::int32_t> tokens;
  for (const JsonValue& each : *list) {
    const auto token = whole_number(each);
    if (!token) fields.wrong_type("prompt", kExpected);
    if (*token < 0 || *token >= static_cast<std::int64_t>(model.tokenizer().size())) {
      throw bad_field("prompt", "is no token of the model; got " + std::to_string(*token));
    }
    tokens.push_back(static_cast<std::int32_t>(*token));
  }
  return tokens;
}

}  // namespace

models::TokenLists read_prompts(const Fields& fields, const ServedModel& model, bool is_answered) {
  const JsonValue* prompt = fields.find("prompt");
  if (prompt == nullptr) throw bad_field("prompt", "is missing");
  const auto* list = std::get_if<JsonArray>(prompt);
  models::TokenLists prompts;
  if (list == nullptr || list->empty() || any_number(list->front())) {
    prompts.push_back(read_one_prompt(*prompt, fields, model));
    check_prompt(prompts.back(), model, "prompt", is_answered);
    return prompts;
  }
  for (const JsonValue& each : *fields.array("prompt", kMostPrompts)) {
    const std::string place = "prompt[" + std::to_string(prompts.size()) + "]";
    prompts.push_back(read_one_prompt(each, fields, model));
    check_prompt(prompts.back(), model, list->size() == 1 ? "prompt" : place, is_answered);
  }
  return prompts;
}

void require_room(std::size_t answers, const ServedModel& model) {
  const std::int64_t most = model.stats().most_waiting;
  if (static_cast<std::int64_t>(answers) <= most) return;
  throw bad_field("prompt", "asks for more answers than may wait; got " + std::to_string(answers) +
                                " of all prompts, expected at most " + std::to_string(most) +
                                " (--queue of the server)");
}

}  // namespace hearth::tools::serve
