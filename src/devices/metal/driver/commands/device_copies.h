// Copies and fills by small kernels: they go into the open encoder like any other command, where
// the API's own would need an encoder of another kind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/commands/driver.h"

namespace hearth::metal {

// Used by one thread at a time.
class DeviceCopies {
 public:
  using Load = std::function<std::unique_ptr<runtime::Function>(const runtime::KernelSource&)>;
  using Submit = std::function<void(std::span<const runtime::Command>)>;
  // Kernels are loaded when they are first needed.
  DeviceCopies(Load load, Submit submit) : load_(std::move(load)), submit_(std::move(submit)) {}

  // The two do not overlap.
  void copy(Address target, Address source, std::int64_t bytes);
  void fill(Address target, std::uint8_t value, std::int64_t bytes);

 private:
  const runtime::Function& kernel(bool copies, const char* unit);

  Load load_;
  Submit submit_;
  std::map<std::string, std::unique_ptr<runtime::Function>> kernels_;
};

}  // namespace hearth::metal
