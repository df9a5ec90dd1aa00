#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "ops/definition/defs.h"
#include "ops/definition/sample_signature.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

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

// The dtype of the first result: "input" where it is that of the inputs, a name where it is the
// same for all, else "other". Asked of the op's first valid sample.
std::string result_dtype(const OpDef& op) {
  const std::vector<SampleCase> samples =
      op.samples == nullptr ? std::vector<SampleCase>() : op.samples();
  const auto valid = std::find_if(samples.begin(), samples.end(), [](const SampleCase& sample) {
    return sample.error == SampleCase::kValid;
  });
  if (valid == samples.end() || valid->inputs.empty()) return "other";
  std::set<std::string> results;
  for (const DType dtype : accepted_dtypes(op)) {
    const DType result = sample_signature(op, *valid, dtype).output.dtype;
    results.insert(result == dtype ? "input" : std::string(name(result)));
  }
  // A bool result of bool inputs is bool all the same.
  if (results.size() == 2 && results.contains("bool") && results.erase("input") > 0) return "bool";
  return results.size() == 1 ? *results.begin() : "other";
}

JsonObject describe(const OpDef& op) {
  JsonArray dtypes;
  for (const DType dtype : accepted_dtypes(op)) dtypes.emplace_back(std::string(name(dtype)));
  JsonArray params;
  for (const ParamSpec& param : op.params) {
    JsonObject entry = {{"name", param.name},
                        {"type", type_name(param.type)},
                        {"dynamic", param.dynamic},
                        {"optional", param.optional}};
    if (param.optional) entry.emplace_back("default", param.default_value);
    params.emplace_back(std::move(entry));
  }
  return {{"name", op.name.text},
          {"revision", op.revision},
          {"kind", kind_name(op.kind)},
          {"formula", formula_name(op.formula)},
          {"summary", op.summary},
          {"method", op.method == nullptr ? op.name.text : op.method},
          {"dtypes", std::move(dtypes)},
          {"result", result_dtype(op)},
          {"min_inputs", op.min_inputs},
          {"max_inputs", op.max_inputs},
          {"outputs", op.outputs},
          {"params", std::move(params)},
          {"differentiable", op.differentiable},
          {"composite", has_composite(op)},
          {"overwrites", op.overwrites}};
}

}  // namespace

void add_ops(CommandLine& line) {
  Command command = line.add_command("ops", "List all ops");
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Everything that is known about each op, as JSON");
  command.action([json] {
    if (*json) {
      JsonArray list;
      for (const OpDef* op : all_ops()) list.emplace_back(describe(*op));
      write_out(json_text(JsonObject{{"format", 1}, {"ops", std::move(list)}}, 2) + "\n");
      return;
    }
    for (const OpDef* op : all_ops()) {
      std::string text = op->name.text;
      text.resize(std::max<std::size_t>(text.size() + 1, 24), ' ');
      text += kind_name(op->kind);
      text.resize(std::max<std::size_t>(text.size() + 1, 37), ' ');
      write_out(text + op->summary + "\n");
    }
  });
}

}  // namespace hearth::tools
