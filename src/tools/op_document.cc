#include "tools/op_document.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/sample_signature.h"
#include "tools/declarations.h"

namespace hearth::tools {
namespace {

const char* type_name(ParamType type) {
  switch (type) {
    case ParamType::boolean:
      return "bool";
    case ParamType::i64:
      return "i64";
    case ParamType::f64:
      return "f64";
    case ParamType::dtype:
      return "dtype";
    case ParamType::i64_list:
      return "i64_list";
    case ParamType::text:
      return "text";
  }
  return "";
}

const char* formula_name(Formula formula) {
  switch (formula) {
    case Formula::none:
      return "none";
    case Formula::arithmetic:
      return "arithmetic";
    case Formula::comparison:
      return "comparison";
    case Formula::logic:
      return "logic";
    case Formula::choice:
      return "choice";
    case Formula::cast:
      return "cast";
  }
  return "";
}

std::vector<DType> accepted_dtypes(const OpDef& op) {
  std::vector<DType> accepted;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (op.accepts_dtype == nullptr || op.accepts_dtype(dtype)) accepted.push_back(dtype);
  }
  return accepted;
}

// The dtype of each result: "input" where it is that of the inputs, "compute" where it is what they
// are computed in (f32 for the half types), "parameter" where the parameter `dtype` says it, a name
// where it is the same for all, else "other". Asked of the op's first valid sample.
JsonArray result_dtypes(const OpDef& op) {
  const auto outputs = static_cast<std::size_t>(op.outputs);
  const auto all = [&](const char* text) {
    return JsonArray(outputs, JsonValue(std::string(text)));
  };
  for (const ParamSpec& param : op.params) {
    if (param.name == std::string_view("dtype")) return all("parameter");
  }
  const std::vector<SampleCase> samples =
      op.samples == nullptr ? std::vector<SampleCase>() : op.samples();
  const auto valid = std::find_if(samples.begin(), samples.end(), [](const SampleCase& sample) {
    return sample.error == SampleCase::kValid;
  });
  if (valid == samples.end() || valid->inputs.empty()) return all("other");
  std::vector<std::vector<DType>> results(outputs);
  const std::vector<DType> accepted = accepted_dtypes(op);
  for (const DType dtype : accepted) {
    const Signature signature = sample_signature(op, *valid, dtype);
    for (std::size_t i = 0; i < outputs; ++i) {
      results[i].push_back(signature.output_at(static_cast<int>(i)).dtype);
    }
  }
  std::vector<DType> computed;
  for (const DType dtype : accepted) computed.push_back(compute_dtype(dtype));
  JsonArray dtypes;
  for (const std::vector<DType>& got : results) {
    const bool is_one = std::count(got.begin(), got.end(), got[0]) == std::ssize(got);
    dtypes.emplace_back(got == accepted   ? "input"
                        : is_one          ? std::string(name(got[0]))
                        : got == computed ? "compute"
                                          : "other");
  }
  return dtypes;
}

JsonValue default_of(const ParamSpec& param) {
  switch (param.type) {
    case ParamType::boolean:
      return param.default_value != 0;
    case ParamType::i64:
      return static_cast<std::int64_t>(param.default_value);
    case ParamType::dtype:
      return std::string(name(static_cast<DType>(param.default_value)));
    default:
      return param.default_value;
  }
}

JsonObject describe(const ParamSpec& param) {
  JsonObject entry = {{"name", param.name},
                      {"type", type_name(param.type)},
                      {"dynamic", param.dynamic},
                      {"optional", param.optional}};
  if (param.optional) entry.emplace_back("default", default_of(param));
  if (param.range != nullptr) entry.emplace_back("range", param.range);
  return entry;
}

JsonObject describe(const OpDef& op) {
  JsonArray dtypes;
  for (const DType dtype : accepted_dtypes(op)) dtypes.emplace_back(std::string(name(dtype)));
  JsonArray inputs;
  for (const std::string& input : input_names(op)) {
    const bool optional = op.max_inputs >= 0 && static_cast<int>(inputs.size()) >= op.min_inputs;
    inputs.emplace_back(JsonObject{{"name", input}, {"optional", optional}});
  }
  JsonArray params;
  for (const ParamSpec& param : op.params) params.emplace_back(describe(param));
  return {{"name", op.name.text},
          {"revision", op.revision},
          {"kind", kind_name(op.kind)},
          {"formula", formula_name(op.formula)},
          {"summary", op.summary},
          {"shapes", shape_rule(op)},
          {"method", op.method == nullptr ? op.name.text : op.method},
          {"dtypes", std::move(dtypes)},
          {"inputs", std::move(inputs)},
          {"min_inputs", op.min_inputs},
          {"max_inputs", op.max_inputs},
          {"results", result_dtypes(op)},
          {"params", std::move(params)},
          {"differentiable", op.differentiable},
          {"composite", has_composite(op)},
          {"overwrites", op.overwrites}};
}

// The word for a type of C++; another type's own name, without its namespace.
std::string neutral(std::string type) {
  if (type.starts_with("const ")) type = type.substr(6);
  while (type.ends_with("&") || type.ends_with("*")) type.pop_back();
  if (type.starts_with("std::optional<")) type = type.substr(14, type.size() - 15);
  const auto known = type_words().find(type);
  return known == type_words().end() ? type : known->second;
}

JsonArray results_of(const std::string& type) {
  if (type == "void") return {};
  if (type == "std::pair<Array, Array>") return {std::string("array"), std::string("array")};
  return {neutral(type)};
}

JsonObject describe(const Parameter& parameter) {
  JsonObject entry = {{"name", parameter.name},
                      {"type", neutral(parameter.type)},
                      {"cpp", parameter.type},
                      {"optional", parameter.default_value.has_value()}};
  if (parameter.default_value) entry.emplace_back("default", *parameter.default_value);
  if (!parameter.doc.empty()) entry.emplace_back("doc", parameter.doc);
  return entry;
}

JsonObject describe(const Function& function) {
  JsonArray parameters;
  for (const Parameter& parameter : function.parameters) {
    parameters.emplace_back(describe(parameter));
  }
  const bool is_op = find_op(function.name) != nullptr;
  return {{"name", function.name},
          {"op", is_op ? JsonValue(function.name) : JsonValue(nullptr)},
          {"parameters", std::move(parameters)},
          {"results", results_of(function.result)},
          {"cpp", function.result},
          {"doc", function.doc},
          {"section", function.section}};
}

JsonObject describe(const Type& type) {
  JsonArray fields;
  for (const Parameter& field : type.fields) {
    if (type.is_enum) {
      fields.emplace_back(field.name);
    } else {
      fields.emplace_back(describe(field));
    }
  }
  return {{"name", type.name},
          {"kind", type.is_enum ? "enum" : "struct"},
          {type.is_enum ? "values" : "fields", std::move(fields)},
          {"doc", type.doc}};
}

template <class T>
JsonArray described(const std::vector<T>& list) {
  JsonArray all;
  for (const T& one : list) all.emplace_back(describe(one));
  return all;
}

}  // namespace

const std::map<std::string, std::string>& type_words() {
  static const std::map<std::string, std::string> words = {
      {"Array", "array"},
      {"std::span<const Array>", "array_list"},
      {"std::vector<Array>", "array_list"},
      {"bool", "bool"},
      {"double", "f64"},
      {"std::int64_t", "i64"},
      {"DType", "dtype"},
      {"Device", "device"},
      {"Dims", "i64_list"},
      {"Shape", "i64_list"},
      {"std::vector<std::int64_t>", "i64_list"},
      {"std::vector<Slice>", "Slice_list"},
      {"std::uint64_t", "u64"},
      {"Generator", "Generator"}};
  return words;
}

const char* kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::leaf:
      return "leaf";
    case OpKind::elementwise:
      return "elementwise";
    case OpKind::reduce:
      return "reduce";
    case OpKind::view:
      return "view";
    case OpKind::contraction:
      return "contraction";
    case OpKind::indexed:
      return "indexed";
    case OpKind::random:
      return "random";
    case OpKind::opaque:
      return "opaque";
    case OpKind::output:
      return "output";
    case OpKind::sync:
      return "sync";
  }
  return "";
}

std::string shape_rule(const OpDef& op) {
  if (op.shapes != nullptr) return op.shapes;
  if (op.kind == OpKind::reduce) return "x [...] -> [... without axes, or 1 there with keepdim]";
  if (op.kind != OpKind::elementwise) return "";
  return op.max_inputs == 1 ? "x [...] -> [...]" : "a [...], b [...] -> [...], both broadcast";
}

std::vector<std::string> input_names(const OpDef& op) {
  const std::string rule = shape_rule(op);
  std::istringstream inputs(rule.substr(0, rule.find("->")));
  std::vector<std::string> names;
  // A name stands at the start and behind each comma that is outside of brackets.
  bool expected = true;
  int depth = 0;
  for (char c = 0; inputs.get(c);) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (expected && c != ' ') {
      inputs.unget();
      inputs >> names.emplace_back();
      if (names.back().ends_with(',')) {
        names.back().pop_back();
      } else {
        expected = false;
      }
    } else if (c == ',' && depth == 0) {
      expected = true;
    }
  }
  if (op.max_inputs < 0) names.resize(1);
  return names;
}

JsonObject op_document() {
  JsonArray ops;
  for (const OpDef* op : all_ops()) ops.emplace_back(describe(*op));
  const Declarations declared = op_declarations();
  return {{"format", 2},
          {"ops", std::move(ops)},
          {"functions", described(declared.functions)},
          {"types", described(declared.types)}};
}

}  // namespace hearth::tools
