// What a generator of bindings reads, against a schema, the op table and the headers.
#include "tools/op_document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "tools/declarations.h"

namespace hearth::tools {
namespace {

const JsonValue* member(const JsonValue& object, const std::string& name) {
  if (!std::holds_alternative<JsonObject>(object)) return nullptr;
  for (const auto& [key, value] : std::get<JsonObject>(object)) {
    if (key == name) return &value;
  }
  return nullptr;
}
const JsonArray& list(const JsonValue& object, const std::string& name) {
  return std::get<JsonArray>(*member(object, name));
}
const std::string& text(const JsonValue& object, const std::string& name) {
  return std::get<std::string>(*member(object, name));
}

// The entry of that name; nullptr where there is none or more than one.
const JsonValue* only(const JsonArray& entries, const std::string& name) {
  const JsonValue* found = nullptr;
  for (const JsonValue& entry : entries) {
    if (text(entry, "name") != name) continue;
    if (found != nullptr) return nullptr;
    found = &entry;
  }
  return found;
}

// A schema: of each member its name, with ? where it may be missing, and its kind.
using Schema = std::vector<std::pair<std::string, std::string>>;

bool has_kind(const JsonValue& value, const std::string& kind) {
  if (kind == "text") return std::holds_alternative<std::string>(value);
  if (kind == "words") {
    return std::holds_alternative<std::string>(value) && !std::get<std::string>(value).empty();
  }
  if (kind == "bool") return std::holds_alternative<bool>(value);
  if (kind == "integer") return std::holds_alternative<std::int64_t>(value);
  if (kind == "list") return std::holds_alternative<JsonArray>(value);
  if (kind == "any") return true;
  return std::regex_match(
      std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "null",
      std::regex(kind));
}

// What differs, nothing where the object is as the schema says.
std::string differences(const JsonValue& object, const Schema& schema) {
  if (!std::holds_alternative<JsonObject>(object)) return "no object";
  std::string wrong;
  std::set<std::string> known;
  for (auto [name, kind] : schema) {
    const bool optional = name.ends_with('?');
    if (optional) name.pop_back();
    known.insert(name);
    const JsonValue* value = member(object, name);
    if (value == nullptr ? !optional : !has_kind(*value, kind)) wrong += name + " ";
  }
  for (const auto& [name, value] : std::get<JsonObject>(object)) {
    if (!known.contains(name)) wrong += "unknown " + name + " ";
  }
  return wrong;
}

constexpr const char* kDType = "bool|u8|u16|u32|u64|i8|i16|i32|i64|f16|bf16|f32|f64";
const std::string kResult = std::string("input|compute|parameter|other|") + kDType;

const Schema kOp = {{"name", "[a-z][a-z0-9_]*"},
                    {"revision", "integer"},
                    {"kind", "leaf|elementwise|reduce|view|contraction|indexed|random|opaque|sync"},
                    {"formula", "none|arithmetic|comparison|logic|choice|cast"},
                    {"summary", "words"},
                    {"shapes", ".*-> .+"},
                    {"method", "text"},
                    {"dtypes", "list"},
                    {"inputs", "list"},
                    {"min_inputs", "integer"},
                    {"max_inputs", "integer"},
                    {"results", "list"},
                    {"params", "list"},
                    {"differentiable", "bool"},
                    {"composite", "bool"},
                    {"overwrites", "integer"}};
const Schema kInput = {{"name", "[a-z][a-z_]*"}, {"optional", "bool"}};
const Schema kParam = {{"name", "[a-z][a-z_]*"}, {"type", "bool|i64|f64|dtype|i64_list|text"},
                       {"dynamic", "bool"},      {"optional", "bool"},
                       {"default?", "any"},      {"range?", "words"}};
const Schema kFunction = {{"name", "[a-z][a-z0-9_]*"},
                          {"op", "null|[a-z][a-z0-9_]*"},
                          {"parameters", "list"},
                          {"results", "list"},
                          {"cpp", "words"},
                          {"doc", "text"},
                          {"section", "text"}};
const Schema kParameter = {{"name", "[a-z][a-z_]*"}, {"type", "words"},     {"cpp", "words"},
                           {"optional", "bool"},     {"default?", "words"}, {"doc?", "words"}};
const Schema kType = {{"name", "[A-Z][A-Za-z]*"},
                      {"kind", "struct|enum"},
                      {"fields?", "list"},
                      {"values?", "list"},
                      {"doc", "text"}};

class OpDocument : public testing::Test {
 protected:
  const JsonValue document_ = op_document();
};

TEST_F(OpDocument, FollowsItsSchema) {
  EXPECT_EQ(differences(
                document_,
                {{"format", "integer"}, {"ops", "list"}, {"functions", "list"}, {"types", "list"}}),
            "");
  for (const JsonValue& op : list(document_, "ops")) {
    SCOPED_TRACE(text(op, "name"));
    EXPECT_EQ(differences(op, kOp), "");
    EXPECT_FALSE(list(op, "dtypes").empty());
    for (const JsonValue& dtype : list(op, "dtypes")) EXPECT_TRUE(has_kind(dtype, kDType));
    for (const JsonValue& result : list(op, "results")) EXPECT_TRUE(has_kind(result, kResult));
    for (const JsonValue& input : list(op, "inputs")) EXPECT_EQ(differences(input, kInput), "");
    for (const JsonValue& param : list(op, "params")) {
      SCOPED_TRACE(text(param, "name"));
      EXPECT_EQ(differences(param, kParam), "");
      EXPECT_EQ(std::get<bool>(*member(param, "optional")), member(param, "default") != nullptr);
    }
  }
  for (const JsonValue& function : list(document_, "functions")) {
    SCOPED_TRACE(text(function, "name"));
    EXPECT_EQ(differences(function, kFunction), "");
    for (const JsonValue& one : list(function, "parameters")) {
      EXPECT_EQ(differences(one, kParameter), "") << text(one, "name");
    }
  }
  for (const JsonValue& type : list(document_, "types")) {
    SCOPED_TRACE(text(type, "name"));
    EXPECT_EQ(differences(type, kType), "");
    if (text(type, "kind") == "enum") continue;
    for (const JsonValue& field : list(type, "fields")) {
      EXPECT_EQ(differences(field, kParameter), "") << text(field, "name");
    }
  }
}

TEST_F(OpDocument, ARuleNamesAllInputs) {
  for (const OpDef* op : all_ops()) {
    if (op->kind == OpKind::leaf || std::string(op->name.text).find('.') != std::string::npos)
      continue;
    const std::vector<std::string> names = input_names(*op);
    EXPECT_EQ(std::ssize(names), op->max_inputs < 0 ? 1 : op->max_inputs) << op->name.text;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size())
        << op->name.text;
  }
}

// A parameter's type is one that the document's reader knows: a word of its own or one of `types`.
TEST_F(OpDocument, EveryTypeIsKnown) {
  std::set<std::string> known;
  for (const auto& [cpp, word] : type_words()) known.insert(word);
  for (const JsonValue& type : list(document_, "types")) known.insert(text(type, "name"));
  for (const JsonValue& function : list(document_, "functions")) {
    for (const JsonValue& one : list(function, "parameters")) {
      EXPECT_TRUE(known.contains(text(one, "type")))
          << text(function, "name") << " " << text(one, "cpp");
    }
    for (const JsonValue& result : list(function, "results")) {
      EXPECT_TRUE(known.contains(std::get<std::string>(result))) << text(function, "name");
    }
  }
}

std::string header(const char* name) {
  const std::filesystem::path root = std::getenv("HEARTH_SOURCE_DIR");
  std::ostringstream all;
  all << std::ifstream(root / "include" / "hearth" / name).rdbuf();
  return all.str();
}

TEST_F(OpDocument, EveryPublicFunctionIsListed) {
  const std::string both = header("ops.h") + header("random.h");
  std::multiset<std::string> declared;
  const std::regex function(R"(\nHEARTH_API [^;(]*?(\w+)\()");
  for (std::sregex_iterator at(both.begin(), both.end(), function), end; at != end; ++at) {
    declared.insert((*at)[1]);
  }
  std::multiset<std::string> listed;
  for (const JsonValue& one : list(document_, "functions")) listed.insert(text(one, "name"));
  EXPECT_EQ(listed, declared);
  EXPECT_GT(listed.size(), 100U);
}

TEST_F(OpDocument, AnOpIsAFunctionOrAPartOfOne) {
  // Recorded by the functions and rules that they are parts of.
  const std::regex part("gelu_tanh|.*_backward|attention_with_lse|causal_softmax");
  std::set<std::string> functions;
  for (const JsonValue& one : list(document_, "functions")) functions.insert(text(one, "name"));
  for (const OpDef* op : all_ops()) {
    if (std::string(op->name.text).find('.') != std::string::npos) continue;
    EXPECT_NE(functions.contains(op->name.text), std::regex_match(op->name.text, part))
        << op->name.text;
  }
}

TEST_F(OpDocument, AFunctionIsToldWhole) {
  const JsonValue* attention = only(list(document_, "functions"), "attention");
  ASSERT_NE(attention, nullptr);
  const JsonArray& parameters = list(*attention, "parameters");
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(text(parameters[0], "type"), "array");
  EXPECT_EQ(text(parameters[3], "type"), "AttentionOptions");
  EXPECT_EQ(text(parameters[3], "default"), "{}");
  EXPECT_NE(text(*attention, "doc").find("[batch, heads, q_length, d]"), std::string::npos);
}

TEST_F(OpDocument, ATypeIsToldWhole) {
  const JsonValue* reduction = only(list(document_, "types"), "Reduction");
  ASSERT_NE(reduction, nullptr);
  EXPECT_EQ(json_text(list(*reduction, "values")), R"(["none","mean","sum"])");
  const JsonValue* rope = only(list(document_, "types"), "RopeOptions");
  ASSERT_NE(rope, nullptr);
  const JsonArray& fields = list(*rope, "fields");
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(text(fields[0], "default"), "10000");
  EXPECT_EQ(text(fields[2], "doc"), "position of the first row; may change without a new plan");
}

// The ranges of axes are those that infer() keeps.
TEST_F(OpDocument, AnAxisBeyondItsRangeIsAnError) {
  int checked = 0;
  for (const OpDef* op : all_ops()) {
    if (op->params.empty() || op->params[0].range == nullptr || op->samples == nullptr ||
        op->params[0].range != std::string("[0, rank)")) {
      continue;
    }
    for (const SampleCase& sample : op->samples()) {
      if (sample.error != SampleCase::kValid) continue;
      std::vector<Array> arrays;
      for (const SampleInput& input : sample.inputs) {
        arrays.push_back(
            zeros(input.shape, input.dtype < 0 ? DType::f32 : static_cast<DType>(input.dtype)));
      }
      std::vector<const Array*> inputs;
      for (const Array& array : arrays) inputs.push_back(&array);
      Params params;
      params.i64(arrays[0].rank());
      for (int i = 1; i < sample.params.statics().size(); ++i) {
        params.i64(static_cast<std::int64_t>(sample.params.statics()[i]));
      }
      EXPECT_THROW((void)record(*op, inputs, params), Error) << op->name.text;
      ++checked;
      break;
    }
  }
  EXPECT_GT(checked, 8);
}

TEST(Declarations, CommentsBelongToWhatTheyStandBeside) {
  const Declarations found = parse_declarations(R"(
// ---- Sums
// Numeric dtypes.

// Above
// two lines.
HEARTH_API Array sum(const Array& x);  // behind
HEARTH_API Array sum(const Array& x, const Dims& axes, bool keepdim = false,
                     std::vector<std::pair<int, int>> pairs = {});
HEARTH_API Array prod(const Array& x);
)");
  ASSERT_EQ(found.functions.size(), 3U);
  EXPECT_EQ(found.functions[0].doc, "Above two lines. behind");
  EXPECT_EQ(found.functions[1].doc, "Above two lines. behind");
  EXPECT_EQ(found.functions[1].section, "Numeric dtypes.");
  ASSERT_EQ(found.functions[1].parameters.size(), 4U);
  EXPECT_EQ(found.functions[1].parameters[2].default_value, "false");
  EXPECT_EQ(found.functions[1].parameters[3].type, "std::vector<std::pair<int, int>>");
  EXPECT_EQ(found.functions[2].doc, "");
}

}  // namespace
}  // namespace hearth::tools
