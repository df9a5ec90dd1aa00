// Judges every load and store of a launch: is it inside what the launch was given, to the byte, and
// is it ordered against what other threads did (access_clock.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "devices/sim/checker/access_clock.h"
#include "devices/sim/launch.h"
#include "devices/sim/memory/shadow.h"

namespace hearth::sim {

// Memory that a launch may touch.
struct AccessRange {
  std::string name;  // "parameter 'x'"
  const std::byte* begin = nullptr;
  std::int64_t bytes = 0;
  bool readable = true;
  bool writable = false;
  // False for the simulator's own lists: what lies next to them is unrelated.
  bool is_named = true;
  // Memory of a threadgroup: a read must follow a write of the same threadgroup.
  bool threadgroup = false;
  Shadow shadow;
};

AccessRange range_of(const GridArgument& argument);

// What lies at an address: "offset 404 of parameter 'x' of 400 bytes".
std::string describe(const void* address, const std::vector<AccessRange>& ranges);

// Threadgroups of a launch run one after the other; not thread-safe.
class AccessChecker {
 public:
  void begin_launch(runtime::Size3 groups, runtime::Size3 threads, std::vector<AccessRange> ranges);
  // One more, while the launch runs.
  void add_range(AccessRange range);
  void begin_threadgroup(std::int64_t group);
  // `mem_flags` as in simulator_abi.h.
  void pass_barrier(unsigned mem_flags);
  void pass_simdgroup_barrier(int simdgroup, unsigned mem_flags);

  // True for an access that is right. Otherwise fault() says what is wrong: "reads 4 bytes at ...".
  // `alignment`: what the access needs, in bytes.
  bool check(int thread, const void* address, std::int64_t bytes, Access access,
             std::int64_t alignment = 1);
  const std::string& fault() const noexcept { return fault_; }

 private:
  const AccessRange* find(const std::byte* address, std::int64_t bytes);
  bool fail(const std::byte* address, std::int64_t bytes, Access access, const std::string& reason);
  std::string reason(const AccessClock& clock, const AccessClock::Conflict& conflict) const;

  std::vector<AccessRange> ranges_;  // by address, disjoint
  // The range that an address of a page, by its last bits, was last found in.
  static constexpr std::size_t kPages = 64;
  const AccessRange* last_found_[kPages] = {};
  AccessClock device_;
  AccessClock threadgroup_;
  struct GroupStart {
    std::uint32_t segment;  // of device_
    std::int64_t group;
  };
  std::vector<GroupStart> groups_;  // of this launch
  std::string fault_;
  runtime::Size3 group_count_;
  runtime::Size3 thread_count_;
};

}  // namespace hearth::sim
