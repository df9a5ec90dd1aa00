// The simulator runs commands in every order that they allow, and finds what the order matters to.
#include <initializer_list>

#include "machines/sim_fixture.h"

namespace hearth::sim {
namespace {

const KernelSource kAdd = kernel("add_one", R"(
void add_one(device const float* x, device float* y, Ctx ctx) {
  y[ctx.gid.x] = x[ctx.gid.x] + 1.0f;
})",
                                 {{Kind::read, "float", "x"}, {Kind::write, "float", "y"}});
const KernelSource kDouble = kernel("double_all", R"(
void double_all(device float* y, Ctx ctx) { y[ctx.gid.x] *= 2.0f; })",
                                    {{Kind::read_write, "float", "y"}});

// Commands on 64 floats each, kept together with what they name.
class Commands {
 public:
  explicit Commands(Simulator& sim) : sim_(sim) {}

  void add(const KernelSource& source, std::initializer_list<Address> addresses, int group,
           std::vector<int> after = {}) {
    std::vector<runtime::Argument>& arguments = arguments_.emplace_back();
    for (const Address address : addresses) arguments.push_back(floats(address, 64));
    after_.push_back(std::move(after));
    functions_.push_back(&sim_.load(source));
    groups_.push_back(group);
  }

  std::vector<runtime::Command> all() const {
    std::vector<runtime::Command> commands(functions_.size());
    for (std::size_t i = 0; i < commands.size(); ++i) {
      commands[i].function = functions_[i];
      commands[i].threads.x = 64;
      commands[i].arguments = arguments_[i];
      commands[i].group = groups_[i];
      commands[i].after = after_[i];
    }
    return commands;
  }

 private:
  Simulator& sim_;
  std::vector<std::vector<runtime::Argument>> arguments_;
  std::vector<std::vector<int>> after_;
  std::vector<const runtime::Function*> functions_;
  std::vector<int> groups_;
};

std::vector<Order> all_orders() {
  return {Order::forward, Order::reverse, Order::greedy, Order::shuffled};
}

TEST(SimulatorOrder, GroupsInOrder) {
  for (const Order order : all_orders()) {
    Simulator sim(with(order, false));
    const Address x = sim.upload(counting(64));
    const Address y = sim.allocate(64);
    const Address z = sim.allocate(64);
    Commands commands(sim);
    commands.add(kAdd, {x, y}, 0);
    commands.add(kAdd, {x, z}, 0);
    commands.add(kDouble, {y}, 1);
    commands.add(kDouble, {z}, 1);
    commands.add(kAdd, {z, y}, 2);
    sim.driver().submit(commands.all());
    EXPECT_EQ(sim.fault(), "");
    EXPECT_EQ(sim.download(y, 64)[10], 23);
  }
}

TEST(SimulatorOrder, MissingDependencyInAGroup) {
  for (const Order order : all_orders()) {
    Simulator sim(with(order, false));
    const Address x = sim.upload(counting(64));
    const Address y = sim.allocate(64);
    Commands commands(sim);
    commands.add(kAdd, {x, y}, 0);
    commands.add(kDouble, {y}, 0);
    sim.driver().submit(commands.all());
    EXPECT_SAYS(sim.fault(),
                "sim: kernels 'add_one' (command 0) writes 'y' and 'double_all' (command 1) writes "
                "'y': they share memory, and nothing orders them");
    // And the result shows it where the order is the other.
    if (order == Order::reverse) {
      EXPECT_EQ(sim.download(y, 64)[10], 11);
    }
  }
}

TEST(SimulatorOrder, HazardsAreExact) {
  Simulator sim;
  const Address block = sim.upload(counting(256));
  // Neighbours do not touch; readers share.
  Commands right(sim);
  right.add(kAdd, {block, block + 256}, 0);
  right.add(kAdd, {block, block + 512}, 0);
  sim.driver().submit(right.all());
  EXPECT_EQ(sim.fault(), "");
  // Four bytes of the other's range, written after they are read.
  Commands wrong(sim);
  wrong.add(kAdd, {block, block + 512}, 0);
  wrong.add(kDouble, {block + 252}, 0);
  sim.driver().submit(wrong.all());
  EXPECT_SAYS(sim.fault(),
              "'add_one' (command 0) reads 'x' and 'double_all' (command 1) writes 'y'");
}

TEST(SimulatorOrder, ExecutablesRunByEdges) {
  for (const Order order : all_orders()) {
    Simulator sim(with(order, true));
    const Address x = sim.upload(counting(64));
    const Address y = sim.allocate(64);
    const Address z = sim.allocate(64);
    Commands commands(sim);
    commands.add(kAdd, {x, y}, 0);
    commands.add(kAdd, {x, z}, 0);
    commands.add(kDouble, {y}, 1, {0});
    commands.add(kAdd, {y, x}, 2, {2, 1});
    const std::unique_ptr<runtime::Executable> executable =
        sim.driver().instantiate(commands.all());
    sim.driver().launch(*executable);
    sim.driver().launch(*executable);
    EXPECT_EQ(sim.fault(), "");
    // x becomes 2 (x + 1) + 1, twice.
    EXPECT_EQ(sim.download(x, 64)[10], 49);
    EXPECT_EQ(sim.download(z, 64)[10], 24);
  }
}

TEST(SimulatorOrder, ExecutablesAreUpdated) {
  Simulator sim;
  const Address x = sim.upload(counting(64));
  const Address y = sim.allocate(64);
  const runtime::Function& add = sim.load(kAdd);
  const auto commands = [&](const std::vector<runtime::Argument>& arguments) {
    runtime::Command command;
    command.function = &add;
    command.threads.x = 64;
    command.arguments = arguments;
    return command;
  };
  const std::vector<runtime::Argument> before = {floats(x, 64), floats(y, 64)};
  const std::vector<runtime::Argument> now = {floats(y, 64), floats(x, 64)};
  const runtime::Command first = commands(before);
  const runtime::Command second = commands(now);
  const std::unique_ptr<runtime::Executable> executable = sim.driver().instantiate({&first, 1});
  sim.driver().launch(*executable);
  EXPECT_TRUE(sim.driver().update(*executable, {&second, 1}));
  sim.driver().launch(*executable);
  EXPECT_EQ(sim.download(x, 64)[10], 12);
  EXPECT_EQ(sim.download(y, 64)[10], 11);
  const std::vector<runtime::Command> two = {first, second};
  EXPECT_FALSE(sim.driver().update(*executable, two));
}

TEST(SimulatorOrder, MissingEdge) {
  for (const Order order : all_orders()) {
    Simulator sim(with(order, true));
    const Address x = sim.upload(counting(64));
    const Address y = sim.allocate(64);
    const Address z = sim.allocate(64);
    Commands commands(sim);
    commands.add(kAdd, {x, y}, 0);
    commands.add(kAdd, {x, z}, 0);
    commands.add(kAdd, {y, x}, 1, {0});  // not after the second, which reads x
    const std::unique_ptr<runtime::Executable> executable =
        sim.driver().instantiate(commands.all());
    sim.driver().launch(*executable);
    EXPECT_SAYS(sim.fault(),
                "'add_one' (command 1) reads 'x' and 'add_one' (command 2) writes 'y'");
  }
}

TEST(SimulatorOrder, BatchesMustMakeSense) {
  Simulator sim;
  const Address x = sim.upload(counting(64));
  Commands falls(sim);
  falls.add(kDouble, {x}, 1);
  falls.add(kDouble, {x}, 0);
  EXPECT_THROW(sim.driver().submit(falls.all()), Error);
  Commands later(sim);
  later.add(kDouble, {x}, 0, {1});
  later.add(kDouble, {x}, 1);
  EXPECT_THROW(sim.driver().submit(later.all()), Error);
  Commands few(sim);
  few.add(kAdd, {x}, 0);
  EXPECT_THROW(sim.driver().submit(few.all()), Error);
}

TEST(SimulatorOrder, TimesEachCommand) {
  Simulator sim;
  const Address x = sim.upload(counting(64));
  Commands commands(sim);
  commands.add(kDouble, {x}, 0);
  commands.add(kDouble, {x}, 1);
  EXPECT_EQ(sim.driver().time(commands.all()).size(), 2u);
  EXPECT_EQ(sim.download(x, 64)[10], 40);
}

}  // namespace
}  // namespace hearth::sim
