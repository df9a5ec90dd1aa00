// Writes the seed corpus of schema_fuzz: `schema_seeds FOLDER`.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  using std::string_literals::operator""s;
  return {
      R"({"type":"object","properties":{"a":{"type":"integer","minimum":-3,"maximum":12}},
        "required":["a"],"additionalProperties":{"$ref":"#/$defs/n"},"$defs":{"n":{"anyOf":[
        {"type":"null"},{"type":"array","items":{"$ref":"#/$defs/n"}}]}}})"s +
          "\0{\"a\":12,\"b\":[null]}"s,
      R"({"allOf":[{"type":"string","pattern":"^a(b|[c-e]){1,3}\\d?$"},
        {"type":["null","string"]}]})"s +
          "\0\"abc1\""s,
      R"({"type":"number","exclusiveMinimum":0.125,"maximum":1e3})"s + "\0"s + "0.25",
      R"({"enum":[1,"x",{"k":[null]}]})",
      R"({"type":"array","prefixItems":[{"format":"date"}],"minItems":2,"maxItems":4})",
      R"({"type":"object","minProperties":1,"maxProperties":3,"properties":{"p":{"const":true},
        "q":{"oneOf":[{"type":"boolean"},{"type":"string","minLength":1,"maxLength":3}]}}})",
      R"({"type":["object","array","string","number","boolean","null"]})",
      R"({"items":{"type":"string","format":"date-time"},"minItems":1})",
      R"({"properties":{"t":{"format":"uuid"},"u":{"format":"time"}},"required":["u","t"],
        "additionalProperties":false})",
      R"({"type":"integer","exclusiveMaximum":100,"exclusiveMinimum":-1000})",
      R"({"allOf":[{"minimum":0.5},{"maximum":7}],"anyOf":[{"type":"integer"},{"type":"number"}]})",
      R"({"type":"string","format":"uri","minLength":2,"maxLength":40,"not":{"pattern":"\\\\d"}})",
      R"({"type":"number","multipleOf":0.25,"minimum":-3,"not":{"enum":[0,1.5]}})"s + "\0"s +
          "-0.75",
      R"({"type":"object","patternProperties":{"^x-":{"type":"integer","multipleOf":7}},
        "propertyNames":{"maxLength":4},"additionalProperties":{"type":"null"},"minProperties":1})"s +
          "\0{\"x-\":14}"s,
      R"({"type":"array","items":{"enum":[1,2,3]},"contains":{"not":{"const":2}},"maxContains":2})",
      R"({"type":"array","items":{"type":"boolean"},"uniqueItems":true,"not":{"const":[]}})",
      R"({"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":"null"}},"required":["a"],
        "if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]},
        "dependentRequired":{"b":["a"]}})",
      R"({})",
      R"(true)",
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
