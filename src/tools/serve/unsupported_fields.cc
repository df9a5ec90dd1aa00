#include "tools/serve/unsupported_fields.h"

#include <string>

namespace hearth::tools::serve {
namespace {

// Numbers that switch something off.
bool is_below_zero(const JsonValue& value) { return any_number(value).value_or(0) < 0; }
bool is_below_one(const JsonValue& value) { return any_number(value).value_or(1) < 1; }
bool is_below_two(const JsonValue& value) { return any_number(value).value_or(2) < 2; }
// Of `reasoning_format`.
bool is_split(const JsonValue& value) { return value != JsonValue("none"); }

constexpr UnsupportedField kFields[] = {
    // vLLM's.
    {"use_beam_search", is_false, "false; n gives several answers"},
    {"length_penalty", is_one, "1, as answers are drawn and not searched for"},
    {"include_stop_str_in_output", is_false, "false: an answer ends before its stop"},
    {"skip_special_tokens", is_true, "true: control tokens are no text"},
    {"stop_token_ids", is_empty, "stop, with the texts of the tokens"},
    {"allowed_token_ids", is_empty, "grammar (GBNF), which may name tokens"},
    {"bad_words", is_empty, "logit_bias, with false for what shall not be written"},
    {"logits_processors", is_empty, "logit_bias or grammar (GBNF)"},
    {"truncate_prompt_tokens", never, "a prompt that the context holds"},
    {"guided_regex", is_empty, "grammar (GBNF) or response_format"},
    {"guided_grammar", is_empty, "grammar (GBNF) or response_format"},
    {"guided_choice", is_empty, "grammar (GBNF) or response_format"},
    {"guided_whitespace_pattern", is_empty, "grammar (GBNF)"},
    {"priority", is_empty, "0: texts wait in the order in which they came"},
    {"include_reasoning", is_true, "true: reasoning is given beside the answer"},
    {"thinking_token_budget", is_below_zero, "what the template knows, in chat_template_kwargs"},
    {"return_tokens_as_token_ids", is_false, "false: tokens are named by their texts"},
    {"return_token_ids", is_false, "false, or return_tokens of /completion"},
    // llama.cpp's.
    {"lora", is_empty, "--lora of the server's command"},
    {"n_cmpl", is_one, "n, or several prompts"},
    {"n_indent", is_empty, "0"},
    {"min_keep", is_below_two, "0"},
    {"t_max_predict_ms", is_below_one, "max_tokens"},
    {"grammar_lazy", is_false, "tools, or a grammar that holds the whole answer"},
    {"grammar_triggers", is_empty, "tools, or a grammar that holds the whole answer"},
    {"response_fields", is_empty, "none: all are given"},
    {"reasoning_format", is_split, "auto: reasoning is given beside the answer"},
    {"thinking_budget_tokens", is_below_zero, "what the template knows, in chat_template_kwargs"},
    {"image_data", is_empty, "texts alone"},
    {"multimodal_data", is_empty, "texts alone"},
    // Ollama's.
    {"format", is_empty, "response_format"},
    {"options", is_empty, "its members as fields of the request"},
    {"think", never, "what the template knows, in chat_template_kwargs, or reasoning_effort"},
    {"system", is_empty, "a message of the role system"},
    {"images", is_empty, "texts alone"},
};

}  // namespace

bool never(const JsonValue&) { return false; }

bool is_empty(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  if (const auto* array = std::get_if<JsonArray>(&value)) return array->empty();
  if (const auto* object = std::get_if<JsonObject>(&value)) return object->empty();
  return is_false(value) || any_number(value) == 0.0;
}

bool is_false(const JsonValue& value) { return value == JsonValue(false); }

bool is_true(const JsonValue& value) { return value == JsonValue(true); }

bool is_one(const JsonValue& value) { return any_number(value) == 1.0; }

void refuse_unsupported(const Fields& fields, std::span<const UnsupportedField> list) {
  for (const UnsupportedField& each : list) {
    const JsonValue* given = fields.find(each.name);
    if (given == nullptr || each.asks_nothing(*given)) continue;
    throw bad_field(fields.path(each.name),
                    "is not supported; got " + shown(*given) + ", expected " + each.expected);
  }
}

void refuse_unsupported(const Fields& fields) { refuse_unsupported(fields, kFields); }

}  // namespace hearth::tools::serve
