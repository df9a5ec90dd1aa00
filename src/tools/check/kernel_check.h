// Runs a kernel on the simulator, under every schedule, with each access judged.
#pragma once

#include <map>
#include <string>

#include "hearth/runtime.h"

namespace hearth::tools {

// The constant that a kernel of Metal's own gets its grid by, which is no parameter of the text.
inline constexpr char kGridParameter[] = "hearth_grid";

struct CheckedLaunch {
  runtime::Size3 grid = {256, 1, 1};    // threads
  runtime::Size3 threads = {64, 1, 1};  // of a threadgroup
  // Values by the parameter's name (kernel_values.h); those of other kernels may be among them. A
  // buffer without one has 4 bytes for each thread of the grid: random f32 where it is read only,
  // poison where it may be written.
  std::map<std::string, std::string> values;
  double time_limit = 20;  // seconds, of compiling and of each schedule; what takes longer fails
};

struct KernelCheck {
  bool passed = false;
  std::string report;  // lines
};

// Throws Error{invalid_argument} for constants without a value and sizes out of range,
// Error{unsupported} without a host compiler or in a build without the simulator. What the kernel
// does wrong is in the report.
KernelCheck check_kernel(const runtime::KernelSource& source, const CheckedLaunch& launch);

}  // namespace hearth::tools
