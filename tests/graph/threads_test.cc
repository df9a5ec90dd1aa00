// Many threads recording, submitting and exchanging arrays.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "graph/counted.h"
#include "graph/effort.h"
#include "graph/record/tape.h"
#include "hearth/custom_op.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

TEST(Threads, ForeignPendingArraysAreSubmitted) {
  for (const Device device : devices_under_test()) {
    Array made;
    Array fresh;
    std::atomic<int> stage{0};
    std::thread other([&] {
      made = add(iota({100}, device), 1.0);
      stage = 1;
      stage.notify_all();
      stage.wait(1);
      EXPECT_EQ(mul(fresh, made).to_vector<float>()[5], 6 * 15);
    });
    stage.wait(0);
    EXPECT_FALSE(made.is_evaluated());
    const Array mine = mul(made, 2.0);
    EXPECT_TRUE(made.is_evaluated());
    EXPECT_FALSE(mine.is_evaluated());
    EXPECT_EQ(mine.to_vector<float>()[5], 12);
    fresh = add(iota({100}, device), 10.0);
    stage = 2;
    stage.notify_all();
    other.join();
  }
}

TEST(Threads, ForeignFailuresDoNotSpread) {
  static const CustomOp failing({
      .name = "test.always_fails",
      .infer = [](std::span<const Array> in) { return TensorType{in[0].dtype(), in[0].shape()}; },
      .compute = [](std::span<const HostTensor>,
                    HostTensor) { throw Error(ErrorCode::internal, "test: fails"); },
  });
  Array bad;
  std::atomic<bool> recorded{false};
  std::atomic<bool> done{false};
  std::thread other([&] {
    bad = failing({iota({10})});
    recorded = true;
    recorded.notify_all();
    done.wait(false);
  });
  recorded.wait(false);
  const Array good = add(iota({10}), 1.0);
  const Array mixed = add(bad, good);
  EXPECT_EQ(good.to_vector<float>()[3], 4);
  EXPECT_THROW(mixed.eval(), Error);
  done = true;
  done.notify_all();
  other.join();
}

TEST(Threads, PendingArraysOutliveTheirThread) {
  for (const Device device : devices_under_test()) {
    Array held;
    Array earlier;
    std::thread([&] {
      earlier = add(iota({50}, device), 1.0).eval();
      held = matmul(reshape(add(earlier, 1.0), {5, 10}), iota({10, 2}, device));
      const Array dead = exp(held);
    }).join();
    const std::vector<float> values = held.to_vector<float>();
    float expected = 0;
    for (int k = 0; k < 10; ++k) expected += static_cast<float>((k + 2) * 2 * k);
    EXPECT_EQ(values[0], expected);
    EXPECT_EQ(add(held, 1.0).to_vector<float>()[0], expected + 1);
  }
}

TEST(Threads, ArraysDieOnOtherThreads) {
  const Device device = Device::named("hostile");
  device.synchronize();
  const std::int64_t before = device.memory().in_use;
  for (int round = 0; round < 20; ++round) {
    Array pending = add(iota({100}, device), 1.0);
    Array ready = add(iota({100}, device), 2.0).eval();
    std::thread([a = std::move(pending), b = std::move(ready)]() mutable {
      a = Array();
      b = Array();
    }).join();
  }
  iota({1}, device).eval();
  add(iota({1}, device), 1.0).eval();
  EXPECT_EQ(device.memory().in_use, before);
}

// All threads run the same structures, so that they also meet in the plan cache.
TEST(Threads, SixteenAtOnce) {
  for (const Device device : devices_under_test()) {
    const Array shared = iota({32, 32}, device);
    const Array pending = mul(shared, 0.01);
    std::vector<std::thread> threads;
    std::vector<std::vector<float>> results(16);
    const auto rounds = static_cast<int>(scaled(device == Device::cpu() ? 150 : 40));
    for (std::size_t t = 0; t < results.size(); ++t) {
      threads.emplace_back([&, t] {
        Array x = add(shared, static_cast<double>(t % 4));
        for (int i = 0; i < rounds; ++i) {
          x = tanh(add(matmul(x, pending), 0.25));
          x = slice_assign(x, {{i % 32, i % 32 + 1}}, 0.5);
          if (i % 7 == static_cast<int>(t) % 7) sum(x).item();
          if (i % 11 == 0) {
            Array copy = x;
            x = flip(copy, {0});
          }
        }
        results[t] = x.to_vector<float>();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t t = 4; t < results.size(); ++t) EXPECT_EQ(results[t], results[t % 4]);
    EXPECT_EQ(shared.to_vector<float>()[5], 5);
  }
}

// Threads hand arrays to each other in a ring, pending as they are.
TEST(Threads, Ring) {
  constexpr std::size_t kThreads = 4;
  const auto rounds = static_cast<int>(scaled(200));
  struct Box {
    std::mutex mutex;
    std::condition_variable filled;
    std::vector<Array> arrays;
  };
  std::vector<Box> boxes(kThreads);
  std::vector<double> results(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Array x = full({64}, static_cast<double>(t));
      for (int i = 0; i < rounds; ++i) {
        {
          Box& next = boxes[(t + 1) % kThreads];
          const std::lock_guard lock(next.mutex);
          next.arrays.push_back(add(x, 1.0));
          next.filled.notify_one();
        }
        Box& mine = boxes[t];
        std::unique_lock lock(mine.mutex);
        mine.filled.wait(lock, [&] { return !mine.arrays.empty(); });
        x = mine.arrays.front();
        mine.arrays.erase(mine.arrays.begin());
      }
      results[t] = x.to_vector<float>()[63];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    const auto source = (t + kThreads - static_cast<std::size_t>(rounds) % kThreads) % kThreads;
    EXPECT_EQ(results[t], static_cast<double>(source) + rounds);
  }
}

}  // namespace
}  // namespace hearth::testing
