#include <memory>
#include <string>

#include "core/json.h"
#include "ops/definition/defs.h"
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

JsonObject describe(const OpDef& op) {
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
          {"summary", op.summary},
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
