#include "models/serving/scheduler.h"

#include <condition_variable>
#include <exception>
#include <future>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "hearth/error.h"
#include "hearth/numerics.h"
#include "models/drafting/look_up.h"
#include "models/drafting/model_drafter.h"
#include "models/serving/cache_plan.h"
#include "models/serving/full_queue.h"
#include "models/serving/running_text.h"
#include "models/serving/text_runner.h"

namespace hearth::models {

namespace {

// Null where nothing is guessed.
std::unique_ptr<Drafter> make_drafter(const LoadedModel& loaded, const SchedulerOptions& options) {
  if (options.drafts == 0) return nullptr;
  if (options.draft_model == nullptr) return std::make_unique<LookUpDrafter>();
  SchedulerOptions own = options;
  own.drafts = 0;
  return std::make_unique<ModelDrafter>(
      *options.draft_model, loaded,
      cache_options(options.draft_model->model.config, options.draft_model->model.compute, own),
      options.prefill);
}

}  // namespace

class Scheduler::Engine {
 public:
  Engine(const LoadedModel& loaded, const SchedulerOptions& options)
      : loaded_(loaded), options_(options) {
    std::promise<std::int64_t> is_ready;
    std::future<std::int64_t> longest = is_ready.get_future();
    thread_ = std::thread([this, asked = numerics(), ready = std::move(is_ready)]() mutable {
      set_numerics(asked);
      run(ready);
    });
    try {
      longest_ = longest.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~Engine() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::shared_ptr<GenerationStream> submit(GenerationRequest request) {
    auto stream = std::make_shared<GenerationStream>();
    Texts one;
    one.push_back(
        std::make_unique<RunningText>(loaded_, longest_, std::move(request), stream->channel()));
    {
      const std::lock_guard lock(mutex_);
      const std::int64_t waiting = static_cast<std::int64_t>(arrived_.size()) + stats_.waiting;
      if (waiting >= options_.most_waiting) {
        throw FullQueue(waiting + 1, options_.most_waiting);
      }
      arrived_.splice(arrived_.end(), one);
    }
    changed_.notify_all();
    return stream;
  }

  SchedulerStats stats() const {
    const std::lock_guard lock(mutex_);
    SchedulerStats stats = stats_;
    stats.waiting += static_cast<std::int64_t>(arrived_.size());
    return stats;
  }

  std::int64_t longest_text() const noexcept { return longest_; }

 private:
  // What the thread does. Nothing of it throws but what makes the runner.
  void run(std::promise<std::int64_t>& is_ready) {
    std::unique_ptr<TextRunner> runner;
    try {
      runner =
          std::make_unique<TextRunner>(loaded_.model, options_, make_drafter(loaded_, options_));
      publish(*runner);
    } catch (...) {
      is_ready.set_exception(std::current_exception());
      return;
    }
    is_ready.set_value(runner->longest_text());
    while (take_arrived(*runner)) {
      runner->step();
      publish(*runner);
      runner->flush();
    }
    runner->end_all(FinishReason::cancelled);
    runner->flush();
  }

  // Waits for something to do. False where the scheduler goes.
  bool take_arrived(TextRunner& runner) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_ending_ || !arrived_.empty() || !runner.is_idle(); });
    runner.add(std::move(arrived_));
    count(runner);
    return !is_ending_;
  }

  void publish(const TextRunner& runner) {
    const std::lock_guard lock(mutex_);
    count(runner);
  }

  // With the mutex held. Where the host has no memory left what was counted before stands.
  void count(const TextRunner& runner) {
    try {
      stats_ = runner.stats();
    } catch (const std::bad_alloc&) {
    }
  }

  const LoadedModel& loaded_;
  SchedulerOptions options_;
  std::int64_t longest_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Texts arrived_;
  SchedulerStats stats_;  // as of the last step
  bool is_ending_ = false;
  std::thread thread_;
};

Scheduler::Scheduler(const LoadedModel& loaded, const SchedulerOptions& options)
    : engine_(std::make_unique<Engine>(loaded, options)) {}

Scheduler::~Scheduler() = default;

std::shared_ptr<GenerationStream> Scheduler::submit(GenerationRequest request) {
  return engine_->submit(std::move(request));
}

SchedulerStats Scheduler::stats() const { return engine_->stats(); }

std::int64_t Scheduler::longest_text() const noexcept { return engine_->longest_text(); }

}  // namespace hearth::models
