// Dependencies between commands, derived from the memory that each reads and writes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace hearth {
inline namespace v0 {
namespace runtime {

// Sees the accesses of a batch in the order of its commands. Ranges are half-open byte ranges of
// one address space; ranges that only touch do not conflict, and neither do two reads.
//
// Memory is kept as disjoint segments, each with its last writer and the readers since, so an
// access costs the logarithm of the number of segments, and what it waits for is exact.
class DependencyTracker {
 public:
  // Notes that `command` touches [begin, begin + bytes); appends to `after` the earlier commands
  // that it conflicts with, at most once each for one call. Empty ranges conflict with nothing.
  void access(std::uintptr_t begin, std::int64_t bytes, bool writes, int command,
              std::vector<int>* after);
  void clear() noexcept { segments_.clear(); }

 private:
  struct Segment {
    std::uintptr_t end = 0;
    int writer = -1;
    std::vector<int> readers;  // since the writer
  };
  using Segments = std::map<std::uintptr_t, Segment>;  // by begin

  // Cuts the segment that holds `at` in its inside.
  void split(std::uintptr_t at);

  Segments segments_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
