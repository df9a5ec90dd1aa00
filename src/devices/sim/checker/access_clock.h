// Which accesses of threads may happen at the same time, for one kind of memory.
//
// Two accesses of different threads to the same byte, one of them a write, must be ordered:
//   threads of one simdgroup by a simdgroup barrier or a threadgroup barrier,
//   threads of one threadgroup by a threadgroup barrier,
//   threads of different threadgroups by nothing: not within one launch.
// A barrier orders the kinds of memory that it names; whatever it names, nobody goes on before all
// have come, so that it orders a read before a later write. Other simd operations order no memory.
// Atomic accesses may meet each other, not plain ones.
//
// Of each byte the last write is remembered, and a summary of the reads: exact, but that atomic
// loads are judged and not remembered, so that a plain write after one is only found in a schedule
// that has the write first.
#pragma once

#include <cstdint>

#include "devices/sim/memory/shadow.h"

namespace hearth::sim {

enum class Access : std::uint8_t { read, write, atomic_read, atomic_write };

inline bool writes(Access access) {
  return access == Access::write || access == Access::atomic_write;
}

// Threadgroups of a launch run one after the other.
class AccessClock {
 public:
  // A segment is a threadgroup between two barriers. Their numbers rise over all launches.
  void begin_launch();
  // `own`: each threadgroup has this memory for itself.
  void begin_threadgroup(bool own);
  // `ordered`: it names this memory.
  void pass_barrier(bool ordered);
  void pass_simdgroup_barrier(int simdgroup, bool ordered) {
    ++turns_[simdgroup];
    if (ordered) visible_turns_[simdgroup] = turns_[simdgroup];
  }

  enum class Finding : std::uint8_t { none, race, uninitialised };
  struct Conflict {
    Finding finding = Finding::none;
    ShadowCell::Record record = {};  // with what
    bool wrote = false;              // what the other did
  };

  // An access to `bytes` bytes from `offset` on in the shadow. `initialised`: a read must follow a
  // write of the same threadgroup.
  Conflict check(const Shadow& shadow, std::int64_t offset, std::int64_t bytes, int thread,
                 Access access, bool initialised) const;

  std::uint32_t segment() const noexcept { return segment_; }
  bool is_of_this_group(const ShadowCell::Record& record) const noexcept {
    return record.segment >= first_of_group_;
  }
  // The thread that a record names, and whether it stands for threads of several threadgroups.
  static int thread_of(const ShadowCell::Record& record) noexcept;
  static bool is_of_many_groups(const ShadowCell::Record& record) noexcept;

 private:
  // What an earlier access was: a write must be visible to be in order, a read only over.
  enum class Earlier : std::uint8_t { read, write };

  void advance(bool ordered);
  bool same_turn(const ShadowCell::Record& before, std::uint32_t me, Earlier was) const;
  bool in_order(const ShadowCell::Record& before, std::uint32_t me, Earlier was) const;
  ShadowCell::Record joined(const ShadowCell::Record& before, std::uint32_t me, Earlier was) const;
  Conflict check_cell(ShadowCell& cell, std::uint32_t me, Access access, bool initialised) const;
  bool is_split(const ShadowCell& word) const;
  void split(ShadowCell& word, ShadowCell* bytes) const;

  std::uint32_t segment_ = 0;
  std::uint32_t first_of_group_ = 0;
  // What lies before it can be forgotten: the launch's first, or the threadgroup's for memory of
  // its own.
  std::uint32_t first_ = 0;
  // What was written before it is visible to the threadgroup.
  std::uint32_t visible_ = 0;
  // Simdgroup barriers of each simdgroup since then, and what was written before is visible to it.
  std::uint32_t turns_[32] = {};
  std::uint32_t visible_turns_[32] = {};
};

}  // namespace hearth::sim
