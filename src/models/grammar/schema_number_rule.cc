#include "models/grammar/schema_number_rule.h"

#include <optional>
#include <utility>
#include <vector>

#include "models/grammar/gbnf_parser.h"
#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_characters.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_multiples.h"
#include "models/grammar/schema_negation.h"
#include "models/grammar/schema_numbers.h"
#include "models/grammar/schema_types.h"

namespace hearth::models::grammar {
namespace {

// Up to this many states every number of digits is a state of its own.
constexpr std::size_t kMaxCountedDivisor = 200;

TextAutomaton automaton_of_gbnf(const std::string& expression, AutomatonSteps& steps) {
  const Syntax syntax = parse_gbnf("root ::= " + expression, "root");
  return TextAutomaton(syntax.rules[syntax.root].body, steps);
}

// All that the keywords divide by, together; nothing where they do not.
std::optional<TextAutomaton> multiples_in(const JsonObject& schema, bool is_whole,
                                          AutomatonSteps& steps) {
  const JsonValue* value = find_key(schema, "multipleOf");
  if (value == nullptr) return std::nullopt;
  const auto* several = std::get_if<JsonArray>(value);
  std::optional<TextAutomaton> out;
  for (const JsonValue& one : several != nullptr ? *several : JsonArray{*value}) {
    if (is_whole && equal_json(one, std::int64_t{1})) continue;
    const TextAutomaton part = multiples_of(decimal_of(one), steps);
    out = out ? out->both(part, steps).merged(steps) : part;
  }
  return out;
}

// The texts without exponents of the other numbers than `values`: few digits, so that as floating
// point numbers none of them is one of those.
std::optional<TextAutomaton> others_than(const JsonArray& values, AutomatonSteps& steps) {
  std::string excluded;
  for (const JsonValue& value : values) {
    if (!has_type(value, "number")) continue;
    const Decimal number = decimal_of(value);
    const std::string sign = number.is_zero() ? "\"-\"? " : number.is_negative ? "\"-\" " : "";
    excluded +=
        (excluded.empty() ? "" : " | ") + sign + "\"" + number.digits + "\" " +
        (number.fraction.empty() ? "(\".\" \"0\"*)?" : "\"." + number.fraction + "\" \"0\"*");
  }
  if (excluded.empty()) return std::nullopt;
  const TextAutomaton plain = automaton_of_gbnf("\"-\"? [0-9]{1,9} (\".\" [0-9]{1,6})?", steps);
  return automaton_of_gbnf(excluded, steps).negated().both(plain, steps);
}

std::string counted_numbers(bool is_whole, const JsonObject& schema, SchemaRules& rules,
                            AutomatonSteps& steps) {
  const std::optional<Bound> low = bound_of(schema, "minimum", "exclusiveMinimum", true);
  const std::optional<Bound> high = bound_of(schema, "maximum", "exclusiveMaximum", false);
  const std::optional<TextAutomaton> multiples = multiples_in(schema, is_whole, steps);
  const std::optional<TextAutomaton> others = others_than(excluded_by(schema).values, steps);
  if (!multiples && !others) {
    return rules.rule(is_whole ? "integer" : "number",
                      is_whole ? integer_grammar(low, high) : number_grammar(low, high));
  }
  const bool is_counted = !multiples || multiples->states().size() <= kMaxCountedDivisor;
  const Digits digits = is_counted ? Digits::counted : Digits::any;
  TextAutomaton numbers = automaton_of_gbnf(
      is_whole ? integer_grammar(low, high, digits) : number_grammar(low, high, digits), steps);
  if (multiples) numbers = numbers.both(*multiples, steps);
  if (others) numbers = numbers.both(*others, steps);
  if (numbers.is_empty()) {
    fail_without_values(
        "no number is in range; got bounds, multiples and `not` that exclude each other, expected "
        "others");
  }
  return json_texts(numbers.merged(steps), rules);
}

}  // namespace

std::string number_rule(bool is_whole, const JsonObject& schema, SchemaRules& rules,
                        AutomatonSteps& steps) {
  const std::string key = (is_whole ? "integer" : "number") +
                          text_of(schema, {"minimum", "exclusiveMinimum", "maximum",
                                           "exclusiveMaximum", "multipleOf", "not"});
  return rules.once(key, [&] { return counted_numbers(is_whole, schema, rules, steps); });
}

}  // namespace hearth::models::grammar
