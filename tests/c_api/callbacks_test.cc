// Calls back into the caller's code: in which order, how deep, and what becomes of what they throw.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

using Floats = std::vector<float>;

// Starts reads of a value that is there, one in the `done` of the other.
struct Chain {
  hearth_array array;
  int left = 0, depth = 0, deepest = 0, failures = 0;

  void start() {
    hearth_read read = {0};
    const hearth_status status = hearth_read_start_notify(array, done, this, &read);
    if (status != HEARTH_OK || hearth_read_release(read) != HEARTH_OK) ++failures;
  }
  static void done(void* context) {
    auto& chain = *static_cast<Chain*>(context);
    chain.deepest = std::max(chain.deepest, ++chain.depth);
    if (--chain.left > 0) chain.start();
    --chain.depth;
  }
};

TEST(CCallbacks, AReadInDoneTakesNoDeeperStack) {
  hearth_device cpu = -1;
  ASSERT_EQ(hearth_device_named("cpu", &cpu), HEARTH_OK);
  hearth_array array = {0};
  const float value = 1;
  ASSERT_EQ(hearth_array_from_bytes(&value, 4, HEARTH_F32, nullptr, 0, cpu, &array), HEARTH_OK);
  const Held x(array);
  Chain chain{x.handle, 300000};
  chain.start();
  EXPECT_EQ(chain.left, 0) << "all ran before the outermost call returned";
  EXPECT_EQ(chain.deepest, 1);
  EXPECT_EQ(chain.failures, 0);
}

// Reads of one array, and what their callbacks say.
struct Log {
  hearth_array array = {0};
  hearth_read reads[4] = {};
  std::string text;

  void read(int number, void (*done)(void*)) {
    EXPECT_EQ(hearth_read_start_notify(array, done, this, &reads[number]), HEARTH_OK);
  }
};

TEST(CCallbacks, RunInTheOrderOfTheirReads) {
  Log log;
  hearth_device cpu = -1;
  ASSERT_EQ(hearth_device_named("cpu", &cpu), HEARTH_OK);
  const float value = 5;
  ASSERT_EQ(hearth_array_from_bytes(&value, 4, HEARTH_F32, nullptr, 0, cpu, &log.array), HEARTH_OK);
  const Held x(log.array);
  log.read(0, [](void* context) {
    auto& here = *static_cast<Log*>(context);
    here.text += "(";
    here.read(1, [](void* inner) {
      auto& first = *static_cast<Log*>(inner);
      first.text += "1";
      first.read(3, [](void* third) { static_cast<Log*>(third)->text += "3"; });
    });
    here.read(2, [](void* second) { static_cast<Log*>(second)->text += "2"; });
    // They have finished all the same.
    std::int32_t ready = 0;
    EXPECT_EQ(hearth_read_poll(here.reads[1], &ready), HEARTH_OK);
    EXPECT_EQ(ready, 1);
    here.text += ")";
  });
  EXPECT_EQ(log.text, "()123");
  for (const hearth_read read : log.reads) {
    float got = 0;
    EXPECT_EQ(hearth_read_finish(read, &got, 4), HEARTH_OK) << hearth_error_message();
    EXPECT_EQ(got, 5);
  }
}

TEST(CCallbacks, WhatTheyThrowIsDropped) {
  static std::atomic<int> calls;
  calls = 0;
  const auto throwing = [](void*) {
    ++calls;
    throw std::runtime_error("from a callback");
  };
  const Held x = floats({1, 2, 3}, {3});
  ASSERT_EQ(hearth_eval(&x.handle, 1), HEARTH_OK);
  hearth_read read = {0};
  Floats values(3);
  // In this thread where the value is at hand, and in the one that finishes reads.
  ASSERT_EQ(hearth_read_start_notify(x.handle, throwing, nullptr, &read), HEARTH_OK)
      << hearth_error_message();
  ASSERT_EQ(hearth_read_finish(read, values.data(), 12), HEARTH_OK);
  EXPECT_EQ(values, (Floats{1, 2, 3}));
  for (int round = 0; round < 2; ++round) {
    const Held y = apply("mul", {hearth_of_array(x.handle), hearth_of_int(2)});
    ASSERT_EQ(hearth_read_start_notify(y.handle, throwing, nullptr, &read), HEARTH_OK);
    ASSERT_EQ(hearth_read_finish(read, values.data(), 12), HEARTH_OK) << hearth_error_message();
    EXPECT_EQ(values, (Floats{2, 4, 6}));
  }
  while (calls < 3) std::this_thread::yield();

  alignas(64) static float memory[1024];
  const std::int64_t shape[] = {1024};
  hearth_array array = {0};
  ASSERT_EQ(hearth_array_from_memory(memory, sizeof memory, HEARTH_F32, shape, 1,
                                     HEARTH_DEFAULT_DEVICE, throwing, nullptr, &array),
            HEARTH_OK);
  EXPECT_EQ(hearth_array_release(array), HEARTH_OK);
  EXPECT_EQ(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace hearth::c_api::testing
