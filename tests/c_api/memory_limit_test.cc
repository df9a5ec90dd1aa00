// Results that the memory limit refuses: said at once, before the host's memory is spent on them.
#include <sys/resource.h>

#include "c_api/c_arrays.h"
#include "c_api/dlpack_abi.h"

namespace hearth::c_api::testing {
namespace {

std::int64_t highest_use() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return usage.ru_maxrss * 1024;
#endif
}

class CMemoryLimit : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRoom = std::int64_t{8} << 20;
  static constexpr std::int64_t kMany = 50'000'000;

  void SetUp() override {
    ASSERT_EQ(hearth_device_named("cpu", &cpu_), HEARTH_OK);
    const std::int64_t taken = statistic("memory.in_use", cpu_) + statistic("memory.arena", cpu_);
    ASSERT_EQ(hearth_device_set_memory_limit(cpu_, taken + kRoom), HEARTH_OK);
    before_ = highest_use();
  }
  void TearDown() override {
    EXPECT_LT(highest_use() - before_, std::int64_t{100} << 20);
    EXPECT_EQ(hearth_device_set_memory_limit(cpu_, std::int64_t{4} << 30), HEARTH_OK);
  }

  Held on_cpu(const void* data, std::size_t bytes, std::int64_t count) const {
    hearth_array array = {0};
    EXPECT_EQ(hearth_array_from_bytes(data, bytes, HEARTH_F32, &count, 1, cpu_, &array), HEARTH_OK)
        << hearth_error_message();
    return Held(array);
  }

  // Refused when it is recorded or, of what is recorded, when it is computed.
  void expect_refused_at_once(const char* function, const std::vector<hearth_value>& inputs,
                              std::vector<hearth_parameter> parameters) const {
    hearth_array results[2] = {};
    std::size_t count = 0;
    hearth_status status =
        hearth_apply(hearth_function_named(function), inputs.data(), inputs.size(),
                     parameters.data(), parameters.size(), results, nullptr, 2, &count);
    if (status == HEARTH_OK) {
      const Held first(results[0]), second(results[1]);
      status = hearth_eval(results, 1);
    }
    EXPECT_EQ(status, HEARTH_ERROR_OUT_OF_MEMORY) << function << ": " << hearth_error_message();
  }

  hearth_device cpu_ = -1;
  std::int64_t before_ = 0;
};

TEST_F(CMemoryLimit, OfWindowsAndFrequencies) {
  const hearth_parameter device = {"device", hearth_of_int(cpu_)};
  for (const std::int64_t size : {kMany, std::int64_t{1} << 45}) {
    for (const char* window : {"hann_window", "hamming_window", "blackman_window"}) {
      expect_refused_at_once(window, {}, {{"size", hearth_of_int(size)}, device});
    }
    for (const char* frequencies : {"fftfreq", "rfftfreq"}) {
      expect_refused_at_once(frequencies, {}, {{"n", hearth_of_int(size)}, device});
    }
  }
}

TEST_F(CMemoryLimit, OfWhatTheHostWorksOut) {
  const hearth_parameter device = {"device", hearth_of_int(cpu_)};
  for (const std::int64_t count : {kMany, std::int64_t{1} << 45, INT64_MAX}) {
    expect_refused_at_once("random_permutation", {}, {{"count", hearth_of_int(count)}, device});
  }
  expect_refused_at_once("rope_frequencies", {}, {{"dims", hearth_of_int(kMany)}, device});
  const float values[] = {1, 2};
  const Held x = on_cpu(values, sizeof values, 2);
  for (const std::int64_t count : {kMany, std::int64_t{1} << 45}) {
    const std::int64_t times[] = {3, count};
    expect_refused_at_once("repeat_interleave", {hearth_of_array(x.handle)},
                           {{"times", hearth_of_ints(times, 2)}, {"axis", hearth_of_int(0)}});
  }
}

TEST_F(CMemoryLimit, OfTransforms) {
  const float values[] = {1, 2, 3, 4};
  const Held x = on_cpu(values, sizeof values, 4);
  for (const std::int64_t n : {kMany, std::int64_t{1} << 31, (std::int64_t{1} << 33) + 1}) {
    const std::vector<hearth_parameter> parameters = {{"n", hearth_of_int(n)}};
    expect_refused_at_once("rfft", {hearth_of_array(x.handle)}, parameters);
    expect_refused_at_once("fft", {hearth_of_array(x.handle), hearth_of_array(x.handle)},
                           parameters);
  }
}

TEST_F(CMemoryLimit, OfTensorsThatNobodyHas) {
  float value = 1;
  std::int64_t strides[] = {0};
  for (std::int64_t extent : {kMany, std::int64_t{1} << 40, std::int64_t{1} << 59}) {
    DLManagedTensor tensor = {};
    tensor.dl_tensor = {&value, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &extent, strides, 0};
    hearth_array array = {0};
    expect_refused(hearth_array_from_dlpack_unversioned(&tensor, cpu_, &array),
                   HEARTH_ERROR_OUT_OF_MEMORY,
                   "hearth_array_from_dlpack_unversioned: out of memory; got a request of " +
                       std::to_string(extent * 4) + " bytes, expected at most ");
  }
}

}  // namespace
}  // namespace hearth::c_api::testing
