// A driver on which commands of a batch run last first unless something orders them.
#include "runtime/trace/order_check.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/commands/command_batch.h"
#include "runtime/fake_driver.h"

namespace hearth::runtime {
namespace {

// Kernels add their constant to what they read, and write it.
class HastyDriver final : public Driver {
 public:
  const Properties& properties() const override { return properties_; }
  Address allocate(std::int64_t bytes) override { return memory_.allocate(bytes); }
  void free(Address address) noexcept override { memory_.free(address); }
  std::vector<std::byte> compile(const KernelSource&) override { return {}; }
  std::string compiler_version() const override { return "none"; }
  std::unique_ptr<Function> load(const KernelSource& source, std::span<const std::byte>) override {
    return std::make_unique<Function>(source);
  }

  void submit(std::span<const Command> commands) override {
    for (std::size_t at = 0; at < commands.size();) {
      std::size_t end = at;
      while (end < commands.size() && commands[end].group == commands[at].group) ++end;
      for (std::size_t i = end; i-- > at;) run(commands[i]);
      at = end;
    }
  }
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void copy_on_device(Address target, Address source, std::int64_t bytes) override {
    std::memmove(target, source, static_cast<std::size_t>(bytes));
  }
  void fill(Address target, std::uint8_t value, std::int64_t bytes) override {
    std::memset(target, value, static_cast<std::size_t>(bytes));
  }
  void copy_to_host(void* target, Address source, std::int64_t bytes) override {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void wait() override {}

 private:
  static void run(const Command& command) {
    std::int32_t value = 0;
    std::memcpy(&value, command.arguments[0].address, sizeof value);
    value += *static_cast<const std::int32_t*>(command.arguments[2].constant);
    std::memcpy(command.arguments[1].address, &value, sizeof value);
  }

  FakeDriver memory_;
  Properties properties_;
};

class OrderCheck : public testing::Test {
 protected:
  OrderCheck() : function_(fake_source("add")) {
    words_ = driver_.allocate(16);
    driver_.fill(words_, 0, 16);
  }
  ~OrderCheck() override { driver_.free(words_); }

  void add(CommandBatch& batch, int from, int to, std::int32_t value) {
    const Argument arguments[] = {
        {words_ + 4 * from, 4, nullptr}, {words_ + 4 * to, 4, nullptr}, {nullptr, 4, &value}};
    batch.add(function_, {1}, {32}, arguments, driver_.properties());
  }
  std::int32_t word(int at) {
    std::int32_t value = 0;
    driver_.copy_to_host(&value, words_ + 4 * at, 4);
    return value;
  }

  HastyDriver driver_;
  Function function_;
  Address words_ = nullptr;
};

TEST_F(OrderCheck, RightDependenciesPass) {
  CommandBatch batch;
  add(batch, 0, 1, 1);
  add(batch, 0, 2, 5);
  add(batch, 1, 3, 10);
  submit_and_compare(driver_, batch.commands());
  EXPECT_EQ(word(1), 1);
  EXPECT_EQ(word(2), 5);
  EXPECT_EQ(word(3), 11);
}

TEST_F(OrderCheck, AMissingDependencyIsFound) {
  CommandBatch batch;
  add(batch, 0, 1, 1);
  add(batch, 0, 2, 5);
  add(batch, 1, 3, 10);
  std::vector<Command> commands(batch.commands().begin(), batch.commands().end());
  ASSERT_EQ(commands[2].group, 1);
  commands[2].group = 0;
  try {
    submit_and_compare(driver_, commands);
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("add (command 2 of 3)"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(word(3), 11);  // of the run one by one
}

}  // namespace
}  // namespace hearth::runtime
