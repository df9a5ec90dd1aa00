// Host compilers for tests of kernel texts.
#pragma once

#include <string>

#include "kernels/prelude/simulator_abi.h"

namespace hearth::gpu_test {

// The compilers by name, as the shell finds them; HEARTH_CLANG names another clang.
inline constexpr const char* kGcc = "g++";
const std::string& clang();
// Empty where the compiler runs, else why a test is skipped.
std::string compiler_missing(const std::string& compiler);

// What clang says about the text of Target::lint; empty where it is in order. Warnings count.
std::string lint(const std::string& text);
// The same for Metal's language before 3.1, with `bfloat`, its own, in front of the kernel's text:
// as C++ for OpenCL, whose member functions have address spaces, as Metal's.
std::string lint_without_bfloat(std::string text, const std::string& bfloat);

// The text of Target::host as a library of this process.
class HostLibrary {
 public:
  // Fails the running test with the compiler's messages.
  HostLibrary(const std::string& text, const std::string& compiler, const std::string& options);
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  bool ok() const { return handle_ != nullptr; }
  HearthKernel kernel(const std::string& name) const;
  HearthThreadgroupBytes threadgroup_bytes(const std::string& name) const;
  void set_simulator(const HearthSimulator* simulator) const;

 private:
  void* symbol(const std::string& name) const;
  void* handle_ = nullptr;
};

}  // namespace hearth::gpu_test
