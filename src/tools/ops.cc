#include <algorithm>
#include <memory>
#include <string>

#include "ops/definition/defs.h"
#include "tools/bindings/op_document.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {

void add_ops(CommandLine& line) {
  Command command = line.add_command("ops", "List all ops");
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Everything that is known about each op, as JSON");
  command.action([json] {
    if (*json) {
      write_out(json_text(op_document(), 2) + "\n");
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
