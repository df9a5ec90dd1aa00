// Which barriers a concurrent encoder needs between groups of commands.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "devices/metal/objc/types.h"

namespace hearth::metal {

// What may run concurrently is known by byte ranges above; a barrier is for whole buffers, or for
// all of them. So a group waits for a buffer that an earlier group wrote and it touches, or that
// was read and it writes, unless a barrier since then has covered it. Buffers of a group among
// themselves need none.
class Barriers {
 public:
  // A barrier for more buffers than these is one for all memory.
  static constexpr std::size_t kFew = 4;

  // One of the group's uses.
  void use(Id buffer, bool writes);
  // The buffers that the group, whose uses these were, has to wait for; all memory where these are
  // more than kFew. The next uses are those of the next group.
  const std::vector<Id>& end_group();
  // Nothing runs before what comes next.
  void clear() noexcept;

 private:
  struct Uses {
    bool read = false, written = false;          // by groups before, since a barrier covered it
    bool now_reads = false, now_writes = false;  // by this group
  };

  std::unordered_map<Id, Uses> uses_;
  std::vector<Id> group_;  // buffers of this group
  std::vector<Id> waits_;
};

}  // namespace hearth::metal
