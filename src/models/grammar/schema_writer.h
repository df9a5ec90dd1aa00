// Writes the rules of a schema's values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/grammar/schema_document.h"
#include "models/grammar/schema_rules.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// All functions give names of rules, or expressions without alternatives at their top, and throw as
// gbnf_of_schema(), SchemaWithoutValues among it.
class SchemaWriter {
 public:
  SchemaWriter(SchemaDocument& document, SchemaRules& rules, AutomatonSteps& steps)
      : document_(document), rules_(rules), steps_(steps) {}

  std::string visit(const JsonValue& schema, int depth);

 private:
  std::string reference(const JsonValue& value, int depth);
  std::string visit_expanded(JsonObject schema, int depth);
  // `visit` of a schema that may have no values: nothing then.
  std::optional<std::string> visit_if_any(const JsonValue& schema, int depth);

  std::string constants(const JsonObject& schema, int depth);
  JsonArray fitting_constants(const JsonObject& schema, int depth);
  std::string of_type(const std::string& type, const JsonObject& schema, int depth);
  std::string boolean(const JsonObject& schema);

  // schema_arrays.cc
  std::string array(const JsonObject& all, int depth);
  std::string array_that_contains(const JsonObject& schema, int depth);
  std::string array_of_distinct(const JsonObject& schema, int depth);

  // schema_objects.cc. A member is an expression of a key and its value.
  struct Property {
    std::string name;
    JsonValue value;
    bool is_required = false;
  };
  struct Names;
  std::string object(const JsonObject& schema, int depth);
  std::vector<Property> properties_of(const JsonObject& schema, const Names& names);
  std::string other_members(const JsonObject& schema, const Names& names, int depth);

  SchemaDocument& document_;
  SchemaRules& rules_;
  AutomatonSteps& steps_;
  std::map<std::string, std::string> by_reference_;  // names of rules
};

// Members of a list or an object, in order; what stands between two of them is a comma.
struct ListMember {
  std::string text;
  bool is_required = false;
};
// The rule of `members` of which those that are not required may be left out, and of `other` ones
// behind them, any number; none where it is empty. Together there are from `least` to `most`, -1
// for no limit; of the others, which may be equal, only one counts towards `least`. `what` is of
// the names of keywords (times()).
std::string members_rule(const std::vector<ListMember>& members, const std::string& other,
                         std::int64_t least, std::int64_t most, const char* what,
                         SchemaRules& rules);

}  // namespace hearth::models::grammar
