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
  command.option("--seconds", options.seconds, "Train for this time instead").range(0.1, 1e9);
  command.option("-b,--batch,--batch-size", options.batch, samples + " in a step")
      .range(1, most)
      .show_default();
  add_dtype_option(command, flags.dtype, {"f32", "bf16", "f64"},
                   "What activations are computed in; f64: parameters, too");
  command.option("--lr,--rate,--learning-rate", options.learning_rate, "Highest learning rate")
      .range(1e-12, 1e3)
      .show_default();
  command.option("-s,--seed", options.seed, "Of all that is drawn").show_default();
  add_place_options(command, options.device, flags.threads);
  command.option("--checkpoint-every", options.checkpoint_every, "Steps between checkpoints")
      .range(1, most)
      .show_default();
  command.flag("--fresh", options.fresh, "Start over even if there is a checkpoint");
  command.flag("--resume", options.resume,
               "Go on from the checkpoint, which must be there; --steps may be others than it had");
  command.flag("--profile", flags.profile,
               "Say at the end what each kernel took; slows GPUs down, one kernel runs at a time");
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
