// The simulator runs right kernels as any GPU would, whatever the schedule, and is a
// runtime::Driver.
#include <cmath>
#include <cstring>
#include <numeric>

#include "machines/sim_fixture.h"

namespace hearth::sim {
namespace {

struct SizeParams {
  std::uint32_t n;
};

const KernelSource kScale = kernel("scale", R"(
struct ScaleParams { uint n; float factor; };
void scale(device const float* x, device float* y, constant ScaleParams& p, Ctx ctx) {
  if (ctx.gid.x < p.n) y[ctx.gid.x] = p.factor * x[ctx.gid.x];
})",
                                   {{Kind::read, "float", "x"},
                                    {Kind::write, "float", "y"},
                                    {Kind::constant, "ScaleParams", "p"}});
struct ScaleParams {
  std::uint32_t n;
  float factor;
};

// Sums of rows: each thread, each simdgroup, the threadgroup.
const KernelSource kRowSum = kernel("row_sum", R"(
struct SizeParams { uint n; };
void row_sum(device const float* x, device float* y, constant SizeParams& p,
             threadgroup float* sums, Ctx ctx) {
  float sum = 0.0f;
  for (uint i = ctx.tid.x; i < p.n; i += ctx.ntid.x) sum += x[ctx.tg.x * p.n + i];
  sum = simd_sum(sum);
  if (ctx.lane == 0) sums[ctx.sg] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (ctx.tid.x == 0) {
    float all = 0.0f;
    for (uint i = 0; i < ctx.nsg; ++i) all += sums[i];
    y[ctx.tg.x] = all;
  }
})",
                                    {{Kind::read, "float", "x"},
                                     {Kind::write, "float", "y"},
                                     {Kind::constant, "SizeParams", "p"},
                                     {Kind::threadgroup, "float", "sums", 32}});

TEST(Simulator, RunsKernelsUnderAllSchedules) {
  for (const SimOptions& options : all_options()) {
    Simulator sim(options);
    const Address x = sim.upload(counting(7 * 100));
    const Address y = sim.allocate(7);
    const SizeParams p = {100};
    sim.run(kRowSum, 7, 96, {floats(x, 700), floats(y, 7), constant(p)});
    std::vector<float> expected(7);
    for (std::size_t i = 0; i < 7; ++i) expected[i] = static_cast<float>(i) * 10000 + 4950;
    EXPECT_EQ(sim.download(y, 7), expected);
  }
}

TEST(Simulator, RunsLargeGridsOnAllProcessors) {
  Simulator sim(with(Order::shuffled, false, 3));
  const std::size_t n = 100'000;
  const Address x = sim.upload(counting(n));
  const Address y = sim.allocate(n);
  const ScaleParams p = {static_cast<std::uint32_t>(n), 2};
  sim.run(kScale, (n + 255) / 256, 256, {floats(x, n), floats(y, n), constant(p)});
  const std::vector<float> values = sim.download(y, n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(values[i], 2 * static_cast<float>(i));
}

TEST(Simulator, TellsThreadsWhereTheyAre) {
  const KernelSource where = kernel("where", R"(
void where(device uint* out, Ctx ctx) {
  uint3 size = uint3(ctx.ntg.x * ctx.ntid.x, ctx.ntg.y * ctx.ntid.y, 1u);
  uint at = ctx.gid.x + size.x * (ctx.gid.y + size.y * ctx.gid.z);
  uint number = ctx.tid.x + ctx.ntid.x * (ctx.tid.y + ctx.ntid.y * ctx.tid.z);
  bool right = ctx.lane == number % 32 && ctx.sg == number / 32 && ctx.nsg == 3u &&
               ctx.gid.x == ctx.tg.x * ctx.ntid.x + ctx.tid.x;
  out[at] = right ? at + 1u : 0u;
})",
                                    {{Kind::write, "uint", "out"}});
  for (const bool check : {true, false}) {
    Simulator sim(with(Order::reverse, check));
    const std::size_t count = 3 * 8 * 2 * 6 * 2 * 2;
    const Address out = sim.allocate(count);
    const runtime::Argument argument = floats(out, count);
    runtime::Command command;
    command.function = &sim.load(where);
    command.groups = {3, 2, 2};
    command.threads = {8, 6, 2};
    command.arguments = {&argument, 1};
    sim.driver().submit({&command, 1});
    std::vector<std::uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 1u);
    EXPECT_EQ(sim.download<std::uint32_t>(out, count), expected);
  }
}

// Tables of the text, arrays of a thread's own, atomics of all threadgroups, memory of a simdgroup.
TEST(Simulator, LeavesRightKernelsAlone) {
  const KernelSource mix = kernel("mix", R"(
constant float kTable[4] = {1.0f, 2.0f, 3.0f, 4.0f};
void mix(device const float* x, device float* y, device atomic_uint* count, threadgroup float* s,
         Ctx ctx) {
  float mine[4];
  for (uint i = 0; i < 4; ++i) mine[(i + ctx.lane) % 4] = kTable[i];
  s[ctx.tid.x] = x[ctx.gid.x];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  float other = s[ctx.tid.x ^ 1u];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  s[ctx.tid.x ^ 1u] = other;
  atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
  y[ctx.gid.x] = s[ctx.tid.x ^ 1u] + mine[ctx.lane % 4];
  threadgroup_barrier(mem_flags::mem_device);
  y[ctx.gid.x] += y[ctx.tg.x * ctx.ntid.x + ctx.tid.x];
})",
                                  {{Kind::read, "float", "x"},
                                   {Kind::read_write, "float", "y"},
                                   {Kind::read_write, "atomic_uint", "count"},
                                   {Kind::threadgroup, "float", "s", 64}});
  for (const SimOptions& options : all_options()) {
    Simulator sim(options);
    const Address x = sim.upload(counting(256));
    const Address y = sim.allocate(256);
    const Address count = sim.upload(std::vector<std::uint32_t>{0});
    sim.run(mix, 4, 64, {floats(x, 256), floats(y, 256), floats(count, 1)});
    const std::vector<float> values = sim.download(y, 256);
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(values[i], 2 * (static_cast<float>(i ^ 1) + 1)) << i;
    }
    EXPECT_EQ(sim.download<std::uint32_t>(count, 1)[0], 256u);
  }
}

TEST(Simulator, WorksInPlace) {
  for (const SimOptions& options : all_options()) {
    Simulator sim(options);
    const Address x = sim.upload(counting(64));
    const ScaleParams p = {64, 3};
    sim.run(kScale, 1, 64, {floats(x, 64), floats(x, 64), constant(p)});
    EXPECT_EQ(sim.download(x, 64)[63], 189);
  }
}

TEST(Simulator, CopiesAndFillsInOrder) {
  Simulator sim;
  const Address x = sim.upload(counting(8));
  const Address y = sim.allocate(8);
  for (const float value : sim.download(y, 8)) EXPECT_TRUE(std::isnan(value));
  sim.driver().copy_on_device(y, x + 4, 28);
  sim.driver().fill(x, 0, 32);
  sim.driver().copy_on_device(x, y, 8);
  EXPECT_EQ(sim.download(x, 3), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(sim.download(y, 7), counting(7, 1));
}

TEST(Simulator, CopiesWhatCommandsName) {
  Simulator sim;
  const Address x = sim.upload(counting(64));
  const Address y = sim.allocate(64);
  {
    ScaleParams p = {64, 2};
    const std::vector<runtime::Argument> arguments = {floats(x, 64), floats(y, 64), constant(p)};
    sim.run(kScale, 1, 64, arguments);
    p.factor = 5;
  }
  EXPECT_EQ(sim.download(y, 64)[1], 2);
}

TEST(Simulator, FreesWhenQueuedWorkIsDone) {
  Simulator sim;
  const Address x = sim.upload(counting(64));
  const Address y = sim.allocate(64);
  const ScaleParams p = {64, 2};
  sim.run(kScale, 1, 64, {floats(x, 64), floats(y, 64), constant(p)});
  sim.driver().free(x);
  EXPECT_EQ(sim.download(y, 64)[1], 2);
  EXPECT_EQ(sim.driver().memory_in_use(), 256);
  sim.run(kScale, 1, 64, {floats(x, 64), floats(y, 64), constant(p)});
  EXPECT_SAYS(sim.fault(), "parameter 'x' of kernel 'scale' of 256 bytes is not within one block");
}

TEST(Simulator, HostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Simulator sim;
  const auto* const address = reinterpret_cast<const volatile float*>(sim.upload(counting(4)));
  EXPECT_DEATH(static_cast<void>(*address), "");
}

TEST(Simulator, RunsOutOfMemory) {
  Simulator sim;
  sim.driver().set_memory_limit(1 << 20);
  const Address x = sim.driver().allocate(1 << 19);
  const Address y = sim.driver().allocate(1 << 19);
  try {
    sim.driver().allocate(1);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_SAYS(std::string(error.what()), "got a request for 1 bytes with 1048576 in use");
  }
  sim.driver().fill(y, 0, 4);
  sim.driver().free(x);  // given up with the fill
  EXPECT_NE(sim.driver().allocate(1 << 19), nullptr);
}

TEST(Simulator, ReusesMemoryPoisoned) {
  Simulator sim;
  const std::int64_t bytes = std::int64_t{20} << 30;  // a third of the address space
  sim.driver().set_memory_limit(bytes * 2);
  for (int i = 0; i < 4; ++i) {
    const Address x = sim.driver().allocate(bytes);
    const Address y = sim.driver().allocate(4);
    EXPECT_TRUE(std::isnan(sim.download(x, 1)[0]));
    sim.driver().fill(x, 0, 4);
    sim.driver().wait();
    sim.driver().free(x);
    sim.driver().free(y);
  }
}

TEST(Simulator, PassesOnWhatTheCompilerSays) {
  Simulator sim;
  const KernelSource wrong =
      kernel("wrong", "void wrong(device float* y, Ctx ctx) { y[0] = missing_name; }",
             {{Kind::write, "float", "y"}});
  try {
    sim.driver().compile(wrong);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_SAYS(std::string(error.what()), "sim: kernel 'wrong' does not compile");
    EXPECT_SAYS(std::string(error.what()), "missing_name");
  }
}

TEST(Simulator, RejectsImagesThatAreNone) {
  Simulator sim;
  const std::vector<std::byte> image = sim.driver().compile(kScale);
  std::vector<std::vector<std::byte>> damaged(3, image);
  damaged[0].resize(10);
  damaged[1].resize(image.size() / 2);
  damaged[2][image.size() / 2] ^= std::byte{1};
  for (const std::vector<std::byte>& bytes : damaged) {
    try {
      sim.driver().load(kScale, bytes);
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt_file);
    }
  }
  KernelSource other = kScale;
  other.name = "other";
  EXPECT_THROW(sim.driver().load(other, image), Error);
}

TEST(Simulator, TellsVersionsApart) {
  EXPECT_EQ(SimDriver().compiler_version(), SimDriver().compiler_version());
  EXPECT_NE(SimDriver(with(Order::forward, true)).compiler_version(),
            SimDriver(with(Order::forward, false)).compiler_version());
}

TEST(Fiber, ContinuesWhereItWas) {
  struct State {
    Fiber fiber;
    int step = 0;
  } state;
  const Fiber::Entry entry = [](void* argument) {
    auto& mine = *static_cast<State*>(argument);
    for (int i = 0; i < 3; ++i) {
      double kept = 0.5 * i;
      mine.step += 1;
      mine.fiber.suspend();
      mine.step += static_cast<int>(kept * 20);
    }
  };
  std::vector<int> steps;
  for (int round = 0; round < 2; ++round) {
    state.step = 0;
    state.fiber.start(entry, &state);
    while (!state.fiber.finished()) {
      state.fiber.resume();
      steps.push_back(state.step);
    }
    state.fiber.start(entry, &state);
    state.fiber.resume();
    state.fiber.abandon();
  }
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 13, 33, 1, 2, 13, 33}));
}

}  // namespace
}  // namespace hearth::sim
