// Threads that make, use and release handles of one another, with every kind of read: each call
// succeeds or says that there is no such handle, each handle is released once, and values are
// whole.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "c_api/c_arrays.h"
#include "graph/effort.h"

namespace hearth::c_api::testing {
namespace {

constexpr std::size_t kElements = 64;
constexpr int kThreads = 6;

// Handles that all threads see. Whoever takes one out releases it, and so may anybody else.
class Shared {
 public:
  void put(std::size_t at, hearth_array array) {
    ++given_;
    release(hearth_array{ids_[at % kSlots].exchange(array.id)});
  }
  hearth_array look(std::size_t at) const { return {ids_[at % kSlots].load()}; }
  // Twice by the same thread, and once more by who takes the handle out.
  void release_early(std::size_t at) {
    const hearth_array seen = look(at);
    release(seen);
    if (seen.id == 0) return;
    EXPECT_EQ(hearth_array_release(seen), HEARTH_ERROR_INVALID_HANDLE);
  }
  void finish() {
    for (std::size_t i = 0; i < kSlots; ++i) release(hearth_array{ids_[i].exchange(0)});
    EXPECT_EQ(given_, released_) << "each handle is released once";
  }

 private:
  void release(hearth_array array) {
    if (array.id == 0) return;
    const hearth_status status = hearth_array_release(array);
    if (status == HEARTH_OK) {
      ++released_;
    } else {
      EXPECT_EQ(status, HEARTH_ERROR_INVALID_HANDLE) << hearth_error_message();
    }
  }

  static constexpr std::size_t kSlots = 8;
  std::array<std::atomic<std::uint64_t>, kSlots> ids_{};
  std::atomic<std::int64_t> given_{0}, released_{0};
};

// What one thread does. Element i of every array is i + 1 times the first.
class Worker {
 public:
  Worker(Shared& shared, hearth_device device, unsigned seed)
      : shared_(shared), device_(device), random_(seed) {}

  void run(std::int64_t rounds) {
    for (std::int64_t round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) step();
  }

 private:
  void step() {
    switch (below(10)) {
      case 0:
        return make();
      case 1:
      case 2:
        return average();
      case 3:
        return copy();
      case 4:
        return shared_.release_early(below(100));
      case 5:
        return differentiate();
      case 6:
        return read_now();
      case 7:
        return read_later();
      case 8:
        return read_with_a_call();
      default:
        return give_up_a_read();
    }
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  // Whether the call found its handles.
  static bool found(hearth_status status) {
    if (status == HEARTH_OK) return true;
    EXPECT_EQ(status, HEARTH_ERROR_INVALID_HANDLE) << hearth_error_message();
    return false;
  }

  hearth_array made() {
    std::array<float, kElements> values;
    const auto first = static_cast<float>(1 + below(100));
    for (std::size_t i = 0; i < kElements; ++i) values[i] = first * static_cast<float>(i + 1);
    const std::int64_t shape[] = {kElements};
    hearth_array array = {0};
    EXPECT_EQ(hearth_array_from_bytes(values.data(), sizeof values, HEARTH_F32, shape, 1, device_,
                                      &array),
              HEARTH_OK)
        << hearth_error_message();
    return array;
  }
  void make() { shared_.put(below(100), made()); }

  void average() {
    const hearth_value inputs[] = {hearth_of_array(shared_.look(below(100))),
                                   hearth_of_array(shared_.look(below(100)))};
    static const hearth_function add = hearth_function_named("add");
    static const hearth_function mul = hearth_function_named("mul");
    hearth_array sum = {0}, half = {0};
    if (inputs[0].as.array.id == 0 || inputs[1].as.array.id == 0) return make();
    if (!found(hearth_apply(add, inputs, 2, nullptr, 0, &sum, nullptr, 1, nullptr))) return;
    const hearth_value halved[] = {hearth_of_array(sum), hearth_of_float(0.5)};
    EXPECT_EQ(hearth_apply(mul, halved, 2, nullptr, 0, &half, nullptr, 1, nullptr), HEARTH_OK);
    EXPECT_EQ(hearth_array_release(sum), HEARTH_OK);
    shared_.put(below(100), half);
  }

  void copy() {
    hearth_array second = {0};
    if (found(hearth_array_copy(shared_.look(below(100)), &second))) {
      shared_.put(below(100), second);
    }
  }

  // Of the sum of x^2: 2 x.
  void differentiate() {
    const Held x(made());
    hearth_array array = {0};
    ASSERT_EQ(hearth_array_require_grad(x.handle, &array), HEARTH_OK);
    const Held leaf(array);
    const Held square = apply("mul", {hearth_of_array(leaf.handle), hearth_of_array(leaf.handle)});
    const Held loss = apply("sum", {hearth_of_array(square.handle)});
    hearth_gradients gradients = {0};
    ASSERT_EQ(hearth_backward(loss.handle, 0, &gradients), HEARTH_OK) << hearth_error_message();
    ASSERT_EQ(hearth_gradients_get(gradients, leaf.handle, &array), HEARTH_OK);
    shared_.put(below(100), array);
    EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
    EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_ERROR_INVALID_HANDLE);
  }

  void expect_whole() {
    for (std::size_t i = 0; i < kElements; ++i) {
      const float expected = target_[0] * static_cast<float>(i + 1);
      ASSERT_LE(std::abs(target_[i] - expected), 1e-4f * expected) << "element " << i;
    }
    ASSERT_GE(target_[0], 1);
  }

  void read_now() {
    if (found(hearth_array_read(shared_.look(below(100)), target_.data(), sizeof target_))) {
      expect_whole();
    }
  }

  void finish(hearth_read read) {
    ASSERT_EQ(hearth_read_finish(read, target_.data(), sizeof target_), HEARTH_OK)
        << hearth_error_message();
    expect_whole();
    EXPECT_EQ(hearth_read_finish(read, target_.data(), sizeof target_),
              HEARTH_ERROR_INVALID_HANDLE);
    EXPECT_EQ(hearth_read_release(read), HEARTH_ERROR_INVALID_HANDLE);
  }

  void read_later() {
    hearth_read read = {0};
    if (!found(hearth_read_start(shared_.look(below(100)), &read))) return;
    std::int32_t ready = 0;
    while (ready == 0) {
      ASSERT_EQ(hearth_read_poll(read, &ready), HEARTH_OK);
      std::this_thread::yield();
    }
    finish(read);
  }

  void read_with_a_call() {
    std::atomic<int> calls{0};
    const auto count = [](void* context) {
      // What a callback may do.
      EXPECT_GE(statistic("memory.in_use"), 0);
      ++*static_cast<std::atomic<int>*>(context);
    };
    hearth_read read = {0};
    if (!found(hearth_read_start_notify(shared_.look(below(100)), count, &calls, &read))) {
      EXPECT_EQ(calls, 0);
      return;
    }
    while (calls == 0) std::this_thread::yield();
    finish(read);
    EXPECT_EQ(calls, 1);
  }

  void give_up_a_read() {
    hearth_read read = {0};
    if (!found(hearth_read_start(shared_.look(below(100)), &read))) return;
    EXPECT_EQ(hearth_read_release(read), HEARTH_OK);
    EXPECT_EQ(hearth_read_release(read), HEARTH_ERROR_INVALID_HANDLE);
  }

  Shared& shared_;
  hearth_device device_;
  std::mt19937 random_;
  std::array<float, kElements> target_{};
};

std::int64_t bytes_in_use(hearth_device device) {
  EXPECT_EQ(hearth_device_synchronize(device), HEARTH_OK) << hearth_error_message();
  return statistic("memory.in_use", device);
}

// Reads end in the order of their beginnings, and so do those before this one that nobody finishes.
void wait_for_reads(hearth_device device) {
  const float zero[] = {0};
  const std::int64_t shape[] = {1};
  hearth_array made = {0};
  ASSERT_EQ(hearth_array_from_bytes(zero, sizeof zero, HEARTH_F32, shape, 1, device, &made),
            HEARTH_OK)
      << hearth_error_message();
  const Held x(made), pending = apply("exp", {hearth_of_array(x.handle)});
  hearth_read read = {0};
  float value = 0;
  ASSERT_EQ(hearth_read_start(pending.handle, &read), HEARTH_OK);
  ASSERT_EQ(hearth_read_finish(read, &value, sizeof value), HEARTH_OK) << hearth_error_message();
  EXPECT_EQ(value, 1);
}

class CThreads : public ::testing::TestWithParam<const char*> {};

TEST_P(CThreads, ShareEverything) {
  hearth_device device = -1;
  ASSERT_EQ(hearth_device_named(GetParam(), &device), HEARTH_OK) << hearth_error_message();
  // A simulated GPU takes its time.
  const std::int64_t rounds = std::string(GetParam()) == "sim" ? 300 : 3000;
  const std::int64_t before = bytes_in_use(device), handles = statistic("handles.arrays");
  Shared shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&shared, device, rounds, i] {
      Worker(shared, device, static_cast<unsigned>(i + 1)).run(hearth::testing::scaled(rounds));
    });
  }
  for (std::thread& thread : threads) thread.join();
  shared.finish();
  wait_for_reads(device);
  EXPECT_EQ(bytes_in_use(device), before);
  EXPECT_EQ(statistic("handles.arrays"), handles);
}

INSTANTIATE_TEST_SUITE_P(Devices, CThreads, ::testing::Values("cpu", "hostile", "sim"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace hearth::c_api::testing
