#include "tools/serve/work_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hearth::tools::serve {
namespace {

TEST(WorkSlots, NoMoreThanThereAreWorkAtOnce) {
  WorkSlots slots(2);
  std::atomic<int> working = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        const WorkSlots::Slot slot = slots.take([] {});
        const int now = ++working;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --working;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_LE(most, 2);
  EXPECT_GE(most, 1);
}

// Who waits is looked after: what ends the wait leaves the place to others.
TEST(WorkSlots, AWaitEndsWithWhatItsWatchThrows) {
  WorkSlots slots(1);
  WorkSlots::Slot held = slots.take([] {});
  int looks = 0;
  EXPECT_THROW(slots.take([&] {
    if (++looks == 3) throw std::runtime_error("nobody waits any more");
  }),
               std::runtime_error);
  EXPECT_EQ(looks, 3);
  held.reset();
  EXPECT_NE(slots.take([&] { ++looks; }), nullptr);
  EXPECT_EQ(looks, 3);  // nobody had to wait
}

}  // namespace
}  // namespace hearth::tools::serve
