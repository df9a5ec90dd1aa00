// What a generator of bindings reads of ops, against a schema, the op table and the headers.
#include "tools/bindings/op_document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "source_dir.h"
#include "tools/bindings/dtype_rules.h"
#include "tools/json_check.h"

namespace hearth::tools {
namespace {

using check::differences;
using check::has_kind;
using check::list;
using check::member;
using check::only;
using check::text;
using check::texts;

constexpr const char* kDType = "bool|u8|u16|u32|u64|i8|i16|i32|i64|f16|bf16|f32|f64";
const std::string kResult = std::string("input|compute|parameter|other|") + kDType;

const check::Schema kOp = {
    {"name", "[a-z][a-z0-9_]*"},
    {"revision", "integer"},
    {"kind", "leaf|elementwise|reduce|view|contraction|indexed|random|opaque|sync"},
    {"formula", "none|arithmetic|comparison|logic|choice|cast"},
    {"formulas", "list"},
    {"made_of", "any"},
    {"source", "null|src/ops/[a-z_/]+\\.cc"},
    {"summary", "words"},
    {"shapes", ".*-> .+"},
    {"method", "null|[a-z][a-z0-9_]*"},
    {"dtypes", "list"},
    {"refused", "list"},
    {"lacks", "any"},
    {"inputs", "list"},
    {"min_inputs", "integer"},
    {"max_inputs", "integer"},
    {"results", "list"},
    {"params", "list"},
    {"differentiable", "bool"},
    {"gradients", "integer"},
    {"composite", "bool"},
    {"implementations", "any"},
    {"needs", "any"},
    {"overwrites", "integer"}};
const check::Schema kInput = {
    {"name", "[a-z][a-z_]*"}, {"optional", "bool"}, {"dtypes", "any"}, {"shared", "bool"}};
const check::Schema kParam = {
    {"name", "[a-z][a-z_]*"}, {"type", "bool|i64|f64|dtype|i64_list|text"},
    {"dynamic", "bool"},      {"optional", "bool"},
    {"default?", "any"},      {"range?", "words"},
    {"dtypes?", "list"}};

std::string text_of(const std::string& path) {
  std::ostringstream file;
  file << std::ifstream(check::source_dir() / path).rdbuf();
  return file.str();
}

class OpDocument : public testing::Test {
 protected:
  const JsonValue document_ = op_document();
};

TEST_F(OpDocument, FollowsItsSchema) {
  EXPECT_EQ(differences(document_, {{"format", "integer"},
                                    {"devices", "list"},
                                    {"ops", "list"},
                                    {"functions", "list"},
                                    {"types", "list"}}),
            "");
  for (const JsonValue& op : list(document_, "ops")) {
    SCOPED_TRACE(text(op, "name"));
    EXPECT_EQ(differences(op, kOp), "");
    EXPECT_FALSE(list(op, "dtypes").empty());
    for (const JsonValue& dtype : list(op, "dtypes")) EXPECT_TRUE(has_kind(dtype, kDType));
    for (const JsonValue& result : list(op, "results")) EXPECT_TRUE(has_kind(result, kResult));
    for (const JsonValue& input : list(op, "inputs")) EXPECT_EQ(differences(input, kInput), "");
    const JsonValue& implementations = *member(op, "implementations");
    EXPECT_EQ(differences(implementations, {{"cpu", "list"}, {"gpu", "list"}}), "");
    for (const JsonValue& param : list(op, "params")) {
      SCOPED_TRACE(text(param, "name"));
      EXPECT_EQ(differences(param, kParam), "");
      EXPECT_EQ(std::get<bool>(*member(param, "optional")), member(param, "default") != nullptr);
    }
  }
}

// What the table of docs/ops/ says of an op is there for each: where it comes from, what it is, and
// in which dtypes every kind of device computes it.
TEST_F(OpDocument, AnOpIsToldWhole) {
  const std::string formulas = text_of("src/kernels/formulas/scalar_ops.h");
  const std::string vocabulary = formulas.substr(0, formulas.find("template <"));
  for (const JsonValue& op : list(document_, "ops")) {
    const std::string& name = text(op, "name");
    SCOPED_TRACE(name);
    if (name.find('.') != std::string::npos) continue;
    const std::string& source = text(op, "source");
    const std::regex definition("\n(constinit const OpDef .*\\b" + name + "_op = |HEARTH_\\w+\\(" +
                                name + ", )");
    EXPECT_TRUE(std::regex_search(text_of(source), definition)) << source;
    const bool has_formula = text(op, "kind") == "elementwise" && text(op, "formula") != "cast";
    // Of what every target has words of its own for, the head of the texts names them.
    const std::regex word("\n//   [^\n]*\\b" + name + "\\b");
    const bool is_word = std::regex_search(vocabulary, word);
    EXPECT_TRUE(has_formula ? !list(op, "formulas").empty() || is_word
                            : list(op, "formulas").empty());
    for (const JsonValue& formula : list(op, "formulas")) {
      EXPECT_EQ(differences(formula, {{"elements", "any|floats|f32|f64|integers|masks"},
                                      {"text", "words"},
                                      {"path", "words"}}),
                "");
      EXPECT_TRUE(std::filesystem::exists(check::source_dir() / text(formula, "path")));
    }
    const bool has_composite = std::get<bool>(*member(op, "composite"));
    EXPECT_EQ(list(op, "made_of").empty(), !has_composite);
    EXPECT_EQ(list(op, "dtypes").size() + list(op, "refused").size(),
              static_cast<std::size_t>(kDTypeCount));
    for (const JsonValue& refused : list(op, "refused")) {
      EXPECT_EQ(differences(refused, {{"dtype", kDType}, {"reason", name + ": .+"}}), "");
    }
  }
}

TEST_F(OpDocument, ADeviceLacksNothingButF64) {
  std::set<std::string> without_f64;
  for (const JsonValue& device : list(document_, "devices")) {
    EXPECT_EQ(
        differences(device, {{"name", "cpu|cuda|metal|sim"}, {"gpu", "bool"}, {"lacks", "list"}}),
        "");
    if (!list(device, "lacks").empty()) without_f64.insert(text(device, "name"));
  }
  EXPECT_EQ(without_f64, std::set<std::string>{"metal"});
  for (const JsonValue& op : list(document_, "ops")) {
    for (const auto& [device, lacks] : std::get<JsonObject>(*member(op, "lacks"))) {
      for (const JsonValue& lack : std::get<JsonArray>(lacks)) {
        EXPECT_EQ(text(lack, "dtype"), "f64")
            << text(op, "name") << " on " << device << ": " << text(lack, "reason");
        EXPECT_TRUE(without_f64.contains(device)) << text(op, "name") << " on " << device;
      }
    }
  }
}

TEST_F(OpDocument, FactsOfSomeOps) {
  const JsonArray& ops = list(document_, "ops");
  const auto fact = [&](const char* op, const char* name) {
    return json_text(*member(*only(ops, op), name));
  };
  EXPECT_EQ(fact("softmax", "made_of"), R"(["div","exp","max","sub","sum"])");
  EXPECT_EQ(fact("softmax", "source"), R"("src/ops/activation/softmax.cc")");
  EXPECT_EQ(fact("softmax", "gradients"), "2");
  EXPECT_EQ(fact("argmax", "gradients"), "0");
  EXPECT_EQ(fact("square", "formulas"), R"([{"elements":"any","text":"return x * x;","path":)"
                                        R"("src/kernels/formulas/scalar_ops.h"}])");
  EXPECT_NE(fact("cholesky", "needs").find(R"("library":"library")"), std::string::npos);
  EXPECT_EQ(list(*only(ops, "remainder"), "formulas").size(), 2U);
}

TEST_F(OpDocument, ARuleNamesAllInputs) {
  for (const OpDef* op : all_ops()) {
    if (op->kind == OpKind::leaf || std::string(op->name.text).find('.') != std::string::npos)
      continue;
    const std::vector<std::string> names = input_names(shape_rule(*op));
    EXPECT_EQ(std::ssize(names), op->max_inputs < 0 ? 1 : op->max_inputs) << op->name.text;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size())
        << op->name.text;
  }
}

TEST_F(OpDocument, AnOpIsAFunctionOrAPartOfOne) {
  // Recorded by the functions and rules that they are parts of.
  const std::regex part(
      "gelu_tanh|(?!max_pool_).*_backward|causal_softmax|conv_.*_gradient|linear_scan|"
      "lu_factor|resample|weighted_gather|dequantize_words|nonzero_static|channel_moments|"
      "channel_sums|dequantize_blocks|turbo_dequantize|half_linear|packed_(expert_)?linear|expert_"
      "linear_.*_gradient|expert_routes");
  std::set<std::string> functions;
  for (const JsonValue& one : list(document_, "functions")) functions.insert(text(one, "name"));
  for (const OpDef* op : all_ops()) {
    if (std::string(op->name.text).find('.') != std::string::npos) continue;
    EXPECT_NE(functions.contains(op->name.text), std::regex_match(op->name.text, part))
        << op->name.text;
  }
}

// The members of class templates that Tensor is made of.
std::set<std::string> methods() {
  const std::filesystem::path folder = check::source_dir() / "include" / "hearth";
  std::vector<std::filesystem::path> headers = {folder / "tensor.h"};
  for (const auto& file : std::filesystem::directory_iterator(folder / "tensor")) {
    headers.push_back(file.path());
  }
  const std::regex member(R"(\n  (?!return )(?:static )?[\w:]+(?:<[^\n]*>)?&? (\w+)\()");
  std::set<std::string> found;
  for (const std::filesystem::path& path : headers) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    const std::string header = all.str();
    for (std::sregex_iterator at(header.begin(), header.end(), member), end; at != end; ++at) {
      found.insert((*at)[1]);
    }
  }
  return found;
}

TEST_F(OpDocument, AMethodIsOneOfTensor) {
  const std::set<std::string> declared = methods();
  ASSERT_TRUE(declared.contains("mask_where"));
  ASSERT_FALSE(declared.contains("linear"));  // a function alone
  int named = 0;
  for (const JsonValue& op : list(document_, "ops")) {
    const JsonValue& method = *member(op, "method");
    if (std::holds_alternative<std::nullptr_t>(method)) continue;
    EXPECT_TRUE(declared.contains(std::get<std::string>(method))) << text(op, "name");
    ++named;
  }
  EXPECT_GT(named, 50);
}

TEST_F(OpDocument, AnInputNamesItsDTypes) {
  const JsonArray& ops = list(document_, "ops");
  const auto input = [&](const char* op, const char* name) {
    const JsonValue* const found = only(list(*only(ops, op), "inputs"), name);
    return json_text(*member(*found, "dtypes")) +
           (std::get<bool>(*member(*found, "shared")) ? " shared" : "");
  };
  const std::string floats = R"(["f64","f32","f16","bf16"] shared)";
  EXPECT_EQ(input("gather", "indices"), R"(["i64","i32"])");
  EXPECT_EQ(input("cross_entropy", "targets"), R"(["i64","i32"])");
  EXPECT_EQ(input("where", "condition"), R"(["bool"])");
  EXPECT_EQ(input("attention", "mask"), R"(["bool"])");
  EXPECT_EQ(input("attention", "bias"), floats);
  EXPECT_EQ(input("rms_norm", "weight"), floats);
  EXPECT_EQ(input("logical_and", "b"), R"(["bool"] shared)");
  EXPECT_EQ(json_text(*member(*only(list(*only(ops, "argmax"), "params"), "dtype"), "dtypes")),
            R"(["i64","i32","i16","i8","u64","u32","u16","u8"])");
}

// What infer() takes is what OpDef says; what no sample gives belongs to rules of gradients.
TEST_F(OpDocument, SharedInputsHaveTheDTypesOfTheOp) {
  for (const JsonValue& entry : list(document_, "ops")) {
    const std::string& op = text(entry, "name");
    SCOPED_TRACE(op);
    const std::vector<std::string> dtypes = texts(entry, "dtypes");
    for (const JsonValue& input : list(entry, "inputs")) {
      if (std::holds_alternative<std::nullptr_t>(*member(input, "dtypes"))) {
        EXPECT_TRUE(op.ends_with("_backward")) << text(input, "name");
      } else if (std::get<bool>(*member(input, "shared"))) {
        EXPECT_EQ(texts(input, "dtypes"), dtypes) << text(input, "name");
      }
    }
    const auto accepts = find_op(op)->accepts_dtype;
    for (int i = 0; accepts != nullptr && i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      EXPECT_EQ(std::count(dtypes.begin(), dtypes.end(), name(dtype)), accepts(dtype) ? 1 : 0)
          << name(dtype);
    }
  }
}

TEST(DTypeRules, AreFoundByAsking) {
  // Takes x and y of one dtype but bool, z of any, and gives x's, and f32 for i8.
  const DTypeQuestion question = {
      {{{2}}, {{2}}, {{2}}}, false, [](const std::vector<DType>& inputs, DType) {
        if (inputs[0] == DType::bool_ || inputs[0] != inputs[1]) throw Error(ErrorCode::dtype, "");
        return std::vector<DType>{inputs[0], inputs[0] == DType::i8 ? DType::f32 : inputs[0]};
      }};
  const DTypeRules rules = dtype_rules(question);
  ASSERT_EQ(rules.inputs.size(), 3U);
  EXPECT_TRUE(rules.inputs[0]->shared && rules.inputs[1]->shared);
  EXPECT_FALSE(rules.inputs[2]->shared);
  EXPECT_EQ(rules.inputs[0]->dtypes.size(), 12U);
  EXPECT_EQ(rules.inputs[2]->dtypes.size(), 13U);
  EXPECT_EQ(rules.results, (std::vector<std::string>{"input", "other"}));
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

}  // namespace
}  // namespace hearth::tools
