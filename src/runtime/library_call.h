// A problem that a library of the device's vendor solves as one command: a large matrix product, for
// instance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/runtime.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// A driver that calls libraries turns it into a Function, which is launched like a kernel: one
// threadgroup of 32 threads, whatever the library really does. Equal calls are the same function.
struct LibraryCall {
  // What is asked for, "matmul": it says what `problem` means, and which library is asked.
  std::string function;
  // In errors and timelines.
  std::string name;
  // Memory only. A library's workspace is a parameter like any other.
  std::vector<KernelParameter> parameters;
  std::vector<std::int64_t> problem;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
