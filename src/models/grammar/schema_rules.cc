#include "models/grammar/schema_rules.h"

#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_numbers.h"
#include "models/grammar/schema_strings.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxSchemaRules = 20'000;

}  // namespace

SchemaRules::SchemaRules() { bodies_["space"] = R"(| " " | "\n"{1,2} [ \t]{0,20})"; }

std::string SchemaRules::rule(const std::string& hint, const std::string& body) {
  const auto [found, is_new] = by_body_.try_emplace(body, "");
  if (is_new) {
    found->second = new_name(hint);
    bodies_[found->second] = body;
  }
  return found->second;
}

std::string SchemaRules::new_name(const std::string& hint) {
  if (bodies_.size() >= kMaxSchemaRules) {
    fail_unsupported("schema too large; got more than " + std::to_string(kMaxSchemaRules) +
                     " rules, expected less");
  }
  return hint + "-" + std::to_string(names_++);
}

std::string SchemaRules::open(const std::string& hint) {
  std::string name = new_name(hint);
  bodies_[name] = "";  // counts as a rule from now on
  return name;
}

std::string SchemaRules::shared(const std::string& name, const std::string& body) {
  bodies_.try_emplace(name, body);
  return name;
}

std::string SchemaRules::json_char() { return shared("char", json_char_grammar()); }

std::string SchemaRules::any_string() {
  return shared("string", "\"\\\"\" " + json_char() + "* \"\\\"\"");
}

std::string SchemaRules::any_value() {
  shared("number", number_grammar({}, {}));
  any_string();
  shared("array", "\"[\" space (value (space \",\" space value)*)? space \"]\"");
  shared("object",
         "\"{\" space (string space \":\" space value (space \",\" space string space \":\" space "
         "value)*)? space \"}\"");
  return shared("value", "\"null\" | \"true\" | \"false\" | number | string | array | object");
}

std::string SchemaRules::text(const std::string& root) const {
  std::string out = "root ::= " + root + "\n";
  for (const auto& [name, body] : bodies_) out += name + " ::= " + body + "\n";
  return out;
}

}  // namespace hearth::models::grammar
