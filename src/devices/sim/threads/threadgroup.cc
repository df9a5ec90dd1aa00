#include "devices/sim/threads/threadgroup.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/integer_math.h"
#include "hearth/error.h"

namespace hearth::sim {
namespace {

// The threadgroup whose kernel the calling thread is in.
thread_local Threadgroup* running = nullptr;

class Running {
 public:
  explicit Running(Threadgroup* threadgroup) { running = threadgroup; }
  ~Running() { running = nullptr; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace

const HearthSimulator* Threadgroup::callbacks() {
  static constexpr HearthSimulator kCallbacks = {barrier, simdgroup_barrier, exchange, lane,
                                                 threadgroup_variable};
  return &kCallbacks;
}

void Threadgroup::prepare(const Grid& grid, Schedule schedule, AccessChecker* checker) {
  if (grid.threads.product() > kMaxThreads) {
    throw Error(ErrorCode::device,
                "sim: kernel '" + grid.name + "': " + std::to_string(grid.threads.product()) +
                    " threads in a threadgroup; expected at most " + std::to_string(kMaxThreads));
  }
  grid_ = &grid;
  schedule_ = schedule;
  random_ = Random(schedule.seed);
  checker_ = checker;
  interrupts_ = 0;
  thread_count_ = static_cast<int>(grid.threads.product());
  simdgroup_count_ = ceil_div(thread_count_, kSimdgroup);
  const auto threads = static_cast<std::size_t>(thread_count_);
  threads_.resize(threads);
  contexts_.resize(threads);
  simdgroups_.resize(static_cast<std::size_t>(simdgroup_count_));
  order_.resize(threads);
  std::iota(order_.begin(), order_.end(), 0);
  if (schedule.order == Order::reverse) std::reverse(order_.begin(), order_.end());
  memory_.prepare(grid.arrays);
  prepare_contexts();
  arguments_.clear();
  for (const GridArgument& argument : grid.arguments) arguments_.push_back(argument.address);
}

void Threadgroup::append_ranges(std::vector<AccessRange>& ranges) {
  const auto append = [&ranges](const char* name, const auto& values) {
    if (std::size(values) == 0) return;  // it may begin where any other range does
    AccessRange range;
    range.name = name;
    range.begin = reinterpret_cast<const std::byte*>(values.data());
    range.bytes = static_cast<std::int64_t>(values.size() * sizeof(values[0]));
    ranges.push_back(std::move(range));
  };
  append("the threads' positions", contexts_);
  append("what a simdgroup exchanges", simdgroups_);
  append("the list of arguments", arguments_);
  append("the list of threadgroup arrays", memory_.pointers());
  append("the simulator's functions", std::span(callbacks(), 1));
  append("the kernel's tables", grid_->library);
  for (AccessRange& range : ranges) range.is_named = false;
  for (const GridArgument& argument : grid_->arguments) ranges.push_back(range_of(argument));
  memory_.append_ranges(ranges);
}

void Threadgroup::run(std::int64_t group) {
  group_ = group;
  const runtime::Size3 groups = grid_->groups;
  group_position_ = {static_cast<unsigned>(group % groups.x),
                     static_cast<unsigned>(group / groups.x % groups.y),
                     static_cast<unsigned>(group / groups.x / groups.y)};
  std::fill(threads_.begin(), threads_.end(), Thread{});
  for (Simdgroup& simdgroup : simdgroups_) simdgroup.arrived = 0;
  waiting_ = 0;
  done_ = 0;
  memory_.poison();
  if (checker_ != nullptr) checker_->begin_threadgroup(group);
  order_threads();
  const Running scope(this);
  for (;;) {
    if (schedule_.order == Order::greedy) {
      for (int s = 0; s < simdgroup_count_; ++s) run_until_stuck(simdgroup_threads(s));
    } else {
      run_until_stuck(order_);
    }
    if (done_ == thread_count_) break;
    if (waiting_ != thread_count_) throw_stuck();
    release_barrier();
  }
}

void Threadgroup::order_threads() {
  if (schedule_.order != Order::shuffled) return;
  for (std::size_t i = order_.size(); i > 1; --i) {
    std::swap(order_[i - 1], order_[static_cast<std::size_t>(random_.below(i))]);
  }
}

// Of a forward order.
std::span<const int> Threadgroup::simdgroup_threads(int simdgroup) const {
  const int begin = simdgroup * kSimdgroup;
  const int end = std::min(begin + kSimdgroup, thread_count_);
  return std::span(order_).subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(end - begin));
}

// Runs these threads until each is done or waits for one that does not come.
void Threadgroup::run_until_stuck(std::span<const int> threads) {
  for (;;) {
    run_once(threads);
    bool released = false;
    const bool all = threads.size() == order_.size();
    const int begin = all ? 0 : threads[0] / kSimdgroup;
    const int end = all ? simdgroup_count_ : begin + 1;
    for (int s = begin; s < end; ++s) released |= release_simdgroup(s);
    if (!released) return;
  }
}

// Lets each thread that may run do so, once.
void Threadgroup::run_once(std::span<const int> threads) {
  queue_ = threads;
  next_ = 0;
  while (next_ < queue_.size()) {
    Thread& thread = threads_[static_cast<std::size_t>(queue_[next_])];
    Fiber* fiber = thread.fiber;
    if (thread.state == State::unstarted) {
      if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>());
        idle_.push_back(fibers_.back().get());
      }
      fiber = idle_.back();  // taken from there by run_fiber()
      fiber->start(run_fiber, this);
    } else if (thread.state == State::ready) {
      current_ = queue_[next_++];
      thread.state = State::running;
    } else {
      ++next_;
      continue;
    }
    fiber->resume();
    if (!fault_.empty()) throw_fault(fault_, current_);
    if (has_memory_fault_) throw_memory_fault();
    if (fiber->finished()) idle_.push_back(fiber);
  }
}

// What a fiber does: threads, one after the other, until it comes to one that has a fiber.
void Threadgroup::run_fiber(void* self) {
  auto& group = *static_cast<Threadgroup*>(self);
  Fiber* const fiber = group.idle_.back();
  group.idle_.pop_back();
  while (group.next_ < group.queue_.size()) {
    const int number = group.queue_[group.next_];
    Thread& thread = group.threads_[static_cast<std::size_t>(number)];
    if (thread.state != State::unstarted) return;
    ++group.next_;
    group.current_ = number;
    thread.state = State::running;
    thread.fiber = fiber;
    HearthContext& context = group.contexts_[static_cast<std::size_t>(number)];
    context.tg = group.group_position_;
    context.gid = {context.tg.x * context.ntid.x + context.tid.x,
                   context.tg.y * context.ntid.y + context.tid.y,
                   context.tg.z * context.ntid.z + context.tid.z};
    group.grid_->kernel(group.arguments_.data(), group.memory_.pointers().data(), &context);
    thread.state = State::done;
    ++group.done_;
  }
}

// What the threads' positions have in common for all threadgroups of the launch.
void Threadgroup::prepare_contexts() {
  const auto size = [](runtime::Size3 s) { return HearthUint3{s.x, s.y, s.z}; };
  unsigned number = 0;
  for (HearthContext& context : contexts_) {
    context.ntid = size(grid_->threads);
    context.ntg = size(grid_->groups);
    context.tid = HearthUint3{number % context.ntid.x, number / context.ntid.x % context.ntid.y,
                              number / context.ntid.x / context.ntid.y};
    context.lane = number % kSimdgroup;
    context.sg = number / kSimdgroup;
    context.nsg = static_cast<unsigned>(simdgroup_count_);
    ++number;
  }
}

void Threadgroup::wait(State state, const void* call) {
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  thread.state = state;
  thread.call = call;
  thread.fiber->suspend();
}

void Threadgroup::barrier(unsigned mem_flags) {
  ++running->waiting_;
  running->mem_flags_ = mem_flags;
  running->wait(State::at_barrier, __builtin_return_address(0));
}

void Threadgroup::simdgroup_barrier(unsigned mem_flags) {
  const int number = running->current_ / kSimdgroup;
  running->simdgroups_[static_cast<std::size_t>(number)].mem_flags = mem_flags;
  running->meet(nullptr, 0, __builtin_return_address(0));
}

const void* Threadgroup::exchange(const void* value, unsigned bytes, unsigned* active) {
  const int number = running->current_ / kSimdgroup;
  Simdgroup& simdgroup = running->simdgroups_[static_cast<std::size_t>(number)];
  const void* const slots = simdgroup.slots[simdgroup.turn];
  running->meet(value, bytes, __builtin_return_address(0));
  *active = ~0u;
  return slots;
}

unsigned Threadgroup::lane() { return static_cast<unsigned>(running->current_ % kSimdgroup); }

void* Threadgroup::threadgroup_variable(unsigned number, unsigned long bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  Threadgroup& group = *running;
  bool is_new = false;
  const std::int64_t limit = group.grid_->threadgroup_memory;
  const auto fail = [&](std::int64_t got) {
    group.fault_ = "has more threadgroup memory than there is; got " + std::to_string(got) +
                   " bytes, expected at most " + std::to_string(limit);
    group.give_up();
  };
  if (size > limit) fail(size);
  const ThreadgroupMemory::Variable& variable = group.memory_.variable(number, size, &is_new);
  if (!is_new) return variable.begin;
  if (group.memory_.bytes() > limit) fail(group.memory_.bytes());
  if (group.checker_ != nullptr) group.checker_->add_range(group.memory_.range_of(variable));
  return variable.begin;
}

// Waits for the other lanes of the simdgroup.
void Threadgroup::meet(const void* value, unsigned bytes, const void* call) {
  const int number = current_ / kSimdgroup;
  Simdgroup& simdgroup = simdgroups_[static_cast<std::size_t>(number)];
  const int lanes = std::min(kSimdgroup, thread_count_ - number * kSimdgroup);
  if (lanes != kSimdgroup) {
    fault_ = "calls a simd operation in a simdgroup of " + std::to_string(lanes) +
             " threads; threadgroups must be multiples of 32";
  } else if (bytes > 16) {
    fault_ = "exchanges " + std::to_string(bytes) + " bytes; expected at most 16";
  }
  if (!fault_.empty()) give_up();
  simdgroup.bytes = bytes;
  if (bytes != 0) {
    std::memcpy(simdgroup.slots[simdgroup.turn] + 16 * (current_ % kSimdgroup), value, bytes);
  }
  ++simdgroup.arrived;
  wait(State::at_exchange, call);
}

bool Threadgroup::release_simdgroup(int simdgroup) {
  Simdgroup& met = simdgroups_[static_cast<std::size_t>(simdgroup)];
  if (met.arrived != kSimdgroup) return false;
  const int begin = simdgroup * kSimdgroup;
  const void* const call = threads_[static_cast<std::size_t>(begin)].call;
  for (int i = begin; i < begin + kSimdgroup; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.call != call) {
      throw_fault("is in another simd operation than lane 0 of its simdgroup", i);
    }
    thread.state = State::ready;
  }
  met.arrived = 0;
  met.turn ^= 1;
  if (met.bytes == 0 && checker_ != nullptr) {
    checker_->pass_simdgroup_barrier(simdgroup, met.mem_flags);
  }
  return true;
}

void Threadgroup::release_barrier() {
  for (int i = 0; i < thread_count_; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.call != threads_[0].call) throw_fault("is at another barrier than thread 0", i);
    thread.state = State::ready;
  }
  waiting_ = 0;
  if (checker_ != nullptr) checker_->pass_barrier(mem_flags_);
  order_threads();
}

void Threadgroup::access(const void* address, unsigned long bytes, int access,
                         unsigned long alignment, const void* caller) {
  Threadgroup& group = *running;
  if (group.interrupts_ != 0) {
    group.fault_ = group.late();
    group.fault_call_ = caller;
    group.give_up();
  }
  if (group.checker_ == nullptr) return;
  if (!group.checker_->check(group.current_, address, static_cast<std::int64_t>(bytes),
                             static_cast<Access>(access), static_cast<std::int64_t>(alignment))) {
    group.fault_ = group.checker_->fault();
    group.fault_call_ = caller;
    group.give_up();
  }
}

void Threadgroup::out_of_bounds(const char* file, unsigned line, const char* type, long index) {
  running->fault_ = "uses index " + std::to_string(index) + " of an array of type " + type +
                    ", at " + file + ":" + std::to_string(line);
  running->give_up();
}

void Threadgroup::misaligned(const char* file, unsigned line, const char* type,
                             unsigned long alignment, const void* address) {
  {
    std::vector<AccessRange> ranges;  // gone before give_up(), which does not return
    running->append_ranges(ranges);
    running->fault_ = std::string("accesses ") + type + " at " + describe(address, ranges) +
                      ", which is not aligned to " + std::to_string(alignment) + " bytes, at " +
                      file + ":" + std::to_string(line);
  }
  running->give_up();
}

bool Threadgroup::is_running() { return running != nullptr; }

bool Threadgroup::interrupt() {
  constexpr int kOften = 10;
  if (running == nullptr) return false;
  running->interrupts_ = running->interrupts_ + 1;
  return running->interrupts_ > kOften;
}

bool Threadgroup::is_in_kernel(const void* instruction) {
  const std::span<const std::byte> library = running->grid_->library;
  const auto* const at = static_cast<const std::byte*>(instruction);
  return at >= library.data() && at < library.data() + library.size();
}

std::uintptr_t Threadgroup::fault_stack(std::uintptr_t stack_pointer) {
  const Fiber& fiber = *running->threads_[static_cast<std::size_t>(running->current_)].fiber;
  const auto bottom = reinterpret_cast<std::uintptr_t>(fiber.stack_bottom());
  const std::uintptr_t reserve = Fiber::kStackBytes / 8;
  const bool overflow = stack_pointer < bottom + reserve;
  return overflow ? reinterpret_cast<std::uintptr_t>(fiber.stack_top()) - reserve : stack_pointer;
}

void Threadgroup::report_fault(const MemoryFault& fault) {
  running->has_memory_fault_ = true;
  running->memory_fault_ = fault;
  running->give_up();
}

// Ends the running thread, and with it the launch. What its stack holds is not destroyed.
void Threadgroup::give_up() {
  threads_[static_cast<std::size_t>(current_)].fiber->suspend();
  std::abort();  // it is not continued
}

}  // namespace hearth::sim
