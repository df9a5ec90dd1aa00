#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

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

std::string first_sentence(const std::string& text) {
  std::size_t end = text.find_first_of(".:;");
  while (end != std::string::npos && end + 1 < text.size() && text[end + 1] != ' ') {
    end = text.find_first_of(".:;", end + 1);
  }
  return end == std::string::npos ? text : text.substr(0, end) + '.';
}

void list_ops(const Declarations& declared) {
  std::set<std::string> listed;
  for (const OpDef* op : all_ops()) {
    listed.insert(op->name.text);
    write_out(padded(padded(op->name.text, 24) + kind_name(op->kind), 37) + op->summary + "\n");
  }
  write_out("\nFunctions made of them:\n\n");
  for (const Function& function : declared.functions) {
    if (!listed.insert(function.name).second) continue;
    // Several declarations may share the comment of their section.
    const std::string& about = function.doc.empty() ? function.section : function.doc;
    write_out(padded(function.name, 37) + first_sentence(about) + "\n");
  }
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
  if (!is_known) {
    throw std::runtime_error("ops: no op or function of that name; got " + name +
                             ", expected one that `hearth ops` lists");
  }
}

}  // namespace

void add_ops(CommandLine& line) {
  Command command = line.add_command("ops", "List all ops and the functions made of them");
  auto json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  command.option("name", *name, "Only the op or function of this name, in full");
  command.flag("--json", *json, "Everything that is known about each op, as JSON");
  command.action([json, name] {
    if (*json) {
      write_out(json_text(op_document(), 2) + "\n");
    } else if (name->empty()) {
      list_ops(op_declarations());
    } else {
      describe(op_declarations(), *name);
    }
  });
}

}  // namespace hearth::tools
