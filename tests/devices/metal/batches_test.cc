// Batched launches on Metal: arguments of several launches in one struct, memory by addresses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "devices/metal/driver/metal_driver.h"
#include "devices/metal/metal_fixture.h"
#include "runtime/commands/batched_kernel.h"
#include "runtime/commands/batching.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::metal {
namespace {

using runtime::Argument;

constexpr char kUse[] = "useResources:count:usage:";
constexpr std::uint32_t kPart = 96;  // elements of a member

// y = x * factor + sum of a row's neighbours in threadgroup memory, so that all of a batch's parts
// occur: constants, pointers of both kinds, threadgroup arrays.
runtime::KernelSource mix_source() {
  return {"mix",
          R"(
struct MixParams {
  float factor;
  uint count;
};
void mix_rows(device const float* x, device float* y, constant MixParams& p,
              threadgroup float* row, Ctx ctx) {
  uint i = ctx.gid.x;
  row[ctx.tid.x] = i < p.count ? x[i] : 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i < p.count) y[i] = row[ctx.tid.x] * p.factor + row[ctx.tid.x ^ 1u];
}
)",
          "mix_rows",
          {{Kind::read, "float", "x"},
           {Kind::write, "float", "y"},
           {Kind::constant, "MixParams", "p"},
           {Kind::threadgroup, "float", "row", 32}},
          32};
}

struct MixParams {
  float factor;
  std::uint32_t count;
};

class MetalBatches : public MetalDriverTest {
 protected:
  struct Member {
    Address x, y;
    std::vector<float> values;
    MixParams p;
  };

  // Of sizes and values that differ, each over memory of its own or, with `pool`, side by side.
  void make_members(std::size_t count, bool pool = false) {
    constexpr std::int64_t bytes = kPart * sizeof(float);
    if (pool) pool_ = driver_->allocate(2 * bytes * static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      Member& member = members_.emplace_back();
      for (std::uint32_t k = 0; k < kPart; ++k) member.values.push_back(uniform_(random_));
      member.p = {uniform_(random_), static_cast<std::uint32_t>(2 * (1 + random_() % (kPart / 2)))};
      const auto at = static_cast<std::int64_t>(2 * i) * bytes;
      member.x = pool ? pool_ + at : driver_->allocate(bytes);
      member.y = pool ? pool_ + at + bytes : driver_->allocate(bytes);
      driver_->copy_to_device(member.x, member.values.data(), bytes);
      const std::vector<float> poison(kPart, std::numeric_limits<float>::quiet_NaN());
      driver_->copy_to_device(member.y, poison.data(), bytes);
    }
  }
  void add(const runtime::Function& mix, Address x, Address y, const MixParams& p) {
    constexpr std::int64_t bytes = kPart * sizeof(float);
    const Argument arguments[] = {{x, bytes}, {y, bytes}, {nullptr, sizeof p, &p}};
    batch_.add(mix, {(p.count + 31) / 32}, {32}, arguments, driver_->properties());
  }
  void add_members(const runtime::Function& mix) {
    for (const Member& member : members_) add(mix, member.x, member.y, member.p);
  }
  // Queues what was added, merged.
  std::size_t launch() {
    const runtime::MergedCommands merged(batch_.commands(), driver_->argument_bytes(), *registry_);
    const auto executable = driver_->instantiate(merged.commands());
    driver_->launch(*executable);
    const std::size_t count = merged.commands().size();
    batch_.clear();
    return count;
  }
  void expect_right() {
    for (const Member& member : members_) {
      const std::vector<float> got = download<float>(member.y, kPart);
      for (std::uint32_t i = 0; i < kPart; ++i) {
        if (i >= member.p.count) {
          EXPECT_TRUE(std::isnan(got[i]));
          continue;
        }
        const double wanted = double{member.values[i]} * double{member.p.factor} +
                              double{(i ^ 1u) < member.p.count ? member.values[i ^ 1u] : 0.0f};
        EXPECT_NEAR(got[i], wanted, 1e-6);
      }
    }
  }
  void free_members() {
    for (const Member& member : members_) {
      if (pool_ != nullptr) continue;
      driver_->free(member.x);
      driver_->free(member.y);
    }
    driver_->free(pool_);
    members_.clear();
    pool_ = nullptr;
  }
  void SetUp() override {
    MetalDriverTest::SetUp();
    reopen();
  }
  void TearDown() override {
    registry_.reset();
    MetalDriverTest::TearDown();
  }
  void reopen() {
    registry_.reset();
    kernels_.clear();
    driver_.reset();
    open();
    registry_ = std::make_unique<runtime::KernelRegistry>(*driver_, runtime::KernelCache(""));
  }
  int calls(const char* selector) { return double_->calls[selector]; }

  std::unique_ptr<runtime::KernelRegistry> registry_;
  runtime::CommandBatch batch_;
  std::vector<Member> members_;
  Address pool_ = nullptr;
  std::mt19937 random_{std::random_device()()};
  std::uniform_real_distribution<float> uniform_{-1.0f, 1.0f};
};

TEST_F(MetalBatches, TakeAsMuchAsOnCuda) {
  EXPECT_GE(driver_->argument_bytes(), 32764);
  double_->is_metal3 = false;
  reopen();
  EXPECT_EQ(driver_->argument_bytes(), 0);
  double_->is_metal3 = true;
  double_->argument_buffers_tier = 0;
  reopen();
  EXPECT_EQ(driver_->argument_bytes(), 0);
  // Nothing asks for addresses then.
  const Address x = driver_->allocate(16);
  EXPECT_EQ(calls("gpuAddress"), 0);
  driver_->free(x);
}

TEST_F(MetalBatches, FewMembersGoWithTheCommand) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(7);
  double_->calls.clear();
  add_members(mix);
  EXPECT_EQ(launch(), 1u);
  expect_right();
  EXPECT_EQ(calls("setBytes:length:atIndex:"), 1);
  EXPECT_EQ(calls("setBuffer:offset:atIndex:"), 0);
  EXPECT_EQ(calls(kUse), 2);  // for reading, and for both
  free_members();
}

TEST_F(MetalBatches, ManyMembersLieInMemory) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(300);
  double_->calls.clear();
  add_members(mix);
  EXPECT_EQ(launch(), 1u);
  expect_right();
  EXPECT_EQ(calls("setBytes:length:atIndex:"), 0);
  EXPECT_EQ(calls("setBuffer:offset:atIndex:"), 1);
  EXPECT_EQ(calls(kUse), 2);
  free_members();
}

TEST_F(MetalBatches, MembersOfOneBuffer) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(40, true);
  add_members(mix);
  EXPECT_EQ(launch(), 1u);
  expect_right();
  free_members();
}

TEST_F(MetalBatches, RunWithoutResidencySets) {
  double_->system = {13, 0, 0};
  reopen();
  const runtime::Function& mix = kernel(mix_source());
  make_members(9);
  add_members(mix);
  EXPECT_EQ(launch(), 1u);
  expect_right();
  EXPECT_EQ(calls(kUse), 2);
  free_members();
}

// The Metal double tells of commands that lack a barrier, of whichever kind.
TEST_F(MetalBatches, WaitForWhatTheyDependOn) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(6);
  std::vector<Address> thirds;
  for (std::size_t i = 0; i < 6; ++i) thirds.push_back(driver_->allocate(kPart * 4));
  add_members(mix);
  const MixParams p{2.0f, kPart};
  for (std::size_t i = 0; i < 6; ++i) add(mix, members_[i].y, thirds[i], p);
  add(mix, thirds[2], members_[0].x, p);  // by a launch of its own
  EXPECT_EQ(launch(), 3u);
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<float> y = download<float>(members_[i].y, kPart);
    const std::vector<float> third = download<float>(thirds[i], kPart);
    for (std::uint32_t k = 0; k < members_[i].p.count; ++k) {
      EXPECT_FLOAT_EQ(third[k], 2.0f * y[k] + y[k ^ 1u]);
    }
  }
  EXPECT_EQ(calls("memoryBarrierWithScope:") + calls("memoryBarrierWithResources:count:"), 2);
  for (const Address third : thirds) driver_->free(third);
  free_members();
}

TEST_F(MetalBatches, BuffersAreToldOfOnceInAnEncoder) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(5);
  double_->calls.clear();
  for (int i = 0; i < 3; ++i) {
    add_members(mix);
    EXPECT_EQ(launch(), 1u);
  }
  EXPECT_EQ(calls(kUse), 2);
  // What was read is written: it is told of again.
  for (const Member& member : members_) add(mix, member.y, member.x, {1.0f, kPart});
  EXPECT_EQ(launch(), 1u);
  EXPECT_EQ(calls(kUse), 3);
  driver_->wait();
  for (const Member& member : members_) add(mix, member.y, member.x, {1.0f, kPart});
  EXPECT_EQ(launch(), 1u);
  EXPECT_EQ(calls(kUse), 5);
  driver_->wait();
  free_members();
}

TEST_F(MetalBatches, MemoryIsKeptUntilTheyAreDone) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(5);
  add_members(mix);
  EXPECT_EQ(launch(), 1u);
  for (const Member& member : members_) driver_->free(member.x);
  std::vector<Address> others;  // which takes the set's word for what is freed
  for (int i = 0; i < 80; ++i) others.push_back(driver_->allocate(64));
  for (const Address other : others) driver_->free(other);
  expect_right();
  for (const Member& member : members_) driver_->free(member.y);
  members_.clear();
}

TEST_F(MetalBatches, ExecutablesSeeWhereMemoryIsNow) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(5);
  add_members(mix);
  const runtime::MergedCommands merged(batch_.commands(), driver_->argument_bytes(), *registry_);
  const auto executable = driver_->instantiate(merged.commands());
  const std::int64_t bytes = kPart * sizeof(float);
  for (int i = 0; i < 3; ++i) {
    for (Member& member : members_) {
      for (float& value : member.values) value = uniform_(random_);
      driver_->copy_to_device(member.x, member.values.data(), bytes);
    }
    driver_->launch(*executable);
    expect_right();
  }
  driver_->free(members_[2].x);
  error_of(ErrorCode::device, [&] { driver_->launch(*executable); });
  members_.erase(members_.begin() + 2, members_.begin() + 3);
  free_members();
}

// Memory of arguments is used again when what reads it is done, and not before: work runs late
// here.
TEST_F(MetalBatches, MemoryOfArgumentsIsUsedAgain) {
  const runtime::Function& mix = kernel(mix_source());
  make_members(300);
  const auto launch_often = [&](int times, int wait_after) {
    for (int i = 1; i <= times; ++i) {
      for (Member& member : members_) member.p.factor = uniform_(random_);
      add_members(mix);
      EXPECT_EQ(launch(), 1u);
      if (i % wait_after == 0) driver_->wait();
    }
    expect_right();
  };
  launch_often(40, 4);
  const Live before = double_->live();
  launch_often(40, 4);
  EXPECT_EQ(double_->live(), before);
  double_->runs_at_once = true;  // nobody waits, but work is done
  launch_often(150, 1000);
  const Live then = double_->live();
  launch_often(150, 1000);
  EXPECT_EQ(double_->live(), then);
  free_members();
}

TEST_F(MetalBatches, ArgumentsThatAreMissingAreErrors) {
  const runtime::KernelSource source = runtime::batched_kernel(mix_source(), 8);
  const runtime::Function& batched = kernel(source);
  std::vector<std::uint32_t> table(static_cast<std::size_t>(runtime::batch_table_words(8)), 0);
  table[0] = 2;
  const MixParams p{1.0f, 32};
  const Address x = driver_->allocate(128);
  const Argument arguments[] = {
      {nullptr, static_cast<std::int64_t>(4 * table.size()), table.data()},
      {x, 128},
      {x, 128},
      {nullptr, sizeof p, &p}};
  const auto submit = [&](std::size_t count) {
    const runtime::Command command{&batched, {2}, {32}, std::span<const Argument>(arguments, count),
                                   0,        {}};
    return error_of(ErrorCode::internal, [&] { driver_->submit({&command, 1}); });
  };
  EXPECT_TRUE(contains(submit(0), "mix_batch8: a batch without its table"));
  EXPECT_TRUE(contains(submit(4), "mix_batch8: too few arguments"));
  table[0] = 9;
  EXPECT_TRUE(contains(submit(4), "mix_batch8: a batch of too many members"));
  table[0] = 0;
  EXPECT_TRUE(contains(submit(4), "mix_batch8: too many arguments"));
  driver_->free(x);
}

}  // namespace
}  // namespace hearth::metal
