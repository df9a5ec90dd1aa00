// Runs all threadgroups of a launch.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "devices/sim/checker/access_checker.h"
#include "devices/sim/launch.h"
#include "devices/sim/threads/threadgroup.h"

namespace hearth::sim {

// Keeps what it needs from one launch to the next. One launch at a time.
class GridRunner {
 public:
  explicit GridRunner(Schedule schedule) : schedule_(schedule) {}

  // One threadgroup after the other, every access judged. The kernel must be of a checked library.
  void run_checked(const Grid& grid);
  // On all processors.
  void run_fast(const Grid& grid);
  // Both throw Error{device} for what threads do wrong.

 private:
  std::unique_ptr<Threadgroup> take();
  void give_back(std::unique_ptr<Threadgroup> threadgroup);

  Schedule schedule_;
  AccessChecker checker_;
  Threadgroup checked_;  // its cells count by the checker's segments
  std::mutex mutex_;
  std::vector<std::unique_ptr<Threadgroup>> idle_;
};

}  // namespace hearth::sim
