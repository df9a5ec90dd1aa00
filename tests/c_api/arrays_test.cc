#include <atomic>
#include <thread>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

using Floats = std::vector<float>;

TEST(CArrays, AHandleIsReleasedOnce) {
  hearth_array x = {0};
  const float value = 1;
  ASSERT_EQ(hearth_array_from_bytes(&value, 4, HEARTH_F32, nullptr, 0, HEARTH_DEFAULT_DEVICE, &x),
            HEARTH_OK);
  EXPECT_EQ(hearth_array_release(x), HEARTH_OK);
  expect_refused(hearth_array_release(x), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_array_release: array: no such handle; got ");
  float read = 0;
  expect_refused(hearth_array_read(x, &read, 4), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_array_read: array: no such handle; got ");
  EXPECT_EQ(hearth_array_release({0}), HEARTH_OK);
  expect_refused(hearth_array_read({0}, &read, 4), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_array_read: array: no such handle; got a zero handle, expected one of an "
                 "array that was given out and not released");
  // Its slot is taken by another, which the old handle does not name.
  const Held y = floats({2}, {1});
  EXPECT_EQ(hearth_array_release(x), HEARTH_ERROR_INVALID_HANDLE);
  EXPECT_EQ(values_of(y), Floats{2});
}

TEST(CArrays, AHandleOfAnotherKindIsNone) {
  const Held x = floats({1}, {1});
  EXPECT_EQ(hearth_read_release({x.handle.id}), HEARTH_ERROR_INVALID_HANDLE);
  EXPECT_EQ(hearth_gradients_release({x.handle.id}), HEARTH_ERROR_INVALID_HANDLE);
  EXPECT_EQ(hearth_archive_release({x.handle.id}), HEARTH_ERROR_INVALID_HANDLE);
  for (const std::uint64_t id : {std::uint64_t{1}, ~std::uint64_t{0}, x.handle.id + 1,
                                 x.handle.id ^ std::uint64_t{1} << 40}) {
    hearth_array_info info;
    EXPECT_EQ(hearth_array_describe({id}, &info), HEARTH_ERROR_INVALID_HANDLE) << id;
  }
}

TEST(CArrays, CopiesNameTheSameValue) {
  Held x = floats({1, 2}, {2});
  hearth_array copy = {0};
  ASSERT_EQ(hearth_array_copy(x.handle, &copy), HEARTH_OK);
  const Held second(copy);
  EXPECT_NE(second.handle.id, x.handle.id);
  x = Held();
  EXPECT_EQ(values_of(second), (Floats{1, 2}));
}

TEST(CArrays, SizesAndPointersAreChecked) {
  const float values[] = {1, 2, 3};
  const std::int64_t shape[] = {3}, negative[] = {-1};
  hearth_array x = {0};
  expect_refused(hearth_array_from_bytes(values, 8, HEARTH_F32, shape, 1, -1, &x),
                 HEARTH_ERROR_SHAPE, "wrong size; got 8 bytes, expected 12");
  expect_refused(hearth_array_from_bytes(nullptr, 12, HEARTH_F32, shape, 1, -1, &x),
                 HEARTH_ERROR_INVALID_ARGUMENT, "hearth_array_from_bytes: data: missing; got NULL");
  expect_refused(hearth_array_from_bytes(values, 12, HEARTH_F32, shape, SIZE_MAX, -1, &x),
                 HEARTH_ERROR_SHAPE, "rank out of range");
  const hearth_array given[] = {{0}};
  expect_refused(hearth_eval(given, SIZE_MAX), HEARTH_ERROR_INVALID_ARGUMENT,
                 "hearth_eval: arrays: number out of range");
  const Held one = floats({1}, {1});
  const hearth_array second_is_none[] = {one.handle, {0}};
  expect_refused(hearth_eval(second_is_none, 2), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_eval: arrays[1]: no such handle; got a zero handle");
  expect_refused(hearth_array_from_bytes(values, 12, HEARTH_F32, nullptr, 1, -1, &x),
                 HEARTH_ERROR_INVALID_ARGUMENT, "shape: missing; got NULL");
  expect_refused(hearth_array_from_bytes(values, 12, HEARTH_F32, negative, 1, -1, &x),
                 HEARTH_ERROR_SHAPE, "hearth_array_from_bytes");
  expect_refused(hearth_array_from_bytes(values, 12, HEARTH_F32, shape, 9, -1, &x),
                 HEARTH_ERROR_SHAPE, "rank out of range");
  expect_refused(hearth_array_from_bytes(values, 12, 99, shape, 1, -1, &x), HEARTH_ERROR_DTYPE,
                 "no such dtype; got 99");
  expect_refused(hearth_array_from_bytes(values, 12, HEARTH_F32, shape, 1, 99, &x),
                 HEARTH_ERROR_DEVICE, "no such device; got 99");
  expect_refused(hearth_array_from_bytes(values, 12, HEARTH_F32, shape, 1, -1, nullptr),
                 HEARTH_ERROR_INVALID_ARGUMENT, "array: missing; got NULL");
  const Held three = floats({1, 2, 3}, {3});
  float target[3];
  expect_refused(hearth_array_read(three.handle, target, 8), HEARTH_ERROR_SHAPE,
                 "wrong size; got 8 bytes, expected 12");
}

TEST(CArrays, MemoryOfTheHostIsUsedUntilItIsGivenBack) {
  static std::atomic<int> released;
  released = 0;
  alignas(64) static float values[1024];
  for (int i = 0; i < 1024; ++i) values[i] = static_cast<float>(i);
  const std::int64_t shape[] = {1024};
  hearth_array x = {0};
  int context = 3;
  const auto release = [](void* given) { released += *static_cast<int*>(given); };
  ASSERT_EQ(hearth_array_from_memory(values, sizeof values, HEARTH_F32, shape, 1,
                                     HEARTH_DEFAULT_DEVICE, release, &context, &x),
            HEARTH_OK)
      << hearth_error_message();
  Held held(x);
  EXPECT_EQ(values_of(apply("sum", {hearth_of_array(held.handle)})), Floats{523776});
  // A device with memory of its own has copied it.
  if (std::string(hearth_device_name(device_of(held))).rfind("cpu", 0) == 0) {
    EXPECT_EQ(released, 0);
  }
  held = Held();
  EXPECT_EQ(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
  EXPECT_EQ(released, 3);
  expect_refused(hearth_array_from_memory(values, 4, HEARTH_F32, shape, 1, HEARTH_DEFAULT_DEVICE,
                                          release, &context, &x),
                 HEARTH_ERROR_SHAPE, "wrong size");
  EXPECT_EQ(released, 3) << "a call that fails takes nothing";
}

TEST(CArrays, ReadsThatNobodyWaitsFor) {
  const Held x = floats({1, 2, 3}, {3});
  const Held y = apply("mul", {hearth_of_array(x.handle), hearth_of_int(2)});
  hearth_read read;
  ASSERT_EQ(hearth_read_start(y.handle, &read), HEARTH_OK);
  std::int32_t ready = 0;
  while (ready == 0) ASSERT_EQ(hearth_read_poll(read, &ready), HEARTH_OK);
  Floats values(3);
  ASSERT_EQ(hearth_read_finish(read, values.data(), 12), HEARTH_OK) << hearth_error_message();
  EXPECT_EQ(values, (Floats{2, 4, 6}));
  EXPECT_EQ(hearth_read_finish(read, values.data(), 12), HEARTH_ERROR_INVALID_HANDLE);

  // `done` has the read that it is called for, and waits for no other.
  struct Seen {
    hearth_array pending;
    hearth_read own = {0}, other = {0};
    std::atomic<bool> is_over{false};
    hearth_status of_own = HEARTH_OK, of_other = HEARTH_OK;
    std::string message;
    Floats values = Floats(3);
  };
  const auto finish_both = [](void* context) {
    auto& seen = *static_cast<Seen*>(context);
    if (hearth_read_start(seen.pending, &seen.other) == HEARTH_OK) {
      seen.of_other = hearth_read_finish(seen.other, seen.values.data(), 12);
      seen.message = hearth_error_message();
    }
    seen.of_own = hearth_read_finish(seen.own, seen.values.data(), 12);
    seen.is_over = true;
  };
  const Held first = apply("mul", {hearth_of_array(x.handle), hearth_of_int(3)});
  const Held second = apply("mul", {hearth_of_array(x.handle), hearth_of_int(4)});
  Seen seen;
  seen.pending = second.handle;
  ASSERT_EQ(hearth_read_start_notify(first.handle, finish_both, &seen, &seen.own), HEARTH_OK);
  while (!seen.is_over) std::this_thread::yield();
  EXPECT_EQ(seen.of_own, HEARTH_OK);
  EXPECT_EQ(seen.values, (Floats{3, 6, 9}));
  // Of memory that the host sees, the other value was there at once.
  if (seen.of_other != HEARTH_OK) {
    EXPECT_EQ(seen.of_other, HEARTH_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(seen.message.find("would wait for itself"), std::string::npos) << seen.message;
  }

  static std::atomic<bool> is_done;
  is_done = false;
  ASSERT_EQ(
      hearth_read_start_notify(y.handle, [](void*) { is_done = true; }, nullptr, &read), HEARTH_OK);
  while (!is_done) std::this_thread::yield();
  ASSERT_EQ(hearth_read_poll(read, &ready), HEARTH_OK);
  EXPECT_EQ(ready, 1);
  expect_refused(hearth_read_finish(read, values.data(), 8), HEARTH_ERROR_SHAPE, "wrong size");
  EXPECT_EQ(hearth_read_release(read), HEARTH_ERROR_INVALID_HANDLE)
      << "it is released all the same";
  const std::int64_t before = statistic("handles.reads");
  ASSERT_EQ(hearth_read_start(y.handle, &read), HEARTH_OK);
  EXPECT_EQ(statistic("handles.reads"), before + 1);
  EXPECT_EQ(hearth_read_release(read), HEARTH_OK);
  EXPECT_EQ(statistic("handles.reads"), before);
}

TEST(CArrays, AReadHoldsNoMemoryOnceItHasSaidSo) {
  const Held x = floats(Floats(1000), {1000});
  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
    const std::int64_t before = statistic("memory.in_use");
    hearth_read read = {0};
    {
      const Held y = apply("exp", {hearth_of_array(x.handle)});
      ASSERT_EQ(hearth_read_start(y.handle, &read), HEARTH_OK);
    }
    for (std::int32_t ready = 0; ready == 0;) {
      ASSERT_EQ(hearth_read_poll(read, &ready), HEARTH_OK);
    }
    Floats values(1000);
    ASSERT_EQ(hearth_read_finish(read, values.data(), 4000), HEARTH_OK);
    EXPECT_EQ(values, Floats(1000, 1));
    ASSERT_EQ(statistic("memory.in_use"), before);
  }
}

// Threads that use, copy and release the same handles: each call succeeds or says that there is no
// such handle.
TEST(CArrays, ThreadsShareHandles) {
  for (int round = 0; round < 50; ++round) {
    hearth_array shared = {0};
    const float value = 5;
    ASSERT_EQ(hearth_array_from_bytes(&value, 4, HEARTH_F32, nullptr, 0, -1, &shared), HEARTH_OK);
    std::atomic<int> released{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          hearth_array copy = {0};
          const hearth_status status = hearth_array_copy(shared, &copy);
          if (status != HEARTH_OK) {
            EXPECT_EQ(status, HEARTH_ERROR_INVALID_HANDLE);
            break;
          }
          EXPECT_EQ(values_of(Held(copy)), Floats{5});
        }
        if (hearth_array_release(shared) == HEARTH_OK) ++released;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 1);
  }
}

TEST(CArrays, ManyHandlesComeAndGo) {
  const Held x = floats({1}, {1});
  std::vector<hearth_array> copies(20000);
  const std::int64_t before = statistic("handles.arrays");
  for (int round = 0; round < 3; ++round) {
    for (hearth_array& copy : copies) ASSERT_EQ(hearth_array_copy(x.handle, &copy), HEARTH_OK);
    EXPECT_EQ(statistic("handles.arrays"), before + 20000);
    for (const hearth_array copy : copies) ASSERT_EQ(hearth_array_release(copy), HEARTH_OK);
    EXPECT_EQ(hearth_array_release(copies[7]), HEARTH_ERROR_INVALID_HANDLE);
    EXPECT_EQ(statistic("handles.arrays"), before);
  }
}

}  // namespace
}  // namespace hearth::c_api::testing
