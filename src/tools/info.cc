// `hearth info`: what is in a file or folder of tensors.
#include <memory>
#include <string>

#include "core/json.h"
#include "tools/commands.h"
#include "tools/info/describe.h"
#include "tools/info/model_file.h"
#include "tools/output.h"

namespace hearth::tools {

void add_info(CommandLine& line) {
  struct Arguments {
    std::string file;
    bool json = false;
    InfoOptions options;
  };
  Command command = line.add_command(
      "info", "Show what is in a file of GGUF or safetensors, or a folder of a model");
  const auto arguments = std::make_shared<Arguments>();
  command.option("file", arguments->file, "Of a split model any of its files, or its folder")
      .required();
  command.flag("--tensors", arguments->options.tensors, "List the tensors");
  command.flag("--all", arguments->options.all,
               "Print long arrays and texts of the metadata whole");
  command.flag("--json", arguments->json, "Print all that as JSON");
  command.action([arguments] {
    const ModelFile file = read_model_file(arguments->file);
    write_out(arguments->json ? json_text(info_document(file, arguments->options), 2) + "\n"
                              : info_text(file, arguments->options));
  });
}

}  // namespace hearth::tools
