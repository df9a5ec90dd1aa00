// The threads that serve connections, one each.
#pragma once

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace hearth::tools::serve {

// In place of the library's pool, which makes all its threads at once: these are made when they are
// first needed, and stay. Calls from several threads at once are fine.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  using Clock = std::chrono::steady_clock;

  // A job that waits for its peer. Where all threads are taken and a job has none, the wait with
  // the earliest `since` is ended for it. One at a time in a job.
  class PeerWait {
   public:
    PeerWait(ConnectionThreads& threads, Clock::time_point since);
    ~PeerWait();
    PeerWait(const PeerWait&) = delete;
    PeerWait& operator=(const PeerWait&) = delete;

    // Whether another job needs the thread; this one must end at once then.
    bool is_ended();

   private:
    friend class ConnectionThreads;

    ConnectionThreads& threads_;
    Clock::time_point since_;
    bool is_chosen_ = false;  // to end
    bool is_ended_ = false;   // the job knows of it
  };

  explicit ConnectionThreads(std::size_t most) : most_(most) {}

  // Of later versions of the library it says whether the job was taken.
  using Taken =
      decltype(std::declval<httplib::TaskQueue&>().enqueue(std::declval<std::function<void()>>()));
  Taken enqueue(std::function<void()> job) override;
  // Waits for all jobs.
  void shutdown() override;

 private:
  void work();
  // Chooses waits to end, one for each job that no thread will take. Under the lock.
  void choose_waits();

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::set<std::pair<Clock::time_point, PeerWait*>> waits_;  // but for the chosen
  std::size_t idle_ = 0;                                     // threads, those that start included
  std::size_t chosen_ = 0;                                   // whose jobs are not over yet
  bool is_ending_ = false;
};

}  // namespace hearth::tools::serve
