// Grammars that requests brought, kept for others that bring the same.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "models/grammar/grammar.h"
#include "tools/serve/work_slots.h"

namespace hearth::tools::serve {

// Calls from several threads at once are fine. Those who ask for what is kept wait for none that is
// being made; of these some are made at once.
class ConstraintCache {
 public:
  using Shared = std::shared_ptr<models::grammar::Constraint>;

  // Of all that is kept together at most so many bytes: those that nobody asked for the longest go
  // first, and live on while texts use them. What is larger than that alone is not kept.
  explicit ConstraintCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // What was made for the key, or what `make` gives, in its turn: `watch` is WorkSlots::take()'s.
  // Throws what they throw; nothing is kept then.
  Shared find_or_make(const std::string& key, const std::function<Shared()>& make,
                      const std::function<void()>& watch);

  std::size_t size() const;
  std::size_t bytes() const;  // constraints grow while they are used

 private:
  struct Entry {
    std::string key;
    Shared constraint;
    std::size_t bytes() const { return sizeof(Entry) + key.size() + constraint->bytes(); }
  };
  static constexpr std::size_t kMostMakers = 4;

  // With the mutex held.
  Shared find(const std::string& key);
  void shrink();

  const std::size_t most_bytes_;
  WorkSlots makers_{kMostMakers};
  mutable std::mutex mutex_;  // of what follows
  std::list<Entry> entries_;  // the last that was asked for first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace hearth::tools::serve
