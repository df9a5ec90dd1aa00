#include "tools/training/run_command.h"

#include <optional>

#include "hearth/runtime.h"
#include "runtime/device/worker_pool.h"
#include "tools/dtype_option.h"
#include "tools/output.h"
#include "tools/place_options.h"
#include "tools/profile_table.h"

namespace hearth::tools {

void add_run_options(Command& command, RunOptions& options, RunFlags& flags,
                     const std::string& samples) {
  const std::int64_t most = std::int64_t{1} << 30;
  command.option("--out", options.out, "Folder for checkpoint, config and loss curve")
      .show_default();
  command.option("--steps", options.steps, "Optimizer steps").range(1, most).show_default();
  command.option("--seconds", options.seconds, "Train for this many seconds instead of --steps")
      .range(0.1, 1e9);
  command.option("-b,--batch,--batch-size", options.batch, samples + " in a step")
      .range(1, most)
      .show_default();
  add_dtype_option(command, flags.dtype, {"f32", "bf16", "f64"},
                   "Type that activations are computed in; with f64 parameters are f64, too");
  command.option("--lr,--rate,--learning-rate", options.learning_rate, "Highest learning rate")
      .range(1e-12, 1e3)
      .show_default();
  command.option("-s,--seed", options.seed, "Seed of all random draws").show_default();
  add_place_options(command, options.device, flags.threads);
  command
      .option("--checkpoint-every", options.checkpoint_every,
              "Steps between checkpoints, which a minute brings as well")
      .range(1, most)
      .show_default();
  command.flag("--fresh", options.fresh, "Start over even if there is a checkpoint");
  command.flag(
      "--resume", options.resume,
      "Continue from the checkpoint, which must be there; --steps may differ from its own");
  command.flag("--profile", flags.profile,
               "Print at the end the time of each kernel; slows GPUs down, where kernels then run "
               "one at a time");
}

void run_training(RunOptions& options, const RunFlags& flags, const std::function<void()>& train) {
  options.dtype = dtype_from_name(flags.dtype);
  if (flags.threads > 0) WorkerPool::global().set_threads(flags.threads);
  std::optional<runtime::Profile> profile;
  if (flags.profile) profile.emplace();
  train();
  if (profile) write_out(kernel_table(profile->kernels()));
}

}  // namespace hearth::tools
