// A training run on disk: one safetensors file that holds everything a run needs to go on as if it
// had never stopped, replaced in one step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/io.h"
#include "hearth/optim.h"
#include "hearth/random.h"
#include "tools/training/loss_curve.h"

namespace hearth::tools {

// What a run has reached.
struct RunState {
  std::int64_t step = 0;  // steps done
  double seconds = 0;     // spent on them
  Generator generator;
  std::vector<LossPoint> train;
  std::vector<LossPoint> held_out;
  std::vector<LossPoint> accuracy;  // on held-out data, 0 to 1; empty where there are no classes
};

// What a run is of.
struct RunSettings {
  std::string text;             // all that its result depends on, as a JSON object
  bool ignores_length = false;  // "steps" and "seconds" of a checkpoint do not count
};

std::string checkpoint_path(const std::string& folder);
bool has_checkpoint(const std::string& folder);

// `run`: all that its result depends on, as the text of a JSON object. Throws Error{io}; the old
// checkpoint is then still there.
void save_checkpoint(const std::string& folder, const std::vector<hearth::Parameter>& parameters,
                     const optim::Optimizer& optimizer, const RunState& state,
                     const std::string& run);

// Throws Error{invalid_argument} for a checkpoint of another run, Error{io} and
// Error{corrupt_file}.
RunState load_checkpoint(const std::string& folder,
                         const std::vector<hearth::Parameter>& parameters,
                         optim::Optimizer& optimizer, const RunSettings& settings, Device device);

}  // namespace hearth::tools
