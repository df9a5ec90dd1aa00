// The set of all memory of a device, which its queue keeps resident: Metal then need not go through
// what each command buffer names.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "devices/metal/objc/objc.h"

namespace hearth::metal {

// Thread-safe. Does nothing where the system has no such sets, or gives none.
class Residency {
 public:
  // `device` outlives it.
  Residency(const ObjectiveC& objc, Id device, SystemVersion system);
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // The set counts for every command buffer of the queue.
  void attach(Id queue) const;
  // From the next apply() on, until remove().
  void add(Id buffer);
  // Keeps the buffer until the set is told, by the next apply() at the latest.
  void remove(Owned buffer) noexcept;
  // Tells the set what was added and removed, if anything was. Comes before a command buffer is
  // committed.
  void apply() noexcept;

 private:
  static constexpr std::size_t kMostRemoved = 64;

  void tell() noexcept;

  const ObjectiveC& objc_;
  Owned set_;
  std::mutex mutex_;
  std::vector<Id> added_;
  std::vector<Owned> removed_;  // never grows beyond what it has room for
};

}  // namespace hearth::metal
