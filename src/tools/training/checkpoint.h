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

// What a run is of, as text.
struct RunSettings {
  std::string run;              // all that its result depends on
  std::string config;           // of the model, for those who load it
  bool ignores_length = false;  // the checkpoint's "steps" and "seconds" do not count
};

std::string checkpoint_path(const std::string& folder);
bool has_checkpoint(const std::string& folder);

// Throws Error{io}; the old checkpoint is then still there.
void save_checkpoint(const std::string& folder, const std::vector<hearth::Parameter>& parameters,
                     const optim::Optimizer& optimizer, const RunState& state,
                     const RunSettings& settings);

// Throws Error{invalid_argument} for a checkpoint of another run, Error{io} and
// Error{corrupt_file}.
RunState load_checkpoint(const std::string& folder,
                         const std::vector<hearth::Parameter>& parameters,
                         optim::Optimizer& optimizer, const RunSettings& settings, Device device);

// `contents` of the file at `path`; Error{corrupt_file} where that is no checkpoint.
SafetensorsContents require_checkpoint(SafetensorsContents contents, const std::string& path);
// What the metadata say under `key`; Error{corrupt_file} where they do not.
const std::string& checkpoint_entry(const SafetensorsContents& contents, const char* key,
                                    const std::string& path);

}  // namespace hearth::tools
