#include "runtime/commands/batching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/commands/batched_kernel.h"
#include "runtime/commands/command_batch.h"
#include "runtime/commands/encoder.h"
#include "runtime/fake_driver.h"

namespace hearth::runtime {
namespace {

class BatchMergeTest : public testing::Test {
 protected:
  // y = f(x) over 64 bytes each.
  void add(const Function& function, int x, int y, Size3 groups = {4}, Size3 threads = {64}) {
    batch.add(function, groups, threads,
              std::vector<Argument>{memory(at(x), 64), memory(at(y), 64),
                                    constant_argument(std::int64_t{x})},
              driver.properties());
  }
  // The same, of a launch whose threadgroups share out what there is to do.
  void add_shares(int i, Command::Shares shares) {
    batch.add(f, {std::min(shares.most, shares.at_once)}, {64},
              std::vector<Argument>{memory(at(i), 64), memory(at(100 + i), 64),
                                    constant_argument(std::int64_t{i})},
              driver.properties(), 0, shares);
  }
  static Address at(int block) {
    return reinterpret_cast<Address>(std::uintptr_t{0x1000}) + block * 64;
  }
  std::vector<std::size_t> merged(std::int64_t argument_bytes = 4096) {
    result = std::make_unique<MergedCommands>(batch.commands(), argument_bytes, registry);
    std::vector<std::size_t> members;
    for (const Command& command : result->commands()) {
      members.push_back(table(command)[0]);
    }
    return members;
  }
  // Of an ordinary command: one member.
  static std::vector<std::uint32_t> table(const Command& command) {
    if (command.function->source()->members == 0) return {1};
    const auto* words = static_cast<const std::uint32_t*>(command.arguments[0].constant);
    return {words, words + command.arguments[0].bytes / 4};
  }
  // Every command that is waited for comes before, in an earlier group.
  void expect_sound() {
    const std::span<const Command> commands = result->commands();
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const int last = i == 0 ? 0 : commands[i - 1].group;
      EXPECT_GE(commands[i].group, last);
      for (const int before : commands[i].after) {
        ASSERT_LT(before, static_cast<int>(i));
        EXPECT_LT(commands[static_cast<std::size_t>(before)].group, commands[i].group);
      }
    }
  }

  FakeDriver driver;
  KernelRegistry registry{driver, KernelCache("")};
  Function f{fake_source("f")};
  Function g{fake_source("g")};
  CommandBatch batch;
  std::unique_ptr<MergedCommands> result;
};

TEST_F(BatchMergeTest, MergesWhatDoesNotDepend) {
  for (int i = 0; i < 10; ++i) add(f, i, 100 + i, {static_cast<std::uint32_t>(i + 1), 2, 3});
  EXPECT_EQ(merged(), std::vector<std::size_t>{10});
  const Command& command = result->commands()[0];
  EXPECT_EQ(command.function->source()->members, 16);
  EXPECT_EQ(command.groups, (Size3{55 * 6, 1, 1}));
  EXPECT_EQ(command.threads, (Size3{64}));
  ASSERT_EQ(command.arguments.size(), 1u + 3 * 10);
  const std::vector<std::uint32_t> words = table(command);
  ASSERT_EQ(words.size(), static_cast<std::size_t>(batch_table_words(16)));
  EXPECT_EQ(words[1 + 3], 6u * 6);  // after 1 + 2 + 3 rows of 6
  EXPECT_EQ(words[1 + 16 + 3], 4u);
  EXPECT_EQ(words[1 + 2 * 16 + 3], 2u);
  EXPECT_EQ(words[1 + 3 * 16 + 3], 3u);
  EXPECT_EQ(command.arguments[1 + 3 * 7].address, at(7));
}

TEST_F(BatchMergeTest, LeavesFewOnesAndOtherSizesAlone) {
  for (int i = 0; i < 3; ++i) add(f, i, 100 + i);
  for (int i = 3; i < 6; ++i) add(f, i, 100 + i, {4}, {128});
  EXPECT_EQ(merged(), std::vector<std::size_t>(6, 1));
  for (int i = 6; i < 9; ++i) add(f, i, 100 + i);
  EXPECT_EQ(merged(0), std::vector<std::size_t>(9, 1));
  EXPECT_EQ(merged(), (std::vector<std::size_t>{6, 1, 1, 1}));
}

TEST_F(BatchMergeTest, WaitsForTheLastOfWhatIsMerged) {
  // A chain of g, and from each link an f to the side: those may all run at its end.
  for (int i = 0; i < 8; ++i) {
    add(g, i, i + 1);
    add(f, i + 1, 100 + i);
  }
  std::vector<std::size_t> expected(8, 1);
  expected.push_back(8);
  EXPECT_EQ(merged(), expected);
  expect_sound();
  EXPECT_EQ(result->commands().back().after.size(), 8u);
}

TEST_F(BatchMergeTest, NeverWaitsInACircle) {
  // f and g in turns: merging all of one and all of the other would be a circle.
  for (int k = 0; k < 6; ++k) {
    for (int i = 0; i < 4; ++i) {
      const int from = 1000 * i + (i % 2 == 0 ? k : 50 + k);
      add((i + k) % 2 == 0 ? f : g, from, from + 1);
    }
  }
  merged();
  expect_sound();
  std::size_t members = 0;
  for (const Command& command : result->commands()) members += table(command)[0];
  EXPECT_EQ(members, 24u);
}

TEST_F(BatchMergeTest, SplitsWhatDoesNotFit) {
  for (int i = 0; i < 20; ++i) add(f, i, 100 + i);
  // A table of 16 bytes and arguments of 24 for each member.
  EXPECT_EQ(merged(8 + 40 * 8), (std::vector<std::size_t>{8, 8, 4}));
  EXPECT_EQ(merged(8 + 40 * 3), std::vector<std::size_t>(20, 1));
}

TEST_F(BatchMergeTest, FlatKernelsMeetAtTheMostThreads) {
  KernelSource source = fake_source("flat");
  source.flat = true;
  const Function flat(source);
  add(flat, 0, 100, {3}, {64});
  add(flat, 1, 101, {9}, {256});
  add(flat, 2, 102, {1}, {64});
  add(flat, 3, 103, {5}, {128});
  EXPECT_EQ(merged(), std::vector<std::size_t>{4});
  const Command& command = result->commands()[0];
  EXPECT_EQ(command.threads, (Size3{256}));
  EXPECT_EQ(command.groups, (Size3{1 + 9 + 1 + 3}));
}

TEST_F(BatchMergeTest, MembersThatShareOutTheirWorkRunAtTheSameTime) {
  for (int i = 0; i < 4; ++i) add_shares(i, {i == 0 ? 171u : 43u, 132});
  EXPECT_EQ(merged(), std::vector<std::size_t>{4});
  // In three turns, the fewest that 132 threadgroups take.
  EXPECT_EQ(result->commands()[0].groups, (Size3{57 + 3 * 15}));
  const std::vector<std::uint32_t> words = table(result->commands()[0]);
  EXPECT_EQ(words[1 + 8], 57u);
  EXPECT_EQ(words[1 + 8 + 3], 15u);
}

TEST_F(BatchMergeTest, MembersOfWhichOneDoesNotShareStayAsTheyAre) {
  for (int i = 0; i < 3; ++i) add(f, i, 100 + i, {9});
  add_shares(7, {40, 20});
  EXPECT_EQ(merged(), std::vector<std::size_t>{4});
  EXPECT_EQ(result->commands()[0].groups, (Size3{3 * 9 + 20}));
}

TEST_F(BatchMergeTest, LeavesTextsOfMetalAlone) {
  KernelSource source = fake_source("f");
  source.metal = true;
  const Function metal(source);
  for (int i = 0; i < 8; ++i) add(metal, i, 100 + i);
  EXPECT_EQ(merged(), std::vector<std::size_t>(8, 1));
}

TEST_F(BatchMergeTest, PacksMembersBehindTheTable) {
  for (int i = 0; i < 5; ++i) add(f, i, 100 + i);
  merged();
  const Command& command = result->commands()[0];
  const std::vector<std::byte> bytes = pack_batch(*command.function->source(), command);
  ASSERT_EQ(bytes.size(), static_cast<std::size_t>(4 * batch_table_words(8) + 8 * 24));
  std::int64_t words[3];
  std::memcpy(words, bytes.data() + 4 * batch_table_words(8) + 3 * 24, sizeof words);
  EXPECT_EQ(words[0], static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at(3))));
  EXPECT_EQ(words[1], static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at(103))));
  EXPECT_EQ(words[2], 3);
  // Where kernels know memory by other numbers; members that are not there are 0.
  std::vector<std::byte> target(bytes.size(), std::byte{0xff});
  pack_batch(*command.function->source(), command, target.data(),
             [](std::size_t i) { return std::uint64_t{1} << 60 | i; });
  std::memcpy(words, target.data() + 4 * batch_table_words(8) + 3 * 24, sizeof words);
  EXPECT_EQ(words[0], (std::int64_t{1} << 60) + 1 + 3 * 3);
  EXPECT_EQ(words[1], (std::int64_t{1} << 60) + 2 + 3 * 3);
  EXPECT_EQ(words[2], 3);
  EXPECT_TRUE(std::all_of(target.end() - 3 * 24, target.end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

}  // namespace
}  // namespace hearth::runtime
