// `hearth info`: what is in a file or folder of tensors, and what a model will take in memory.
#include <memory>
#include <string>

#include "core/json.h"
#include "models/language/cache_type.h"
#include "tools/commands.h"
#include "tools/info/describe.h"
#include "tools/info/memory_plan.h"
#include "tools/info/model_file.h"
#include "tools/output.h"

namespace hearth::tools {

void add_info(CommandLine& line) {
  struct Arguments {
    std::string file;
    bool json = false;
    InfoOptions options;
    MemoryPlanOptions memory;
    std::string cache = "f32";
    std::string keys, values;  // empty: as `cache`
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  Command command = line.add_command(
      "info", "Show what is in a file of GGUF or safetensors, or a folder of a model");
  const auto arguments = std::make_shared<Arguments>();
  command
      .option("-m,--model,file", arguments->file,
              "Of a split model any of its files, or its folder")
      .required();
  command.flag("--tensors", arguments->options.tensors, "List the tensors");
  command.flag("--all", arguments->options.all,
               "Print long arrays and texts of the metadata whole");
  const Option context =
      command
          .option("-c,--context,--ctx-size", arguments->memory.context,
                  "Show what a language model takes in memory with sequences of so many tokens; "
                  "0: as many as it was made for")
          .range(0, kMost);
  const Option sequences =
      command.option("--sequences", arguments->memory.sequences, "The same, of so many sequences")
          .range(1, kMost)
          .show_default();
  const Option cache =
      command.option("--cache-type", arguments->cache, "The same, with keys and values in it")
          .lower_case()
          .one_of(models::cache_type_names())
          .show_default();
  const Option keys = command.option("--cache-type-k", arguments->keys, "The same, of keys alone")
                          .lower_case()
                          .one_of(models::cache_type_names());
  const Option values =
      command.option("--cache-type-v", arguments->values, "The same, of values alone")
          .lower_case()
          .one_of(models::cache_type_names());
  command.flag("--json", arguments->json, "Print all that as JSON");
  command.action([arguments, context, sequences, cache, keys, values] {
    const ModelFile file = read_model_file(arguments->file);
    std::string text = info_text(file, arguments->options);
    JsonObject document = info_document(file, arguments->options);
    if (context.given() || sequences.given() || cache.given() || keys.given() || values.given()) {
      MemoryPlanOptions& memory = arguments->memory;
      memory.keys = keys.given() ? arguments->keys : arguments->cache;
      memory.values = values.given() ? arguments->values : arguments->cache;
      const std::string types =
          memory.keys == memory.values ? memory.keys : memory.keys + "/" + memory.values;
      const MemoryPlan plan = memory_plan(arguments->file, memory);
      text += "\n" + memory_text(plan, types);
      document.emplace_back("memory", memory_document(plan, types));
    }
    write_out(arguments->json ? json_text(document, 2) + "\n" : text);
  });
}

}  // namespace hearth::tools
