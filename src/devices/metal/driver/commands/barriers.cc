#include "devices/metal/driver/commands/barriers.h"

namespace hearth::metal {

void Barriers::use(Id buffer, bool writes) {
  Uses& uses = uses_[buffer];
  if (!uses.now_reads && !uses.now_writes) group_.push_back(buffer);
  (writes ? uses.now_writes : uses.now_reads) = true;
}

const std::vector<Id>& Barriers::end_group() {
  waits_.clear();
  for (const Id buffer : group_) {
    const Uses& uses = uses_[buffer];
    if (uses.written || (uses.read && uses.now_writes)) waits_.push_back(buffer);
  }
  if (waits_.size() > kFew) {
    for (auto& [buffer, uses] : uses_) uses.read = uses.written = false;
  } else {
    for (const Id buffer : waits_) uses_[buffer].read = uses_[buffer].written = false;
  }
  for (const Id buffer : group_) {
    Uses& uses = uses_[buffer];
    uses.read = uses.read || uses.now_reads;
    uses.written = uses.written || uses.now_writes;
    uses.now_reads = uses.now_writes = false;
  }
  group_.clear();
  return waits_;
}

void Barriers::clear() noexcept {
  uses_.clear();
  group_.clear();
}

}  // namespace hearth::metal
