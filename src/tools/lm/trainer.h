// Training a byte-level language model on a text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hearth/optim.h"
#include "models/transformer.h"
#include "tools/lm/checkpoint.h"
#include "tools/lm/loss_curve.h"
#include "tools/lm/progress.h"
#include "tools/lm/text_dataset.h"

namespace hearth::tools {

// The loss is read once in this many steps: reading waits for the device.
inline constexpr std::int64_t kReadEvery = 7;

struct TrainingOptions {
  std::string text;
  std::string out;
  models::TransformerConfig model;
  std::int64_t steps = 1000;
  double seconds = 0;  // > 0: a budget of time, which then decides when the rate has fallen to 0
  std::int64_t batch = 8;
  DType dtype = DType::f32;  // of activations; parameters are f32, or f64 with them
  double learning_rate = 2e-3;
  double weight_decay = 0.1;
  std::int64_t warm_up = 50;  // steps
  std::uint64_t seed = 0;
  std::int64_t checkpoint_every = 200;  // steps
  std::int64_t evaluate_every = 0;      // steps; 0: a tenth of them
  bool fresh = false;                   // forget a checkpoint that is there
  std::string device;                   // empty: the default
};

struct TrainingResult {
  std::int64_t steps = 0;
  double held_out_loss = 0;  // nats per byte
  double tokens_per_s = 0;   // over the whole run, evaluation and checkpoints left out
  double plan_hit_rate = 0;  // after the third step of this process
};

// A run. With a fixed number of steps everything that is computed depends on the options and the
// text alone, whether the run was stopped in between or not.
class Trainer {
 public:
  // Opens text and folder, makes the model, and goes on from a checkpoint of the same run. Throws
  // Error for what cannot be opened, allocated or resumed.
  explicit Trainer(const TrainingOptions& options);

  // Trains to the end, writes checkpoint and loss curve. Throws Error{invalid_argument} when the
  // loss stops being a number.
  TrainingResult run();

  // Mean nats per byte over the held-out bytes.
  double held_out_loss() const;

  // Drawn into the loss curve of run() and of write_curve().
  void add_baseline(const std::string& label, double loss) { baselines_.push_back({label, loss}); }
  void write_curve() const;

  const TextDataset& dataset() const noexcept { return dataset_; }
  const models::Transformer& model() const noexcept { return model_; }

 private:
  std::string run_description() const;
  std::int64_t planned_steps() const;
  Array train_step();
  void evaluate();
  void save();

  TrainingOptions options_;
  Device device_;
  TextDataset dataset_;
  models::Transformer model_;
  optim::AdamW optimizer_;
  RunState state_;
  std::vector<LossBaseline> baselines_;
};

}  // namespace hearth::tools
