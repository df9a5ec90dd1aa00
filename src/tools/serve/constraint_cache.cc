#include "tools/serve/constraint_cache.h"

#include <utility>

#include "tools/serve/free_memory.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kLargeBytes = 4 << 20;

}  // namespace

ConstraintCache::Shared ConstraintCache::find_or_make(const std::string& key,
                                                      const std::function<Shared()>& make,
                                                      const std::function<void()>& watch) {
  {
    const std::lock_guard lock(mutex_);
    if (Shared found = find(key)) return found;
  }
  const WorkSlots::Slot slot = makers_.take(watch);
  {
    // Another may have made it while this one waited.
    const std::lock_guard lock(mutex_);
    if (Shared found = find(key)) return found;
  }
  Shared made = make();
  {
    const std::lock_guard lock(mutex_);
    if (Shared found = find(key)) return found;
    entries_.push_front({key, made});
    by_key_.emplace(entries_.front().key, entries_.begin());
    shrink();
  }
  if (made->bytes() >= kLargeBytes) give_memory_back();
  return made;
}

ConstraintCache::Shared ConstraintCache::find(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  Shared constraint = entries_.front().constraint;
  shrink();  // what is kept may have grown
  return constraint;
}

void ConstraintCache::shrink() {
  std::size_t all = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const std::size_t bytes = at->bytes();
    if (bytes <= most_bytes_ - all) {
      all += bytes;
      ++at;
    } else {
      by_key_.erase(at->key);
      at = entries_.erase(at);
    }
  }
}

std::size_t ConstraintCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::size_t ConstraintCache::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const Entry& entry : entries_) all += entry.bytes();
  return all;
}

}  // namespace hearth::tools::serve
