// A problem that a library of the device's vendor solves as one command: a large matrix product,
// for instance.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

// LibraryCall::problem from a struct whose members all have 8 bytes, and the struct from it, which
// has all of its words.
template <class Problem>
using ProblemWords = std::array<std::int64_t, sizeof(Problem) / sizeof(std::int64_t)>;

template <class Problem>
std::vector<std::int64_t> to_words(const Problem& problem) {
  const auto words = std::bit_cast<ProblemWords<Problem>>(problem);
  return {words.begin(), words.end()};
}

template <class Problem>
Problem from_words(const std::vector<std::int64_t>& problem) {
  ProblemWords<Problem> words{};
  std::copy_n(problem.begin(), words.size(), words.begin());
  return std::bit_cast<Problem>(words);
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
