// Runs one simdgroup of a host-compiled kernel on 32 threads of the process, to test the prelude by
// itself. The simulator (src/devices/sim) runs whole grids, and checks what they do.
#pragma once

#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/prelude/simulator_abi.h"

namespace hearth::gpu_test {

class Lockstep {
 public:
  static const HearthSimulator* table() {
    static const HearthSimulator made = {meet, meet, exchange, [] { return lane_; }, nullptr};
    return &made;
  }

  // One threadgroup of 32 threads. `threadgroup` is as HearthKernel takes it.
  static void run(HearthKernel kernel, void* const* arguments, void* const* threadgroup) {
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < 32; ++lane) {
      threads.emplace_back([=] {
        lane_ = lane;
        turn_ = 0;
        const HearthContext context = {
            {0, 0, 0}, {lane, 0, 0}, {lane, 0, 0}, {32, 1, 1}, {1, 1, 1}, lane, 0, 1};
        kernel(arguments, threadgroup, &context);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct alignas(16) Slots {
    char value[32][16];
  };

  static void meet(unsigned) { barrier().arrive_and_wait(); }
  // Two sets of slots by turns: a lane may write the next value while others still read the last.
  static const void* exchange(const void* value, unsigned bytes, unsigned* active) {
    Slots& mine = slots_[turn_ ^= 1];
    std::memcpy(mine.value[lane_], value, bytes);
    *active = 0xffffffffu;
    barrier().arrive_and_wait();
    return &mine;
  }
  static std::barrier<>& barrier() {
    static std::barrier<> made(32);
    return made;
  }

  inline static Slots slots_[2];
  inline static thread_local unsigned lane_ = 0;
  inline static thread_local int turn_ = 0;
};

}  // namespace hearth::gpu_test
