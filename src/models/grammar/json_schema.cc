#include "models/grammar/json_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_numbers.h"
#include "models/grammar/schema_strings.h"

namespace hearth::models::grammar {
namespace {

constexpr int kMaxSchemaDepth = 128;
constexpr std::size_t kMaxExpansions = 20'000;  // of schemas with what they refer to
constexpr std::size_t kMaxSchemaRules = 20'000;

constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "array",   "object"};

// The type whose values a keyword is about; empty for those of all.
struct Keyword {
  std::string_view name, type;
};
constexpr Keyword kKeywords[] = {
    {"type", ""},
    {"enum", ""},
    {"const", ""},
    {"anyOf", ""},
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"unevaluatedProperties", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"uniqueItems", "array"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"pattern", "string"},
    {"format", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
};

const JsonArray* list_at(const JsonObject& schema, std::string_view key) {
  const JsonValue* value = find_key(schema, key);
  if (value == nullptr) return nullptr;
  const auto* list = std::get_if<JsonArray>(value);
  if (list == nullptr) {
    fail_schema("`" + std::string(key) + "` is no list; got " + json_text(*value) +
                ", expected [...]");
  }
  return list;
}

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const JsonValue& root) : document_(root) {}

  std::string write() {
    bodies_["space"] = R"(| " " | "\n"{1,2} [ \t]{0,20})";
    const std::string root = visit(document_, 0);
    std::string out = "root ::= " + root + "\n";
    for (const auto& [name, body] : bodies_) out += name + " ::= " + body + "\n";
    return out;
  }

 private:
  // The rule of this body, a new one where there is none yet.
  std::string rule(const std::string& hint, const std::string& body) {
    const auto [found, is_new] = by_body_.try_emplace(body, "");
    if (is_new) {
      found->second = new_name(hint);
      bodies_[found->second] = body;
    }
    return found->second;
  }
  std::string new_name(const std::string& hint) {
    if (bodies_.size() >= kMaxSchemaRules) {
      fail_unsupported("schema too large; got more than " + std::to_string(kMaxSchemaRules) +
                       " rules, expected less");
    }
    return hint + "-" + std::to_string(names_++);
  }
  std::string shared(const std::string& name, const std::string& body) {
    bodies_.try_emplace(name, body);
    return name;
  }
  std::string json_char() { return shared("char", json_char_grammar()); }
  std::string any_string() { return shared("string", "\"\\\"\" " + json_char() + "* \"\\\"\""); }
  std::string any_value() {
    shared("number", number_grammar({}, {}));
    any_string();
    shared("array", "\"[\" space (value (space \",\" space value)*)? space \"]\"");
    shared(
        "object",
        "\"{\" space (string space \":\" space value (space \",\" space string space \":\" space "
        "value)*)? space \"}\"");
    return shared("value", "\"null\" | \"true\" | \"false\" | number | string | array | object");
  }

  // What a pointer like #/$defs/a names.
  const JsonValue& target(const std::string& reference) const {
    const auto lost = [&]() -> const JsonValue& {
      fail_schema("reference to nothing; got $ref `" + reference +
                  "`, expected a place in this document, such as #/$defs/name");
    };
    if (reference.empty() || reference[0] != '#') return lost();
    const JsonValue* at = &document_;
    for (std::size_t begin = 1; begin < reference.size();) {
      if (reference[begin] != '/') return lost();
      const std::size_t end = std::min(reference.find('/', begin + 1), reference.size());
      const std::string step = unescaped(reference.substr(begin + 1, end - begin - 1));
      if (const auto* object = std::get_if<JsonObject>(at)) {
        at = find_key(*object, step);
      } else if (const auto* list = std::get_if<JsonArray>(at)) {
        if (step.empty() || step.size() > 6 ||
            step.find_first_not_of("0123456789") != std::string::npos) {
          return lost();
        }
        const auto index = static_cast<std::size_t>(std::stoul(step));
        at = index < list->size() ? &(*list)[index] : nullptr;
      } else {
        at = nullptr;
      }
      if (at == nullptr) return lost();
      begin = end;
    }
    return *at;
  }
  static std::string unescaped(const std::string& step) {
    std::string out;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto digits = step.substr(std::min(i + 1, step.size()), 2);
      if (step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1')) {
        out += step[++i] == '0' ? '~' : '/';
      } else if (step[i] == '%' && digits.size() == 2 &&
                 digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
        out += static_cast<char>(std::stoi(digits, nullptr, 16));
        i += 2;
      } else {
        out += step[i];
      }
    }
    return out;
  }

  std::string reference(const JsonValue& value, int depth) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(value));
    const auto [found, is_new] = by_reference_.try_emplace(*text, "");
    if (is_new) {
      const JsonValue& schema = target(*text);
      const std::string name = found->second = new_name("ref");
      bodies_[name] = "";  // counts as a rule from now on
      const std::string body = visit(schema, depth + 1);
      bodies_[name] = body;
    }
    return by_reference_[*text];
  }

  // Without $ref, allOf and oneOf at its top.
  JsonObject expanded(const JsonValue& schema, int depth) {
    if (depth > kMaxSchemaDepth) {
      fail_unsupported("nested too deep; got more than " + std::to_string(kMaxSchemaDepth) +
                       " levels or a cycle of $ref that must hold at once, expected less");
    }
    if (++expansions_ > kMaxExpansions) {
      fail_unsupported("schema too large; got more than " + std::to_string(kMaxExpansions) +
                       " schemas with all references, expected less");
    }
    if (schema == JsonValue(true)) return {};
    if (schema == JsonValue(false)) fail_unsupported("schema without values; got false");
    const auto* object = std::get_if<JsonObject>(&schema);
    if (object == nullptr) {
      fail_schema("no schema; got " + json_text(schema) + ", expected an object, true or false");
    }
    JsonObject out;
    for (const auto& [key, value] : *object) {
      if (key != "$ref" && key != "allOf" && key != "oneOf" && key != "anyOf") {
        out.emplace_back(key, value);
      }
    }
    for (const char* key : {"anyOf", "oneOf"}) {
      if (list_at(*object, key) == nullptr) continue;
      out = merged_schemas(out, {{"anyOf", *find_key(*object, key)}});
    }
    if (const JsonValue* ref = find_key(*object, "$ref")) {
      const auto* text = std::get_if<std::string>(ref);
      if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(*ref));
      out = merged_schemas(out, expanded(target(*text), depth + 1));
    }
    if (const JsonArray* all = list_at(*object, "allOf")) {
      for (const JsonValue& part : *all) out = merged_schemas(out, expanded(part, depth + 1));
    }
    return out;
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
    return visit_expanded(expanded(schema, 0), depth);
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
        rules.push_back(
            schema.empty()
                ? visit(one, depth + 1)
                : visit_expanded(merged_schemas(schema, expanded(one, depth + 1)), depth + 1));
      }
      return rule("any", join(rules, " | "));
    }
    check_keywords(schema);
    if (find_key(schema, "const") != nullptr || find_key(schema, "enum") != nullptr) {
      return constants(schema);
    }
    std::vector<std::string> rules;
    for (const std::string& type : types_of(schema)) {
      rules.push_back(of_type(type, schema, depth));
    }
    return rules.size() == 1 ? rules[0] : rule("types", join(rules, " | "));
  }

  static void check_keywords(const JsonObject& schema) {
    for (const auto& [key, value] : schema) {
      const bool is_known = std::any_of(std::begin(kKeywords), std::end(kKeywords),
                                        [&](const Keyword& known) { return known.name == key; });
      if (is_known || is_annotation(key)) continue;
      if (key == "multipleOf" && value == JsonValue(std::int64_t{1}) &&
          find_key(schema, "type") != nullptr &&
          *find_key(schema, "type") == JsonValue(std::string("integer"))) {
        continue;
      }
      fail_unsupported("keyword not supported; got `" + key +
                       "`, expected one that grammars can hold to");
    }
  }

  static std::vector<std::string> types_of(const JsonObject& schema) {
    std::vector<std::string> out;
    const auto add = [&](const std::string& type) {
      if (std::find(out.begin(), out.end(), type) == out.end()) out.push_back(type);
    };
    if (const JsonValue* type = find_key(schema, "type")) {
      const auto* several = std::get_if<JsonArray>(type);
      for (const JsonValue& one : several != nullptr ? *several : JsonArray{*type}) {
        const auto* name = std::get_if<std::string>(&one);
        if (name == nullptr || std::find(kTypes.begin(), kTypes.end(), *name) == kTypes.end()) {
          fail_schema("no type; got " + json_text(one) + ", expected a name such as \"string\"");
        }
        add(*name);
      }
      if (out.empty()) fail_schema("`type` without types; got []");
      return out;
    }
    for (const auto& [key, value] : schema) {
      for (const Keyword& known : kKeywords) {
        if (known.name == key && !known.type.empty()) add(std::string(known.type));
      }
    }
    if (out.empty()) out.emplace_back("any");
    return out;
  }

  static bool has_type(const JsonValue& value, const std::string& type) {
    if (type == "any") return true;
    if (type == "null") return std::holds_alternative<std::nullptr_t>(value);
    if (type == "boolean") return std::holds_alternative<bool>(value);
    if (type == "string") return std::holds_alternative<std::string>(value);
    if (type == "array") return std::holds_alternative<JsonArray>(value);
    if (type == "object") return std::holds_alternative<JsonObject>(value);
    const auto* real = std::get_if<double>(&value);
    const bool is_whole = std::holds_alternative<std::int64_t>(value) ||
                          std::holds_alternative<std::uint64_t>(value) ||
                          (real != nullptr && decimal_of(value).fraction.empty());
    return type == "integer" ? is_whole : is_whole || real != nullptr;
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
      if (fits) literals.push_back(gbnf_literal(json_text(value)));
    }
    if (literals.empty()) {
      fail_unsupported("enum or const without values; got none that its other keywords allow");
    }
    return rule("constants", join(literals, " | "));
  }

  std::string of_type(const std::string& type, const JsonObject& schema, int depth) {
    if (type == "any") return any_value();
    if (type == "null") return "\"null\"";
    if (type == "boolean") return shared("boolean", "\"true\" | \"false\"");
    if (type == "integer" || type == "number") return number(type == "integer", schema);
    if (type == "string") return string(schema);
    return type == "array" ? array(schema, depth) : object(schema, depth);
  }

  std::string number(bool is_whole, const JsonObject& schema) {
    std::optional<Bound> low = bound(schema, "minimum", "exclusiveMinimum", true);
    std::optional<Bound> high = bound(schema, "maximum", "exclusiveMaximum", false);
    return rule(is_whole ? "integer" : "number",
                is_whole ? integer_grammar(low, high) : number_grammar(low, high));
  }
  // The stricter one of two keywords. In Draft 4 the exclusive one is true or false.
  static std::optional<Bound> bound(const JsonObject& schema, std::string_view key,
                                    std::string_view exclusive_key, bool is_low) {
    const JsonValue* inclusive = find_key(schema, key);
    const JsonValue* exclusive = find_key(schema, exclusive_key);
    std::optional<Bound> out;
    if (inclusive != nullptr) out = Bound{decimal_of(*inclusive), false};
    if (exclusive == nullptr) return out;
    if (const auto* flag = std::get_if<bool>(exclusive)) {
      if (out) out->is_exclusive = *flag;
      return out;
    }
    const Bound other{decimal_of(*exclusive), true};
    if (!out || !is_before(is_low ? other.value : out->value, is_low ? out->value : other.value)) {
      out = other;
    }
    return out;
  }
  static bool is_before(const Decimal& a, const Decimal& b) {
    const bool a_negative = a.is_negative && !a.is_zero();
    const bool b_negative = b.is_negative && !b.is_zero();
    if (a_negative != b_negative) return a_negative;
    const auto below = [](const Decimal& x, const Decimal& y) {
      if (x.digits.size() != y.digits.size()) return x.digits.size() < y.digits.size();
      return x.digits != y.digits ? x.digits < y.digits : x.fraction < y.fraction;
    };
    return a_negative ? below(b, a) : below(a, b);
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
      inside = pattern_grammar(*text, json_char() + "*");
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
      if (!has_length) return any_string();
      const std::int64_t least = count_of(schema, "minLength", 0);
      const std::int64_t most = count_of(schema, "maxLength", -1);
      return rule("string", "\"\\\"\" " + json_char() + times(least, most, "Length") + " \"\\\"\"");
    }
    if (has_length) fail_unsupported("minLength or maxLength beside `pattern` or `format`");
    return rule("string", "\"\\\"\" (" + inside + ") \"\\\"\"");
  }

  // An operator of repetition; without an upper limit where `most` is -1.
  static std::string times(std::int64_t least, std::int64_t most, const char* what) {
    if (most >= 0 && most < least) {
      fail_unsupported("nothing is in range; got min" + std::string(what) + " " +
                       std::to_string(least) + " and max" + what + " " + std::to_string(most));
    }
    return "{" + std::to_string(least) + "," + (most < 0 ? "" : std::to_string(most)) + "}";
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
      return rule("array", head + join(first, " space \",\" space ") + " space \"]\"");
    }
    const std::string item = items == nullptr ? any_value() : visit(*items, depth + 1);
    if (count > 0) {
      return rule("array", head + join(first, " space \",\" space ") + " (space \",\" space " +
                               item + ")" + times(more, most_others, "Items") + " space \"]\"");
    }
    const std::string rest =
        item + " (space \",\" space " + item + ")" +
        times(std::max<std::int64_t>(0, least - 1), most < 0 ? -1 : most - 1, "Items");
    return rule("array", head + (least == 0 ? "(" + rest + ")?" : rest) + " space \"]\"");
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
          names.empty() ? any_string() : rule("name", other_name_grammar(names));
      const std::string value = others == nullptr ? any_value() : visit(*others, depth + 1);
      other_member = key + " space \":\" space " + value;
    }
    return rule("object", "\"{\" space " +
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
      const std::string rest = rule("rest", after);
      const std::string first = rule("first", at_start);
      const bool is_optional = !required.contains(name);
      after = "space \",\" space " + member + " " + rest + (is_optional ? " | " + rest : "");
      at_start = member + " " + rest + (is_optional ? " | " + first : "");
    }
    return rule("members", at_start);
  }

  const JsonValue& document_;
  std::map<std::string, std::string> bodies_, by_body_, by_reference_;
  std::size_t names_ = 0, expansions_ = 0;
};

}  // namespace

std::string gbnf_of_schema(const JsonValue& schema) { return SchemaWriter(schema).write(); }

}  // namespace hearth::models::grammar
