// Limits of the system, such as batch systems set them (ulimit -v): below the machine's memory
// everything runs, and what has no room is an error that says why.
//
// Each test runs its body in a process of its own, since such a limit holds from the start on. The
// devices for tests are left out: they reserve more addresses than any limit leaves.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "runtime/memory/system_memory.h"

namespace hearth::testing {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;

// The limit that this process was started under by under_limit(), or 0.
std::int64_t limit_of_body() {
  const char* text = std::getenv("HEARTH_TEST_LIMIT");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::strtoll(text, nullptr, 10) : 0;
}

// The exit status of the running test's body under a limit.
int under_limit(int resource, std::int64_t bytes, const char* threads) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter =
      "--gtest_filter=" + std::string(test.test_suite_name()) + "." + test.name();
  const pid_t child = fork();
  if (child == 0) {
    const std::string limit = std::to_string(bytes);
    setenv("HEARTH_TEST_LIMIT", limit.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    setenv("HEARTH_THREADS", threads, 1);           // NOLINT(concurrency-mt-unsafe)
    const rlimit limits{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
    setrlimit(static_cast<__rlimit_resource>(resource), &limits);
    execl("/proc/self/exe", "limits_tests", filter.c_str(), "--gtest_brief=1", nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Plans whose arenas grow, checked; then what no limit of the test has room for.
void compute(const std::string& limit_name) {
  const Device cpu = Device::cpu();
  for (std::int64_t rows = 64; rows <= 512; rows *= 2) {
    const Array x = full({rows, 256}, 1.0).eval();
    const Array weight = full({256, 256}, 1.0 / 256).eval();
    const Array hidden = matmul(x, weight);
    const Array out = matmul(tanh(add(hidden, sum(hidden, {1}, true))), weight);
    EXPECT_NEAR(sum(out).item(), static_cast<double>(rows * 256), 0.01);
  }
  const std::int64_t arena = cpu.memory().arena;
  EXPECT_GE(arena, 512 * 256 * 4) << "nothing died inside a plan";

  Array kept = full({1000}, 2.0).eval();
  std::vector<Array> hoard;
  const auto fill = [&] {
    for (std::int64_t bytes = 0; bytes < physical_memory() / 2; bytes += 64 * kMegabyte) {
      hoard.push_back(full({16 * kMegabyte}, 1.0).eval());
    }
  };
  kept = add(kept, 1.0);
  try {
    fill();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find(limit_name), std::string::npos) << error.what();
  }
  EXPECT_EQ(kept.to_vector<float>()[999], 3);
  EXPECT_GT(hoard.size(), 0u);
  hoard.clear();
  EXPECT_EQ(sum(full({8 * kMegabyte}, 1.0).eval()).item(), 8.0 * kMegabyte) << "room again";
}

TEST(AddressSpace, LessThanTheMachineHasIsEnough) {
  if (limit_of_body() > 0) return compute(std::to_string(limit_of_body()));
  EXPECT_EQ(under_limit(RLIMIT_AS, 500 * kMegabyte, "2"), 0);
  EXPECT_EQ(under_limit(RLIMIT_AS, 500 * kMegabyte, "64"), 0) << "stacks leave room";
  EXPECT_EQ(under_limit(RLIMIT_AS, 1000 * kMegabyte, "4"), 0);
}

// Counts what may be written, as a system does that never overcommits.
TEST(AddressSpace, OnlyWhatIsUsedIsCommitted) {
  if (limit_of_body() > 0) return compute("the system gives");
  EXPECT_EQ(under_limit(RLIMIT_DATA, 500 * kMegabyte, "2"), 0);
}

}  // namespace
}  // namespace hearth::testing
