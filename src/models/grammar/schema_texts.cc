#include "models/grammar/schema_texts.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "models/grammar/gbnf_parser.h"
#include "models/grammar/schema_characters.h"
#include "models/grammar/schema_formats.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_negation.h"
#include "models/grammar/schema_types.h"

namespace hearth::models::grammar {
namespace {

std::vector<Pattern> patterns_of(const JsonObject& schema) {
  std::vector<Pattern> out;
  for (const std::string& text : texts_at(schema, "pattern")) out.push_back(read_pattern(text));
  for (const std::string& format : texts_at(schema, "format")) {
    if (const auto pattern = format_pattern(format)) out.push_back(read_pattern(*pattern));
  }
  return out;
}

std::vector<std::string> strings_of(const JsonArray& values) {
  std::vector<std::string> out;
  for (const JsonValue& value : values) {
    if (const auto* text = std::get_if<std::string>(&value)) out.push_back(*text);
  }
  return out;
}

// As our dialect has it.
TextAutomaton exactly_matching(const Pattern& pattern, AutomatonSteps& steps) {
  TextAutomaton out = TextAutomaton(pattern.texts, steps).merged(steps);
  for (const Expression& excluded : pattern.excluded) {
    out = out.both(TextAutomaton(excluded, steps).merged(steps).negated(), steps);
  }
  return out;
}

// Without the characters on which dialects differ.
TextAutomaton undisputed(const TextAutomaton& texts, const Pattern& pattern,
                         AutomatonSteps& steps) {
  if (pattern.disputed.empty()) return texts;
  Expression all, character;
  character.kind = Expression::Kind::one_of;
  character.ranges = normal_ranges(pattern.disputed, true);
  all.kind = Expression::Kind::repeat;
  all.parts.push_back(std::move(character));
  return texts.both(TextAutomaton(all, steps), steps);
}

// The largest length up to which the texts can be counted.
std::int64_t countable_length(const TextAutomaton& texts, AutomatonSteps& steps) {
  std::set<std::uint32_t> now{0};
  std::size_t count = 0;
  for (std::int64_t length = 0;; ++length) {
    count += now.size();
    if (count > kMaxTextStates) return length - 1;
    std::set<std::uint32_t> next;
    for (const std::uint32_t at : now) {
      for (const TextAutomaton::Edge& edge : texts.states()[at].edges) next.insert(edge.to);
      steps.take(1 + texts.states()[at].edges.size());
    }
    if (next.empty()) return kMaxTimes;  // none is longer
    now = std::move(next);
  }
}

TextAutomaton with_lengths(TextAutomaton texts, std::int64_t least, std::int64_t most,
                           AutomatonSteps& steps) {
  if (most >= 0) {
    const std::int64_t countable = countable_length(texts, steps);
    if (countable < most && countable >= least) most = countable;
    if (most >= std::int64_t{kMaxTextStates} && countable == kMaxTimes) most = -1;
  }
  return least > 0 || most >= 0 ? texts.both(TextAutomaton::of_lengths(least, most), steps) : texts;
}

// What all parts say together: patterns, lengths and plain `not`. Nothing where there are none.
std::optional<TextAutomaton> automaton_of(const JsonObject& schema, AutomatonSteps& steps) {
  std::optional<TextAutomaton> out;
  const auto add = [&](TextAutomaton part) {
    out = out ? out->both(part, steps) : std::move(part);
  };
  for (const Pattern& pattern : patterns_of(schema)) {
    add(matching_texts(pattern, steps));
  }
  const Excluded excluded = excluded_by(schema);
  for (const std::string& pattern : excluded.patterns) {
    add(texts_without(read_pattern(pattern), steps));
  }
  const std::vector<std::string> values = strings_of(excluded.values);
  if (!values.empty()) add(texts_of(values, steps).negated());
  const std::int64_t least = count_of(schema, "minLength", 0);
  const std::int64_t most = count_of(schema, "maxLength", -1);
  if (least > 0 || most >= 0) {
    times(least, most, "Length");
    out = out ? with_lengths(std::move(*out), least, most, steps)
              : TextAutomaton::of_lengths(least, most);
  }
  return out;
}

}  // namespace

void check_range(std::int64_t least, std::int64_t most, const char* what) {
  if (most < 0 || most >= least) return;
  fail_without_values("nothing is in range; got min" + std::string(what) + " " +
                      std::to_string(least) + " and max" + what + " " + std::to_string(most));
}

std::string times(std::int64_t least, std::int64_t most, const char* what) {
  check_range(least, most, what);
  for (const auto& [name, count] : {std::pair{"min", least}, {"max", most}}) {
    if (count <= std::int64_t{kMaxTimes}) continue;
    fail_unsupported("`" + std::string(name) + what + "` too large; got " + std::to_string(count) +
                     ", expected at most " + std::to_string(kMaxTimes));
  }
  return "{" + std::to_string(least) + "," + (most < 0 ? "" : std::to_string(most)) + "}";
}

TextAutomaton texts_of(const std::vector<std::string>& texts, AutomatonSteps& steps) {
  Expression any;
  any.kind = Expression::Kind::alternative;
  for (const std::string& text : texts) {
    Expression literal;
    literal.kind = Expression::Kind::literal;
    literal.text = text;
    any.parts.push_back(std::move(literal));
  }
  return TextAutomaton(any, steps);
}

TextAutomaton matching_texts(const Pattern& pattern, AutomatonSteps& steps) {
  const TextAutomaton all = exactly_matching(pattern, steps);
  return pattern.excluded.empty() ? all : undisputed(all, pattern, steps);
}

TextAutomaton texts_without(const Pattern& pattern, AutomatonSteps& steps) {
  return undisputed(exactly_matching(pattern, steps).negated(), pattern, steps);
}

std::string string_rule(const JsonObject& schema, SchemaRules& rules, AutomatonSteps& steps) {
  const std::int64_t least = count_of(schema, "minLength", 0);
  const std::int64_t most = count_of(schema, "maxLength", -1);
  const bool has_length = least > 0 || most >= 0;
  const Excluded excluded = excluded_by(schema);
  const bool is_negated = !excluded.patterns.empty() || !strings_of(excluded.values).empty();
  const auto quoted = [&](const std::string& inside) {
    return rules.rule("string", "\"\\\"\" " + inside + " \"\\\"\"");
  };
  if (!is_negated) {
    const std::vector<Pattern> patterns = patterns_of(schema);
    if (patterns.empty() && !has_length) return rules.any_string();
    if (patterns.empty()) return quoted(rules.json_char() + times(least, most, "Length"));
    // Repetitions stay as they are written: fewer rules than states.
    if (patterns.size() == 1 && !has_length && patterns[0].excluded.empty()) {
      return quoted(json_texts(patterns[0].texts, rules));
    }
  }
  const std::string key =
      "string" + text_of(schema, {"pattern", "format", "minLength", "maxLength", "not"});
  return quoted(rules.once(key, [&] {
    const std::optional<TextAutomaton> texts = automaton_of(schema, steps);
    if (texts->is_empty()) {
      fail_without_values(
          "no text is allowed; got patterns, formats, lengths and `not` that exclude each other, "
          "expected others");
    }
    return json_texts(*texts, rules);
  }));
}

std::optional<TextAutomaton> valid_texts(const JsonValue& schema, SchemaDocument& document,
                                         AutomatonSteps& steps, int depth) {
  const TextAutomaton nothing(std::vector<TextAutomaton::State>(1));
  JsonObject object;
  try {
    object = document.expanded(schema, depth);
  } catch (const SchemaWithoutValues&) {
    return nothing;
  }
  check_keywords(object);
  std::optional<TextAutomaton> out = automaton_of(object, steps);
  const auto add = [&](const TextAutomaton& part) { out = out ? out->both(part, steps) : part; };
  const auto has_strings = [](const std::vector<std::string>& types) {
    return std::find(types.begin(), types.end(), "string") != types.end();
  };
  if (find_key(object, "type") != nullptr && !has_strings(texts_at(object, "type"))) add(nothing);
  if (has_strings(excluded_by(object).types)) add(nothing);
  if (const JsonArray* values = list_at(object, "enum")) add(texts_of(strings_of(*values), steps));
  if (const JsonValue* value = find_key(object, "const")) {
    add(texts_of(strings_of({*value}), steps));
  }
  if (const JsonArray* any = list_at(object, "anyOf")) {
    std::optional<TextAutomaton> none;  // of the alternatives
    for (const JsonValue& one : *any) {
      const std::optional<TextAutomaton> texts = valid_texts(one, document, steps, depth + 1);
      if (!texts) return out;
      none = none ? none->both(texts->negated(), steps) : texts->negated();
    }
    add(none ? none->negated() : nothing);
  }
  return out;
}

}  // namespace hearth::models::grammar
