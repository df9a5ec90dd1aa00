#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "hearth/runtime.h"
#include "tools/commands.h"
#include "tools/lm/trainer.h"
#include "tools/output.h"
#include "tools/profile_table.h"

namespace hearth::tools {
namespace {

void run_train(const TrainingOptions& options) {
  Trainer trainer(options);
  const TrainingResult result = trainer.run();
  char line[160];
  std::snprintf(line, sizeof line, "train: steps=%lld held_out=%.4f tokens_per_s=%.0f\n",
                static_cast<long long>(result.steps), result.held_out_loss, result.tokens_per_s);
  write_out(line);
}

}  // namespace

void add_train(CommandLine& line) {
  struct Flags {
    TrainingOptions options;
    std::string dtype = "f32";
    bool profile = false;
  };
  auto flags = std::make_shared<Flags>();
  TrainingOptions& options = flags->options;
  options.out = "model";
  Command command = line.add_command("train",
                                     "Train a transformer on the bytes of a text; goes on where a "
                                     "run of the same settings stopped");
  const std::int64_t most = std::int64_t{1} << 30;
  command.option("--text", options.text, "Any file; its last 5 % are held out").required();
  command.option("--out", options.out, "Folder for checkpoint, config and loss curve")
      .show_default();
  command.option("--steps", options.steps, "Optimizer steps").range(1, most).show_default();
  command.option("--seconds", options.seconds, "Train for this time instead").range(0.1, 1e9);
  command.option("--layers", options.model.layers, "Decoder layers").range(1, most).show_default();
  command.option("--dim", options.model.dim, "Width of the model").range(1, most).show_default();
  command.option("--heads", options.model.heads, "Attention heads").range(1, most).show_default();
  command.option("--kv-heads", options.model.kv_heads, "Heads of keys and values [heads]")
      .range(1, most);
  command.option("--context", options.model.context, "Bytes the model sees at once")
      .range(1, most)
      .show_default();
  command.option("--batch", options.batch, "Sequences in a step").range(1, most).show_default();
  command.option("--dtype", flags->dtype, "What activations are computed in; f64: parameters, too")
      .one_of({"f32", "bf16", "f64"})
      .show_default();
  command.option("--lr", options.learning_rate, "Highest learning rate")
      .range(1e-12, 1e3)
      .show_default();
  command.option("--seed", options.seed, "Of the first weights and the batches").show_default();
  command.option("--device", options.device, "See `hearth devices`");
  command.option("--checkpoint-every", options.checkpoint_every, "Steps between checkpoints")
      .range(1, most)
      .show_default();
  command.flag("--fresh", options.fresh, "Start over even if there is a checkpoint");
  command.flag("--profile", flags->profile,
               "Say at the end what each kernel took; slows GPUs down, one kernel runs at a time");
  command.action([flags] {
    flags->options.dtype = dtype_from_name(flags->dtype);
    std::optional<runtime::Profile> profile;
    if (flags->profile) profile.emplace();
    run_train(flags->options);
    if (profile) write_out(kernel_table(profile->kernels()));
  });
}

}  // namespace hearth::tools
