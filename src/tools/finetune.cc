// `hearth finetune`: what a language model learns from a text, as a low-rank adapter.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/quoted.h"
#include "tools/commands.h"
#include "tools/lm/adapter_trainer.h"
#include "tools/lm/chat_template_option.h"
#include "tools/lm/model_options.h"
#include "tools/output.h"
#include "tools/shutdown_signal.h"
#include "tools/training/run_command.h"

namespace hearth::tools {
namespace {

void run_finetune(const FinetuneOptions& options) {
  AdapterTrainer trainer(options);
  const auto write_adapter = [&] {
    for (const std::string& path : trainer.write_adapter()) {
      write_out("wrote " + hearth::quoted(path, path.size()) + "\n");
    }
  };
  const LossPoint first = trainer.first_loss();
  TrainingResult result;
  try {
    result = trainer.run();
  } catch (const Interrupted&) {
    write_adapter();
    throw;
  }
  const std::string name = trainer.has_held_out() ? "held_out" : "loss";
  const std::string when = first.step == 0 ? "before" : "at_step_" + std::to_string(first.step);
  char line[200];
  std::snprintf(line, sizeof line, "finetune: steps=%lld %s_%s=%.4f %s=%.4f tokens_per_s=%.0f\n",
                static_cast<long long>(result.steps), name.c_str(), when.c_str(), first.loss,
                name.c_str(), result.held_out.loss, result.rate);
  write_adapter();
  write_out(line);
}

}  // namespace

void add_finetune(CommandLine& line) {
  struct Flags {
    FinetuneOptions options;
    RunFlags run;
    std::vector<std::string> adapters;
    bool is_low_rank = true;
  };
  auto flags = std::make_shared<Flags>();
  FinetuneOptions& options = flags->options;
  options.command = "finetune";
  options.out = "adapter";
  options.steps = 100;
  options.batch = 4;
  options.learning_rate = 2e-4;
  options.weight_decay = 0;
  options.warm_up = 10;
  Command command =
      line.add_command("finetune",
                       "Train a low-rank adapter of a language model on a text; continues where a "
                       "run with the same settings stopped");
  const std::int64_t most = std::int64_t{1} << 20;
  add_model_option(command, options.model, "GGUF file, or folder as Hugging Face or MLX has it")
      .required();
  command
      .option(
          "-f,--text,--file", options.text,
          "A text, or a .jsonl file that has on each line {\"messages\": [...]}, a conversation "
          "whose answers are learned, {\"prompt\": ..., \"completion\": ...} or {\"text\": "
          "...}")
      .value_name("FILE")
      .required();
  command.flag("--lora", flags->is_low_rank,
               "Train a low-rank adapter, which is done with and without this option");
  command.option("--rank", options.rank, "Rank of the adapter's matrices")
      .range(1, most)
      .show_default();
  command.option("--alpha", options.alpha, "The adapter is scaled by alpha / rank")
      .range(1e-6, 1e6)
      .show_default();
  command
      .option("--lora-layers", options.layers,
              "Weights that the adapter changes: attention, all, or a regular expression for their "
              "names in GGUF, such as blk.3.ffn_(up|down)")
      .show_default();
  command
      .option("--base-lora", flags->adapters,
              "An adapter that the model already has, and that stays as it is; may be given "
              "several times")
      .value_name("FILE[:SCALE]");
  add_chat_template_option(command, options.chat_template);
  add_context_option(command, options.context, "Tokens of a text that the model sees at once", 2,
                     most)
      .show_default();
  command.option("--weight-decay", options.weight_decay, "Weight decay of the adapter's matrices")
      .range(0.0, 1e3)
      .show_default();
  command
      .option("--warm-up", options.warm_up,
              "Steps in which the learning rate rises, at most a tenth of all")
      .range(0, most)
      .show_default();
  add_run_options(command, options, flags->run, "Texts");
  command.action([flags] {
    flags->options.adapters = adapter_files(flags->adapters);
    require_adapters("--base-lora", flags->options.adapters);
    run_training(flags->options, flags->run, [&] { run_finetune(flags->options); });
  });
}

}  // namespace hearth::tools
