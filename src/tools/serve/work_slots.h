// How many threads do work of one kind at once, where there are threads for many more requests.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

namespace hearth::tools::serve {

class WorkSlots {
 public:
  explicit WorkSlots(std::size_t count) : free_(count) {}

  struct GiveBack {
    void operator()(WorkSlots* slots) const { slots->give_back(); }
  };
  // A place among those that work, until it goes.
  using Slot = std::unique_ptr<WorkSlots, GiveBack>;

  // Waits until one is free. Calls `watch` a few times a second meanwhile, which ends the wait with
  // what it throws.
  Slot take(const std::function<void()>& watch);

 private:
  void give_back();

  std::mutex mutex_;
  std::condition_variable is_free_;
  std::size_t free_;
};

}  // namespace hearth::tools::serve
