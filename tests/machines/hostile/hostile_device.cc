#include "machines/hostile/hostile_device.h"

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/cpu/device.h"
#include "graph/implementation.h"
#include "graph/op_def.h"
#include "machines/hostile/address_space.h"
#include "runtime/commands/driver.h"
#include "runtime/memory/system_memory.h"

namespace hearth::hostile {
namespace {

constexpr int kPoison = 0xff;  // NaN in every float dtype, -1 in the integers
constexpr int kCanary = 0xa5;
constexpr std::int64_t kCanaryBytes = 128;
constexpr std::size_t kLongQueue = 4096;

// The in-order queue: tasks run one after the other on its own thread.
class Queue {
 public:
  void push(std::function<void()> task) {
    std::unique_lock lock(mutex_);
    if (!started_) {
      started_ = true;
      std::thread([this] { work(); }).detach();
    }
    // Hosts that only submit must not outrun the device without limit.
    idle_.wait(lock, [this] { return tasks_.size() < kLongQueue; });
    tasks_.push_back(std::move(task));
    ++pushed_;
    ready_.notify_one();
  }

  // Waits for everything pushed so far and throws what went wrong since the last wait.
  void wait() {
    std::unique_lock lock(mutex_);
    const std::int64_t until = pushed_;
    idle_.wait(lock, [&] { return done_ >= until; });
    if (failed_.empty()) return;
    const std::string text = failed_;
    failed_.clear();
    throw Error(ErrorCode::device, "hostile: a kernel failed: " + text);
  }

  std::int64_t pushed() {
    const std::lock_guard lock(mutex_);
    return pushed_;
  }
  void wait_for(std::int64_t task) {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return done_ >= task; });
  }

  std::int64_t done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  void work() {
    std::uint64_t random = 0x2545f4914f6cdd1du;
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      random = random * 6364136223846793005u + 1442695040888963407u;
      if ((random >> 60) == 0) {  // one task of sixteen is late by up to 16 microseconds
        const auto delay = std::chrono::nanoseconds((random >> 40) & 0x3fff);
        const auto until = std::chrono::steady_clock::now() + delay;
        while (std::chrono::steady_clock::now() < until) {
        }
      }
      std::string failed;
      try {
        task();
      } catch (const std::exception& error) {
        failed = error.what();
      } catch (...) {
        failed = "unknown exception";
      }
      task = nullptr;  // may hold the last reference to a plan
      const std::lock_guard lock(mutex_);
      if (failed_.empty()) failed_ = failed;
      ++done_;
      idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> tasks_;
  std::int64_t pushed_ = 0;
  std::int64_t done_ = 0;
  bool started_ = false;
  std::string failed_;
};

class HostileDevice final : public DeviceImpl {
 public:
  HostileDevice() : DeviceImpl("hostile", 0) {}

  std::string description() const override { return "a test device of its own address space"; }
  bool host_visible() const noexcept override { return false; }

  Address allocate(std::int64_t bytes) override {
    if (bytes > room()) fail(bytes);
    Address address = nullptr;
    {
      const std::lock_guard lock(mutex_);
      address = space().take(bytes);
      if (address == nullptr) fail(bytes);
      ++stats_.allocations;
      ++stats_.fresh;
      stats_.in_use += bytes;
      stats_.peak = std::max(stats_.peak, stats_.in_use);
    }
    std::byte* const at = real(address);
    queue_.push(
        [at, bytes] { std::memset(at, kPoison, static_cast<std::size_t>(bytes + kPadding)); });
    return address;
  }

  void free(Address address, std::int64_t bytes) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      stats_.in_use -= bytes;
    }
    std::byte* const at = real(address);
    // Work queued before may still use the block.
    queue_.push([this, address, at, bytes] {
      std::memset(at, kPoison, static_cast<std::size_t>(bytes));
      const std::lock_guard lock(mutex_);
      space().give_back(address);
    });
  }

  MemoryStatistics memory() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak() override {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.in_use;
  }
  void set_memory_limit(std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
  }
  std::int64_t room() const override {
    const std::lock_guard lock(mutex_);
    return limit_ - stats_.in_use - stats_.arena;
  }
  void trim() override {
    const std::lock_guard plan_lock(queue_mutex());
    queue_.wait();
    const std::lock_guard lock(mutex_);
    stats_.arena = 0;
  }

  Address arena(std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    const std::int64_t growth = std::max<std::int64_t>(0, bytes - stats_.arena);
    if (growth > limit_ - stats_.in_use - stats_.arena ||
        bytes > AddressSpace::kArenaBytes - kCanaryBytes) {
      fail(bytes);
    }
    stats_.arena += growth;
    stats_.peak = std::max(stats_.peak, stats_.in_use + bytes);
    return space().arena();
  }

  void begin_plan(const std::shared_ptr<const void>& plan, std::int64_t arena_bytes) override {
    plan_ = plan;
    arena_bytes_ = arena_bytes;
    if (arena_bytes == 0) return;
    std::byte* const at = real(space_arena());
    queue_.push([at, arena_bytes] {
      std::memset(at, kPoison, static_cast<std::size_t>(arena_bytes));
      std::memset(at + arena_bytes, kCanary, static_cast<std::size_t>(kCanaryBytes));
    });
  }

  void end_plan() override {
    plan_ = nullptr;
    ++plans_;
    if (arena_bytes_ == 0) return;
    const std::byte* const at = real(space_arena()) + arena_bytes_;
    queue_.push([at] {
      for (std::int64_t i = 0; i < kCanaryBytes; ++i) {
        if (at[i] == std::byte{kCanary}) continue;
        throw Error(ErrorCode::internal, "a kernel wrote behind the arena");
      }
    });
  }

  void abandon_plan() noexcept override { plan_ = nullptr; }

  void dispatch(LaunchFunction function, const Launch& launch) override {
    Call call;
    call.plan = plan_;
    call.launch = launch;
    call.dynamics.assign(launch.dynamics, launch.dynamics + launch.dynamic_count);
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < launch.operand_count; ++i) {
        call.operands.push_back(translate(launch.operands[i], launch));
      }
      call.launch.workspace = translate(launch.workspace, launch);
    }
    queue_.push([function, call = std::move(call)]() mutable {
      call.launch.operands = call.operands.data();
      call.launch.dynamics = call.dynamics.data();
      function(call.launch);
    });
    if (launch.early != Launch::kNoOperand) keep_early(launch);
  }

  std::int64_t plans() const override { return plans_; }
  bool read_early(std::int64_t plan, void* target, Address source, std::int64_t bytes) override {
    const std::lock_guard lock(queue_mutex());
    for (const Early& early : early_) {
      if (early.plan != plan || early.source != source || early.bytes != bytes) continue;
      queue_.wait_for(early.task);
      std::memcpy(target, early.value->data(), static_cast<std::size_t>(bytes));
      return true;
    }
    return false;
  }

  void copy_to_device(Address target, const void* source, std::int64_t bytes) override {
    std::byte* const at = real(target);
    const auto* from = static_cast<const std::byte*>(source);
    queue_.push([at, data = std::vector<std::byte>(from, from + bytes)] {
      std::memcpy(at, data.data(), data.size());
    });
  }

  void copy_to_host(void* target, Address source, std::int64_t bytes) override {
    const std::byte* const at = real(source);
    queue_.push([target, at, bytes] { std::memcpy(target, at, static_cast<std::size_t>(bytes)); });
    queue_.wait();
  }

  void synchronize() override { queue_.wait(); }

  const Selector& selector() const override { return cpu::selector(); }

  std::int64_t done() { return queue_.done(); }

 private:
  struct Call {
    std::shared_ptr<const void> plan;
    Launch launch{};
    std::vector<Address> operands;
    std::vector<std::uint64_t> dynamics;
  };

  // A result as it was when its launch was done.
  struct Early {
    std::int64_t plan, task;
    Address source;
    std::int64_t bytes;
    std::shared_ptr<std::array<std::byte, runtime::kEarlyBytes>> value;
  };

  void keep_early(const Launch& launch) {
    const Address source = launch.operands[launch.early];
    const std::int64_t bytes = launch.early_bytes;
    auto value = std::make_shared<std::array<std::byte, runtime::kEarlyBytes>>();
    queue_.push([at = real(source), bytes, value] {
      std::memcpy(value->data(), at, static_cast<std::size_t>(bytes));
    });
    early_.push_back({plans_ + 1, queue_.pushed(), source, bytes, std::move(value)});
    if (early_.size() > runtime::kEarlyResults) early_.pop_front();
  }

  // Reserved when first used: programs that never touch the device pay nothing.
  AddressSpace& space() {
    if (space_ == nullptr) space_ = std::make_unique<AddressSpace>();
    return *space_;
  }
  Address space_arena() {
    const std::lock_guard lock(mutex_);
    return space().arena();
  }
  std::byte* real(Address address) {
    const std::lock_guard lock(mutex_);
    return space().real(address);
  }

  Address translate(Address address, const Launch& launch) {
    if (address == nullptr) return nullptr;
    if (space().is_live(address)) return space().real(address);
    throw Error(ErrorCode::internal,
                std::string("hostile: an operand of ") +
                    (launch.signature != nullptr ? launch.signature->op->name.text : "a region") +
                    " is not in live memory");
  }

  [[noreturn]] static void fail(std::int64_t bytes) {
    throw Error(ErrorCode::out_of_memory,
                "hostile: out of memory; got a request of " + std::to_string(bytes) + " bytes");
  }

  mutable std::mutex mutex_;  // space_, stats_, limit_
  std::unique_ptr<AddressSpace> space_;
  MemoryStatistics stats_;
  std::int64_t limit_ = physical_memory() / 2;
  std::shared_ptr<const void> plan_;  // between begin_plan() and end_plan()
  std::int64_t arena_bytes_ = 0;
  std::int64_t plans_ = 0;
  std::deque<Early> early_;
  Queue queue_;
};

HostileDevice& device() {
  static auto* device = new HostileDevice;
  return *device;
}

[[maybe_unused]] const bool kRegistered = (register_hostile_device(), true);

}  // namespace

void register_hostile_device() {
  static const bool once = (register_device(&device()), true);
  static_cast<void>(once);
}

std::int64_t tasks_run() { return device().done(); }

}  // namespace hearth::hostile
