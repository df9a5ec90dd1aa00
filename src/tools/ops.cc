#include <memory>
#include <string>

#include "core/json_writer.h"
#include "ops/defs.h"
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

void describe(JsonWriter& json, const OpDef& op) {
  json.begin_object();
  json.member("name", op.name.text);
  json.member("revision", op.revision);
  json.member("kind", kind_name(op.kind));
  json.member("summary", op.summary);
  json.member("min_inputs", op.min_inputs);
  json.member("max_inputs", op.max_inputs);
  json.key("params").begin_array();
  for (const ParamSpec& param : op.params) {
    json.begin_object();
    json.member("name", param.name);
    json.member("type", type_name(param.type));
    json.member("dynamic", param.dynamic);
    json.member("optional", param.optional);
    if (param.optional) json.member("default", param.default_value);
    json.end_object();
  }
  json.end_array();
  json.member("differentiable", op.differentiable);
  json.member("composite", op.composite != nullptr);
  json.member("overwrites", op.overwrites);
  json.end_object();
}

}  // namespace

void add_ops(CommandLine& line) {
  Command command = line.add_command("ops", "List all ops");
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Everything that is known about each op, as JSON");
  command.action([json] {
    if (*json) {
      JsonWriter writer(2);
      writer.begin_object().member("format", 1).key("ops").begin_array();
      for (const OpDef* op : all_ops()) describe(writer, *op);
      write_out(writer.end_array().end_object().take() + "\n");
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
