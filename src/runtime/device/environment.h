// Every HEARTH_* variable that the library reads. Read here only, once, on first use.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearth {
inline namespace v0 {
namespace runtime {

struct Environment {
  std::string device;          // HEARTH_DEVICE: the default device; empty: cpu
  std::optional<int> threads;  // HEARTH_THREADS: of the worker pool; else one a processor
  // Switches, see graph/switches.h.
  bool fusion = true;             // HEARTH_FUSION
  bool exact = false;             // HEARTH_EXACT
  bool tf32 = false;              // HEARTH_TF32
  bool deterministic = true;      // HEARTH_DETERMINISTIC
  bool precise_sums = false;      // HEARTH_PRECISE_SUMS
  bool batch_invariant = false;   // HEARTH_BATCH_INVARIANT
  bool composites = false;        // HEARTH_COMPOSITES
  bool check_indices = false;     // HEARTH_CHECK_INDICES
  bool library_epilogues = true;  // HEARTH_LIBRARY_EPILOGUES
  bool channels_last = true;      // HEARTH_CHANNELS_LAST
  // HEARTH_CACHE: where compiled kernels are kept; empty: nowhere.
  std::optional<std::string> cache;
  std::string cuda_path;      // HEARTH_CUDA_PATH: folders that are searched first
  std::string metal_path;     // HEARTH_METAL_PATH: a library in place of Apple's
  std::string metal_capture;  // HEARTH_METAL_CAPTURE: the file that gets the first plan on Metal
  // HEARTH_METAL_MPSGRAPH: whether Metal measures MPSGraph among its own kernels; unset: MPSGraph
  // runs only where HEARTH_CHOICES names it.
  std::optional<bool> metal_mpsgraph;
  // HEARTH_HOST_COMPILER: of kernels for the simulator; empty: see devices/sim/host_compiler.h.
  std::string host_compiler;
  bool metal_any = false;    // HEARTH_METAL_ANY: Apple's GPUs before the M1's serve too
  std::string trace;         // HEARTH_TRACE: the file that gets the timeline of the process
  bool check_order = false;  // HEARTH_CHECK_ORDER: see order_check.h
  std::string choices;       // HEARTH_CHOICES: see runtime/tune/rules.h
  bool tune = true;          // HEARTH_TUNE: whether implementations are chosen by times

  // The first variable that is misspelt, or whose value means nothing, as the text of an error. It
  // counts as unset.
  std::string problem;
  // What is to be said of variables called HEARTH_... that are none of these, a line each.
  std::vector<std::string> warnings;
};

// `lookup`: the value of a variable, or null. `variables`: the names of all there are. One that
// looks like a misspelt name of the above is a problem; another of ours that is not `documented`
// gets a warning.
Environment read_environment(const std::function<const char*(const char*)>& lookup,
                             std::span<const std::string> variables = {},
                             std::span<const char* const> documented = {});

// Those of docs/environment.md and of CMake's files, which are nobody's mistake in the environment
// of a build or a test (cmake/HearthEnvironment.cmake).
std::span<const char* const> documented_variables() noexcept;

// Says warnings on stderr, when it is first called.
const Environment& environment() noexcept;

// Throws Error{invalid_argument} where environment() has a problem. Looking for a device calls it.
void check_environment();

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
