#include "tools/serve/connection_threads.h"

#include <system_error>

namespace hearth::tools::serve {
namespace {

// The wait of the job that this thread runs was ended.
thread_local bool is_wait_ended = false;

}  // namespace

ConnectionThreads::PeerWait::PeerWait(ConnectionThreads& threads, Clock::time_point since)
    : threads_(threads), since_(since) {
  const std::lock_guard lock(threads_.mutex_);
  threads_.waits_.emplace(since_, this);
  threads_.choose_waits();
}

ConnectionThreads::PeerWait::~PeerWait() {
  const std::lock_guard lock(threads_.mutex_);
  if (is_ended_) return;
  if (!is_chosen_) {
    threads_.waits_.erase({since_, this});
    return;
  }
  --threads_.chosen_;
  threads_.choose_waits();
}

bool ConnectionThreads::PeerWait::is_ended() {
  const std::lock_guard lock(threads_.mutex_);
  if (is_chosen_) is_ended_ = is_wait_ended = true;
  return is_ended_;
}

ConnectionThreads::Taken ConnectionThreads::enqueue(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < most_) {
      try {
        threads_.emplace_back([this] { work(); });
        ++idle_;
      } catch (const std::system_error&) {
        // The system has no more: the connection waits for one of those that there are.
      }
    }
    choose_waits();
  }
  changed_.notify_one();
  return static_cast<Taken>(true);
}

void ConnectionThreads::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ConnectionThreads::choose_waits() {
  while (jobs_.size() > idle_ + chosen_ && !waits_.empty()) {
    waits_.begin()->second->is_chosen_ = true;
    waits_.erase(waits_.begin());
    ++chosen_;
  }
}

void ConnectionThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !jobs_.empty() || is_ending_; });
    --idle_;
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
    ++idle_;
    if (std::exchange(is_wait_ended, false)) --chosen_;
  }
}

}  // namespace hearth::tools::serve
