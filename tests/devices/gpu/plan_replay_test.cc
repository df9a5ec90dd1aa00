// When a plan's launches become an executable, and when an executable is used again.
#include <gtest/gtest.h>

#include <vector>

#include "devices/gpu/gpu_device.h"
#include "devices/sim/sim_driver.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

// Memory that is freed is handed out again, as on a card.
gpu::GpuDevice& recycling_sim() {
  static auto* const device =
      new gpu::GpuDevice("sim", 2, std::make_unique<sim::SimDriver>(sim::SimOptions{}));
  return *device;
}

class PlanReplay : public ::testing::Test {
 protected:
  Array array(float value) const {
    return Array::from_data(std::vector<float>(4, value), {4}, device_);
  }
  // What has been counted since the last call.
  gpu::ReplayStatistics counted() {
    const gpu::ReplayStatistics now = recycling_sim().replays();
    gpu::ReplayStatistics since = now;
    since.replayed -= before_.replayed;
    since.updated -= before_.updated;
    since.instantiated -= before_.instantiated;
    since.encoded -= before_.encoded;
    before_ = now;
    return since;
  }

  const Device device_{&recycling_sim()};
  gpu::ReplayStatistics before_ = recycling_sim().replays();
};

TEST_F(PlanReplay, OneLaunchIsAnExecutableFromItsSecondRunOn) {
  const Array x = array(1);
  const Array y = array(2);
  const auto run = [&] { EXPECT_EQ(sub(x, y).to_vector<float>()[3], -1); };
  run();
  EXPECT_EQ(counted().encoded, 1);
  run();
  EXPECT_EQ(counted().instantiated, 1);
  run();
  run();
  const gpu::ReplayStatistics last = counted();
  EXPECT_EQ(last.replayed, 2);
  EXPECT_EQ(last.encoded + last.instantiated + last.updated, 0);
}

TEST_F(PlanReplay, AFifthAddressUpdatesTheOldest) {
  const Array x = array(6);
  const Array y = array(2);
  std::vector<Array> held;  // each result lies somewhere else
  const auto run = [&] { held.push_back(div(x, y).eval()); };
  run();
  EXPECT_EQ(counted().encoded, 1);
  for (int i = 0; i < 4; ++i) run();
  EXPECT_EQ(counted().instantiated, 4);
  for (int i = 0; i < 3; ++i) run();
  EXPECT_EQ(counted().updated, 3);
  for (const Array& result : held) EXPECT_EQ(result.to_vector<float>()[0], 3);
  held.pop_back();
  run();  // where the last one was
  EXPECT_EQ(counted().replayed, 1);
}

// The region's kernel for operands of their own is not asked for where an input's memory is taken
// over, and is not compiled then.
TEST_F(PlanReplay, ANewPlanCompilesWhatItLaunches) {
  runtime::KernelRegistry& registry = *recycling_sim().registry();
  const auto compiled = [&] {
    const runtime::KernelRegistry::Statistics now = registry.statistics();
    return now.compiled + now.from_disk;
  };
  Array x = neg(array(5)).eval();
  Array y = array(2);
  const std::int64_t before = compiled();
  const Array product = mul(x, y);
  const Array sum = add(product, y);
  x = Array();
  sum.eval();
  EXPECT_EQ(product.to_vector<float>()[1], -10);
  EXPECT_EQ(compiled() - before, 1);
}

}  // namespace
}  // namespace hearth
