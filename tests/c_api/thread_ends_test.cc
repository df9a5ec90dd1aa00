// Calls from threads that end, and from the end of the process.
#include <pthread.h>

#include <cstdlib>
#include <thread>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

// Some of everything that a thread keeps things for.
void use_hearth() {
  const Held x = floats({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(hearth_no_grad_begin(), HEARTH_OK);
  hearth_array leaf = {0};
  EXPECT_EQ(hearth_array_require_grad(x.handle, &leaf), HEARTH_OK);
  const Held held(leaf);
  EXPECT_EQ(hearth_no_grad_end(), HEARTH_OK);
  const Held product = apply("matmul", {hearth_of_array(leaf), hearth_of_array(x.handle)});
  const Held soft = apply("softmax", {hearth_of_array(product.handle)});
  const Held sum = apply("sum", {hearth_of_array(soft.handle)});
  hearth_gradients gradients = {0};
  ASSERT_EQ(hearth_backward(sum.handle, 0, &gradients), HEARTH_OK) << hearth_error_message();
  hearth_array gradient = {0};
  EXPECT_EQ(hearth_gradients_get(gradients, leaf, &gradient), HEARTH_OK);
  EXPECT_EQ(values_of(Held(gradient)).size(), 4u);
  EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
  EXPECT_EQ(values_of(product), (std::vector<float>{7, 10, 15, 22}));
  EXPECT_NEAR(values_of(sum)[0], 2, 1e-6);

  const std::int64_t shape[] = {4};
  const hearth_parameter parameters[] = {{"shape", hearth_of_ints(shape, 1)}};
  hearth_array drawn = {0};
  EXPECT_EQ(hearth_apply(hearth_function_named("random_normal"), nullptr, 0, parameters, 1, &drawn,
                         nullptr, 1, nullptr),
            HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(values_of(Held(drawn)).size(), 4u);

  hearth_device device = 0;
  expect_refused(hearth_device_named("no such device", &device), HEARTH_ERROR_DEVICE,
                 "no such device");
}

std::int64_t handles() { return statistic("handles.arrays"); }

TEST(ThreadEnds, DestructorsOfKeysCall) {
  static pthread_key_t key;
  static int calls;
  calls = 0;
  // Twice: when the objects of C++ are gone, and when those that the first call made are.
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 use_hearth();
                                 ++calls;
                                 if (value == &key) pthread_setspecific(key, &calls);
                               }),
            0);
  const std::int64_t before = handles();
  for (int i = 0; i < 20; ++i) {
    Held pending;
    std::thread([&pending] {
      pthread_setspecific(key, &key);
      use_hearth();
      pending = apply("mul", {hearth_of_array(floats({1, 2}, {2}).handle), hearth_of_int(2)});
    }).join();
    EXPECT_EQ(values_of(pending), (std::vector<float>{2, 4}));
  }
  EXPECT_EQ(calls, 40);
  EXPECT_EQ(handles(), before);
  pthread_key_delete(key);
}

TEST(ThreadEnds, ObjectsOfTheThreadCall) {
  struct Object {
    bool is_used = false;
    ~Object() {
      if (is_used) use_hearth();
    }
  };
  const std::int64_t before = handles();
  for (int i = 0; i < 20; ++i) {
    Held pending;
    std::thread([&pending] {
      static thread_local Object early;  // made before what Hearth keeps, and gone after it
      early.is_used = true;
      use_hearth();
      static thread_local Object late;
      late.is_used = true;
      pending = apply("mul", {hearth_of_array(floats({1, 2}, {2}).handle), hearth_of_int(2)});
    }).join();
    EXPECT_EQ(values_of(pending), (std::vector<float>{2, 4}));
  }
  EXPECT_EQ(handles(), before);
}

TEST(ThreadEnds, TheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const OnCpu on_cpu;
        const auto again = [] {
          use_hearth();
          if (::testing::Test::HasFailure()) _Exit(3);
          std::fputs("used", stderr);
        };
        std::atexit(again);
        use_hearth();
        std::atexit(again);
        std::exit(0);  // NOLINT(concurrency-mt-unsafe)
      },
      ::testing::ExitedWithCode(0), "usedused");
}

}  // namespace
}  // namespace hearth::c_api::testing
