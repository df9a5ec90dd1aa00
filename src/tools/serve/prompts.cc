#include "tools/serve/prompts.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "tools/chat_json/field_error.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/token_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostPrompts = 1024;
constexpr const char* kExpectedPrompt = "a text, tokens, or an array of these";

// Whether a text gets special().bos before it.
bool is_begun(const std::string& text, const models::Tokenizer& tokenizer,
              const models::EncodeOptions& options) {
  return options.add_special && tokenizer.adds_bos() && tokenizer.special().bos >= 0 &&
         !(options.parse_special && tokenizer.begins_itself(text));
}

// Tokens, and texts between them. A text that comes first begins as a text does.
std::vector<std::int32_t> mixed_tokens(const JsonArray& list, const std::string& place,
                                       const models::Tokenizer& tokenizer,
                                       const models::EncodeOptions& options,
                                       models::EncodeLimits limits) {
  const std::size_t most = limits.most;
  std::vector<std::int32_t> tokens;
  for (const JsonValue& each : list) {
    const auto* text = std::get_if<std::string>(&each);
    if (text == nullptr) {
      if (!whole_number(each)) throw bad_type(place, each, kExpectedPrompt);
      tokens.push_back(token_of(each, place, tokenizer));
      continue;
    }
    if (&each == &list.front() && is_begun(*text, tokenizer, options)) {
      tokens.push_back(tokenizer.special().bos);
    }
    limits.most = most - std::min(most, tokens.size());
    try {
      const auto of_text = tokenizer.encode(
          *text, {.add_special = false, .parse_special = options.parse_special}, limits);
      tokens.insert(tokens.end(), of_text.begin(), of_text.end());
    } catch (const models::TooManyTokens& error) {
      throw models::TooManyTokens(tokens.size() + error.least(), most);
    }
  }
  return tokens;
}

std::vector<std::int32_t> tokens_of_prompt(const JsonValue& prompt, const std::string& place,
                                           const models::Tokenizer& tokenizer,
                                           const models::EncodeOptions& options,
                                           const models::EncodeLimits& limits) {
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    return tokenizer.encode_prompt(*text, options, limits);
  }
  const auto* list = std::get_if<JsonArray>(&prompt);
  if (list == nullptr) throw bad_type(place, prompt, kExpectedPrompt);
  return mixed_tokens(*list, place, tokenizer, options, limits);
}

bool any_number_of(const JsonArray& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const JsonValue& each) { return any_number(each).has_value(); });
}

}  // namespace

models::TokenLists read_prompts(const Fields& fields, const ApiRequest& request,
                                const Service& service, bool is_answered) {
  const JsonValue* prompt = fields.find("prompt");
  if (prompt == nullptr) throw missing_field("prompt", kExpectedPrompt);
  const models::Tokenizer& tokenizer = service.model->tokenizer();
  const models::EncodeOptions options{.add_special = fields.flag("add_special_tokens", true),
                                      .parse_special = fields.flag("parse_special", true)};
  models::TokenLists prompts;
  const auto add = [&](const JsonValue& one, const std::string& place) {
    prompts.push_back(within_context(
        request, service, place, is_answered, [&](const models::EncodeLimits& limits) {
          return tokens_of_prompt(one, place, tokenizer, options, limits);
        }));
    check_prompt(prompts.back(), *service.model, place, is_answered);
  };
  const auto* list = std::get_if<JsonArray>(prompt);
  if (list == nullptr || list->empty() || any_number_of(*list)) {
    add(*prompt, "prompt");
    return prompts;
  }
  for (const JsonValue& each : *fields.array("prompt", kMostPrompts)) {
    // Within a long text the tokenizer does it; these may be many short ones.
    if (!prompts.empty()) watch_of(request, service)();
    const std::string place = "prompt[" + std::to_string(prompts.size()) + "]";
    add(each, list->size() == 1 ? "prompt" : place);
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
