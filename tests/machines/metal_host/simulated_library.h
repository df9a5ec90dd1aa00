// A text of Metal's, as the simulator runs it. Where structs of constants hold pointers, the
// library that is compiled of it tells where they lie.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/msl/entries.h"
#include "devices/sim/kernel_library.h"
#include "hearth/runtime.h"
#include "machines/metal_double/metal_double.h"

namespace hearth::metal {

class SimulatedKernel final : public fake::GpuKernel {
 public:
  SimulatedKernel(const runtime::KernelSource& source, std::span<const std::byte> image);
  const sim::KernelLibrary& library() const noexcept { return library_; }
  // By pointers: what they point to, named as they are.
  const std::vector<runtime::KernelParameter>& reached() const noexcept { return reached_; }

 private:
  void find_pointers(const gpu::MetalText& text, const gpu::MetalEntry& entry);

  const sim::KernelLibrary library_;
  std::vector<runtime::KernelParameter> reached_;
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
