// Training with checkpoints, evaluations and a progress line, whatever is trained.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/hashing.h"
#include "core/json.h"
#include "hearth/optim.h"
#include "tools/training/checkpoint.h"
#include "tools/training/loss_curve.h"

namespace hearth::tools {

// The loss is read once in this many steps: reading waits for the step's loss.
inline constexpr std::int64_t kReadEvery = 7;

// What every run has.
struct RunOptions {
  const char* command = "train";  // which errors name
  std::string out;
  std::int64_t steps = 1000;
  double seconds = 0;  // > 0: a budget of time, which then decides when the rate has fallen to 0
  std::int64_t batch = 8;
  DType dtype = DType::f32;  // of activations; parameters are f32, or f64 with them
  double learning_rate = 2e-3;
  double weight_decay = 0.1;
  std::int64_t warm_up = 50;  // steps
  std::uint64_t seed = 0;
  std::int64_t checkpoint_every = 200;  // steps
  double checkpoint_seconds = 60;       // at the latest so long after the last one
  std::int64_t evaluate_every = 0;      // steps; 0: a tenth of them
  bool fresh = false;                   // forget a checkpoint that is there
  // Go on from one, which must be there, and may have been made for another number of steps: what
  // is left of these then follows the rate that they have.
  bool resume = false;
  bool may_go_on = true;  // whether the command has these two options
  std::string device;     // empty: the default
};

// A file beside the checkpoint.
struct FolderText {
  const char* name;
  std::string text;
};

// Of held-out data.
struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;  // 0 to 1, where there are classes
};

struct TrainingResult {
  std::int64_t steps = 0;
  Evaluation held_out;
  double rate = 0;  // units in a second over the whole run, without evaluation, checkpoints
  double plan_hit_rate = 0;  // after the third step of this process
};

// A run. With a fixed number of steps everything that is computed depends on the options and the
// data alone, whether the run was stopped in between or not.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Trains to the end, writes checkpoint and loss curve. Where SIGINT or SIGTERM comes before that,
  // finishes the step, writes both, says so and throws Interrupted; a second one ends the program.
  // Throws Error{invalid_argument} when the loss stops being a number.
  TrainingResult run();

  // The loss before the first step, of which a run that goes on knows by its checkpoint; where that
  // does not say, the loss before the step with which this run goes on.
  LossPoint first_loss();

  // Loss and accuracy over the held-out data.
  virtual Evaluation evaluate() const = 0;

  // Drawn into the loss curve of run() and of write_curve().
  void add_baseline(const std::string& label, double loss) { baselines_.push_back({label, loss}); }
  void write_curve() const;

 protected:
  // What is counted and measured.
  struct Units {
    const char* rate;     // short, for TrainingResult::rate
    std::int64_t a_step;  // so many of those
    const char* loss;     // of the losses
  };

  // Makes the device the default, and seeds the generator: what is drawn next are first weights.
  explicit TrainingRun(const RunOptions& options);

  // To be called once there is a model: makes the folder, goes on from a checkpoint of the same
  // run. `settings` are those beyond RunOptions; `files` make the folder one of a model. Throws
  // Error for what cannot be made or resumed.
  void open(JsonObject settings, const std::vector<FolderText>& files);

  const RunOptions& run_options() const noexcept { return options_; }
  Device device() const noexcept { return device_; }

  // The loss of the batch of a step, counted from 0, with its gradients.
  virtual Array loss(std::int64_t step) = 0;
  virtual std::vector<hearth::Parameter> trained() = 0;
  virtual Units units() const = 0;
  // Of the loss curve.
  virtual std::string title() const = 0;
  // Whether evaluate() is of held-out data, and so shown as such.
  virtual bool has_held_out() const { return true; }
  // Writes what others read beside each checkpoint.
  virtual void write_result() const {}

 private:
  std::int64_t planned_steps() const;
  Array train_step();
  bool evaluation_is_due();
  void note_evaluation();
  bool checkpoint_is_due() const;
  void save();
  // Says where it stopped, and how it goes on.
  void note_interruption(int signal) const;

  RunOptions options_;
  Device device_;
  optim::AdamW optimizer_;
  RunSettings settings_;  // of open()
  RunState state_;
  std::int64_t tenths_ = 0;  // of a budget of time, at the last evaluation
  double next_save_ = 0;     // when the next checkpoint is due, on the clock of Timeline
  std::vector<LossBaseline> baselines_;
};

// FNV-1a, to tell data apart; `hash` is that of what came before.
std::uint64_t fingerprint(std::span<const std::uint8_t> bytes, std::uint64_t hash = kFnvBasis);

}  // namespace hearth::tools
