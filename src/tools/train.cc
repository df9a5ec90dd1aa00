#include <cstdio>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/lm/model_options.h"
#include "tools/lm/text_trainer.h"
#include "tools/output.h"
#include "tools/training/run_command.h"

namespace hearth::tools {
namespace {

void run_train(const TextTrainingOptions& options) {
  TextTrainer trainer(options);
  const TrainingResult result = trainer.run();
  char line[160];
  std::snprintf(line, sizeof line, "train: steps=%lld held_out=%.4f tokens_per_s=%.0f\n",
                static_cast<long long>(result.steps), result.held_out.loss, result.rate);
  write_out(line);
}

}  // namespace

void add_train(CommandLine& line) {
  struct Flags {
    TextTrainingOptions options;
    RunFlags run;
  };
  auto flags = std::make_shared<Flags>();
  TextTrainingOptions& options = flags->options;
  options.out = "model";
  Command command = line.add_command("train",
                                     "Train a transformer on the bytes of a text; continues where "
                                     "a run with the same settings stopped");
  const std::int64_t most = std::int64_t{1} << 30;
  command
      .option("-f,--text,--file", options.text,
              "The file to train on, whatever it is; its last 5 % are held out")
      .value_name("FILE")
      .required();
  command.option("--layers", options.model.layers, "Decoder layers").range(1, most).show_default();
  command.option("--dim", options.model.dim, "Width of the model").range(1, most).show_default();
  command.option("--heads", options.model.heads, "Attention heads").range(1, most).show_default();
  command
      .option("--kv-heads", options.model.kv_heads, "Heads of keys and values [as many as --heads]")
      .range(1, most);
  add_context_option(command, options.model.context, "Bytes the model sees at once", 1)
      .show_default();
  add_run_options(command, options, flags->run, "Sequences");
  command.action(
      [flags] { run_training(flags->options, flags->run, [&] { run_train(flags->options); }); });
}

}  // namespace hearth::tools
