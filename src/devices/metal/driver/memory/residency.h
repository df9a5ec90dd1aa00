// The memory of a device that its queue keeps resident, so that Metal need not go through what each
// command buffer names. Memory beyond what the device can hold is left to command buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "devices/metal/objc/objc.h"

namespace hearth::metal {

// Thread-safe. Does nothing where the system has no residency sets, or gives none.
//
// Several sets, since the system decides for each as a whole whether it is resident: one set for
// all would be in or out with every byte of it. A set takes buffers until it has its share of the
// device's working set; a larger buffer has a set of its own while there is another to be had.
class Residency {
 public:
  static constexpr std::size_t kMaxSets = 32;  // that a queue takes
  static constexpr std::int64_t kShares = 20;  // of the working set, one for each set
  // Of the working set, what all sets hold at most, in hundredths. It is what arrays and arena of a
  // device may take (GpuOptions::memory_share).
  static constexpr std::int64_t kMaxHundredths = 94;

  // `device` outlives it.
  Residency(const ObjectiveC& objc, Id device, SystemVersion system);
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // The sets count for every command buffer of the queue, which outlives this.
  void attach(Id queue);
  // From the next apply() on, until remove(), where it fits. `is_adopted`: memory of the host, such
  // as a file's, which gets only what other memory leaves.
  void add(Id buffer, std::int64_t bytes, bool is_adopted);
  // Keeps the buffer until its set is updated, by the next apply() at the latest.
  void remove(Owned buffer) noexcept;
  // Applies to the sets what was added and removed. Called before a command buffer is committed.
  void apply() noexcept;

 private:
  static constexpr std::size_t kMaxRemoved = 64;
  static constexpr std::size_t kNowhere = kMaxSets;

  struct Set {
    Owned set;
    std::int64_t bytes = 0;
    std::vector<Id> added, removed;  // and not told
  };
  struct Entry {
    std::int64_t bytes;
    std::size_t set = kNowhere;
  };
  using Entries = std::unordered_map<Id, Entry>;

  // With mutex_ held.
  Owned new_set() const;
  std::size_t set_for(std::int64_t bytes);
  void enter(Entries::value_type& entry);
  void leave(Entries::value_type& entry);
  void make_room(std::int64_t bytes);
  void fill_room(Entries& entries, std::int64_t most);
  void tell();

  const ObjectiveC& objc_;
  const Id device_;
  std::int64_t share_ = 0, most_ = 0;  // bytes
  std::mutex mutex_;
  Id queue_ = nullptr;
  std::vector<Set> sets_;  // none: the system has none
  Entries own_, adopted_;
  std::int64_t held_ = 0;       // bytes, in sets
  std::size_t left_out_ = 0;    // entries in no set
  bool has_room_ = false;       // something left a set since left_out_ was last looked at
  std::vector<Owned> removed_;  // never grows beyond its capacity
};

}  // namespace hearth::metal
