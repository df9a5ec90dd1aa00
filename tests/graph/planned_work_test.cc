// planned_work(): what a device would run, told before it runs.
#include "hearth/planned_work.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "counted.h"

namespace hearth {
namespace {

using namespace check;
using hearth::testing::counted;
using hearth::testing::devices_under_test;

// On a device; the thread has recorded nothing else there.
Array there(const Shape& shape, Device device, std::uint64_t seed = 1) {
  return to_device(random_array(shape, DType::f32, -1, 1, seed), device).eval();
}

std::vector<std::string> names_of(const PlannedWork& work) {
  std::vector<std::string> names;
  for (const PlannedStep& step : work.steps) names.push_back(step.op);
  return names;
}

using Names = std::vector<std::string>;

TEST(PlannedWork, TellsImplementationsFusionsAndMemory) {
  for (const Device device : devices_under_test()) {
    const Array x = there({8, 16}, device), w = there({16, 32}, device, 2);
    EXPECT_TRUE(planned_work(device).steps.empty());
    const Array y = softmax(matmul(x, w));
    const Array z = sum(exp(y) * 2.0 + 1.0, {1});
    const PlannedWork work = planned_work(device);
    ASSERT_EQ(names_of(work), (Names{"matmul", "softmax", "region"})) << device;
    EXPECT_FALSE(work.steps[0].implementation.empty());
    EXPECT_EQ(work.steps[0].shape, (Shape{8, 32}));
    EXPECT_EQ(work.steps[0].dtype, DType::f32);
    EXPECT_EQ(work.steps[1].implementation.find("rows"), 0u) << work.steps[1].implementation;
    EXPECT_TRUE(work.steps[2].implementation.empty());
    EXPECT_EQ(work.steps[2].ops, (Names{"exp", "mul", "add", "sum"}));
    EXPECT_EQ(work.steps[2].shape, Shape{8});
    EXPECT_GE(work.result_bytes, (8 * 32 + 8) * 4);  // y and z
    std::ostringstream text;
    text << work;
    EXPECT_NE(text.str().find("region: f32 [8] of exp, mul, add, sum\n"), std::string::npos)
        << text.str();
  }
}

// The plan that is told is the one that runs.
TEST(PlannedWork, IsFoundWhenItRuns) {
  for (const Device device : devices_under_test()) {
    const Array x = there({40, 24}, device);
    Array y = cumsum(tanh(x) * 3.0, 1);
    const auto told = counted([&] {
      const PlannedWork work = planned_work(device);
      EXPECT_EQ(names_of(work), (Names{"region", "cumsum"}));
    });
    EXPECT_EQ(told.dispatches, 0);
    EXPECT_EQ(told.submissions, 0);
    EXPECT_EQ(told.plan_misses + told.plan_hits, 1);
    const auto run = counted([&] { y.eval(); });
    EXPECT_EQ(run.plan_hits, 1);
    EXPECT_EQ(run.plan_misses, 0);
    EXPECT_EQ(run.dispatches, 2);
    Values expected = x.to_doubles();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = 3 * std::tanh(expected[i]) + (i % 24 == 0 ? 0 : expected[i - 1]);
    }
    expect_close(y, expected, 1e-5);
  }
}

TEST(PlannedWork, WhatNobodyWantsIsNotPlanned) {
  for (const Device device : devices_under_test()) {
    const Array x = there({4, 4}, device);
    {
      const Array lost = softmax(x);
    }
    const Array y = exp(x);
    EXPECT_EQ(names_of(planned_work(device)), Names{"region"});
    const Array turned = contiguous(transpose(x));
    EXPECT_EQ(planned_work(device).steps.size(), 2u);
    EXPECT_EQ(counted([&] { eval(std::vector<Array>{y, turned}); }).dispatches, 2);
  }
}

TEST(PlannedWork, DonationsAreTold) {
  for (const Device device : devices_under_test()) {
    Array x = there({64}, device);
    x = x * 2.0;
    EXPECT_EQ(planned_work(device).donations, 1);
    x.eval();
  }
}

// More memory than there is, told before it is asked for.
TEST(PlannedWork, OfMoreThanFits) {
  for (const Device device : devices_under_test()) {
    const Array x = there({4}, device);
    const Array huge = expand(reshape(x, {4, 1}), {4, std::int64_t{1} << 54}) + 1.0;
    EXPECT_EQ(planned_work(device).result_bytes, std::int64_t{1} << 58);
    EXPECT_THROW(huge.eval(), Error);
    EXPECT_TRUE(planned_work(device).steps.empty());
    const Array z = x + 1.0;
    EXPECT_EQ(planned_work(device).steps.size(), 1u);
    EXPECT_EQ(z.shape(), Shape{4});
  }
}

}  // namespace
}  // namespace hearth
