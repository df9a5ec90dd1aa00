#include "runtime/device/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hearth {
namespace {

TEST(WorkerPool, EveryChunkRunsOnce) {
  WorkerPool& pool = WorkerPool::global();
  for (const int threads : {1, 2, 4}) {
    pool.set_threads(threads);
    for (const std::int64_t chunks : {0, 1, 2, 3, 7, 8, 15, 16, 17, 63, 1000}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<int> hits(static_cast<std::size_t>(chunks), 0);
        pool.parallel_for(chunks,
                          [&](std::int64_t chunk) { ++hits[static_cast<std::size_t>(chunk)]; });
        for (const int hit : hits) ASSERT_EQ(hit, 1);
      }
    }
  }
  pool.set_threads(2);
}

// A thread that is held up leaves the rest of its share to the others.
TEST(WorkerPool, SharesAreHelpedWith) {
  WorkerPool& pool = WorkerPool::global();
  pool.set_threads(2);
  constexpr std::int64_t kChunks = 100;
  std::atomic<std::int64_t> ran{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pool.parallel_for(kChunks, [&](std::int64_t chunk) {
    const auto waits = [&] {
      return ran < kChunks - 1 && std::chrono::steady_clock::now() < deadline;
    };
    while (chunk == 0 && waits()) std::this_thread::yield();
    if (chunk == 0) {
      EXPECT_EQ(ran, kChunks - 1);
    }
    ++ran;
  });
  EXPECT_EQ(ran, kChunks);
}

TEST(WorkerPool, RangesCoverWithoutOverlap) {
  for (const std::int64_t n : {0, 1, 5, 64, 1000}) {
    for (const std::int64_t grain : {-1, 1, 3, 64, 5000}) {
      std::vector<int> hits(static_cast<std::size_t>(n), 0);
      WorkerPool::global().parallel_for_range(n, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
      });
      for (const int hit : hits) ASSERT_EQ(hit, 1);
    }
  }
}

TEST(WorkerPool, FirstExceptionReachesTheCallerAndThePoolGoesOn) {
  WorkerPool& pool = WorkerPool::global();
  for (int repeat = 0; repeat < 50; ++repeat) {
    EXPECT_THROW(pool.parallel_for(100,
                                   [&](std::int64_t chunk) {
                                     if (chunk % 10 == 3) throw std::runtime_error("chunk");
                                   }),
                 std::runtime_error);
    std::atomic<int> ran{0};
    pool.parallel_for(10, [&](std::int64_t) { ++ran; });
    EXPECT_EQ(ran, 10);
  }
}

TEST(WorkerPool, NestedLoopsRunInline) {
  std::atomic<int> ran{0};
  WorkerPool::global().parallel_for(8, [&](std::int64_t) {
    const auto thread = std::this_thread::get_id();
    WorkerPool::global().parallel_for(8, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      ++ran;
    });
  });
  EXPECT_EQ(ran, 64);
}

TEST(WorkerPool, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total{0};
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        std::atomic<std::int64_t> sum{0};
        WorkerPool::global().parallel_for(20, [&](std::int64_t chunk) { sum += chunk; });
        ASSERT_EQ(sum, 190);
        total += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 190 * 200 * 8);
}

TEST(WorkerPool, SleepersWakeAndLimitsHold) {
  WorkerPool& pool = WorkerPool::global();
  pool.set_threads(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::this_thread::sleep_for(std::chrono::microseconds(repeat % 2 == 0 ? 300 : 20));
    std::atomic<int> ran{0};
    pool.parallel_for(
        30, [&](std::int64_t) { ++ran; },
        repeat % 3 == 0 ? WorkerPool::Wake::if_frequent : WorkerPool::Wake::always);
    ASSERT_EQ(ran, 30);
  }
  {
    const ThreadLimit limit(1);
    EXPECT_EQ(pool.threads(), 1);
    const auto caller = std::this_thread::get_id();
    pool.parallel_for(30, [&](std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
    const ThreadLimit wider(2);
    EXPECT_EQ(pool.threads(), 1);
  }
  EXPECT_EQ(pool.threads(), 3);
  pool.set_threads(0);
  EXPECT_EQ(pool.threads(), 1);
  pool.set_threads(2);
}

}  // namespace
}  // namespace hearth
