// Ops of users that many threads make and call at once.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "devices_under_test.h"
#include "graph/counted.h"
#include "hearth/custom_op.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"

namespace hearth::testing {
namespace {

constexpr int kThreads = 8;

// Calls `work(thread)` on all threads at once.
template <class Work>
void on_threads(const Work& work) {
  std::latch begin(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&begin, &work, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Twice each element.
CustomOpSpec twice(std::string name) {
  return {.name = std::move(name),
          .compute =
              [](std::span<const HostTensor> in, HostTensor out) {
                const auto* const x = reinterpret_cast<const float*>(in[0].data);
                auto* const y = reinterpret_cast<float*>(out.data);
                for (std::int64_t i = 0; i < out.shape[0]; ++i) y[i] = 2 * x[i * in[0].strides[0]];
              },
          .kernel = R"(
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
)"};
}

void expect_twice(const CustomOp& op, Device device) {
  EXPECT_EQ(op(add(iota({4}, device), 1.0)).to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
}

TEST(CustomOpThreads, EachThreadMakesItsOwn) {
  on_threads([](int thread) {
    for (int i = 0; i < 4; ++i) {
      const std::string name = "test.own_" + std::to_string(thread) + "_" + std::to_string(i);
      const CustomOp op(twice(name));
      EXPECT_NE(find_op(name), nullptr) << name;
      expect_twice(op, Device::cpu());
    }
  });
}

TEST(CustomOpThreads, OneOfOneNameIsMade) {
  std::atomic<int> made{0}, refused{0};
  on_threads([&](int) {
    try {
      const CustomOp op(twice("test.contended"));
      ++made;
      expect_twice(op, Device::cpu());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("name is taken; got \"test.contended\""),
                std::string::npos)
          << error.what();
      ++refused;
    }
  });
  EXPECT_EQ(made, 1);
  EXPECT_EQ(refused, kThreads - 1);
}

TEST(CustomOpThreads, FirstCallsAtOnce) {
  const CustomOp op(twice("test.first_calls"));
  for (const Device device : devices_under_test()) {
    on_threads([&](int) { expect_twice(op, device); });
  }
}

TEST(CustomOpThreads, NamesMayDieWithTheSpec) {
  std::string name = "test.a_name_that_lives_on_the_heap";
  CustomOpSpec spec = twice(name);
  spec.summary = "A summary that lives on the heap.";
  const CustomOp op(spec);
  spec.name.assign(spec.name.size(), '?');
  spec.summary.assign(spec.summary.size(), '?');
  const OpDef* const found = find_op(name);
  ASSERT_NE(found, nullptr);
  EXPECT_STREQ(found->name.text, name.c_str());
  EXPECT_EQ(found->name.hash, OpName::hash_of(name.c_str()));
  EXPECT_STREQ(found->summary, "A summary that lives on the heap.");
  try {
    (void)op({});
    ADD_FAILURE() << "a call without inputs";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(name + ": wrong number of inputs"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hearth::testing
