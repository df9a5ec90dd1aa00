// A bound on how long kernels of the calling thread may run.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace hearth::sim {

// From `seconds` after it was made until it is gone, a kernel that the thread runs is interrupted:
// a fault of its launch (Threadgroup::MemoryFault::timed_out). 0: never. The thread must be
// prepared for faults (prepare_fault_stack).
class TimeLimit {
 public:
  explicit TimeLimit(double seconds);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable gone_;
  bool is_gone_ = false;
  std::thread watch_;
};

}  // namespace hearth::sim
