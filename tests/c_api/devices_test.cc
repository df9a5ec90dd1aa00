#include <set>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

TEST(CDevices, AreFoundByName) {
  ASSERT_GE(hearth_device_count(), 1);
  hearth_device cpu = -7;
  ASSERT_EQ(hearth_device_named("cpu", &cpu), HEARTH_OK);
  EXPECT_STREQ(hearth_device_name(cpu), "cpu:0");
  EXPECT_NE(hearth_device_description(cpu), nullptr);
  EXPECT_EQ(hearth_device_name(hearth_device_count()), nullptr);
  hearth_device standard = -7;
  EXPECT_EQ(hearth_device_default(&standard), HEARTH_OK);
  EXPECT_NE(hearth_device_name(standard), nullptr);
  hearth_device none = -7;
  expect_refused(hearth_device_named("abacus", &none), HEARTH_ERROR_DEVICE, "abacus");
  EXPECT_EQ(none, -7);
  std::int32_t supports = -1;
  EXPECT_EQ(hearth_device_supports(cpu, HEARTH_F64, &supports), HEARTH_OK);
  EXPECT_EQ(supports, 1);
  EXPECT_EQ(hearth_device_synchronize(cpu), HEARTH_OK);
  EXPECT_EQ(hearth_device_trim(cpu), HEARTH_OK);
  expect_refused(hearth_device_set_memory_limit(cpu, -1), HEARTH_ERROR_INVALID_ARGUMENT, "bytes");
}

TEST(CDevices, HaveStatistics) {
  std::set<std::string> names;
  for (std::size_t i = 0; hearth_statistic_name(i) != nullptr; ++i) {
    std::int64_t value = -1;
    ASSERT_EQ(hearth_statistic(HEARTH_DEFAULT_DEVICE, hearth_statistic_name(i), &value), HEARTH_OK);
    EXPECT_GE(value, 0) << hearth_statistic_name(i);
    names.insert(hearth_statistic_name(i));
  }
  EXPECT_EQ(names.count("memory.in_use"), 1u);
  std::int64_t before = 0, after = 0;
  ASSERT_EQ(hearth_statistic(-1, "plans.recorded", &before), HEARTH_OK);
  const Held x = floats({1}, {1});
  EXPECT_EQ(values_of(apply("neg", {hearth_of_array(x.handle)})), std::vector<float>{-1});
  ASSERT_EQ(hearth_statistic(-1, "plans.recorded", &after), HEARTH_OK);
  EXPECT_GT(after, before);
  std::int64_t value = 0;
  expect_refused(hearth_statistic(-1, "plans.wishes", &value), HEARTH_ERROR_INVALID_ARGUMENT,
                 "no such number; got \"plans.wishes\"");
}

TEST(CDtypes, HaveNamesAndSizes) {
  EXPECT_STREQ(hearth_dtype_name(HEARTH_BF16), "bf16");
  EXPECT_EQ(hearth_dtype_size(HEARTH_BF16), 2u);
  EXPECT_STREQ(hearth_dtype_name(HEARTH_BOOL), "bool");
  EXPECT_STREQ(hearth_dtype_name(HEARTH_Q4_K), "q4_k");
  EXPECT_EQ(hearth_dtype_size(HEARTH_Q4_K), 144u);
  EXPECT_EQ(hearth_dtype_block(HEARTH_Q4_K), 256u);
  EXPECT_EQ(hearth_dtype_block(HEARTH_F32), 1u);
  EXPECT_EQ(hearth_dtype_block(HEARTH_AFFINE8 + 1), 0u);
  EXPECT_EQ(hearth_dtype_name(HEARTH_AFFINE8 + 1), nullptr);
  EXPECT_EQ(hearth_dtype_size(-1), 0u);
  EXPECT_STREQ(hearth_status_name(HEARTH_ERROR_SHAPE), "shape");
  EXPECT_STREQ(hearth_status_name(HEARTH_ERROR_INVALID_HANDLE), "invalid_handle");
  EXPECT_STREQ(hearth_status_name(77), "unknown");
}

TEST(CSeed, MakesNumbersComeAgain) {
  const std::int64_t shape[] = {16};
  const std::vector<hearth_parameter> parameters = {{"shape", hearth_of_ints(shape, 1)}};
  ASSERT_EQ(hearth_seed(5), HEARTH_OK);
  const std::vector<float> first = values_of(apply("random_normal", {}, parameters));
  EXPECT_NE(values_of(apply("random_normal", {}, parameters)), first);
  ASSERT_EQ(hearth_seed(5), HEARTH_OK);
  EXPECT_EQ(values_of(apply("random_normal", {}, parameters)), first);
}

}  // namespace
}  // namespace hearth::c_api::testing
