#include "models/grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/grammar/gbnf_parser.h"
#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_document.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_numbers.h"
#include "models/grammar/schema_pattern.h"
#include "models/grammar/schema_rules.h"
#include "models/grammar/schema_strings.h"
#include "models/grammar/schema_types.h"

namespace hearth::models::grammar {
namespace {

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

// An operator of repetition; without an upper limit where `most` is -1.
std::string times(std::int64_t least, std::int64_t most, const char* what) {
  if (most >= 0 && most < least) {
    fail_unsupported("nothing is in range; got min" + std::string(what) + " " +
                     std::to_string(least) + " and max" + what + " " + std::to_string(most));
  }
  for (const auto& [name, count] : {std::pair{"min", least}, {"max", most}}) {
    if (count <= std::int64_t{kMaxTimes}) continue;
    fail_unsupported("`" + std::string(name) + what + "` too large; got " + std::to_string(count) +
                     ", expected at most " + std::to_string(kMaxTimes));
  }
  return "{" + std::to_string(least) + "," + (most < 0 ? "" : std::to_string(most)) + "}";
}

// Numbers of so many digits are not read exactly, and would be written as others.
void require_exact(const JsonValue& value) {
  constexpr double kInexact = 9007199254740992;  // 2^53
  if (const auto* number = std::get_if<double>(&value); number && std::abs(*number) >= kInexact) {
    fail_unsupported("number too large for enum or const; got " + json_text(value) +
                     ", expected an integer of 64 bits, or less than 2^53");
  }
  if (const auto* list = std::get_if<JsonArray>(&value)) {
    for (const JsonValue& each : *list) require_exact(each);
  }
  if (const auto* object = std::get_if<JsonObject>(&value)) {
    for (const auto& member : *object) require_exact(member.second);
  }
}

class SchemaWriter {
 public:
  SchemaWriter(const JsonValue& root, SchemaRules& rules) : document_(root), rules_(rules) {}

  std::string write() { return visit(document_.root(), 0); }

 private:
  std::string reference(const JsonValue& value, int depth) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(value));
    const auto [found, is_new] = by_reference_.try_emplace(*text, "");
    if (is_new) {
      const JsonValue& schema = document_.target(*text);
      const std::string name = found->second = rules_.open("ref");
      rules_.fill(name, visit(schema, depth + 1));
    }
    return by_reference_[*text];
  }

  std::string visit(const JsonValue& schema, int depth) {
    if (depth > kMaxSchemaDepth) {
      fail_unsupported("nested too deep; got more than " + std::to_string(kMaxSchemaDepth) +
                       " levels, expected less");
    }
    if (const auto* object = std::get_if<JsonObject>(&schema)) {
      // A reference alone becomes a rule of its own, so that cycles are rules that call themselves.
      const bool is_alone = std::all_of(object->begin(), object->end(), [](const auto& member) {
        return member.first == "$ref" || is_annotation(member.first);
      });
      const JsonValue* ref = find_key(*object, "$ref");
      if (ref != nullptr && is_alone) return reference(*ref, depth);
    }
    return visit_expanded(document_.expanded(schema, 0), depth);
  }

  std::string visit_expanded(JsonObject schema, int depth) {
    if (const JsonValue* any = find_key(schema, "anyOf")) {
      const JsonArray alternatives = std::get<JsonArray>(*any);
      if (alternatives.empty()) fail_schema("alternatives without any; got []");
      std::erase_if(schema, [](const auto& member) {
        return member.first == "anyOf" || is_annotation(member.first);
      });
      std::vector<std::string> rules;
      for (const JsonValue& one : alternatives) {
        rules.push_back(schema.empty() ? visit(one, depth + 1)
                                       : visit_expanded(merged_schemas(schema, document_.expanded(
                                                                                   one, depth + 1)),
                                                        depth + 1));
      }
      return rules_.rule("any", join(rules, " | "));
    }
    check_keywords(schema);
    if (find_key(schema, "const") != nullptr || find_key(schema, "enum") != nullptr) {
      return constants(schema);
    }
    std::vector<std::string> rules;
    for (const std::string& type : types_of(schema)) {
      rules.push_back(of_type(type, schema, depth));
    }
    return rules.size() == 1 ? rules[0] : rules_.rule("types", join(rules, " | "));
  }

  std::string constants(const JsonObject& schema) {
    JsonArray values;
    if (const JsonArray* list = list_at(schema, "enum")) values = *list;
    if (const JsonValue* only = find_key(schema, "const")) {
      if (find_key(schema, "enum") != nullptr &&
          std::find(values.begin(), values.end(), *only) == values.end()) {
        values.clear();
      } else {
        values = {*only};
      }
    }
    for (const auto& [key, value] : schema) {
      if (key == "enum" || key == "const" || key == "type" || is_annotation(key)) continue;
      fail_unsupported("keyword beside enum or const; got `" + key + "`, expected only type");
    }
    const std::vector<std::string> types = types_of(schema);
    std::vector<std::string> literals;
    for (const JsonValue& value : values) {
      const bool fits = std::any_of(types.begin(), types.end(),
                                    [&](const std::string& type) { return has_type(value, type); });
      if (!fits) continue;
      require_exact(value);
      literals.push_back(gbnf_literal(json_text(value)));
    }
    if (literals.empty()) {
      fail_unsupported("enum or const without values; got none that its other keywords allow");
    }
    return rules_.rule("constants", join(literals, " | "));
  }

  std::string of_type(const std::string& type, const JsonObject& schema, int depth) {
    if (type == "any") return rules_.any_value();
    if (type == "null") return "\"null\"";
    if (type == "boolean") return rules_.shared("boolean", "\"true\" | \"false\"");
    if (type == "integer" || type == "number") return number(type == "integer", schema);
    if (type == "string") return string(schema);
    return type == "array" ? array(schema, depth) : object(schema, depth);
  }

  std::string number(bool is_whole, const JsonObject& schema) {
    std::optional<Bound> low = bound_of(schema, "minimum", "exclusiveMinimum", true);
    std::optional<Bound> high = bound_of(schema, "maximum", "exclusiveMaximum", false);
    return rules_.rule(is_whole ? "integer" : "number",
                       is_whole ? integer_grammar(low, high) : number_grammar(low, high));
  }
  std::string string(const JsonObject& schema) {
    const bool has_length =
        find_key(schema, "minLength") != nullptr || find_key(schema, "maxLength") != nullptr;
    std::string inside;
    const JsonValue* pattern = find_key(schema, "pattern");
    const JsonValue* format = find_key(schema, "format");
    if (pattern != nullptr) {
      const auto* text = std::get_if<std::string>(pattern);
      if (text == nullptr) fail_schema("`pattern` is no text; got " + json_text(*pattern));
      inside = pattern_grammar(*text, rules_.json_char() + "*");
    }
    if (format != nullptr) {
      const auto* text = std::get_if<std::string>(format);
      if (text == nullptr) fail_schema("`format` is no text; got " + json_text(*format));
      if (const std::optional<std::string> known = format_grammar(*text)) {
        if (!inside.empty()) fail_unsupported("`pattern` beside `format` " + *text);
        inside = *known;
      }
    }
    if (inside.empty()) {
      if (!has_length) return rules_.any_string();
      const std::int64_t least = count_of(schema, "minLength", 0);
      const std::int64_t most = count_of(schema, "maxLength", -1);
      return rules_.rule(
          "string", "\"\\\"\" " + rules_.json_char() + times(least, most, "Length") + " \"\\\"\"");
    }
    if (has_length) fail_unsupported("minLength or maxLength beside `pattern` or `format`");
    return rules_.rule("string", "\"\\\"\" (" + inside + ") \"\\\"\"");
  }

  std::string array(const JsonObject& schema, int depth) {
    const std::int64_t least = count_of(schema, "minItems", 0);
    const std::int64_t most = count_of(schema, "maxItems", -1);
    const JsonValue* unique = find_key(schema, "uniqueItems");
    if (unique != nullptr && *unique == JsonValue(true) && (most < 0 || most > 1)) {
      fail_unsupported("keyword not supported; got `uniqueItems`, expected maxItems 1 beside it");
    }
    const JsonArray* prefix = list_at(schema, "prefixItems");
    const JsonValue* items = find_key(schema, "items");
    const bool no_others = items != nullptr && *items == JsonValue(false);
    std::vector<std::string> first;
    for (std::size_t i = 0; prefix != nullptr && i < prefix->size(); ++i) {
      if (most >= 0 && static_cast<std::int64_t>(first.size()) >= most) break;
      first.push_back(visit((*prefix)[i], depth + 1));
    }
    const auto count = static_cast<std::int64_t>(first.size());
    const std::int64_t more = std::max<std::int64_t>(0, least - count);
    std::int64_t most_others = most < 0 ? -1 : most - count;
    if (no_others || (prefix != nullptr && items == nullptr)) most_others = no_others ? 0 : more;
    const std::string head = "\"[\" space ";
    if (most_others == 0) {
      times(least, count, "Items");
      return rules_.rule("array", head + join(first, " space \",\" space ") + " space \"]\"");
    }
    const std::string item = items == nullptr ? rules_.any_value() : visit(*items, depth + 1);
    if (count > 0) {
      return rules_.rule("array", head + join(first, " space \",\" space ") +
                                      " (space \",\" space " + item + ")" +
                                      times(more, most_others, "Items") + " space \"]\"");
    }
    const std::string rest =
        item + " (space \",\" space " + item + ")" +
        times(std::max<std::int64_t>(0, least - 1), most < 0 ? -1 : most - 1, "Items");
    return rules_.rule("array", head + (least == 0 ? "(" + rest + ")?" : rest) + " space \"]\"");
  }

  std::string object(const JsonObject& schema, int depth) {
    JsonObject properties;
    if (const JsonValue* value = find_key(schema, "properties")) {
      const auto* declared = std::get_if<JsonObject>(value);
      if (declared == nullptr) fail_schema("`properties` is no object; got " + json_text(*value));
      properties = *declared;
    }
    const JsonValue* others = find_key(schema, "additionalProperties");
    if (others == nullptr) others = find_key(schema, "unevaluatedProperties");
    const bool is_closed = others != nullptr && *others == JsonValue(false);
    std::set<std::string> required;
    if (const JsonArray* names = list_at(schema, "required")) {
      for (const JsonValue& value : *names) {
        const auto* name = std::get_if<std::string>(&value);
        if (name == nullptr) fail_schema("`required` of no name; got " + json_text(value));
        required.insert(*name);
        if (find_key(properties, *name) != nullptr) continue;
        if (is_closed) {
          fail_unsupported("required property that additionalProperties forbids; got `" + *name +
                           "`, expected it among the properties");
        }
        properties.emplace_back(*name, others == nullptr ? JsonValue(true) : *others);
      }
    }
    // A property that has no values is one that never stands there.
    std::erase_if(properties, [&](const auto& property) {
      return property.second == JsonValue(false) && !required.contains(property.first);
    });
    const bool is_open =
        !is_closed && (others != nullptr || find_key(schema, "properties") == nullptr);
    std::string other_member;
    if (is_open) {
      std::vector<std::string> names;
      for (const auto& [name, value] : properties) names.push_back(name);
      if (const JsonValue* declared = find_key(schema, "properties")) {
        for (const auto& [name, value] : std::get<JsonObject>(*declared)) names.push_back(name);
      }
      const std::string key =
          names.empty() ? rules_.any_string() : rules_.rule("name", other_name_grammar(names));
      const std::string value = others == nullptr ? rules_.any_value() : visit(*others, depth + 1);
      other_member = key + " space \":\" space " + value;
    }
    return rules_.rule("object", "\"{\" space " +
                                     members(schema, properties, required, other_member, depth) +
                                     " space \"}\"");
  }

  // The members of an object in order, each of those that are not required there or not: what may
  // follow is one rule where members stand before, and another where none does.
  std::string members(const JsonObject& schema, const JsonObject& properties,
                      const std::set<std::string>& required, const std::string& other, int depth) {
    const auto declared = static_cast<std::int64_t>(properties.size());
    const auto sure = static_cast<std::int64_t>(required.size());
    const std::int64_t least = count_of(schema, "minProperties", 0);
    const std::int64_t most = count_of(schema, "maxProperties", -1);
    if (most >= 0 && most < sure) times(sure, most, "Properties");
    const bool is_map = properties.empty();
    if ((least > sure && !(is_map && least == 1)) ||
        (most >= 0 && !is_map && (most < declared || !other.empty()))) {
      fail_unsupported("minProperties or maxProperties of an object with optional properties");
    }
    if (is_map) {
      if (other.empty()) return "\"\"";
      const std::string rest = other + " (space \",\" space " + other + ")" +
                               times(0, most < 0 ? -1 : std::max<std::int64_t>(0, most - 1), "");
      if (most == 0) return "\"\"";
      return least > 0 ? rest : "(" + rest + ")?";
    }
    std::string after = other.empty() ? "\"\"" : "(space \",\" space " + other + ")*";
    std::string at_start =
        other.empty() ? "\"\"" : "(" + other + " (space \",\" space " + other + ")*)?";
    for (std::size_t i = properties.size(); i-- > 0;) {
      const auto& [name, value] = properties[i];
      const std::string member = gbnf_literal(json_text(JsonValue(name))) + " space \":\" space " +
                                 visit(value, depth + 1);
      const std::string rest = rules_.rule("rest", after);
      const std::string first = rules_.rule("first", at_start);
      const bool is_optional = !required.contains(name);
      after = "space \",\" space " + member + " " + rest + (is_optional ? " | " + rest : "");
      at_start = member + " " + rest + (is_optional ? " | " + first : "");
    }
    return rules_.rule("members", at_start);
  }

  SchemaDocument document_;
  SchemaRules& rules_;
  std::map<std::string, std::string> by_reference_;  // names of rules
};

}  // namespace

std::string SchemaGrammar::add(const JsonValue& schema) {
  return SchemaWriter(schema, rules_).write();
}

std::string gbnf_of_schema(const JsonValue& schema) {
  SchemaGrammar grammar;
  const std::string root = grammar.add(schema);
  return grammar.text(root);
}

}  // namespace hearth::models::grammar
