// The threads that serve connections, one each.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hearth::tools::serve {

// In place of the library's pool, which makes all its threads at once: these are made when they are
// first needed, and stay. Calls from several threads at once are fine.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::size_t most) : most_(most) {}

  // Of later versions of the library it says whether the job was taken.
  using Taken =
      decltype(std::declval<httplib::TaskQueue&>().enqueue(std::declval<std::function<void()>>()));
  Taken enqueue(std::function<void()> job) override;
  // Waits for all jobs.
  void shutdown() override;

 private:
  void work();

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool is_ending_ = false;
};

}  // namespace hearth::tools::serve
