// Numbers that the host reads while the rest of their plan runs.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "graph/counted.h"
#include "graph/record/node.h"
#include "hearth/ops.h"
#include "machines/sim/sim_device.h"

namespace hearth::testing {
namespace {

constexpr int kProducts = 20;

// Steps that give a number at their start, one at their end, and what comes between.
class Steps {
 public:
  explicit Steps(Device device)
      : state_(mul(iota({8, 8}, device), 1e-2)), turn_(mul(iota({8, 8}, device), 3e-4)) {}
  void run() {
    loss_ = sum(mul(state_, state_));
    for (int i = 0; i < kProducts; ++i) state_ = add(matmul(state_, turn_), 1e-2);
    norm_ = sum(state_);
    submit();
  }
  const Array& loss() const { return loss_; }
  const Array& norm() const { return norm_; }

 private:
  Array state_, turn_, loss_, norm_;
};

std::vector<double> losses(Device device, int count) {
  Steps steps(device);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    steps.run();
    out.push_back(steps.loss().item());
  }
  return out;
}

void expect_close(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i] / wanted[i], 1, 1e-5) << i;
}

TEST(EarlyReads, GiveTheValueOfTheirStep) {
  const std::vector<double> wanted = losses(Device::cpu(), 8);
  for (const Device device : devices_under_test()) {
    SCOPED_TRACE(device.name());
    expect_close(losses(device, 8), wanted);
  }
}

// Longer than any device keeps early results, and in another order than they were made in.
TEST(EarlyReads, ReadLateGiveTheSame) {
  const std::vector<double> wanted = losses(Device::cpu(), 40);
  for (const Device device : devices_under_test()) {
    SCOPED_TRACE(device.name());
    Steps steps(device);
    std::vector<Array> held;
    for (int i = 0; i < 40; ++i) {
      steps.run();
      held.push_back(steps.loss());
    }
    std::vector<double> got(40);
    for (std::size_t i = 40; i-- > 0;) got[i] = held[i].item();
    expect_close(got, wanted);
    EXPECT_EQ(held[39].item(), got[39]);
  }
}

// The memory of an early result that is taken over holds another plan's value.
TEST(EarlyReads, SeeWhatTookTheMemoryOver) {
  for (const Device device : devices_under_test()) {
    SCOPED_TRACE(device.name());
    Steps steps(device);
    for (int i = 0; i < 6; ++i) {
      steps.run();
      Array doubled = mul(steps.loss(), 2);
      const double loss = steps.loss().item();
      submit();
      doubled = neg(std::move(doubled));
      EXPECT_EQ(doubled.item(), -2 * loss);
      EXPECT_EQ(steps.loss().item(), loss);
    }
  }
}

bool is_early(const Array& array) { return node_of(array)->storage->early_plan != 0; }

TEST(EarlyReads, AreOfNumbersThatMuchComesAfter) {
  const Device device(&sim::sim_device());
  Steps steps(device);
  steps.run();
  EXPECT_TRUE(is_early(steps.loss()));
  EXPECT_FALSE(is_early(steps.norm())) << "the last of the plan";
  std::vector<Array> many;
  const Array x = iota({8, 8}, device);
  for (int i = 0; i < 40; ++i) many.push_back(sum(matmul(mul(x, i), x)));
  submit();
  int count = 0;
  for (const Array& number : many) count += is_early(number) ? 1 : 0;
  EXPECT_EQ(count, 4);
}

}  // namespace
}  // namespace hearth::testing
