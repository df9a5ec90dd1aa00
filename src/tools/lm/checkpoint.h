// A training run on disk: one safetensors file that holds everything a run needs to go on as if it
// had never stopped, replaced in one step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/io.h"
#include "hearth/optim.h"
#include "hearth/random.h"
#include "models/transformer.h"
#include "tools/lm/loss_curve.h"

namespace hearth::tools {

// What a run has reached.
struct RunState {
  std::int64_t step = 0;  // steps done
  double seconds = 0;     // spent on them
  Generator generator;
  std::vector<LossPoint> train;
  std::vector<LossPoint> held_out;
};

std::string checkpoint_path(const std::string& folder);
bool has_checkpoint(const std::string& folder);

// `run` describes the run's settings: load_checkpoint refuses a checkpoint of other settings.
// Throws Error{io}; the old checkpoint is then still there.
void save_checkpoint(const std::string& folder, const models::Transformer& model,
                     const optim::Optimizer& optimizer, const RunState& state,
                     const std::string& run);

// Throws Error{invalid_argument} for a checkpoint of another run, Error{io} and
// Error{corrupt_file}.
RunState load_checkpoint(const std::string& folder, models::Transformer& model,
                         optim::Optimizer& optimizer, const std::string& run);

// The model of a checkpoint, or of a folder as Hugging Face has them (config.json and
// model.safetensors; weights of other float dtypes are converted to f32).
models::Transformer load_model(const std::string& folder, DType compute, Device device);

}  // namespace hearth::tools
