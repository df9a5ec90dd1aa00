#include <cstdio>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/trainer.h"

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

void add_train(CLI::App& app) {
  struct Flags {
    TrainingOptions options;
    std::string dtype = "f32";
  };
  auto flags = std::make_shared<Flags>();
  TrainingOptions& options = flags->options;
  options.out = "model";
  CLI::App* command =
      app.add_subcommand("train",
                         "Train a transformer on the bytes of a text; goes on where a "
                         "run of the same settings stopped");
  const auto count = CLI::Range(std::int64_t{1}, std::int64_t{1} << 30);
  command->add_option("--text", options.text, "Any file; its last 5 % are held out")->required();
  command->add_option("--out", options.out, "Folder for checkpoint, config and loss curve")
      ->capture_default_str();
  command->add_option("--steps", options.steps, "Optimizer steps")
      ->check(count)
      ->capture_default_str();
  command->add_option("--seconds", options.seconds, "Train for this time instead")
      ->check(CLI::Range(0.1, 1e9));
  command->add_option("--layers", options.model.layers, "Decoder layers")
      ->check(count)
      ->capture_default_str();
  command->add_option("--dim", options.model.dim, "Width of the model")
      ->check(count)
      ->capture_default_str();
  command->add_option("--heads", options.model.heads, "Attention heads")
      ->check(count)
      ->capture_default_str();
  command->add_option("--kv-heads", options.model.kv_heads, "Heads of keys and values [heads]")
      ->check(count);
  command->add_option("--context", options.model.context, "Bytes the model sees at once")
      ->check(count)
      ->capture_default_str();
  command->add_option("--batch", options.batch, "Sequences in a step")
      ->check(count)
      ->capture_default_str();
  command->add_option("--dtype", flags->dtype, "What activations are computed in")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  command->add_option("--lr", options.learning_rate, "Highest learning rate")
      ->check(CLI::Range(1e-12, 1e3))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Of the first weights and the batches")
      ->capture_default_str();
  command->add_option("--device", options.device, "See `hearth devices`");
  command->add_option("--checkpoint-every", options.checkpoint_every, "Steps between checkpoints")
      ->check(count)
      ->capture_default_str();
  command->add_flag("--fresh", options.fresh, "Start over even if there is a checkpoint");
  command->callback([flags] {
    flags->options.dtype = dtype_from_name(flags->dtype);
    run_train(flags->options);
  });
}

}  // namespace hearth::tools
