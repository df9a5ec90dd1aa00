#include <list>
#include <mutex>
#include <unordered_map>

#include "graph/plan/plan.h"

namespace hearth {
namespace {

// Plans beyond this count are evicted, least recently used first.
constexpr std::size_t kMaxPlans = 4096;
constexpr std::size_t kMaxKeyWords = std::size_t{64} << 20;

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
    const std::lock_guard lock(mutex_);
    key_words_ += plan->key.size();
    plans_.push_front({hash, std::move(plan)});
    index_.emplace(hash, plans_.begin());
    while (plans_.size() > 1 && (plans_.size() > kMaxPlans || key_words_ > kMaxKeyWords)) {
      const auto last = std::prev(plans_.end());
      const auto [begin, end] = index_.equal_range(last->hash);
      for (auto at = begin; at != end; ++at) {
        if (at->second != last) continue;
        index_.erase(at);
        break;
      }
      key_words_ -= last->plan->key.size();
      plans_.pop_back();
    }
  }

 private:
  struct Kept {
    std::uint64_t hash;
    std::shared_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::list<Kept> plans_;  // most recently used first
  std::unordered_multimap<std::uint64_t, std::list<Kept>::iterator> index_;
  std::size_t key_words_ = 0;
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

}  // namespace hearth
