#include "runtime/device/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "runtime/device/environment.h"

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
  chunks_ = chunks;
  failed_.store(false, std::memory_order_relaxed);
  next_.store(0, std::memory_order_relaxed);
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
    run_chunks();
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
  try {
    for (; spawned_ < helpers; ++spawned_) std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {
    // The machine has no more threads to give: the ones there are share the work.
  }
}

void WorkerPool::run_chunks() {
  const FunctionRef<void(std::int64_t)>& body = *body_;
  const std::int64_t chunks = chunks_;
  for (;;) {
    const std::int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks) return;
    try {
      body(chunk);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_acq_rel)) error_ = std::current_exception();
      next_.store(chunks, std::memory_order_relaxed);
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

void WorkerPool::work() {
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
    run_chunks();
    leave();
  }
}

ThreadLimit::ThreadLimit(int threads) noexcept : previous_(t_limit) {
  t_limit = std::clamp(threads, 1, previous_);
}

ThreadLimit::~ThreadLimit() { t_limit = previous_; }

}  // namespace hearth
