// A text of Metal's, as the simulator runs it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/metal/double/metal_double.h"
#include "devices/sim/kernel_library.h"
#include "hearth/runtime.h"

namespace hearth::metal {

class SimulatedKernel final : public fake::GpuKernel {
 public:
  SimulatedKernel(const runtime::KernelSource& source, std::span<const std::byte> image);
  const sim::KernelLibrary& library() const noexcept { return library_; }

 private:
  const sim::KernelLibrary library_;
};

// Reads the text as runtime::metal_kernel() does, which makes of it what a compiler of C++ takes.
class SimulatedLibrary final : public fake::GpuLibrary {
 public:
  // Compiles the first kernel of the text, which is of this MTLLanguageVersion. Throws Error.
  SimulatedLibrary(std::string text, UInteger language, bool check);
  std::shared_ptr<const fake::GpuKernel> kernel(const std::string& name) override;

 private:
  std::shared_ptr<const fake::GpuKernel> compile(const std::string& name) const;

  const std::string text_;
  const runtime::MetalOptions options_;
  const bool check_;
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const fake::GpuKernel>> kernels_;
};

}  // namespace hearth::metal
