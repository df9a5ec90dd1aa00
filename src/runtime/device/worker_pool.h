// The threads that share the work of host kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "core/function_ref.h"

namespace hearth {

// One pool serves the whole process. A parallel loop is a fork and a join: the caller works too,
// each thread claims chunks one at a time, of its own share first, and nobody waits for a worker
// that has not started. So a core that is busy elsewhere delays at most the chunk it holds.
//
// Any thread may call at any time. While one caller has the workers, loops of other callers, and
// loops inside a chunk, run on the thread that asked. Workers spin for kSpinMicroseconds after
// their last chunk and then sleep, or for kLongSpinMicroseconds while loops follow one another
// faster than that; they are never pinned. Threads are made on the first loop that needs them and
// live until the process ends.
class WorkerPool {
 public:
  static constexpr int kMaxThreads = 1024;
  static constexpr int kSpinMicroseconds = 40;
  static constexpr int kLongSpinMicroseconds = 1000;

  // What to do when the workers are asleep: waking one costs the caller several microseconds.
  enum class Wake {
    always,
    // Run on the calling thread, unless another loop asked for workers within the last
    // kSpinMicroseconds (then more will follow, and one wake serves them all).
    if_frequent,
  };

  static WorkerPool& global();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Threads that a loop of the calling thread may use, itself included. At first: the environment
  // variable HEARTH_THREADS, or the number of cores; lowered by a ThreadLimit in scope.
  int threads() const noexcept;

  // Changes that number for the whole process, from the next loop on. Clamped to 1..kMaxThreads.
  void set_threads(int threads) noexcept;

  // Calls body(0) ... body(chunks - 1), each once, in no order, on up to `threads()` threads, and
  // returns when all are done. What the chunks wrote is visible to the caller. If a chunk throws,
  // no further chunks start and the first exception is rethrown here.
  void parallel_for(std::int64_t chunks, FunctionRef<void(std::int64_t chunk)> body,
                    Wake wake = Wake::always);

  // Splits 0..n into chunks of `grain` (the last may be shorter) and calls body(begin, end).
  void parallel_for_range(std::int64_t n, std::int64_t grain,
                          FunctionRef<void(std::int64_t begin, std::int64_t end)> body,
                          Wake wake = Wake::always);

 private:
  // Leaked on purpose: workers may still be asleep in it while the process exits.
  WorkerPool();
  ~WorkerPool() = default;

  void run_inline(std::int64_t chunks, FunctionRef<void(std::int64_t)> body);
  void spawn(int helpers);
  void work(int place);
  bool try_join(std::uint64_t gate);
  void leave();
  void deal(std::int64_t chunks, int threads);
  void run_chunks(int place);

  // The gate: | generation:32 | open:1 | places left:15 | helpers inside:16 |. A helper enters
  // only by taking a place of an open gate, so a closed gate with nobody inside means that the
  // job's fields are the caller's alone.
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kPlace = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kPlaces = std::uint64_t{0x7fff} << 16;
  static constexpr std::uint64_t kInside = 0xffff;
  static constexpr std::uint64_t kGeneration = std::uint64_t{1} << 32;

  std::atomic<int> limit_;
  alignas(64) std::atomic<std::uint64_t> gate_{0};
  // A range of chunks. In every loop a thread begins with the share of its place, since what one
  // loop left in its cache is what the next one wants, and goes on with what is left of the others.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  // A fixed array, so that dealing allocates nothing; at the end of a loop each thread looks
  // through all shares in use. Of more threads than that some begin with a share of another's.
  static constexpr int kShares = 64;
  Share shares_[kShares];
  alignas(64) std::atomic<bool> taken_{false};  // a caller has the workers
  std::atomic<int> sleepers_{0};
  std::atomic<int> wake_{0};                   // sleepers wait for a change of this
  std::atomic<int> left_{0};                   // counts last helpers out; callers wait on it
  std::atomic<std::int64_t> last_request_{0};  // nanoseconds of the steady clock
  int spawned_ = 0;                            // guarded by taken_

  // The job, written before the gate opens.
  const FunctionRef<void(std::int64_t)>* body_ = nullptr;
  int share_count_ = 1;
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;  // written by the one that sets failed_
};

// Lowers WorkerPool::threads() for loops that this thread starts while the object lives.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads) noexcept;
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int previous_;
};

}  // namespace hearth
