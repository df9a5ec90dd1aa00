// Pipelines, and their machine code as bytes: what Metal calls a binary archive.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "devices/metal/objc/objc.h"
#include "runtime/commands/driver.h"

namespace hearth::metal {

// What a kernel's pipeline is made from; the same for the same source. Throws Error{corrupt_file}
// where the library lacks the kernel.
Owned pipeline_descriptor(const ObjectiveC& objc, const runtime::KernelSource& source, Id library);

// Thread-safe. Archives save time only: where one cannot be made or does not fit the system, a
// pipeline is made without.
class Pipelines {
 public:
  // `device` outlives it.
  Pipelines(const ObjectiveC& objc, Id device);

  // The archive of one pipeline; empty where that is not to be had.
  std::vector<std::byte> archive_of(Id descriptor) const;
  // `archive`: of archive_of(), or empty. Null with an error of Metal's.
  Owned make(Id descriptor, std::span<const std::byte> archive, Id* error) const;

 private:
  // An archive that is empty, or what the file has; null where there is none.
  Owned open(Id url) const;

  const ObjectiveC& objc_;
  const Id device_;
  bool has_archives_ = false;
};

}  // namespace hearth::metal
