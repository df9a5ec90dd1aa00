// What a threadgroup says of threads that do wrong.
#include <algorithm>
#include <sstream>

#include "devices/sim/threads/threadgroup.h"
#include "hearth/error.h"

namespace hearth::sim {

std::string position(runtime::Size3 size, std::int64_t number) {
  const std::int64_t x = number % size.x;
  const std::int64_t y = number / size.x % size.y;
  const std::int64_t z = number / size.x / size.y;
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

std::string Threadgroup::late() const {
  std::ostringstream text;
  text << "still runs after " << grid_->time_limit << " s; expected the grid to have ended";
  return text.str();
}

void Threadgroup::throw_memory_fault() {
  const Fiber& fiber = *threads_[static_cast<std::size_t>(current_)].fiber;
  const auto* const at = static_cast<const std::byte*>(memory_fault_.address);
  has_memory_fault_ = false;
  // As after a call: line_of() looks at what is before it.
  fault_call_ = static_cast<const std::byte*>(memory_fault_.instruction) + 1;
  if (memory_fault_.timed_out) throw_fault(late(), current_);
  if (memory_fault_.divides_by_zero) throw_fault("divides an integer by zero", current_);
  if (memory_fault_.traps) {
    throw_fault("traps, or comes to what the compiler takes for unreachable", current_);
  }
  if (memory_fault_.misaligned) {
    throw_fault("makes a vector access at an address that is not aligned for it", current_);
  }
  if (at >= fiber.stack_bottom() && at < fiber.stack_top()) {
    throw_fault("has used up its stack", current_);
  }
  std::vector<AccessRange> ranges;
  append_ranges(ranges);
  throw_fault("faults at " + describe(at, ranges), current_);
}

void Threadgroup::throw_fault(const std::string& what, int thread) {
  std::string text = "sim: kernel '" + grid_->name + "', threadgroup " +
                     position(grid_->groups, group_) + ", thread " +
                     position(grid_->threads, thread) + ": " + what;
  if (fault_call_ != nullptr && grid_->line_of) {
    const std::string line = grid_->line_of(fault_call_);
    if (!line.empty()) text += ", at " + line;
  }
  fault_call_ = nullptr;
  fault_.clear();
  idle_.clear();
  for (const std::unique_ptr<Fiber>& fiber : fibers_) {
    fiber->abandon();
    idle_.push_back(fiber.get());
  }
  throw Error(ErrorCode::device, text);
}

int Threadgroup::first(State state) const {
  const auto at = std::find_if(threads_.begin(), threads_.end(),
                               [state](const Thread& thread) { return thread.state == state; });
  return at == threads_.end() ? -1 : static_cast<int>(at - threads_.begin());
}

int Threadgroup::count(State state) const {
  return static_cast<int>(
      std::count_if(threads_.begin(), threads_.end(),
                    [state](const Thread& thread) { return thread.state == state; }));
}

// No thread can run, and those that wait wait for others.
void Threadgroup::throw_stuck() {
  const int exchanging = first(State::at_exchange);
  if (exchanging < 0) {
    throw_fault("has returned, while " + std::to_string(waiting_) + " of " +
                    std::to_string(thread_count_) + " threads wait at a barrier",
                first(State::done));
  }
  const int begin = exchanging / kSimdgroup * kSimdgroup;
  for (int i = begin; i < begin + kSimdgroup; ++i) {
    const State state = threads_[static_cast<std::size_t>(i)].state;
    if (state == State::at_exchange) continue;
    const std::string lane = "lane " + std::to_string(i - begin) + " of its simdgroup ";
    throw_fault("waits in a simd operation that " + lane +
                    (state == State::done ? "does not reach: it has returned"
                                          : "does not reach: it waits at a barrier (deadlock)"),
                exchanging);
  }
  throw_fault("waits for ever", exchanging);
}

}  // namespace hearth::sim
