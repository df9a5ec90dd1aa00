#include "runtime/commands/command_batch.h"

#include <gtest/gtest.h>

#include "error_text.h"
#include "runtime/commands/encoder.h"
#include "runtime/fake_driver.h"

namespace hearth::runtime {
namespace {

class CommandBatchTest : public testing::Test {
 protected:
  // y = f(x) over 64 bytes each.
  void add(int x, int y, int constant_value = 0) {
    batch.add(function, {4}, {64},
              std::vector<Argument>{memory(at(x), 64), memory(at(y), 64),
                                    constant_argument(constant_value)},
              driver.properties());
  }
  Address at(int block) { return reinterpret_cast<Address>(std::uintptr_t{0x1000}) + block * 64; }

  FakeDriver driver;
  Function function{fake_source("step")};
  CommandBatch batch;
};

TEST_F(CommandBatchTest, GroupsFollowFromRanges) {
  add(0, 1);  // group 0
  add(0, 2);  // reads the same: group 0
  add(1, 3);  // after the first: group 1
  add(2, 4);  // after the second, not after the third: group 1
  add(5, 3);  // writes what the third wrote: group 2
  const auto commands = batch.commands();
  ASSERT_EQ(commands.size(), 5u);
  const int groups[] = {0, 0, 1, 1, 2};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(commands[i].group, groups[i]) << i;
  EXPECT_TRUE(commands[1].after.empty());
  EXPECT_EQ(std::vector<int>(commands[2].after.begin(), commands[2].after.end()),
            std::vector<int>{0});
  EXPECT_EQ(std::vector<int>(commands[3].after.begin(), commands[3].after.end()),
            std::vector<int>{1});
  EXPECT_EQ(batch.group_count(), 3);
}

TEST_F(CommandBatchTest, ConstantsAreCopied) {
  for (int i = 0; i < 100; ++i) add(2 * i, 2 * i + 1, i);
  const auto commands = batch.commands();
  for (int i = 0; i < 100; ++i) {
    const Argument& argument = commands[static_cast<std::size_t>(i)].arguments[2];
    EXPECT_EQ(*static_cast<const int*>(argument.constant), i);
    EXPECT_EQ(argument.bytes, 4);
  }
}

TEST_F(CommandBatchTest, RebindMovesWhatLiesInTheRange) {
  add(0, 1);
  add(1, 2);
  batch.rebind(at(1), 64, at(9));
  const auto commands = batch.commands();
  EXPECT_EQ(commands[0].arguments[1].address, at(9));
  EXPECT_EQ(commands[1].arguments[0].address, at(9));
  EXPECT_EQ(commands[1].arguments[1].address, at(2));
}

TEST_F(CommandBatchTest, WrongArgumentsAreErrors) {
  const auto message = [](const auto& body) {
    return check::error_of(ErrorCode::invalid_argument, body);
  };
  const Argument x = memory(at(0), 64);
  const auto launch = [&](Size3 threads, std::vector<Argument> arguments) {
    batch.add(function, {1}, threads, arguments, driver.properties());
  };
  EXPECT_NE(message([&] { launch({64}, {x, x}); }).find("step: wrong number"), std::string::npos);
  EXPECT_NE(message([&] { launch({64}, {x, x, x}); }).find("a constant for p"), std::string::npos);
  EXPECT_NE(message([&] { launch({33}, {x, x, constant_argument(1)}); }).find("multiple of 32"),
            std::string::npos);
  EXPECT_NE(message([&] { launch({2048}, {x, x, constant_argument(1)}); }).find("up to 1024"),
            std::string::npos);
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace hearth::runtime
