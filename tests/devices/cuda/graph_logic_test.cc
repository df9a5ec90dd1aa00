// Graphs of the CUDA driver against a driver library that is stricter than any card.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "devices/cuda/madd_card.h"

namespace hearth::cuda {
namespace {

using runtime::Argument;
using runtime::Command;

// A diamond: first -> {left, right} -> last, as the commands of a plan. A graph runs them in order.
class CudaGraphLogic : public MaddCard {
 protected:
  void SetUp() override {
    MaddCard::SetUp();
    madd_ = &kernel("madd", 2, sizeof(Constant));
    for (Address& address : words_) address = allocate_word(1);
  }
  void TearDown() override {
    for (const Address address : words_) driver_->free(address);
    MaddCard::TearDown();
  }

  std::vector<Command> diamond() {
    arguments_ = {{{buffer(words_[0]), buffer(words_[1]), constant(values_[0])},
                   {buffer(words_[1]), buffer(words_[2]), constant(values_[1])},
                   {buffer(words_[1]), buffer(words_[3]), constant(values_[2])},
                   {buffer(words_[3]), buffer(words_[2]), constant(values_[3])}}};
    std::vector<Command> commands;
    const std::span<const int> after[] = {{}, first_, first_, both_};
    for (int i = 0; i < 4; ++i) {
      commands.push_back(
          {madd_, {1, 1, 1}, {32, 1, 1}, arguments_[static_cast<std::size_t>(i)], i, after[i]});
    }
    return commands;
  }

  const runtime::Function* madd_ = nullptr;
  std::array<Address, 5> words_{};
  std::array<Constant, 4> values_{{{1, 2}, {10, 1}, {0, 5}, {3, 1}}};
  std::array<std::array<Argument, 3>, 4> arguments_;
  std::vector<int> first_{0};
  std::vector<int> both_{1, 2};
};

TEST_F(CudaGraphLogic, RunsInOrder) {
  const auto executable = driver_->instantiate(diamond());
  ASSERT_NE(executable, nullptr);
  EXPECT_TRUE(fake_->runs.empty());
  driver_->launch(*executable);
  EXPECT_EQ(word(words_[1]), 3u);
  EXPECT_EQ(word(words_[3]), 15u);
  EXPECT_EQ(word(words_[2]), 18u);
  ASSERT_EQ(fake_->runs.size(), 4u);
  // The fake runs the later of two that may run: an edge less would change the order.
  for (std::size_t i = 0; i < values_.size(); ++i) {
    EXPECT_EQ(fake_->runs[i].argument<Constant>(2).times, values_[i].times) << i;
  }
  EXPECT_EQ(fake_->calls["cuLaunchKernel"], 0);
  driver_->launch(*executable);
  driver_->launch(*executable);
  driver_->wait();
  EXPECT_EQ(fake_->runs.size(), 12u);
}

// The fake runs the later of two that may run.
TEST_F(CudaGraphLogic, LongCommandsOfAGroupAreBranches) {
  const auto order = [&](std::int64_t bytes, int second_group) {
    std::vector<Command> commands = diamond();
    arguments_[1][0].bytes = arguments_[2][0].bytes = bytes;
    commands[2].group = second_group;
    const auto executable = driver_->instantiate(commands);
    fake_->runs.clear();
    driver_->launch(*executable);
    driver_->wait();
    EXPECT_EQ(word(words_[3]), 15u);
    std::vector<unsigned> times;
    for (const auto& run : fake_->runs) times.push_back(run.argument<Constant>(2).times);
    return times;
  };
  constexpr std::int64_t kLong = std::int64_t{32} << 20;
  EXPECT_EQ(order(kLong, 1), (std::vector<unsigned>{2, 5, 1, 1}));
  EXPECT_EQ(order(kLong - 8, 1), (std::vector<unsigned>{2, 1, 5, 1}));
  EXPECT_EQ(order(kLong, 2), (std::vector<unsigned>{2, 1, 5, 1}));
}

// Kernels that wait by themselves may be started early; one that does not may not, and none behind
// it.
TEST_F(CudaGraphLogic, EdgesBetweenWaitingKernelsAreProgrammatic) {
  const auto executable = driver_->instantiate(diamond());
  EXPECT_EQ(fake_->calls["cuGraphAddDependencies_v2"], 3);
  driver_->launch(*executable);
  EXPECT_EQ(word(words_[2]), 18u);

  fake_->kernels_wait = false;
  const runtime::Function& other = kernel("other", 2, sizeof(Constant));
  fake_->kernels_wait = true;
  std::vector<Command> commands = diamond();
  commands[1].function = &other;
  driver_->instantiate(commands);
  EXPECT_EQ(fake_->calls["cuGraphAddDependencies_v2"], 3 + 1);
}

// Branches begin behind one command, which is not the command before each of them.
TEST_F(CudaGraphLogic, BranchesAreStartedEarlyOnlyBehindWhatWaits) {
  fake_->kernels_wait = false;
  const runtime::Function& other = kernel("other", 2, sizeof(Constant));
  fake_->kernels_wait = true;
  std::vector<Command> commands = diamond();
  arguments_[1][0].bytes = arguments_[2][0].bytes = std::int64_t{32} << 20;
  commands[2].group = commands[1].group;
  driver_->instantiate(commands);
  EXPECT_EQ(fake_->calls["cuGraphAddDependencies_v2"], 2);
  commands[0].function = &other;
  driver_->instantiate(commands);
  EXPECT_EQ(fake_->calls["cuGraphAddDependencies_v2"], 2);
  commands[0].function = madd_;
  commands[1].function = &other;
  driver_->instantiate(commands);
  EXPECT_EQ(fake_->calls["cuGraphAddDependencies_v2"], 2 + 1) << "the second branch waits";
}

TEST_F(CudaGraphLogic, UpdateTouchesWhatChanged) {
  const auto executable = driver_->instantiate(diamond());
  driver_->launch(*executable);
  EXPECT_TRUE(driver_->update(*executable, diamond()));
  EXPECT_EQ(fake_->calls["cuGraphExecKernelNodeSetParams_v2"], 0);

  values_[2].times = 7;
  EXPECT_TRUE(driver_->update(*executable, diamond()));
  EXPECT_EQ(fake_->calls["cuGraphExecKernelNodeSetParams_v2"], 1);
  words_.back() = std::exchange(words_[0], words_.back());
  EXPECT_TRUE(driver_->update(*executable, diamond()));
  EXPECT_EQ(fake_->calls["cuGraphExecKernelNodeSetParams_v2"], 2);
  const std::uint32_t four = 4;
  driver_->copy_to_device(words_[0], &four, 4);
  driver_->launch(*executable);
  // Both launches: what was queued before the updates ran as it was then.
  EXPECT_EQ(word(words_[2]), (4u * 2 + 1) * 7 + 3);
  ASSERT_EQ(fake_->runs.size(), 8u);
  EXPECT_EQ(fake_->runs[2].argument<Constant>(2).times, 5u);

  auto commands = diamond();
  commands[3].groups = {9, 1, 1};
  EXPECT_TRUE(driver_->update(*executable, commands));
  driver_->launch(*executable);
  driver_->wait();
  EXPECT_EQ(fake_->runs.back().groups[0], 9u);
}

// The first command's result is there while the others wait for their turn.
TEST_F(CudaGraphLogic, GivesAnEarlyResultBeforeTheRest) {
  const auto with_early = [&](int words) {
    std::vector<Command> commands = diamond();
    commands[0].early = {words_[1], 4 * words, nullptr};
    return commands;
  };
  const auto read = [&](std::int64_t batch, Address source) {
    std::uint32_t value = 0;
    return driver_->read_early(batch, &value, source, 4) ? static_cast<int>(value) : -1;
  };
  const auto executable = driver_->instantiate(with_early(1));
  driver_->launch(*executable);
  const std::int64_t batch = driver_->queued_batches();
  EXPECT_EQ(read(batch, words_[1]), 3);
  EXPECT_EQ(fake_->runs.size(), 1u);
  EXPECT_EQ(read(batch, words_[2]), -1);
  EXPECT_EQ(read(batch - 1, words_[1]), -1);
  EXPECT_EQ(word(words_[2]), 18u);
  EXPECT_EQ(fake_->runs.size(), 4u);

  // Queued command by command.
  driver_->submit(with_early(1));
  EXPECT_EQ(driver_->queued_batches(), batch + 1);
  EXPECT_EQ(read(batch + 1, words_[1]), 3);
  EXPECT_EQ(fake_->runs.size(), 5u);

  // Other addresses, and results of another size.
  std::vector<Command> moved = with_early(1);
  arguments_[0][1].address = moved[0].early.address = words_[4];
  EXPECT_TRUE(driver_->update(*executable, moved));
  driver_->launch(*executable);
  EXPECT_EQ(read(batch + 2, words_[4]), 3);
  EXPECT_FALSE(driver_->update(*executable, with_early(2)));
  EXPECT_FALSE(driver_->update(*executable, diamond()));

  // The last sixteen are kept.
  for (int i = 0; i < 15; ++i) driver_->launch(*executable);
  EXPECT_EQ(read(batch + 2, words_[4]), 3);
  driver_->launch(*executable);
  EXPECT_EQ(read(batch + 2, words_[4]), -1);
  EXPECT_EQ(read(batch + 3, words_[4]), 3);
}

TEST_F(CudaGraphLogic, OtherCommandsAreAnotherGraph) {
  const auto executable = driver_->instantiate(diamond());
  auto commands = diamond();
  commands.pop_back();
  EXPECT_FALSE(driver_->update(*executable, commands));
  commands = diamond();
  commands[1].function = &kernel("other", 2, sizeof(Constant));
  EXPECT_FALSE(driver_->update(*executable, commands));
  EXPECT_EQ(fake_->calls["cuGraphExecKernelNodeSetParams_v2"], 0);
  values_[0].add = 2;
  fake_->fail["cuGraphExecKernelNodeSetParams_v2"] = Result::graph_exec_update_failure;
  EXPECT_FALSE(driver_->update(*executable, diamond()));
}

TEST_F(CudaGraphLogic, WaitsForItsLaunchesBeforeItGoes) {
  auto executable = driver_->instantiate(diamond());
  driver_->launch(*executable);
  executable.reset();
  EXPECT_EQ(fake_->runs.size(), 4u);
}

TEST_F(CudaGraphLogic, GivesAllBackWhenItCannotBeMade) {
  for (const char* call : {"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphAddDependencies_v2",
                           "cuGraphInstantiateWithFlags"}) {
    const int live = fake_->live();
    fake_->fail[call] = Result::invalid_value;
    error_of(ErrorCode::device, [&] { driver_->instantiate(diamond()); });
    EXPECT_EQ(fake_->live(), live) << call;
  }
}

}  // namespace
}  // namespace hearth::cuda
