#include "devices/sim/threads/grid_runner.h"

#include <algorithm>
#include <numeric>

#include "devices/sim/threads/fault_trap.h"
#include "devices/sim/threads/time_limit.h"
#include "runtime/device/worker_pool.h"

namespace hearth::sim {
namespace {

// Every threadgroup once, in the order of the schedule.
class GroupOrder {
 public:
  GroupOrder(Schedule schedule, std::int64_t count) : order_(schedule.order), count_(count) {
    if (order_ != Order::shuffled) return;
    Random random(schedule.seed);
    const auto limit = static_cast<std::uint64_t>(count);
    first_ = static_cast<std::int64_t>(random.below(limit));
    do {
      step_ = static_cast<std::int64_t>(random.below(limit)) + 1;
    } while (std::gcd(step_, count) != 1);
  }
  std::int64_t operator[](std::int64_t i) const {
    switch (order_) {
      case Order::reverse:
        return count_ - 1 - i;
      case Order::shuffled:
        return (first_ + i % count_ * step_) % count_;
      default:
        return i;
    }
  }

 private:
  Order order_;
  std::int64_t count_;
  std::int64_t first_ = 0;
  std::int64_t step_ = 1;
};

}  // namespace

void GridRunner::run_checked(const Grid& grid) {
  prepare_fault_stack();
  checked_.prepare(grid, schedule_, &checker_);
  std::vector<AccessRange> ranges;
  checked_.append_ranges(ranges);
  checker_.begin_launch(grid.groups, grid.threads, std::move(ranges));
  const GroupOrder order(schedule_, grid.groups.product());
  const TimeLimit limit(grid.time_limit);
  for (std::int64_t i = 0; i < grid.groups.product(); ++i) checked_.run(order[i]);
}

void GridRunner::run_fast(const Grid& grid) {
  const std::int64_t groups = grid.groups.product();
  const GroupOrder order(schedule_, groups);
  // Work for a hundred microseconds or so, unless threads do much.
  const std::int64_t grain = std::clamp<std::int64_t>(4096 / grid.threads.product(), 1,
                                                      std::max(groups / 4, std::int64_t{1}));
  WorkerPool::global().parallel_for_range(groups, grain, [&](std::int64_t begin, std::int64_t end) {
    prepare_fault_stack();
    std::unique_ptr<Threadgroup> threadgroup = take();
    threadgroup->prepare(grid, schedule_, nullptr);
    for (std::int64_t i = begin; i < end; ++i) threadgroup->run(order[i]);
    give_back(std::move(threadgroup));
  });
}

std::unique_ptr<Threadgroup> GridRunner::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Threadgroup>();
  std::unique_ptr<Threadgroup> threadgroup = std::move(idle_.back());
  idle_.pop_back();
  return threadgroup;
}

void GridRunner::give_back(std::unique_ptr<Threadgroup> threadgroup) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(threadgroup));
}

}  // namespace hearth::sim
