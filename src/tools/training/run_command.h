// What the commands that train share of the command line.
#pragma once

#include <functional>
#include <string>

#include "tools/command_line.h"
#include "tools/training/training_run.h"

namespace hearth::tools {

// Flags that RunOptions do not hold as they are written.
struct RunFlags {
  std::string dtype = "f32";
  int threads = 0;  // 0: one a core
  bool profile = false;
};

// Declares the options of every run, with the values of `options` as defaults. `samples`: what a
// batch has, for --help. Both variables must live until the command has run.
void add_run_options(Command& command, RunOptions& options, RunFlags& flags,
                     const std::string& samples);

// Completes the options by the flags and calls `train`; with --profile, says at the end what each
// kernel took.
void run_training(RunOptions& options, const RunFlags& flags, const std::function<void()>& train);

}  // namespace hearth::tools
