#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "graph/plan/plan.h"

namespace hearth {
namespace {

// A plan of a language model's step takes about a MiB; a program has few that it needs again.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

class PlanCache {
 public:
  std::shared_ptr<const Plan> find(std::uint64_t hash, std::span<const std::uint64_t> key) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = index_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      const std::vector<std::uint64_t>& known = at->second->plan->key;
      if (known.size() != key.size() || !std::equal(known.begin(), known.end(), key.begin())) {
        continue;
      }
      if (at->second != plans_.begin()) plans_.splice(plans_.begin(), plans_, at->second);
      return at->second->plan;
    }
    return nullptr;
  }

  void keep(std::uint64_t hash, std::shared_ptr<const Plan> plan) {
    constexpr std::size_t kOfEntry = 128;  // in the list and the index
    const std::size_t bytes = bytes_of(*plan) + kOfEntry;
    const std::lock_guard lock(mutex_);
    size_.bytes += bytes;
    ++size_.plans;
    plans_.push_front({hash, bytes, std::move(plan)});
    index_.emplace(hash, plans_.begin());
    make_room();
  }

  PlanCacheSize size() {
    const std::lock_guard lock(mutex_);
    return size_;
  }

  std::size_t set_limit(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t before = std::exchange(most_bytes_, bytes);
    make_room();
    return before;
  }

 private:
  struct Kept {
    std::uint64_t hash;
    std::size_t bytes;
    std::shared_ptr<const Plan> plan;
  };

  void make_room() {
    while (plans_.size() > 1 && size_.bytes > most_bytes_) {
      const auto last = std::prev(plans_.end());
      const auto [begin, end] = index_.equal_range(last->hash);
      for (auto at = begin; at != end; ++at) {
        if (at->second != last) continue;
        index_.erase(at);
        break;
      }
      size_.bytes -= last->bytes;
      --size_.plans;
      plans_.pop_back();
    }
  }

  std::mutex mutex_;
  std::list<Kept> plans_;  // most recently used first
  std::unordered_multimap<std::uint64_t, std::list<Kept>::iterator> index_;
  PlanCacheSize size_;
  std::size_t most_bytes_ = kMostBytes;
};

PlanCache& cache() {
  static auto* cache = new PlanCache;
  return *cache;
}

}  // namespace

std::shared_ptr<const Plan> find_plan(std::uint64_t hash, std::span<const std::uint64_t> key) {
  return cache().find(hash, key);
}

void keep_plan(std::uint64_t hash, std::shared_ptr<const Plan> plan) {
  cache().keep(hash, std::move(plan));
}

PlanCacheSize plan_cache_size() { return cache().size(); }

std::size_t set_plan_cache_limit(std::size_t bytes) { return cache().set_limit(bytes); }

}  // namespace hearth
