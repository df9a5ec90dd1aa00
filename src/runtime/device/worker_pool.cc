#include "runtime/device/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "runtime/device/environment.h"
#include "runtime/memory/system_memory.h"

namespace hearth {
namespace {

thread_local bool t_inside = false;  // this thread is running a chunk of some loop
thread_local int t_limit = WorkerPool::kMaxThreads;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::int64_t kSpinNs = std::int64_t{WorkerPool::kSpinMicroseconds} * 1000;
constexpr std::int64_t kLongSpinNs = std::int64_t{WorkerPool::kLongSpinMicroseconds} * 1000;

// Spins until `done()` or for `limit_ns`; returns whether done() held.
template <class Done>
bool spin_until(std::int64_t limit_ns, Done done) {
  std::int64_t start = 0;
  for (int round = 0;; ++round) {
    if (done()) return true;
    pause();
    if (round % 32 != 31) continue;
    const std::int64_t now = now_ns();
    if (start == 0) {
      start = now;
    } else if (now - start > limit_ns) {
      return done();
    }
  }
}

int initial_threads() {
  if (const std::optional<int> asked = runtime::environment().threads) return *asked;
  const unsigned cores = std::thread::hardware_concurrency();
  return static_cast<int>(std::clamp<unsigned>(cores, 1, WorkerPool::kMaxThreads));
}

// As many threads as take half of the process's addresses: each has a stack, and memory of its own
// that malloc reserves.
int affordable_helpers() {
  constexpr std::int64_t kMallocReserves = std::int64_t{64} << 20;
  pthread_attr_t attributes;
  std::size_t stack = 0;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_destroy(&attributes);
  }
  const std::int64_t each = kMallocReserves + static_cast<std::int64_t>(stack);
  const std::int64_t most = address_space_limit() / 2 / each;
  return static_cast<int>(std::min<std::int64_t>(most, WorkerPool::kMaxThreads));
}

// Marks the thread as inside a loop while it lives.
struct InsideScope {
  InsideScope() { t_inside = true; }
  ~InsideScope() { t_inside = false; }
};

}  // namespace

WorkerPool& WorkerPool::global() {
  static WorkerPool* const pool = new WorkerPool;
  return *pool;
}

WorkerPool::WorkerPool() : limit_(initial_threads()) {}

int WorkerPool::threads() const noexcept {
  return std::min(limit_.load(std::memory_order_relaxed), t_limit);
}

void WorkerPool::set_threads(int threads) noexcept {
  limit_.store(std::clamp(threads, 1, kMaxThreads), std::memory_order_relaxed);
}

void WorkerPool::run_inline(std::int64_t chunks, FunctionRef<void(std::int64_t)> body) {
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

void WorkerPool::parallel_for(std::int64_t chunks, FunctionRef<void(std::int64_t)> body,
                              Wake wake) {
  if (chunks <= 0) return;
  if (chunks == 1 || t_inside) return run_inline(chunks, body);
  const auto helpers = static_cast<int>(std::min<std::int64_t>(threads() - 1, chunks - 1));
  if (helpers <= 0) return run_inline(chunks, body);
  if (taken_.load(std::memory_order_relaxed) || taken_.exchange(true, std::memory_order_acquire)) {
    return run_inline(chunks, body);
  }
  struct Release {
    std::atomic<bool>& taken;
    ~Release() { taken.store(false, std::memory_order_release); }
  } release{taken_};

  if (wake == Wake::if_frequent) {
    const std::int64_t now = now_ns();
    const std::int64_t last = last_request_.exchange(now, std::memory_order_relaxed);
    const bool asleep = sleepers_.load(std::memory_order_relaxed) == spawned_;
    if (asleep && now - last > kSpinNs) {
      const InsideScope inside;
      return run_inline(chunks, body);
    }
  }
  if (helpers > spawned_) spawn(helpers);

  body_ = &body;
  failed_.store(false, std::memory_order_relaxed);
  deal(chunks, helpers + 1);
  const std::uint64_t generation = (gate_.load(std::memory_order_relaxed) / kGeneration + 1);
  gate_.store(generation * kGeneration | kOpen | static_cast<std::uint64_t>(helpers) * kPlace,
              std::memory_order_seq_cst);
  // Pairs with the sleeper's increment: either it sees the open gate or it is seen here.
  const int asleep = sleepers_.load(std::memory_order_seq_cst);
  if (asleep > 0) {
    wake_.fetch_add(1, std::memory_order_seq_cst);
    if (helpers < asleep) {
      for (int i = 0; i < helpers; ++i) wake_.notify_one();
    } else {
      wake_.notify_all();
    }
  }

  {
    const InsideScope inside;
    run_chunks(0);
  }
  const std::uint64_t closed = gate_.fetch_and(~(kOpen | kPlaces), std::memory_order_acq_rel);
  if ((closed & kInside) != 0) {
    const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInside) == 0; };
    if (!spin_until(kLongSpinNs, empty)) {
      for (;;) {
        const int left = left_.load(std::memory_order_acquire);
        if (empty()) break;
        left_.wait(left, std::memory_order_acquire);
      }
    }
  }
  if (failed_.load(std::memory_order_relaxed)) {
    std::exception_ptr error = std::move(error_);
    error_ = nullptr;
    std::rethrow_exception(error);
  }
}

void WorkerPool::parallel_for_range(std::int64_t n, std::int64_t grain,
                                    FunctionRef<void(std::int64_t, std::int64_t)> body, Wake wake) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t chunks = n / grain + (n % grain != 0);
  parallel_for(
      chunks,
      [&](std::int64_t chunk) {
        const std::int64_t begin = chunk * grain;
        body(begin, begin + std::min(grain, n - begin));
      },
      wake);
}

void WorkerPool::spawn(int helpers) {
  static const int most = affordable_helpers();
  try {
    for (; spawned_ < std::min(helpers, most); ++spawned_) {
      std::thread([this, place = spawned_ + 1] { work(place); }).detach();
    }
  } catch (const std::exception&) {
    // The machine has no more threads to give: the ones there are share the work.
  }
}

// Few chunks are one share: who is there first takes them.
void WorkerPool::deal(std::int64_t chunks, int threads) {
  constexpr std::int64_t kChunksOfShare = 4;
  share_count_ = chunks / kChunksOfShare < threads ? 1 : std::min(threads, kShares);
  const std::int64_t each = chunks / share_count_, more = chunks % share_count_;
  std::int64_t begin = 0;
  for (int i = 0; i < share_count_; ++i) {
    Share& share = shares_[i];
    share.next.store(begin, std::memory_order_relaxed);
    begin += each + (i < more ? 1 : 0);
    share.end = begin;
  }
}

void WorkerPool::run_chunks(int place) {
  const FunctionRef<void(std::int64_t)>& body = *body_;
  const int count = share_count_;
  for (int i = 0; i < count; ++i) {
    Share& share = shares_[(place + i) % count];
    const std::int64_t end = share.end;
    while (share.next.load(std::memory_order_relaxed) < end) {
      const std::int64_t chunk = share.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= end) break;
      try {
        body(chunk);
      } catch (...) {
        if (!failed_.exchange(true, std::memory_order_acq_rel)) error_ = std::current_exception();
        for (int k = 0; k < count; ++k) {
          shares_[k].next.store(shares_[k].end, std::memory_order_relaxed);
        }
      }
    }
  }
}

bool WorkerPool::try_join(std::uint64_t gate) {
  while ((gate & kOpen) != 0 && (gate & kPlaces) != 0) {
    if (gate_.compare_exchange_weak(gate, gate - kPlace + 1, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void WorkerPool::leave() {
  const std::uint64_t before = gate_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kInside) == 1 && (before & kOpen) == 0) {
    left_.fetch_add(1, std::memory_order_release);
    left_.notify_all();
  }
}

void WorkerPool::work(int place) {
  t_inside = true;
  std::uint64_t served = 0;  // the generation in which this helper last took part
  const auto open = [this, &served] {
    const std::uint64_t gate = gate_.load(std::memory_order_acquire);
    return (gate & kOpen) != 0 && (gate & kPlaces) != 0 && gate / kGeneration != served;
  };
  std::int64_t spin_ns = kSpinNs;
  for (;;) {
    if (!spin_until(spin_ns, open)) {
      const std::int64_t asleep_since = now_ns();
      const int ticket = wake_.load(std::memory_order_seq_cst);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      const std::uint64_t gate = gate_.load(std::memory_order_seq_cst);
      const bool work_waits =
          (gate & kOpen) != 0 && (gate & kPlaces) != 0 && gate / kGeneration != served;
      if (!work_waits) wake_.wait(ticket, std::memory_order_seq_cst);
      sleepers_.fetch_sub(1, std::memory_order_seq_cst);
      // A short nap was not worth its wake-up: the next loop will come as soon, so wait for it.
      spin_ns = now_ns() - asleep_since < kLongSpinNs ? kLongSpinNs : kSpinNs;
    }
    const std::uint64_t gate = gate_.load(std::memory_order_acquire);
    if (!try_join(gate)) continue;
    served = gate_.load(std::memory_order_relaxed) / kGeneration;
    run_chunks(place);
    leave();
  }
}

ThreadLimit::ThreadLimit(int threads) noexcept : previous_(t_limit) {
  t_limit = std::clamp(threads, 1, previous_);
}

ThreadLimit::~ThreadLimit() { t_limit = previous_; }

}  // namespace hearth
