// `hearth info`: what is in a file or folder of tensors, and what a model will take in memory.
#include <memory>
#include <string>

#include "core/json.h"
#include "tools/commands.h"
#include "tools/info/describe.h"
#include "tools/info/memory_plan.h"
#include "tools/info/model_file.h"
#include "tools/lm/context_note.h"
#include "tools/lm/model_name.h"
#include "tools/lm/model_options.h"
#include "tools/output.h"

namespace hearth::tools {

void add_info(CommandLine& line) {
  struct Arguments {
    std::string file;
    bool json = false;
    InfoOptions options;
    MemoryPlanOptions memory;
    std::string dtype = "f32";
    CacheArguments caches;  // empty: the dtype
  };
  constexpr std::int64_t kMostRows = std::int64_t{1} << 20;
  Command command = line.add_command(
      "info", "Show what is in a GGUF or safetensors file, or in a model's folder");
  const auto arguments = std::make_shared<Arguments>();
  command
      .option("-m,--model,file", arguments->file,
              "The file, any part of a split one, or a model's folder")
      .check(model_name_fault)
      .value_name("FILE")
      .required();
  command.flag("--tensors", arguments->options.tensors, "List the tensors");
  command.flag("--all", arguments->options.all,
               "Print long arrays and texts of the metadata in full");
  const Option context =
      add_context_option(command, arguments->memory.context,
                         "Show the memory that a language model takes with texts of this many "
                         "tokens; 0: as many as it was made for");
  const Option parallel = command
                              .option("-np,--parallel,--sequences", arguments->memory.parallel,
                                      "The same with this many texts at once")
                              .range(1, kMostRows)
                              .show_default();
  const Option prefill = command
                             .option("--prefill", arguments->memory.prefill,
                                     "The same with this many tokens of prompts in a step")
                             .range(1, kMostRows)
                             .show_default();
  add_cache_options(command, arguments->caches,
                    "The same with cached keys and values of this type [as --dtype]");
  const Option dtype = add_dtype_option(command, arguments->dtype);
  command.flag("--json", arguments->json, "Print all of it as JSON");
  command.action([arguments, context, parallel, prefill, dtype] {
    const ModelFile file = read_model_file(arguments->file);
    std::string text = info_text(file, arguments->options);
    JsonObject document = info_document(file, arguments->options);
    const CacheArguments& caches = arguments->caches;
    if (context.given() || parallel.given() || prefill.given() || dtype.given() ||
        !caches.of_keys().empty() || !caches.of_values().empty()) {
      MemoryPlanOptions& memory = arguments->memory;
      memory.compute = dtype_from_name(arguments->dtype);
      memory.keys = caches.of_keys().empty() ? arguments->dtype : caches.of_keys();
      memory.values = caches.of_values().empty() ? arguments->dtype : caches.of_values();
      const std::string types = cache_text(memory.keys, memory.values);
      const MemoryPlan plan = memory_plan(arguments->file, memory);
      warn_of_context("info", plan.context, plan.trained_context);
      text += "\n" + memory_text(plan, types);
      document.emplace_back("memory", memory_document(plan, types));
    }
    write_out(arguments->json ? json_text(document, 2) + "\n" : text);
  });
}

}  // namespace hearth::tools
