// Several threads that differentiate through one graph at once: each gets the gradients, or is told
// that another one has used the values up.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "graph/effort.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

constexpr int kThreads = 4;

Array chain(const Array& x) {
  const std::vector<Array> at = {x};
  Array y = checkpoint([](std::span<const Array> in) { return exp(tanh(in[0])); })(at);
  for (int i = 0; i < 10; ++i) y = tanh(y * 1.1) + tanh(slice(y, {Slice{}}) * y);
  return softmax(y, 0) * y;
}

// Threads that got the gradients, and that were refused.
struct Outcome {
  std::atomic<int> right{0}, refused{0};
};

// kThreads times at once, over a graph of each round's own.
void differentiate(Outcome& outcome, const std::vector<BackwardOptions>& options) {
  const auto rounds = testing::scaled(50);
  const std::vector<double> values = {-1, 0.5, 2, 0.25};
  for (std::int64_t round = 0; round < rounds; ++round) {
    const Array x = Array::from_data(values, {4}, Device()).require_grad();
    const Array expected = backward(sum(chain(x))).get(x).eval();
    const Array y = chain(x);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, own = options[static_cast<std::size_t>(i) % options.size()]] {
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        try {
          const Array loss = sum(y);
          const Array gradient = backward(loss, own).get(x);
          const bool is_right = gradient.to_doubles() == expected.to_doubles();
          EXPECT_TRUE(is_right) << gradient << "\n" << expected;
          ++outcome.right;
          if (own.create_graph) backward(sum(gradient * gradient), {.retain = true}).get(x).eval();
        } catch (const Error& error) {
          const bool is_refusal =
              std::string(error.what()).find("were released") != std::string::npos;
          EXPECT_TRUE(is_refusal) << error.what();
          ++outcome.refused;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(BackwardOfThreads, RetainsOneGraph) {
  Outcome outcome;
  differentiate(outcome, {{.retain = true}});
  EXPECT_EQ(outcome.refused, 0);
}

TEST(BackwardOfThreads, UsesOneGraphUp) {
  Outcome outcome;
  differentiate(outcome, {{}});
  EXPECT_GT(outcome.right, 0);
}

TEST(BackwardOfThreads, CreatesGraphsOfOne) {
  Outcome outcome;
  differentiate(outcome, {{.create_graph = true}});
  EXPECT_EQ(outcome.refused, 0);
}

TEST(BackwardOfThreads, EachInItsOwnWay) {
  Outcome outcome;
  differentiate(outcome, {{}, {.retain = true}, {.create_graph = true}, {}});
  EXPECT_GT(outcome.right, 0);
}

}  // namespace
}  // namespace hearth
