// What a generator of bindings reads of functions and types, against a schema and the headers.
#include "tools/bindings/function_document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "error_text.h"
#include "source_dir.h"
#include "tools/bindings/function_calls.h"
#include "tools/bindings/op_document.h"
#include "tools/bindings/type_words.h"
#include "tools/json_check.h"

namespace hearth::tools {
namespace {

using check::differences;
using check::list;
using check::member;
using check::only;
using check::text;
using check::texts;

const check::Schema kFunction = {{"name", "[a-z][a-z0-9_]*"},
                                 {"op", "null|[a-z][a-z0-9_]*"},
                                 {"parameters", "list"},
                                 {"results", "list"},
                                 {"shapes", "null|.*-> .+"},
                                 {"summary", "null|.+"},
                                 {"doc", "text"},
                                 {"section", "text"},
                                 {"header", "hearth/[a-z_/]+\\.h"},
                                 {"made_of", "any"},
                                 {"refused", "list"},
                                 {"cpp", "list"}};
const check::Schema kParameter = {
    {"name", "[a-z][a-z_]*"}, {"type", "words"},         {"cpp", "words"},    {"optional", "bool"},
    {"default?", "any"},      {"cpp_default?", "words"}, {"needs?", "words"}, {"dtypes?", "any"},
    {"shared?", "bool"},      {"doc?", "words"}};
const check::Schema kResult = {{"type", "words"}, {"dtype?", "words"}};
const check::Schema kType = {{"name", "[A-Z][A-Za-z]*"},
                             {"kind", "struct|enum"},
                             {"fields?", "list"},
                             {"values?", "list"},
                             {"doc", "text"}};

bool is_array(const JsonValue& entry) {
  return text(entry, "type") == "array" || text(entry, "type") == "array_list";
}
bool is_shared(const JsonValue& entry) {
  const JsonValue* const shared = member(entry, "shared");
  return shared != nullptr && std::get<bool>(*shared);
}

class FunctionDocument : public testing::Test {
 protected:
  const JsonValue& function(const std::string& name) const {
    return *only(list(document_, "functions"), name);
  }
  const JsonValue& parameter(const std::string& of, const std::string& name) const {
    return *only(list(function(of), "parameters"), name);
  }
  const JsonValue& type(const std::string& name) const {
    return *only(list(document_, "types"), name);
  }

  const JsonValue document_ = op_document();
};

void expect_parameter(const JsonValue& one) {
  EXPECT_EQ(differences(one, kParameter), "");
  EXPECT_EQ(std::get<bool>(*member(one, "optional")), member(one, "default") != nullptr);
  const bool has_dtypes = is_array(one) || text(one, "type") == "dtype";
  ASSERT_EQ(member(one, "dtypes") != nullptr, has_dtypes);
  EXPECT_TRUE(!has_dtypes || !list(one, "dtypes").empty());
  EXPECT_EQ(member(one, "shared") != nullptr, is_array(one));
}

TEST_F(FunctionDocument, FollowsItsSchema) {
  for (const JsonValue& one : list(document_, "functions")) {
    SCOPED_TRACE(text(one, "name"));
    EXPECT_EQ(differences(one, kFunction), "");
    EXPECT_TRUE(!text(one, "doc").empty() || member(one, "summary")->index() != 0);
    for (const JsonValue& each : list(one, "parameters")) {
      SCOPED_TRACE(text(each, "name"));
      expect_parameter(each);
    }
    for (const JsonValue& result : list(one, "results")) {
      EXPECT_EQ(differences(result, kResult), "");
      EXPECT_EQ(member(result, "dtype") != nullptr, is_array(result));
    }
  }
  for (const JsonValue& one : list(document_, "types")) {
    SCOPED_TRACE(text(one, "name"));
    EXPECT_EQ(differences(one, kType), "");
    if (text(one, "kind") == "enum") continue;
    for (const JsonValue& field : list(one, "fields")) {
      SCOPED_TRACE(text(field, "name"));
      expect_parameter(field);
    }
  }
}

// A parameter's type is one that the document's reader knows: a word of its own or one of `types`.
TEST_F(FunctionDocument, EveryTypeIsKnown) {
  std::set<std::string> known;
  for (const auto& [cpp, word] : type_words()) known.insert(word);
  for (const JsonValue& one : list(document_, "types")) known.insert(text(one, "name"));
  for (const JsonValue& one : list(document_, "functions")) {
    for (const JsonValue& each : list(one, "parameters")) {
      EXPECT_TRUE(known.contains(text(each, "type")))
          << text(one, "name") << " " << text(each, "cpp");
    }
    for (const JsonValue& result : list(one, "results")) {
      EXPECT_TRUE(known.contains(text(result, "type"))) << text(one, "name");
    }
  }
}

std::string op_headers() {
  const auto include = check::source_dir() / "include/hearth";
  std::ostringstream all;
  for (const auto& header : std::filesystem::directory_iterator(include / "ops")) {
    all << std::ifstream(header.path()).rdbuf();
  }
  all << std::ifstream(include / "random.h").rdbuf();
  return all.str();
}

TEST_F(FunctionDocument, EveryPublicFunctionIsListedOnce) {
  const std::string headers = op_headers();
  std::multiset<std::string> declared;
  const std::regex function(R"(\nHEARTH_API [^;(]*?(\w+)\()");
  for (std::sregex_iterator at(headers.begin(), headers.end(), function), end; at != end; ++at) {
    declared.insert((*at)[1]);
  }
  std::set<std::string> listed;
  std::multiset<std::string> declarations;
  for (const JsonValue& one : list(document_, "functions")) {
    EXPECT_TRUE(listed.insert(text(one, "name")).second) << text(one, "name");
    for (const std::string& cpp : texts(one, "cpp")) {
      EXPECT_NE(cpp.find(" " + text(one, "name") + "("), std::string::npos) << cpp;
      EXPECT_EQ(cpp.back(), ')');
      declarations.insert(text(one, "name"));
    }
  }
  EXPECT_EQ(declarations, declared);
  EXPECT_GT(listed.size(), 100U);
}

TEST_F(FunctionDocument, OverloadsAreOneEntry) {
  const JsonValue& axes = parameter("var", "axes");
  EXPECT_TRUE(std::get<bool>(*member(axes, "optional")));
  EXPECT_EQ(json_text(*member(axes, "default")), "null");
  EXPECT_EQ(member(axes, "needs"), nullptr);
  for (const char* const after : {"keepdim", "correction"}) {
    EXPECT_EQ(text(parameter("var", after), "needs"), "axes");
  }
  EXPECT_EQ(list(function("cat"), "cpp").size(), 2U);
  EXPECT_EQ(list(function("cat"), "parameters").size(), 2U);
  // One function in C++ as well, whose keepdim stands for itself.
  EXPECT_EQ(text(parameter("all", "axes"), "type"), "i64_list");
  EXPECT_EQ(json_text(*member(parameter("all", "axes"), "default")), "null");
  EXPECT_EQ(member(parameter("all", "keepdim"), "needs"), nullptr);

  const std::string what = check::error_of(ErrorCode::invalid_argument, [] {
    (void)function_entries(
        parse_declarations("HEARTH_API void f(bool a);\n"
                           "HEARTH_API void f(double b, bool c);\n"));
  });
  EXPECT_NE(what.find("got void f(bool a), expected void f(double b, bool c)"), std::string::npos)
      << what;
}

TEST_F(FunctionDocument, ADefaultIsAValue) {
  const auto shown = [](const JsonValue& entry) { return json_text(*member(entry, "default")); };
  EXPECT_EQ(shown(parameter("gelu", "approximate")), "false");
  EXPECT_EQ(shown(parameter("layer_norm", "bias")), "null");
  EXPECT_EQ(shown(parameter("layer_norm", "epsilon")), "1e-05");
  EXPECT_EQ(shown(parameter("softmax", "axis")), "-1");
  EXPECT_EQ(shown(parameter("zeros", "dtype")), R"("f32")");
  EXPECT_EQ(shown(parameter("zeros", "device")), "null");
  EXPECT_EQ(shown(parameter("random_bernoulli", "dtype")), R"("bool")");
  EXPECT_EQ(shown(parameter("random_bernoulli", "source")), "null");
  EXPECT_EQ(shown(parameter("cross_entropy", "reduction")), R"("mean")");
  EXPECT_EQ(text(parameter("cross_entropy", "reduction"), "cpp_default"), "Reduction::mean");
  EXPECT_EQ(shown(parameter("rope", "options")), "{}");
  EXPECT_EQ(shown(*only(list(type("AttentionOptions"), "fields"), "mask")), "null");
  EXPECT_EQ(shown(*only(list(type("Slice"), "fields"), "end")), "null");
  const std::string what =
      check::error_of(ErrorCode::invalid_argument, [] { (void)default_value("kMany", "i64"); });
  EXPECT_NE(what.find("got kMany, expected one of i64"), std::string::npos) << what;
}

TEST(FunctionEntries, AFunctionOfSeveralOpsHasACall) {
  const std::string what = check::error_of(ErrorCode::invalid_argument, [] {
    (void)function_entries(parse_declarations("HEARTH_API Array unlisted(const Array& x);\n"));
  });
  EXPECT_NE(what.find("got unlisted, expected a line in a list of calls"), std::string::npos)
      << what;
}

TEST_F(FunctionDocument, WhatIsNoOpIsMadeOfOps) {
  EXPECT_EQ(json_text(*member(function("leaky_relu"), "made_of")), R"(["greater","mul","where"])");
  EXPECT_EQ(json_text(*member(function("exp"), "made_of")), "null");
  EXPECT_EQ(json_text(*member(function("nonzero"), "made_of")), "null");
  EXPECT_EQ(text(function("leaky_relu"), "header"), "hearth/ops/activation.h");
  EXPECT_EQ(text(function("random_uniform"), "header"), "hearth/random.h");
  EXPECT_EQ(list(function("leaky_relu"), "refused").size(), 9U);
}

std::string dtypes(const JsonValue& entry) {
  return json_text(*member(entry, "dtypes")) + (is_shared(entry) ? " shared" : "");
}

TEST_F(FunctionDocument, WhatIsNoOpHasDTypesToo) {
  const auto result = [&](const char* of) {
    return text(list(function(of), "results").at(0), "dtype");
  };
  const std::string floats = R"(["f64","f32","f16","bf16"])";
  EXPECT_EQ(dtypes(parameter("var", "x")), floats + " shared");
  EXPECT_EQ(dtypes(parameter("dropout", "x")), floats + " shared");
  EXPECT_EQ(dtypes(parameter("linear_ramp", "dtype")), floats);
  EXPECT_EQ(list(parameter("mean", "x"), "dtypes").size(), 12U);
  EXPECT_EQ(list(parameter("clamp_min", "low"), "dtypes").size(), 12U);
  EXPECT_TRUE(is_shared(parameter("clamp_min", "low")));
  EXPECT_EQ(list(parameter("transpose", "x"), "dtypes").size(), 13U);
  EXPECT_EQ(dtypes(parameter("one_hot", "indices")), R"(["i64","i32"])");
  EXPECT_EQ(dtypes(parameter("embedding", "indices")), R"(["i64","i32"])");
  EXPECT_EQ(list(parameter("full_like", "value"), "dtypes").size(), 13U);
  EXPECT_FALSE(is_shared(parameter("full_like", "value")));
  EXPECT_EQ(dtypes(*only(list(type("AttentionOptions"), "fields"), "mask")), R"(["bool"])");
  EXPECT_EQ(result("full_like"), "input");
  EXPECT_EQ(result("one_hot"), "parameter");
  EXPECT_EQ(result("cross_entropy"), "compute");
  EXPECT_EQ(result("triu_mask"), "bool");
}

// A rule of shapes names the arrays that the function takes, itself or in its options.
TEST_F(FunctionDocument, ARuleNamesAllArrays) {
  std::set<std::string> asked;
  for (const FunctionCall& call : function_calls()) {
    EXPECT_TRUE(asked.insert(call.name).second) << call.name;
    EXPECT_NE(only(list(document_, "functions"), call.name), nullptr) << call.name;
  }
  for (const JsonValue& one : list(document_, "functions")) {
    SCOPED_TRACE(text(one, "name"));
    if (list(one, "results").empty() || !is_array(list(one, "results")[0])) continue;
    std::vector<std::string> arrays;
    for (const JsonValue& each : list(one, "parameters")) {
      if (is_array(each)) arrays.push_back(text(each, "name"));
      const JsonValue* const options = only(list(document_, "types"), text(each, "type"));
      if (options == nullptr || text(*options, "kind") == "enum") continue;
      for (const JsonValue& field : list(*options, "fields")) {
        if (is_array(field)) arrays.push_back(text(field, "name"));
      }
    }
    EXPECT_EQ(input_names(text(one, "shapes")), arrays);
  }
}

// What the head of a section says of dtypes is true of all in it; the rest stands in comments.
TEST_F(FunctionDocument, ASectionIsTrueOfAllInIt) {
  // How many dtypes the shared arrays of a section have.
  const std::map<std::string, std::size_t> counts = {
      {"Float dtypes only.", 4}, {"Numeric dtypes (not bool).", 12}, {"bool only; never", 1}};
  const std::regex restricted("(numeric|float) dtypes", std::regex::icase);
  std::map<std::string, int> found;
  for (const JsonValue& one : list(document_, "functions")) {
    SCOPED_TRACE(text(one, "name"));
    const std::string& section = text(one, "section");
    if (section.starts_with("Results are bool")) {
      ++found["Results"];
      EXPECT_EQ(text(list(one, "results").at(0), "dtype"), "bool");
    }
    for (const JsonValue& each : list(one, "parameters")) {
      if (!is_shared(each)) continue;
      const std::size_t got = list(each, "dtypes").size();
      for (const auto& [head, count] : counts) {
        if (!section.starts_with(head)) continue;
        ++found[head];
        EXPECT_EQ(got, count);
      }
      if (section.starts_with("Any dtype unless said") && got < 13) {
        ++found["Any"];
        EXPECT_TRUE(std::regex_search(text(one, "doc"), restricted));
      }
    }
  }
  EXPECT_EQ(found.size(), counts.size() + 2);
}

TEST_F(FunctionDocument, AFunctionIsToldWhole) {
  EXPECT_EQ(list(function("attention"), "parameters").size(), 4U);
  EXPECT_EQ(text(parameter("attention", "q"), "type"), "array");
  EXPECT_EQ(text(parameter("attention", "options"), "type"), "AttentionOptions");
  EXPECT_NE(text(function("attention"), "doc").find("[batch, heads, q_length, d]"),
            std::string::npos);
}

TEST_F(FunctionDocument, ATypeIsToldWhole) {
  EXPECT_EQ(json_text(list(type("Reduction"), "values")), R"(["none","mean","sum","batch_mean"])");
  const JsonArray& fields = list(type("RopeOptions"), "fields");
  ASSERT_EQ(fields.size(), 9U);
  EXPECT_EQ(json_text(*member(fields[0], "default")), "10000.0");
  EXPECT_EQ(text(fields[2], "doc"), "position of the first row; may change without a new plan");
}

}  // namespace
}  // namespace hearth::tools
