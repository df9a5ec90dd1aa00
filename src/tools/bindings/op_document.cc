#include "tools/bindings/op_document.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

#include "devices/cpu/families.h"
#include "kernels/families.h"
#include "ops/definition/defs.h"
#include "tools/bindings/declarations.h"
#include "tools/bindings/device_support.h"
#include "tools/bindings/dtype_rules.h"
#include "tools/bindings/formula_texts.h"
#include "tools/bindings/function_document.h"
#include "tools/bindings/op_sources.h"
#include "tools/bindings/recorded_ops.h"

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

// Those of the inputs that share one, or of the parameter `dtype`.
std::vector<DType> dtypes_of(const DTypeRules& rules) {
  for (const std::optional<InputRule>& input : rules.inputs) {
    if (input && input->shared) return input->dtypes;
  }
  return rules.parameter;
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

JsonObject describe(const ParamSpec& param, const DTypeRules& rules) {
  JsonObject entry = {{"name", param.name},
                      {"type", type_name(param.type)},
                      {"dynamic", param.dynamic},
                      {"optional", param.optional}};
  if (param.optional) entry.emplace_back("default", default_of(param));
  if (param.range != nullptr) entry.emplace_back("range", param.range);
  if (param.type == ParamType::dtype) entry.emplace_back("dtypes", dtype_names(rules.parameter));
  return entry;
}

// The names of those that a device has of the op, best first.
JsonArray implementations_of(const OpDef& op, const std::vector<Family>& families) {
  JsonArray names;
  for (const Family& family : families) {
    for (const Implementation& one : family) {
      if (one.op == &op) names.emplace_back(one.name);
    }
  }
  return names;
}

// By name, what those need that not every GPU has.
JsonObject needs_of(const OpDef& op) {
  JsonObject needs;
  for (const Family& family : gpu::families()) {
    for (const Implementation& one : family) {
      if (one.op != &op) continue;
      const std::string need = need_of(one);
      const bool is_known = std::any_of(needs.begin(), needs.end(),
                                        [&](const auto& known) { return known.first == one.name; });
      if (!need.empty() && !is_known) needs.emplace_back(one.name, need);
    }
  }
  return needs;
}

// By kind of device, what it lacks of `dtypes`.
JsonObject lacks_of(const OpDef& op, const std::vector<DType>& dtypes) {
  JsonObject lacks;
  for (const DeviceKind& kind : device_kinds()) {
    JsonArray own;
    for (const DType dtype : dtypes) {
      const std::string reason = lack_of(kind, op, dtype);
      if (reason.empty()) continue;
      own.emplace_back(JsonObject{{"dtype", std::string(name(dtype))}, {"reason", reason}});
    }
    lacks.emplace_back(kind.name, std::move(own));
  }
  return lacks;
}

// The kinds of devices, and what none of their arrays can be of.
JsonArray devices() {
  JsonArray all;
  for (const DeviceKind& kind : device_kinds()) {
    JsonArray lacks;
    if (!kind.has_f64) lacks.emplace_back(JsonObject{{"dtype", "f64"}, {"reason", kind.no_f64}});
    all.emplace_back(
        JsonObject{{"name", kind.name}, {"gpu", kind.is_gpu}, {"lacks", std::move(lacks)}});
  }
  return all;
}

JsonArray formulas_of(const OpDef& op) {
  JsonArray formulas;
  if (op.kind != OpKind::elementwise) return formulas;
  for (const FormulaText& formula : formula_texts(op.name.text)) {
    formulas.emplace_back(
        JsonObject{{"elements", formula.elements}, {"text", formula.text}, {"path", formula.path}});
  }
  return formulas;
}

// Null for an op that is registered at run time.
JsonValue source_of(const OpDef& op) {
  for (const OpSource& source : op_sources()) {
    if (source.op == op.name.text) return std::string(source.path);
  }
  return nullptr;
}

JsonValue made_of(const OpDef& op) {
  const auto names = composite_ops(op);
  if (!names) return nullptr;
  return JsonArray(names->begin(), names->end());
}

JsonObject describe(const OpDef& op) {
  const DTypeRules rules = dtype_rules(op);
  JsonArray inputs;
  for (const std::string& input : input_names(shape_rule(op))) {
    const std::size_t at = inputs.size();
    const bool optional = op.max_inputs >= 0 && static_cast<int>(at) >= op.min_inputs;
    JsonObject entry = {{"name", input}, {"optional", optional}};
    append_rule(entry, at < rules.inputs.size() ? rules.inputs[at] : std::nullopt);
    inputs.emplace_back(std::move(entry));
  }
  JsonArray params;
  for (const ParamSpec& param : op.params) params.emplace_back(describe(param, rules));
  JsonArray results;
  for (const std::string& result : rules.results) results.emplace_back(result);
  const std::string method = op.method == nullptr ? op.name.text : op.method;
  return {{"name", op.name.text},
          {"revision", op.revision},
          {"kind", kind_name(op.kind)},
          {"formula", formula_name(op.formula)},
          {"formulas", formulas_of(op)},
          {"made_of", made_of(op)},
          {"source", source_of(op)},
          {"summary", op.summary},
          {"shapes", shape_rule(op)},
          {"method", method.empty() ? JsonValue(nullptr) : JsonValue(method)},
          {"dtypes", dtype_names(dtypes_of(rules))},
          {"refused", refusals(rules)},
          {"lacks", lacks_of(op, dtypes_of(rules))},
          {"inputs", std::move(inputs)},
          {"min_inputs", op.min_inputs},
          {"max_inputs", op.max_inputs},
          {"results", std::move(results)},
          {"params", std::move(params)},
          {"differentiable", op.differentiable},
          {"gradients", gradients_of(op)},
          {"composite", has_composite(op)},
          {"implementations", JsonObject{{"cpu", implementations_of(op, cpu::families())},
                                         {"gpu", implementations_of(op, gpu::families())}}},
          {"needs", needs_of(op)},
          {"overwrites", op.overwrites}};
}

}  // namespace

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
  if (op.kind == OpKind::reduce) return kReductionShapes;
  if (op.kind != OpKind::elementwise) return "";
  return op.max_inputs == 1 ? "x [...] -> [...]" : "a [...], b [...] -> [...], both broadcast";
}

std::vector<std::string> input_names(const std::string& shapes) {
  // What stands behind the name of a list.
  const std::size_t end = std::min(shapes.find("->"), shapes.find(", any number of them"));
  std::istringstream inputs(shapes.substr(0, end));
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
  return names;
}

JsonObject op_document() {
  JsonArray ops;
  for (const OpDef* op : all_ops()) ops.emplace_back(describe(*op));
  const Declarations declared = op_declarations();
  return {{"format", 4},
          {"devices", devices()},
          {"ops", std::move(ops)},
          {"functions", function_entries(declared)},
          {"types", type_entries(declared)}};
}

}  // namespace hearth::tools
