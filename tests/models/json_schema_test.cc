#include "models/grammar/json_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "models/grammar/grammar.h"
#include "models/grammar_texts.h"
#include "models/tokenizer/unicode.h"
#include "source_dir.h"

namespace hearth::models::grammar {
namespace {

using testing::accept_text;

JsonValue parsed(const std::string& text) {
  auto value = parse_json(text);
  if (!value) throw std::runtime_error("no JSON: " + text);
  return *value;
}

// Single bytes and the end.
std::shared_ptr<const TokenTrie> bytes_trie() {
  static const auto trie = [] {
    std::vector<std::string> bytes;
    for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
    bytes.emplace_back();
    return std::make_shared<const TokenTrie>(bytes, std::vector<std::int32_t>{256});
  }();
  return trie;
}

GrammarMatcher matcher_of(const JsonValue& schema) {
  return GrammarMatcher(std::make_shared<Constraint>(
      std::make_shared<const Grammar>(Grammar::from_schema(schema)), bytes_trie()));
}

bool accepts(const JsonValue& schema, const std::string& text) {
  GrammarMatcher matcher = matcher_of(schema);
  return accept_text(matcher, text) && matcher.may_end();
}

struct Case {
  const char* schema;
  std::vector<std::string> good, bad;
};

void expect_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const JsonValue schema = parsed(c.schema);
    for (const auto& text : c.good) EXPECT_TRUE(accepts(schema, text)) << c.schema << "\n" << text;
    for (const auto& text : c.bad) EXPECT_FALSE(accepts(schema, text)) << c.schema << "\n" << text;
  }
}

std::string refusal_of(const std::string& schema) {
  try {
    Grammar::from_schema(parsed(schema));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// What only describes passes, by any name; OpenAPI's nullable widens a type.
TEST(JsonSchema, AnnotationsOfAnyNameAndNullable) {
  expect_cases({
      {R"({"type":"string","nullable":true,"strict":true,"propertyOrdering":["a"],
           "externalDocs":{"url":"x"},"enumNames":["b"],"errorMessage":"c","$dynamicAnchor":"d",
           "discriminator":{"propertyName":"e"}})",
       {"null", "\"\""},
       {"1"}},
      {R"({"type":["string"],"nullable":false})", {"\"\""}, {"null"}},
      {R"({"allOf":[{"type":"integer","nullable":true},{"type":["integer","null"]}]})",
       {"1", "null"},
       {"\"\""}},
      {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/a","strict":1}},"required":["a"],
           "$defs":{"a":{"type":"integer","nullable":true,"custom":[]}}})",
       {R"({"a":null})", R"({"a":2})"},
       {R"({"a":""})"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"null","note":1}],"discriminator":{}})",
       {"1", "null"},
       {"\"\""}},
  });
  for (const char* const key :
       {"not", "unevaluatedItems", "additionalItems", "disallow", "$dynamicRef"}) {
    EXPECT_THROW(Grammar::from_schema(JsonObject{{key, JsonObject()}}), Error) << key;
  }
}

TEST(JsonSchema, TypesAndConstants) {
  expect_cases({
      {"true", {"1", "\"a\"", "{\"a\":[null,true]}", "[]"}, {"", "{", "nul"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"1", "null"}},
      {R"({"type":["string","null"]})", {"null", "\"\"", "\"\\ud7ff\""}, {"1", "\"\\ud800\""}},
      {R"({"enum":["a\"b", 1, null, {"k":[1]}]})",
       {"\"a\\\"b\"", "1", "null", "{\"k\":[1]}"},
       {"2"}},
      {R"({"type":"string","enum":["a",1]})", {"\"a\""}, {"1"}},
      {R"({"type":"string","enum":["a",1e300]})", {"\"a\""}, {"1"}},
      {R"({"enum":[9007199254740993,-9223372036854775808,18446744073709551615]})",
       {"9007199254740993", "-9223372036854775808", "18446744073709551615"},
       {"9007199254740992"}},
      {R"({"const":"x","title":"t","description":"d","default":3})", {"\"x\""}, {"\"y\""}},
      {R"({"type":"integer"})", {"0", "-7", "123"}, {"01", "1.5", "-", "1e3"}},
      {R"({"type":"number"})", {"0", "-7.25", "1e-5", "1.5E+10"}, {"01", ".5", "1.", "-"}},
  });
}

TEST(JsonSchema, Objects) {
  expect_cases({
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"},)"
       R"("c":{"type":"null"}},"required":["b"]})",
       {"{\"a\":1,\"b\":true,\"c\":null}", "{\"b\":false}", "{\"a\":1, \"b\":true}",
        "{ \"b\" : true,\"c\":null }"},
       {"{}", "{\"a\":1}", "{\"b\":true,\"a\":1}", "{\"b\":true,}", "{\"b\":true,\"d\":1}"}},
      {R"({"properties":{"a":{}},"additionalProperties":{"type":"integer"}})",
       {"{}", "{\"a\":\"x\",\"b\":1}", "{\"b\":1,\"ab\":2}", "{\"\":3}"},
       {"{\"b\":\"x\"}", "{\"b\":1,\"a\":1,\"c\":2}", "{\"\\u0061\":1}"}},
      {R"({"type":"object"})", {"{}", "{\"x\":{\"y\":1}}"}, {"[]"}},
      {R"({"type":"object","additionalProperties":false})", {"{}", "{ }"}, {"{\"a\":1}"}},
      {R"({"type":"object","required":["k"]})", {"{\"k\":1}"}, {"{}", "{\"j\":1}"}},
      {R"({"additionalProperties":{"type":"null"},"minProperties":1,"maxProperties":2})",
       {"{\"a\":null}", "{\"a\":null,\"b\":null}"},
       {"{}", "{\"a\":null,\"b\":null,\"c\":null}"}},
      {R"({"properties":{"a\"\n":{"type":"null"},"é":{"type":"null"}},"additionalProperties":true})",
       {"{\"a\\\"\\n\":null,\"é\":null,\"e\":1}", "{\"éa\":2}", "{\"ê\":2}"},
       {"{\"é\":2}"}},
  });
}

TEST(JsonSchema, Arrays) {
  expect_cases({
      {R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
       {"[1]", "[1, 2,3]"},
       {"[]", "[1,2,3,4]", "[\"a\"]"}},
      {R"({"prefixItems":[{"type":"null"},{"type":"boolean"}],"items":{"type":"integer"}})",
       {"[null,true]", "[null,true,1,2]"},
       {"[true,null]", "[null,true,null]"}},
      {R"({"prefixItems":[{"type":"null"}],"items":false})", {"[null]"}, {"[null,1]"}},
      {R"({"type":"array","maxItems":0})", {"[]", "[ ]"}, {"[1]"}},
      {R"({"type":"array","prefixItems":[{"type":"null"}],"minItems":3})",
       {"[null,1,2]"},
       {"[null,1]"}},
      {R"({"type":"array","prefixItems":[{"type":"null"},{"type":"boolean"}],"maxItems":1})",
       {"[null]"},
       {"[]", "[null,true]"}},
      {R"({"type":"array","prefixItems":[{"type":"null"}],"minItems":2,"maxItems":1000000})",
       {"[null,1]"},
       {"[null]", "[null,1,2]"}},
      {R"({"type":"array","prefixItems":[{"type":"null"}],"items":{"type":"integer"},)"
       R"("minItems":2,"maxItems":3})",
       {"[null,1]", "[null,1,2]"},
       {"[null]", "[null,1,2,3]"}},
      {R"({"anyOf":[{"allOf":[{"type":"array","prefixItems":[{"const":1}],"minItems":2},)"
       R"({"maxItems":1}]},{"type":"null"}]})",
       {"null"},
       {"[1]", "[1,2]", "[]"}},
      {R"({"type":"array","items":{"type":"null"},"uniqueItems":true,"maxItems":1})",
       {"[null]", "[]"},
       {"[null,null]"}},
  });
}

TEST(JsonSchema, Strings) {
  expect_cases({
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {"\"ab\"", "\"é€😀\"", "\"\\n\\u00e9\""},
       {"\"a\"", "\"abcd\"", "\"\\n\""}},
      {R"({"pattern":"^[a-c]+\\d{2}$"})", {"\"ab01\""}, {"\"a1\"", "\"ab01x\"", "\"01\""}},
      {R"({"pattern":"b+c|^x$"})", {"\"abbcd\"", "\"x\"", "\"xbc\""}, {"\"ab\"", "\"xx\""}},
      {R"x({"pattern":"^(?:a|\\(b\\)){1,2}(?<n>z)?$"})x",
       {"\"a\"", "\"(b)az\""},
       {"\"\"", "\"aaa\""}},
      {R"({"pattern":"^[^a\"]\\\"\\\\\\n$"})",
       {"\"x\\\"\\\\\\n\"", "\"\\\\\\\"\\\\\\n\""},
       {"\"a\\\"\\\\\\n\""}},
      {R"({"pattern":"^.\\S\\w?$"})", {"\"é+\"", "\" xa\""}, {"\"x \"", "\"x\""}},
      {R"({"format":"date"})",
       {"\"2024-01-31\"", "\"1999-02-28\""},
       {"\"2024-02-30\"", "\"2024-13-01\"", "\"2024-04-31\""}},
      {R"({"type":"string","format":"date-time"})",
       {"\"2024-01-31T23:59:59.5Z\"", "\"2024-01-31T00:00:00+01:30\""},
       {"\"2024-01-31 00:00:00Z\"", "\"2024-01-31T24:00:00Z\""}},
      {R"({"type":"string","format":"uuid"})",
       {"\"123e4567-e89b-12d3-a456-426614174000\""},
       {"\"123e4567e89b12d3a456426614174000\""}},
      {R"({"type":"string","format":"anything"})", {"\"any\""}, {"1"}},
      {R"({"type":"string","minLength":300,"pattern":"^(ab)+$"})",
       {"\"" + repeated("ab", 150) + "\""},
       {"\"" + repeated("ab", 149) + "\""}},
  });
}

// A class of a pattern has what all dialects have in it: ECMA-262, that of JSON Schema, and
// Python's differ beyond ASCII.
TEST(JsonSchema, ClassesOfAllDialects) {
  const std::string blank = "\"\u00a0\"", mark = "\"\ufeff\"", digit = "\"\u0663\"";
  expect_cases({
      {R"({"pattern":"^[^\\s]$"})",
       {R"("a")", R"("é")", R"("—")", digit},
       {R"(" ")", R"("\t")", blank, mark, "\"\u2003\"", "\"\u3000\"", "\"\u0085\""}},
      {R"({"pattern":"^\\S$"})", {R"("a")", R"("é")", digit}, {R"(" ")", blank, mark}},
      {R"({"pattern":"^[^\\S]$"})", {R"(" ")", R"("\n")"}, {R"("a")", blank, mark}},
      {R"({"pattern":"^[^\\s,]+$"})", {R"("a.é")"}, {R"("a,b")", "\"a\u00a0b\""}},
      {R"({"pattern":"^[^\\d]$"})", {R"("a")", R"("é")", R"("²")"}, {R"("7")", digit}},
      {R"({"pattern":"^\\D$"})", {R"("a")", R"("é")"}, {R"("7")", digit}},
      {R"({"pattern":"^[^\\D]$"})", {R"("7")"}, {R"("a")", digit}},
      {R"({"pattern":"^[^\\w]$"})",
       {R"("-")", R"(" ")", R"("—")", R"("😀")"},
       {R"("a")", R"("_")", R"("é")", R"("漢")", digit}},
      {R"({"pattern":"^[\\W]$"})", {R"("-")", R"("€")"}, {R"("a")", R"("é")"}},
      {R"({"pattern":"^[^\\W]$"})", {R"("a")", R"("_")"}, {R"("-")", R"("é")", digit}},
      {R"({"pattern":"^[\\s\\S]$"})", {R"("a")", R"(" ")", blank, mark}, {R"("")"}},
      {R"({"pattern":"^[\\d\\D][\\W_\\w]$"})", {"\"\u0663é\"", R"("a-")"}, {R"("a")"}},
      {R"({"type":"string","maxLength":1,"not":{"pattern":"[^\\s]"}})",
       {R"("")", R"(" ")"},
       {blank}},
      // However long: \D is written once.
      {R"({"pattern":"^\\D{9000}[^\\w]{900}$"})",
       {"\"" + repeated("é", 9000) + repeated("-", 900) + "\""},
       {"\"" + repeated("é", 9001) + repeated("-", 899) + "\""}},
  });
  EXPECT_NE(refusal_of(R"({"pattern":"^[^\\s\\S]$"})").find("pattern without a character to write"),
            std::string::npos);
}

// Whatever tells the schemas of a oneOf apart is there, or is not; where nothing does it is an
// anyOf.
TEST(JsonSchema, OneOfSeveral) {
  expect_cases({
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},)"
       R"("c":{"type":"integer"}},"oneOf":[{"required":["a"]},{"required":["b","c"]}]})",
       {R"({"a":1})", R"({"a":1,"b":2})", R"({"a":1,"c":3})", R"({"b":2,"c":3})"},
       {R"({})", R"({"b":1})", R"({"a":1,"b":2,"c":3})"}},
      {R"({"oneOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},)"
       R"({"properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["b"]}]})",
       {R"({"a":1})", R"({"b":null})"},
       {R"({"a":1,"b":null})", R"({})"}},
      // What tells them apart need not be required.
      {R"({"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}}},)"
       R"({"properties":{"kind":{"enum":["b","c"]},"x":{"type":"integer"}}}]})",
       {R"({"kind":"a","x":1})", R"({"kind":"b"})", R"({"kind":"c"})"},
       {R"({"x":1})", R"({})"}},
      {R"({"oneOf":[{"properties":{"b":{"type":"integer"}},"required":["b"]},)"
       R"({"properties":{"b":{"const":"q"},"k":{"type":"null"}}}]})",
       {R"({"b":1})", R"({"b":"q"})", R"({"b":"q","k":null})", R"({"k":null})", R"({})"},
       {R"({"b":"p"})", R"({"b":1,"k":null})"}},
      {R"({"oneOf":[{"properties":{"v":{"type":"string"}}},{"properties":{"v":{"type":"number"}}}]})",
       {R"({"v":""})", R"({"v":1})"},
       {R"({})"}},
      {R"({"$defs":{"a":{"properties":{"k":{"const":1},"n":{"$ref":"#/$defs/any"}},"required":["k"]},)"
       R"("b":{"properties":{"k":{"const":2}}},"any":{"oneOf":[{"$ref":"#/$defs/a"},)"
       R"({"$ref":"#/$defs/b"}]}},"$ref":"#/$defs/any"})",
       {R"({"k":1,"n":{"k":1,"n":{"k":2}}})", R"({"k":1,"n":{}})", R"({"k":2})"},
       {R"({"k":3})", R"({"k":1,"n":{"k":3}})"}},
      {R"({"oneOf":[{"type":"integer"},{"type":"string"},{"type":["null","boolean"]}]})",
       {"1", "\"\"", "null", "true"},
       {"{}", "1.5"}},
      {R"({"oneOf":[{"type":"object","properties":{"a":{"const":1}}},)"
       R"({"type":"array","items":{"const":1}}]})",
       {R"({"a":1})", "{}", "[1]", "[]"},
       {"1"}},
      // As anyOf has them: nothing tells one that is also the other.
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", {"1", "1.5"}, {"null"}},
      {R"({"oneOf":[{"enum":["a","b"]},{"enum":["b","c"]}]})", {"\"a\"", "\"b\"", "\"c\""}, {}},
      {R"({"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"b":{"const":1}}}]})",
       {R"({"a":1})", R"({"b":1})", "{}"},
       {R"({"a":1,"b":1})"}},
  });
  // A few ways each to be none of the others are many together.
  std::string many = R"({"type":"object","oneOf":[)";
  for (int i = 0; i < 8; ++i) {
    const std::string name = std::to_string(i);
    many += (i == 0 ? "" : ",") + (R"({"required":["a)" + name + R"(","b)" + name + R"("]})");
  }
  EXPECT_NO_THROW(Grammar::from_schema(parsed(many + "]}")));
}

TEST(JsonSchema, AlternativesAndReferences) {
  expect_cases({
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"1", "\"a\""},
       {"\"ab\"", "null"}},
      {R"({"type":"object","properties":{"t":{"type":"integer"}},"required":["t"],)"
       R"("oneOf":[{"properties":{"u":{"type":"null"}},"required":["u"]},{"properties":{"v":{"type":"null"}}}]})",
       {"{\"t\":1,\"u\":null}", "{\"t\":1,\"v\":null}", "{\"t\":1}"},
       {"{\"u\":null}", "{\"t\":1,\"u\":null,\"v\":null}"}},
      {R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5},{"minimum":4}]})",
       {"4", "5"},
       {"3", "6"}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}}},)"
       R"({"properties":{"a":{"minimum":5},"b":{"type":"null"}},"additionalProperties":false}]})",
       {"{\"a\":5,\"b\":null}", "{}"},
       {"{\"a\":4}", "{\"c\":1}"}},
      {R"({"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}},)"
       R"("required":["v"]}},"$ref":"#/$defs/n"})",
       {"{\"v\":1}", "{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":3}}}"},
       {"{\"v\":1,\"next\":1}"}},
      {R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}},
      {R"({"definitions":{"a/b":{"type":"null"}},"type":"array","items":{"$ref":"#/definitions/a~1b"}})",
       {"[null]"},
       {"[1]"}},
      {R"({"$defs":{"p":{"properties":{"x":{"type":"null"}}}},"$ref":"#/$defs/p","required":["x"]})",
       {"{\"x\":null}"},
       {"{}"}},
  });
}

// Keywords that stand in several schemas which must all hold.
TEST(JsonSchema, KeywordsOfSeveralSchemas) {
  expect_cases({
      {R"({"anyOf":[{"allOf":[{"const":1},{"const":2}]},{"const":3}]})", {"3"}, {"1", "2"}},
      {R"({"const":"a","anyOf":[{"const":"a"},{"const":"b"}]})", {"\"a\""}, {"\"b\""}},
      {R"({"allOf":[{"const":{"a":1,"b":2}},{"const":{"b":2.0,"a":1}}]})",
       {R"({"a":1,"b":2})"},
       {}},
      {R"({"allOf":[{"enum":[1,2,"x"]},{"enum":["x",2.0,3]}]})", {"2", "\"x\""}, {"1", "3"}},
      {R"({"allOf":[{"enum":[1.0,2.5]},{"type":"integer","minimum":0}]})", {"1.0"}, {"2.5"}},
      {R"({"type":"array","items":{"enum":[1,2]},"allOf":[{"uniqueItems":true},)"
       R"({"uniqueItems":false}]})",
       {"[]", "[1,2]"},
       {"[1,1]"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"null"}},)"
       R"("unevaluatedProperties":true},{"unevaluatedProperties":{"type":"null"}}]})",
       {"{}", R"({"a":null,"b":null})"},
       {R"({"b":1})"}},
      {R"({"allOf":[{"minimum":9007199254740993},{"minimum":9007199254740992}],"type":"integer"})",
       {"9007199254740993"},
       {"9007199254740992"}},
      {R"({"type":"integer","allOf":[{"maximum":9007199254740993},{"maximum":9007199254740992}],)"
       R"("minimum":9007199254740992})",
       {"9007199254740992"},
       {"9007199254740993"}},
      {R"({"type":"integer","allOf":[{"minimum":9007199254740993},{"minimum":9007199254740992}],)"
       R"("maximum":9007199254740993})",
       {"9007199254740993"},
       {"9007199254740992"}},
  });
  EXPECT_NE(refusal_of(R"({"allOf":[{"const":1},{"const":2}]})").find("`const` that exclude"),
            std::string::npos);
}

// A schema does not see the properties of those around it, but those of schemas within.
TEST(JsonSchema, UnevaluatedProperties) {
  expect_cases({
      {R"({"type":"object","properties":{"b":{"type":"null"}},)"
       R"("allOf":[{"properties":{"a":{"type":"null"}},"unevaluatedProperties":false}]})",
       {"{}", R"({"a":null})"},
       {R"({"b":null})", R"({"a":null,"b":null})"}},
      {R"({"type":"object","properties":{"b":{"type":"null"}},"unevaluatedProperties":false,)"
       R"("allOf":[{"properties":{"a":{"type":"null"}}}]})",
       {"{}", R"({"a":null})", R"({"b":null})", R"({"b":null,"a":null})"},
       {R"({"c":null})"}},
      {R"({"type":"object","unevaluatedProperties":false,)"
       R"("anyOf":[{"properties":{"a":{"type":"null"}}},{"properties":{"b":{"type":"null"}}}]})",
       {"{}", R"({"a":null})", R"({"b":null})"},
       {R"({"c":null})", R"({"a":1})"}},
      {R"({"type":"object","unevaluatedProperties":{"type":"null"},)"
       R"("allOf":[{"additionalProperties":{"type":"integer"}}]})",
       {R"({"c":1})"},
       {R"({"c":null})"}},
  });
}

// In Draft 4 the exclusive ones are true or false.
TEST(JsonSchema, FlagsOfBounds) {
  expect_cases({
      {R"({"type":"integer","minimum":5,"exclusiveMinimum":true,"maximum":7,"exclusiveMaximum":false})",
       {"6", "7"},
       {"5", "8"}},
      {R"({"type":"integer","minimum":5,"exclusiveMinimum":true,"maximum":7,)"
       R"("allOf":[{"minimum":7}]})",
       {"7"},
       {"5", "6", "8"}},
      {R"({"type":"integer","allOf":[{"maximum":7,"exclusiveMaximum":true},)"
       R"({"maximum":7,"exclusiveMaximum":false},{"minimum":6},{"exclusiveMinimum":true}]})",
       {"6"},
       {"5", "7"}},
      {R"({"type":"integer","minimum":0,"not":{"minimum":3,"exclusiveMinimum":true}})",
       {"0", "3"},
       {"-1", "4"}},
      {R"({"exclusiveMaximum":true})", {"1", "null"}, {}},
  });
}

// Each kind of an object has properties of its own.
TEST(JsonSchema, ChainsOfConditions) {
  std::string properties, conditions, kinds;
  for (const char* const kind : {"w", "x", "y", "z"}) {
    const std::string name = kind, comma = properties.empty() ? "" : ",";
    properties += ",\"of_" + name + R"(":{"type":"integer"})";
    kinds += comma + "\"" + name + "\"";
    conditions += comma + R"({"if":{"properties":{"kind":{"const":")" + name +
                  R"("}}},"then":{"required":["of_)" + name + R"("]}})";
  }
  const JsonValue schema =
      parsed(R"({"type":"object","properties":{"kind":{"enum":[)" + kinds + "]}" + properties +
             R"(},"required":["kind"],"allOf":[)" + conditions + "]}");
  for (const std::string kind : {"w", "x", "y", "z"}) {
    const std::string begin = "{\"kind\":\"" + kind + "\"";
    EXPECT_TRUE(accepts(schema, begin + ",\"of_" + kind + "\":1}"));
    EXPECT_FALSE(accepts(schema, begin + "}"));
    EXPECT_FALSE(accepts(schema, begin + (kind == "w" ? ",\"of_x\":1}" : ",\"of_w\":1}")));
  }
}

TEST(JsonSchema, RefusesLengthsThatAreTooMuchTogether) {
  std::string properties;
  for (int i = 0; i < 20; ++i) {
    properties += (i == 0 ? "\"p" : ", \"p") + std::to_string(i) +
                  R"(": {"type": "string", "minLength": )" + std::to_string(99'999 - i) + "}";
  }
  try {
    Grammar::from_schema(parsed(R"({"type": "object", "properties": {)" + properties + "}}"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("json_schema: too large")) << error.what();
  }
}

// Those that may come next are kept apart by their names alone.
TEST(JsonSchema, ManyPropertiesMayBeLeftOut) {
  const auto schema_of = [](int count) {
    std::string properties;
    for (int i = 0; i < count; ++i) {
      properties += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + R"(":{"type":"integer"})";
    }
    return R"({"type":"object","properties":{)" + properties + "}}";
  };
  GrammarMatcher matcher = matcher_of(parsed(schema_of(3000)));
  EXPECT_TRUE(accept_text(matcher, R"({"p0":1, "p7":2,)"));
  EXPECT_FALSE(accept_text(matcher, R"( "p6")"));
  EXPECT_TRUE(accept_text(matcher, R"( "p2999":3)"));
  EXPECT_FALSE(accept_text(matcher, ","));
  EXPECT_TRUE(accept_text(matcher, "}"));
  EXPECT_TRUE(matcher.may_end());
  EXPECT_EQ(refusal_of(schema_of(5000)),
            "json_schema: `properties` too many that may be left out in a row; got 5000, expected "
            "at most 3500");
}

TEST(JsonSchema, EnumsOfManyTexts) {
  std::string texts = R"("t","",7)";
  for (int i = 0; i < 20000; ++i) texts += ",\"t" + std::to_string(i * 7) + "\"";
  const JsonValue schema = parsed(R"({"type":"array","items":{"enum":[)" + texts + "]}}");
  GrammarMatcher matcher = matcher_of(schema);
  EXPECT_TRUE(accept_text(matcher, R"(["t", "", 7, "t0", "t70", "t139993")"));
  EXPECT_FALSE(accept_text(matcher, R"(, "t71")"));
  EXPECT_FALSE(accept_text(matcher, R"(, "t14000")"
                                    R"(7)"));
  EXPECT_TRUE(accept_text(matcher, "]"));
  EXPECT_TRUE(matcher.may_end());
}

TEST(JsonSchema, ListsOfNoLengthAreNamed) {
  EXPECT_EQ(refusal_of(R"({"type":"array","minItems":2,"maxItems":1})"),
            "json_schema: nothing is in range; got minItems 2 and maxItems 1");
  EXPECT_EQ(refusal_of(R"({"type":"array","prefixItems":[{"const":5}],"minItems":2,"maxItems":0})"),
            "json_schema: nothing is in range; got minItems 2 and maxItems 0");
  EXPECT_EQ(refusal_of(R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"minItems":3,)"
                       R"("maxItems":1})"),
            "json_schema: nothing is in range; got minItems 3 and maxItems 1");
  EXPECT_EQ(
      refusal_of(R"({"type":"array","prefixItems":[{"const":5}],"items":false,"minItems":2})"),
      "json_schema: nothing is in range; got minItems 2, and no value for more than 1");
  EXPECT_EQ(refusal_of(R"({"type":"array","minItems":100001})"),
            "json_schema: `minItems` too large; got 100001, expected at most 100000");
}

TEST(JsonSchema, ContainsThatNothingSatisfiesIsNamed) {
  EXPECT_EQ(refusal_of(R"({"type":"array","contains":{"const":1},"maxItems":0,"minContains":2})"),
            "json_schema: nothing is in range; got minItems 0, maxItems 0, minContains 2");
  EXPECT_EQ(
      refusal_of(R"({"type":"array","contains":{},"maxContains":1,"minItems":3})"),
      "json_schema: nothing is in range; got minItems 3, minContains 1, maxContains 1, and no "
      "items but those of `contains`");
  EXPECT_EQ(refusal_of(R"({"type":"array","contains":{"const":1},"maxItems":2,"minContains":2})"),
            "");
}

// What takes many states is refused before it takes long, or is counted once.
TEST(JsonSchema, LimitsOfAutomata) {
  const auto refused = [](const std::string& member) {
    std::string properties;
    for (int i = 0; i < 300; ++i) {
      std::string one = member;
      one.replace(one.find('#'), 1, std::to_string(9000 + i));
      properties += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\":" + one;
    }
    try {
      Grammar::from_schema(parsed(R"({"type":"object","properties":{)" + properties + "}}"));
      return std::string("nothing");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refused(R"({"type":"string","format":"uri","maxLength":2083,"title":"#"})"), "nothing");
  EXPECT_NE(refused(R"({"type":"string","pattern":"#","maxLength":2000})").find("schema too large"),
            std::string::npos);
  EXPECT_NE(refused(R"({"type":"integer","multipleOf":#})").find("too large"), std::string::npos);
  EXPECT_NE(refused(R"({"type":"string","pattern":"^(((((){9}){#}){9}){9})$","maxLength":9})")
                .find("too large"),
            std::string::npos);
}

// Rules that a schema refers to before it shows that they have no values.
TEST(JsonSchema, ReferencesWithoutValuesAreLeftOut) {
  expect_cases({
      {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/b"}},
           "$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"},"c":false},
             "required":["b","c"]},
           "b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}}})",
       {"{}", R"({"b":{}})"},
       {R"({"a":{}})", R"({"a":{"b":{}}})", R"({"b":{"a":{}}})", R"({"b":{"a":}})"}},
      {R"({"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"type":"null"}],
           "$defs":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]}}})",
       {"null"},
       {"", "1", "\"\""}},
  });
}

TEST(JsonSchema, RefusesByName) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"type":"array","unevaluatedItems":{}})", "`unevaluatedItems`"},
      {R"({"not":{}})", "without values"},
      {R"({"not":{"format":"date"}})", "`format`"},
      {R"({"if":{"multipleOf":2},"then":{"minimum":3}})", "`multipleOf`"},
      {R"({"not":{"$ref":"#"}})", "`not` nested too deep"},
      {R"({"type":"number","not":{"type":"integer"}})", "`not` of integer beside number"},
      {R"({"type":"string","not":{"type":"string"}})", "`not` of all types"},
      {R"({"type":"array","not":{"const":[1]}})", "`not` of [1]"},
      {R"({"type":"object","not":{"const":{"a":1}}})", "`not` of {\"a\":1}"},
      {R"({"type":"string","format":"regex"})", "`regex`"},
      {R"({"type":"string","pattern":["a"]})", "`pattern` is no text"},
      {R"({"type":"string","format":"date","maxLength":9})", "no text is allowed"},
      {R"({"type":"string","pattern":"(a|b)*a(a|b){20}","maxLength":50})", "too large together"},
      {R"({"type":"integer","multipleOf":0})", "`multipleOf` out of range"},
      {R"({"type":"integer","multipleOf":[2]})", "`multipleOf` is no number"},
      {R"({"type":"integer","multipleOf":10007})", "`multipleOf` too large"},
      {R"({"type":"integer","multipleOf":7,"minimum":1,"maximum":6})", "no number is in range"},
      {R"({"type":"object","additionalProperties":{"type":"null"},"minProperties":2})",
       "`minProperties` too large"},
      {R"({"type":"object","properties":{"a":{}},"minProperties":2})", "`minProperties` 2"},
      {R"({"type":"object","patternProperties":[]})", "`patternProperties` is no object"},
      {R"({"type":"object","required":["a"],"propertyNames":{"maxLength":0}})",
       "propertyNames forbids"},
      {R"({"type":"array","uniqueItems":true})", "`uniqueItems`"},
      {R"({"type":"array","items":{"enum":[1,2]},"uniqueItems":true,"contains":{"const":1}})",
       "`uniqueItems` beside `contains`"},
      {R"({"type":"array","items":{"enum":[1]},"uniqueItems":true,"minItems":2})",
       "nothing is in range"},
      {R"({"type":"array","items":{"type":"null"},"contains":{"type":"string"}})",
       "no item satisfies"},
      {R"({"type":"array","prefixItems":[{}],"contains":{}})", "`prefixItems` beside `contains`"},
      {R"({"type":"array","contains":{},"minContains":100,"maxItems":100})",
       "`contains` too large"},
      {R"({"type":"text"})", "no type"},
      {R"({"type":"integer","minimum":5,"maximum":4})", "no number is in range"},
      {R"({"type":"string","minLength":5,"maxLength":4})", "nothing is in range"},
      {R"({"type":"string","minLength":-1})", "out of range"},
      {R"({"type":"string","minLength":100001})",
       "json_schema: `minLength` too large; got 100001, expected at most 100000"},
      {R"({"type":"string","maxLength":100001})", "json_schema: `maxLength` too large"},
      {R"({"type":"array","minItems":200000})", "json_schema: `minItems` too large"},
      {R"({"type":"string","minLength":"a"})", "limit without a number"},
      {R"({"$ref":"#/$defs/x"})", "reference to nothing"},
      {R"({"$ref":"http://example.com/s"})", "reference to nothing"},
      {R"({"$ref":"#"})", "leads back to itself"},
      {R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})", "leads back to itself"},
      {R"({"allOf":[{"$ref":"#"}]})", "nested too deep"},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "ever whole"},
      {R"({"type":"array","items":{"$ref":"#"},"minItems":1})", "ever whole"},
      {R"({"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"type":"array","prefixItems":[
           {"$ref":"#/$defs/x"}],"minItems":1}]}}})",
       "ever whole"},
      {R"({"allOf":[{"type":"null"},{"type":"string"}]})", "exclude each other"},
      {R"x({"pattern":"(?=a)"})x", "assertion"},
      {R"x({"pattern":"^(?!a)b|c"})x", "an assertion before alternatives is not supported"},
      {R"x({"pattern":"^(?!a"})x", "group without `)`"},
      {R"({"pattern":"(a"})", "group without"},
      {R"({"pattern":"a\\1"})", "escape like this"},
      {R"({"pattern":"[z-a]"})", "wrong way round"},
      {R"({"pattern":"*"})", "nothing to repeat"},
      {R"({"pattern":"^a{,5}$"})",
       "byte 4: a repetition without its least number is not supported"},
      {R"({"pattern":"a{,}"})", "a repetition without its least number is not supported"},
      {R"({"properties":[]})", "`properties` is no object"},
      {R"({"enum":[]})", "without values"},
      {R"({"required":["a"],"additionalProperties":false})", "forbids"},
      {"3", "no schema"},
      {"false", "without values"},
      {R"({"const":12345678901234567890123})", "number too large"},
      {R"({"enum":["a",{"k":[-1e300]}]})", "number too large"},
  };
  for (const auto& [schema, expected] : cases) {
    try {
      Grammar::from_schema(parsed(schema));
      ADD_FAILURE() << schema;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << schema << "\n"
                                                                             << error.what();
      EXPECT_EQ(std::string(error.what()).rfind("json_schema: ", 0), 0u) << error.what();
    }
  }
}

double number_of(const JsonValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*u);
  return std::get<double>(value);
}

std::string decimal_text(std::int64_t thousandths) {
  const std::int64_t size = std::abs(thousandths);
  std::string fraction = std::to_string(1000 + size % 1000).substr(1);
  std::string text = (thousandths < 0 ? "-" : "") + std::to_string(size / 1000);
  return size % 1000 == 0 ? text : text + "." + fraction;
}

// The grammar of a range takes a number exactly where it is in range.
TEST(JsonSchema, RangesOfNumbers) {
  std::mt19937_64 random(5);
  const auto draw = [&](std::int64_t scale) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * scale)) - scale;
  };
  for (int run = 0; run < 400; ++run) {
    const bool is_whole = run % 2 == 0;
    const std::int64_t scale = std::int64_t{10} << random() % 18;
    std::int64_t low = draw(scale), high = draw(scale);
    if (low > high) std::swap(low, high);
    if (is_whole) low *= 1000, high *= 1000;
    const int kind = static_cast<int>(random() % 3);  // both, low only, high only
    const bool low_out = random() % 2 == 0, high_out = random() % 2 == 0;
    JsonObject schema{{"type", std::string(is_whole ? "integer" : "number")}};
    if (kind != 2) {
      schema.emplace_back(low_out ? "exclusiveMinimum" : "minimum", parsed(decimal_text(low)));
    }
    if (kind != 1) {
      schema.emplace_back(high_out ? "exclusiveMaximum" : "maximum", parsed(decimal_text(high)));
    }
    const auto fits = [&](std::int64_t x) {
      if (is_whole && x % 1000 != 0) return false;
      if (kind != 2 && (low_out ? x <= low : x < low)) return false;
      return kind == 1 || (high_out ? x < high : x <= high);
    };
    std::shared_ptr<Constraint> constraint;
    try {
      constraint = std::make_shared<Constraint>(
          std::make_shared<const Grammar>(Grammar::from_schema(JsonValue(schema))), bytes_trie());
    } catch (const Error&) {
      EXPECT_EQ(kind, 0);
      EXPECT_LE(high - low, is_whole ? 2000 : 0) << json_text(JsonValue(schema));
      continue;
    }
    for (int probe = 0; probe < 60; ++probe) {
      std::int64_t x = probe % 3 == 0   ? low + draw(5)
                       : probe % 3 == 1 ? high + draw(5)
                                        : draw(2 * scale);
      if (is_whole || probe % 5 == 0) x = x / 1000 * 1000;
      GrammarMatcher matcher(constraint);
      const std::string text = decimal_text(x);
      // A whole number may need its fraction of zeros to be in a range within one whole number.
      const bool taken = accept_text(matcher, text) && matcher.may_end();
      if (taken) {
        EXPECT_TRUE(fits(x)) << json_text(JsonValue(schema)) << " " << text;
      } else if (fits(x)) {
        GrammarMatcher longer(constraint);
        const std::string zeros = text + (x % 1000 == 0 ? ".000" : "00");
        EXPECT_TRUE(!is_whole && accept_text(longer, zeros) && longer.may_end())
            << json_text(JsonValue(schema)) << " " << text;
      }
    }
  }
}

// What reads a text as a double does not round it to a bound that is not in range.
TEST(JsonSchema, NumbersBesideExclusiveBounds) {
  expect_cases({
      {R"({"type":"number","minimum":0,"exclusiveMaximum":1000})",
       {"0", "999", "999.5", "999.9999999999999", "998.9999999999999999"},
       {"999.9999999999999999", "999.99999999999999", "1000", "1000.0"}},
      {R"({"type":"number","exclusiveMinimum":1,"maximum":2})",
       {"1.5", "1.0000000000000002", "1.00000000000000021", "2", "2.0"},
       {"1", "1.0", "1.00000000000000010", "1.0000000000000001"}},
      {R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})",
       {"0.5", "0.0000000000000001", "0.9999999999999999"},
       {"0", "0.0", "1", "0.99999999999999999"}},
      {R"({"type":"number","exclusiveMinimum":-1,"exclusiveMaximum":-0.5})",
       {"-0.75", "-0.9999999999999999", "-0.5000000000000001"},
       {"-1", "-0.5", "-0.99999999999999999", "-0.50000000000000001"}},
      {R"({"type":"number","minimum":99999999999999980,"exclusiveMaximum":1e17})",
       {"99999999999999980", "99999999999999984"},
       {"99999999999999999", "100000000000000000"}},
      {R"({"type":"number","minimum":9007199254740993,"exclusiveMaximum":9007199254740995})",
       {"9007199254740994"},
       {"9007199254740995", "9007199254740994.9"}},
      {R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e-320})",
       {"0." + repeated("0", 320) + "5"},
       {"0", "0." + repeated("0", 330) + "1", "0." + repeated("0", 319) + "1"}},
      {R"({"type":"number","exclusiveMinimum":-5e-324,"exclusiveMaximum":5e-324})", {"0.0"}, {"1"}},
      {R"({"type":"number","exclusiveMaximum":0})", {"-1", "-0.5"}, {"0", "0.0", "-0", "1"}},
      {R"({"type":"number","multipleOf":0.5,"exclusiveMinimum":1,"exclusiveMaximum":3})",
       {"1.5", "2", "2.5"},
       {"1", "3", "1.0"}},
  });
  EXPECT_NE(refusal_of(R"({"type":"number","exclusiveMinimum":1,)"
                       R"("exclusiveMaximum":1.0000000000000002})")
                .find("no number is in range"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"type":"number","exclusiveMinimum":1.7976931348623157e308})")
                .find("no number is in range"),
            std::string::npos);
}

// A character of a pattern is a code point.
std::wstring code_points(const std::string& text) {
  std::wstring out;
  for (std::size_t i = 0; i < text.size();) {
    const tokens::Decoded one = tokens::decode_one(text, i);
    out += static_cast<wchar_t>(one.code);
    i += one.size;
  }
  return out;
}

// Whether a value is valid, for the keywords that random_schema() uses.
bool is_valid(const JsonValue& value, const JsonValue& schema, const JsonObject& document) {
  if (schema == JsonValue(true)) return true;
  const auto& object = std::get<JsonObject>(schema);
  const auto at = [&](const char* key) -> const JsonValue* {
    for (const auto& [name, v] : object) {
      if (name == key) return &v;
    }
    return nullptr;
  };
  const auto member = [](const JsonObject& in, const std::string& name) -> const JsonValue* {
    for (const auto& [key, v] : in) {
      if (key == name) return &v;
    }
    return nullptr;
  };
  if (const auto* ref = at("$ref")) {
    const std::string name = std::get<std::string>(*ref).substr(8);
    if (!is_valid(value, *member(std::get<JsonObject>(*member(document, "$defs")), name),
                  document)) {
      return false;
    }
  }
  if (const auto* all = at("allOf")) {
    for (const auto& one : std::get<JsonArray>(*all)) {
      if (!is_valid(value, one, document)) return false;
    }
  }
  if (const auto* any = at("anyOf")) {
    const auto& list = std::get<JsonArray>(*any);
    if (std::none_of(list.begin(), list.end(),
                     [&](const auto& one) { return is_valid(value, one, document); })) {
      return false;
    }
  }
  if (const auto* list = at("enum")) {
    const auto& values = std::get<JsonArray>(*list);
    if (std::find(values.begin(), values.end(), value) == values.end()) return false;
  }
  if (const auto* type = at("type")) {
    const auto& name = std::get<std::string>(*type);
    const bool is_whole =
        std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::uint64_t>(value);
    const bool fits = (name == "null" && std::holds_alternative<std::nullptr_t>(value)) ||
                      (name == "boolean" && std::holds_alternative<bool>(value)) ||
                      (name == "string" && std::holds_alternative<std::string>(value)) ||
                      (name == "array" && std::holds_alternative<JsonArray>(value)) ||
                      (name == "object" && std::holds_alternative<JsonObject>(value)) ||
                      (name == "integer" && is_whole) ||
                      (name == "number" && (is_whole || std::holds_alternative<double>(value)));
    if (!fits) return false;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    double count = 0;
    for (std::size_t i = 0; i < text->size(); i += tokens::decode_one(*text, i).size) ++count;
    if (at("minLength") != nullptr && count < number_of(*at("minLength"))) return false;
    if (at("maxLength") != nullptr && count > number_of(*at("maxLength"))) return false;
    if (at("pattern") != nullptr &&
        !std::regex_search(code_points(*text),
                           std::wregex(code_points(std::get<std::string>(*at("pattern")))))) {
      return false;
    }
  }
  if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value) ||
      std::holds_alternative<std::uint64_t>(value)) {
    const double x = number_of(value);
    if (at("minimum") != nullptr && x < number_of(*at("minimum"))) return false;
    if (at("maximum") != nullptr && x > number_of(*at("maximum"))) return false;
    if (at("exclusiveMinimum") != nullptr && x <= number_of(*at("exclusiveMinimum"))) return false;
    if (at("exclusiveMaximum") != nullptr && x >= number_of(*at("exclusiveMaximum"))) return false;
  }
  if (const auto* list = std::get_if<JsonArray>(&value)) {
    const auto count = static_cast<double>(list->size());
    if (at("minItems") != nullptr && count < number_of(*at("minItems"))) return false;
    if (at("maxItems") != nullptr && count > number_of(*at("maxItems"))) return false;
    std::size_t i = 0;
    if (const auto* prefix = at("prefixItems")) {
      for (const auto& one : std::get<JsonArray>(*prefix)) {
        if (i < list->size() && !is_valid((*list)[i++], one, document)) return false;
      }
    }
    for (; at("items") != nullptr && i < list->size(); ++i) {
      if (!is_valid((*list)[i], *at("items"), document)) return false;
    }
  }
  if (const auto* members = std::get_if<JsonObject>(&value)) {
    const auto* declared = at("properties");
    const JsonObject properties =
        declared == nullptr ? JsonObject() : std::get<JsonObject>(*declared);
    for (const auto& [name, v] : *members) {
      if (const auto* own = member(properties, name)) {
        if (!is_valid(v, *own, document)) return false;
      } else if (const auto* others = at("additionalProperties")) {
        if (*others == JsonValue(false) || !is_valid(v, *others, document)) return false;
      }
    }
    if (const auto* required = at("required")) {
      for (const auto& name : std::get<JsonArray>(*required)) {
        if (member(*members, std::get<std::string>(name)) == nullptr) return false;
      }
    }
  }
  return true;
}

class RandomSchemas {
 public:
  explicit RandomSchemas(std::uint64_t seed) : random_(seed) {}

  JsonValue document() {
    JsonObject out = object_of(schema(3));
    JsonObject definitions;
    for (const char* name : {"a", "b"}) definitions.emplace_back(name, schema(2));
    out.emplace_back("$defs", definitions);
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  static JsonObject object_of(const JsonValue& value) { return std::get<JsonObject>(value); }
  JsonValue number() {
    const auto value = static_cast<std::int64_t>(below(4000)) - 2000;
    return below(2) == 0 ? JsonValue(value) : JsonValue(static_cast<double>(value) / 16);
  }

  JsonValue schema(int depth) {
    switch (below(depth > 0 ? 12 : 7)) {
      case 0:
        return JsonObject{{"type", "boolean"}};
      case 1:
        return JsonObject{{"enum", JsonArray{std::string("x\"y"), std::int64_t{3}, nullptr}}};
      case 2:
        return numbers("integer");
      case 3:
        return numbers("number");
      case 4: {
        JsonObject out{{"type", "string"}};
        const auto least = static_cast<std::int64_t>(below(4));
        if (below(2) == 0) out.emplace_back("minLength", least);
        if (below(2) == 0)
          out.emplace_back("maxLength", least + static_cast<std::int64_t>(below(6)));
        return out;
      }
      case 5: {
        const char* patterns[] = {"^[a-z]{2,5}$", "^(ab|c[0-9]+)*$", "x\\d", "^\\w+-[^b]$",
                                  "^a?b+|c$"};
        return JsonObject{{"type", "string"}, {"pattern", std::string(patterns[below(5)])}};
      }
      case 6:
        return JsonObject{{"type", "null"}, {"description", "nothing"}};
      case 7:
        return JsonObject{{"anyOf", JsonArray{schema(depth - 1), schema(depth - 1)}}};
      case 8:
        return JsonObject{{"$ref", below(2) == 0 ? "#/$defs/a" : "#/$defs/b"}};
      case 9: {
        JsonObject out{{"type", "array"}, {"items", schema(depth - 1)}};
        const auto least = static_cast<std::int64_t>(below(3));
        if (below(2) == 0) out.emplace_back("minItems", least);
        if (below(2) == 0)
          out.emplace_back("maxItems", least + static_cast<std::int64_t>(below(3)));
        if (below(3) == 0) out.emplace_back("prefixItems", JsonArray{schema(depth - 1)});
        return out;
      }
      case 10:
        return JsonObject{{"allOf", JsonArray{object(depth), object(depth)}}};
      default:
        return object(depth);
    }
  }

  JsonObject numbers(const char* type) {
    JsonObject out{{"type", std::string(type)}};
    if (below(2) == 0) out.emplace_back(below(2) == 0 ? "minimum" : "exclusiveMinimum", number());
    if (below(2) == 0) out.emplace_back(below(2) == 0 ? "maximum" : "exclusiveMaximum", number());
    return out;
  }

  JsonObject object(int depth) {
    JsonObject properties;
    JsonArray required;
    for (const char* name : {"key", "k", "other", "é"}) {
      if (below(2) == 0) continue;
      properties.emplace_back(name, schema(depth - 1));
      if (below(2) == 0) required.emplace_back(std::string(name));
    }
    JsonObject out{{"type", "object"}, {"properties", properties}, {"required", required}};
    if (below(3) == 0)
      out.emplace_back("additionalProperties", below(2) == 0 ? JsonValue(false) : schema(0));
    return out;
  }

  std::mt19937_64 random_;
};

// Writes by the masks; nothing where no end came within a few thousand bytes.
std::optional<std::string> sampled(const JsonValue& schema, std::mt19937_64& random) {
  // Likely bytes: those that close what is open.
  const std::string likely = "\"\"\"\"}}}]]]]kotherya1c09-b,:";
  GrammarMatcher matcher = matcher_of(schema);
  std::string out;
  for (int step = 0; step < 4000; ++step) {
    if (matcher.may_end() && random() % 3 == 0) return out;
    const auto mask = matcher.mask();
    const auto allows = [&](std::size_t byte) {
      return ((*mask)[byte / 32] >> (byte % 32) & 1) != 0;
    };
    std::vector<std::size_t> bytes;
    for (int attempt = 0; attempt < 40 && bytes.empty(); ++attempt) {
      const auto byte = static_cast<unsigned char>(likely[random() % likely.size()]);
      if (allows(byte)) bytes.push_back(byte);
    }
    if (bytes.empty() || random() % 8 == 0) {
      for (std::size_t byte = 0; byte < 256; ++byte) {
        if (allows(byte)) bytes.push_back(byte);
      }
    }
    if (bytes.empty()) {
      EXPECT_TRUE(matcher.may_end()) << "stuck behind " << out;
      return out;
    }
    const std::size_t byte = bytes[random() % bytes.size()];
    if (!matcher.accept(static_cast<std::int32_t>(byte))) {
      ADD_FAILURE() << "a token of the mask was refused";
      return std::nullopt;
    }
    out += static_cast<char>(byte);
  }
  return std::nullopt;
}

// As the package jsonschema judges texts: scripts/generate_schema_goldens.py.
TEST(JsonSchema, Goldens) {
  std::ifstream file(check::source_dir() / "tests/golden/schemas.json");
  std::stringstream text;
  text << file.rdbuf();
  const JsonValue document = parsed(text.str());
  const auto& schemas = std::get<JsonArray>(*find_key(std::get<JsonObject>(document), "schemas"));
  EXPECT_GT(schemas.size(), 50u);
  for (const JsonValue& each : schemas) {
    const auto& one = std::get<JsonObject>(each);
    const JsonValue& schema = *find_key(one, "schema");
    for (const char* const kind : {"valid", "invalid", "narrower"}) {
      for (const JsonValue& sample : std::get<JsonArray>(*find_key(one, kind))) {
        const auto& value = std::get<std::string>(sample);
        EXPECT_EQ(accepts(schema, value), std::string_view(kind) == "valid")
            << json_text(schema) << "\n"
            << kind << " " << value;
      }
    }
  }
}

TEST(JsonSchema, WhatIsSampledIsValid) {
  std::mt19937_64 random(42);
  RandomSchemas schemas(17);
  int refused = 0, unfinished = 0, checked = 0;
  for (int run = 0; run < 1000; ++run) {
    const JsonValue schema = schemas.document();
    std::optional<std::string> text;
    try {
      text = sampled(schema, random);
    } catch (const Error& error) {
      ++refused;  // both parts of an allOf may exclude each other, and a $ref may be of itself
      continue;
    }
    if (!text) {
      ++unfinished;
      continue;
    }
    const auto value = parse_json(*text);
    ASSERT_TRUE(value.has_value()) << json_text(schema) << "\n" << *text;
    ASSERT_TRUE(is_valid(*value, schema, std::get<JsonObject>(schema))) << json_text(schema) << "\n"
                                                                        << *text;
    ++checked;
  }
  EXPECT_GT(checked, 700) << refused << " refused, " << unfinished << " without an end";
}

}  // namespace
}  // namespace hearth::models::grammar
