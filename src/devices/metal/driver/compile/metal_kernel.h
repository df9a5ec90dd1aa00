// A compiled kernel on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/metal/driver/compile/bindings.h"
#include "devices/metal/driver/compile/compiler.h"
#include "devices/metal/driver/compile/pipelines.h"
#include "devices/metal/objc/objc.h"
#include "runtime/commands/driver.h"

namespace hearth::metal {

class MetalKernel final : public runtime::Function {
 public:
  // `compiled` is of the source's text. Throws Error{corrupt_file} where it lacks the kernel,
  // Error{unsupported} for one that the device cannot run, Error{device} with what Metal says.
  MetalKernel(const ObjectiveC& objc, const Pipelines& pipelines,
              const runtime::KernelSource& source, const CompiledText& compiled,
              std::int64_t most_threadgroup_bytes);

  const Bindings& bindings() const noexcept { return bindings_; }
  // Whether the kernel writes what each parameter gets, without threadgroup arrays.
  const std::vector<bool>& writes() const noexcept { return writes_; }
  Id pipeline() const noexcept { return pipeline_.get(); }
  std::int64_t max_threads() const noexcept { return max_threads_; }
  // Outlives the kernel where others hold it.
  const std::shared_ptr<const std::string>& shared_name() const noexcept { return shared_name_; }

 private:
  const Bindings bindings_;
  std::vector<bool> writes_;
  const std::shared_ptr<const std::string> shared_name_;
  Owned pipeline_;
  std::int64_t max_threads_ = 0;
};

}  // namespace hearth::metal
