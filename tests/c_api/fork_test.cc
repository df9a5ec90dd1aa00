// Children of fork(): they get an error or a result in time, whatever the parent was doing.
#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

// A child that hangs is killed by its alarm.
constexpr unsigned kSeconds = 60;

// The exit status of a child that runs `body`, 0 where that says true.
int status_in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

bool is_refused(hearth_status status) {
  return status == HEARTH_ERROR_UNSUPPORTED &&
         std::string(hearth_error_message()).find("in a child of fork()") != std::string::npos;
}

// Both results of y = x + x: read at once, and by a thread of Hearth's.
bool computes() {
  const float values[] = {1, 2, 3};
  const std::int64_t shape[] = {3};
  hearth_array x = {0}, y = {0};
  if (hearth_array_from_bytes(values, sizeof values, HEARTH_F32, shape, 1, -1, &x) != HEARTH_OK) {
    return false;
  }
  const hearth_value inputs[] = {hearth_of_array(x), hearth_of_array(x)};
  if (hearth_apply(hearth_function_named("add"), inputs, 2, nullptr, 0, &y, nullptr, 1, nullptr) !=
      HEARTH_OK) {
    return false;
  }
  hearth_read read = {0};
  float later[3] = {}, now[3] = {};
  return hearth_read_start(y, &read) == HEARTH_OK &&
         hearth_read_finish(read, later, sizeof later) == HEARTH_OK &&
         hearth_array_read(y, now, sizeof now) == HEARTH_OK && later[2] == 6 && now[1] == 4 &&
         hearth_array_release(x) == HEARTH_OK && hearth_array_release(y) == HEARTH_OK;
}

TEST(CFork, AChildIsToldThatNothingIsThere) {
  const Held x = floats({1, 2, 3}, {3});
  const Held pending = apply("exp", {hearth_of_array(x.handle)});
  hearth_read begun = {0};
  ASSERT_EQ(hearth_read_start(apply("exp", {hearth_of_array(x.handle)}).handle, &begun), HEARTH_OK);
  // Others hold locks at the moment of the fork.
  std::atomic<bool> is_over{false}, all_computed{true};
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!is_over) {
        if (!computes()) all_computed = false;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const int status = status_in_child([&] {
      float target[3];
      hearth_array made = {0};
      hearth_read read = {0};
      std::int32_t ready = 0;
      const std::int64_t shape[] = {3};
      const hearth_value input = hearth_of_array(x.handle);
      const hearth_function exp = hearth_function_named("exp");
      return is_refused(hearth_array_read(pending.handle, target, sizeof target)) &&
             is_refused(hearth_apply(exp, &input, 1, nullptr, 0, &made, nullptr, 1, nullptr)) &&
             is_refused(hearth_array_from_bytes(target, 12, HEARTH_F32, shape, 1, -1, &made)) &&
             is_refused(hearth_read_start(x.handle, &read)) &&
             is_refused(hearth_read_poll(begun, &ready)) &&
             is_refused(hearth_read_finish(begun, target, sizeof target)) &&
             is_refused(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE)) &&
             is_refused(hearth_array_release(pending.handle)) && made.id == 0 && read.id == 0;
    });
    ASSERT_EQ(status, 0);
  }
  is_over = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_TRUE(all_computed) << "the parent goes on";
  float target[3];
  EXPECT_EQ(hearth_read_finish(begun, target, sizeof target), HEARTH_OK);
  EXPECT_EQ(values_of(pending).size(), 3u);
}

// In a process of its own, which has called nothing yet.
TEST(CFork, BothSidesComputeWhatForkedBefore) {
  constexpr const char* kBody = "C_API_TESTS_FORK_BODY";
  if (std::getenv(kBody) != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    EXPECT_EQ(status_in_child(computes), 0);
    EXPECT_TRUE(computes());
    EXPECT_NE(status_in_child(computes), 0);
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(2 * kSeconds);
    setenv(kBody, "1", 1);  // NOLINT(concurrency-mt-unsafe)
    execl("/proc/self/exe", "c_api_tests", "--gtest_filter=CFork.BothSides*", "--gtest_brief=1",
          nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hearth::c_api::testing
#endif
