#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/closest.h"
#include "core/json.h"
#include "ops/definition/defs.h"
#include "tools/bindings/declarations.h"
#include "tools/bindings/op_document.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

// Up to the first full stop before a capital, a bracket or a name in backticks.
std::string first_sentence(const std::string& text) {
  for (std::size_t end = text.find(". "); end != std::string::npos;
       end = text.find(". ", end + 1)) {
    const char next = end + 2 < text.size() ? text[end + 2] : 'A';
    if ((next >= 'A' && next <= 'Z') || next == '[' || next == '`') return text.substr(0, end + 1);
  }
  return text.empty() || text.back() == '.' ? text : text + '.';
}

bool is_of_arrays(const Function& function) {
  const auto has_array = [](const std::string& type) {
    return type.find("Array") != std::string::npos;
  };
  return has_array(function.result) ||
         std::any_of(function.parameters.begin(), function.parameters.end(),
                     [&](const Parameter& parameter) { return has_array(parameter.type); });
}

void list_ops(const Declarations& declared) {
  std::set<std::string> listed;
  for (const OpDef* op : all_ops()) {
    listed.insert(op->name.text);
    write_out(padded(padded(op->name.text, 24) + kind_name(op->kind), 37) + op->summary + "\n");
  }
  write_out("\nFunctions made of them:\n\n");
  for (const Function& function : declared.functions) {
    if (!is_of_arrays(function) || !listed.insert(function.name).second) continue;
    // Several declarations may share the comment of their section.
    const std::string& about = function.doc.empty() ? function.section : function.doc;
    write_out(padded(function.name, 37) + first_sentence(about) + "\n");
  }
}

[[noreturn]] void refuse(const std::string& name) {
  std::set<std::string> names;
  for (const OpDef* op : all_ops()) names.insert(op->name.text);
  for (const Function& function : op_declarations().functions) names.insert(function.name);
  const std::vector<std::string> all(names.begin(), names.end());
  std::string near;
  for (const std::string& each : all) {
    if (each.find(name) != std::string::npos) near += (near.empty() ? "" : ", ") + each;
  }
  if (near.empty()) near = closest(name, all);
  throw std::runtime_error("ops: no op or function of that name; got " + name +
                           ", expected one that `hearth ops` lists" +
                           (near.empty() ? "" : ", perhaps " + near));
}

// Of the document the op and the function of a name alone.
JsonObject document_of(const std::string& name) {
  JsonObject document = op_document();
  bool is_known = false;
  for (auto& [part, value] : document) {
    if (part != "ops" && part != "functions") continue;
    JsonArray kept;
    for (const JsonValue& entry : std::get<JsonArray>(value)) {
      const auto& fields = std::get<JsonObject>(entry);
      const bool is_named = std::any_of(fields.begin(), fields.end(), [&](const auto& field) {
        return field.first == "name" && field.second == JsonValue(name);
      });
      if (is_named) kept.push_back(entry);
    }
    is_known = is_known || !kept.empty();
    value = std::move(kept);
  }
  if (!is_known) refuse(name);
  return document;
}

// All that is known about one function or op.
void describe(const Declarations& declared, const std::string& name) {
  const std::vector<const OpDef*> ops = all_ops();
  const auto op = std::find_if(ops.begin(), ops.end(),
                               [&](const OpDef* each) { return each->name.text == name; });
  bool is_known = op != ops.end();
  if (is_known) {
    write_out(padded((*op)->name.text, 24) + padded(kind_name((*op)->kind), 13) + (*op)->summary +
              "\n" + shape_rule(**op) + "\n");
  }
  for (const Function& function : declared.functions) {
    if (function.name != name) continue;
    is_known = true;
    write_out("\n" + function.text + "\n");
    for (const std::string& text : {function.section, function.doc}) {
      if (!text.empty()) write_out(text + "\n");
    }
  }
  if (!is_known) refuse(name);
}

}  // namespace

void add_ops(CommandLine& line) {
  Command command = line.add_command("ops", "List all ops and the functions made of them");
  auto json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  command.option("name", *name, "Show the op or function of this name in full");
  command.flag("--json", *json,
               "Everything that is known about each op, or about the one named, as JSON");
  command.action([json, name] {
    if (*json) {
      write_out(json_text(name->empty() ? op_document() : document_of(*name), 2) + "\n");
    } else if (name->empty()) {
      list_ops(op_declarations());
    } else {
      describe(op_declarations(), *name);
    }
  });
}

}  // namespace hearth::tools
