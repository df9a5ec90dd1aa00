// The simulator finds what kernels do wrong, and says where.
#include <cmath>
#include <cstdint>
#include <vector>

#include "devices/sim/checker/access_checker.h"
#include "machines/sim_fixture.h"
#include "sanitizers.h"

namespace hearth::sim {
namespace {

struct SizeParams {
  std::uint32_t n;
};

// What it says of a kernel on these arguments, without the checker if `check` is not set.
std::string fault_of(const KernelSource& source, std::uint32_t groups, std::uint32_t threads,
                     std::size_t in, std::size_t out, const SimOptions& options = {},
                     std::uint32_t n = 100) {
  Simulator sim(options);
  const Address x = sim.upload(counting(in));
  const Address y = sim.allocate(out);
  const SizeParams p = {n};
  sim.run(source, groups, threads, {floats(x, in), floats(y, out), constant(p)});
  const std::string fault = sim.fault();
  // The driver lives on.
  EXPECT_EQ(sim.download(x, 1)[0], 0);
  return fault;
}

KernelSource two_buffers(const std::string& name, const std::string& body, Kind out = Kind::write) {
  return kernel(name,
                "struct SizeParams { uint n; };\nvoid " + name +
                    "(device const float* x, device float* y, constant SizeParams& p,\n"
                    "threadgroup float* s, Ctx ctx) {\n" +
                    body + "}\n",
                {{Kind::read, "float", "x"},
                 {out, "float", "y"},
                 {Kind::constant, "SizeParams", "p"},
                 {Kind::threadgroup, "float", "s", 64}});
}

// Reverses 64 elements twice through threadgroup memory.
const std::string kReverse = R"(
  float value = x[ctx.tid.x];
  for (uint round = 0; round < 2; ++round) {
    s[ctx.tid.x] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // before reading
    value = s[63u - ctx.tid.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // before writing
  }
  y[ctx.tid.x] = value;
)";
const std::string kBefore = "threadgroup_barrier(mem_flags::mem_threadgroup);  // before ";

std::vector<float> reversed_twice(const KernelSource& source, const SimOptions& options) {
  Simulator sim(options);
  const Address x = sim.upload(counting(64));
  const Address y = sim.allocate(64);
  const SizeParams p = {64};
  sim.run(source, 1, 64, {floats(x, 64), floats(y, 64), constant(p)});
  return sim.download(y, 64);
}

TEST(SimulatorFaults, NoneInARightKernel) {
  for (const SimOptions& options : all_options()) {
    EXPECT_EQ(reversed_twice(two_buffers("reverse", kReverse), options), counting(64));
  }
}

TEST(SimulatorFaults, MissingBarrierBeforeReading) {
  const KernelSource wrong = two_buffers("wrong", without(kReverse, kBefore + "reading"));
  // Found in every schedule with the checker, and by the result without.
  for (const SimOptions& options : all_options()) {
    if (!options.check) {
      EXPECT_NE(reversed_twice(wrong, options), counting(64));
      continue;
    }
    const std::string fault = fault_of(wrong, 1, 64, 64, 64, options);
    EXPECT_SAYS(fault, "sim: kernel 'wrong', threadgroup (0, 0, 0), thread (");
    EXPECT_SAYS(fault, " of threadgroup array 's' of 256 bytes, ");
  }
  EXPECT_SAYS(
      fault_of(wrong, 1, 64, 64, 64),
      "thread (0, 0, 0): reads 4 bytes at offset 252 of threadgroup array 's' of 256 bytes, "
      "where nothing has been written");
}

TEST(SimulatorFaults, MissingBarrierBeforeWriting) {
  const KernelSource wrong = two_buffers("wrong", without(kReverse, kBefore + "writing"));
  for (const SimOptions& options : all_options()) {
    if (!options.check) continue;
    const std::string fault = fault_of(wrong, 1, 64, 64, 64, options);
    EXPECT_SAYS(fault, "of threadgroup array 's' of 256 bytes, which thread (");
    EXPECT_SAYS(fault, "without a barrier between");
  }
  // Without the checker one schedule shows it.
  EXPECT_NE(reversed_twice(wrong, with(Order::greedy, false)), counting(64));
}

TEST(SimulatorFaults, Traps) {
  EXPECT_SAYS(fault_of(two_buffers("traps", "  if (ctx.tid.x == 3u) __builtin_trap();\n"), 1, 64,
                       64, 64, with(Order::forward, false)),
              "kernel 'traps', threadgroup (0, 0, 0), thread (3, 0, 0): traps");
}

// Signals reach kernels late under ThreadSanitizer.
#if !HEARTH_THREAD_SANITIZED
TEST(SimulatorFaults, KernelsThatDoNotEnd) {
  SimOptions options;
  options.debug = true;
  options.time_limit = 0.2;
  const auto fault = [&](const std::string& name, const std::string& body) {
    const KernelSource source = two_buffers(name, body, Kind::read_write);
    return fault_of(source, 2, 64, 64, 64, options);
  };
  const std::string empty = fault("empty_loop",
                                  "  uint n = p.n;\n  while (n != 0u) { n |= 1u; }\n"
                                  "  y[n] = 0.0f;\n");
  EXPECT_SAYS(empty,
              "kernel 'empty_loop', threadgroup (0, 0, 0), thread (0, 0, 0): still runs "
              "after 0.2 s; expected the grid to have ended, at empty_loop:");
  EXPECT_SAYS(fault("reading_loop", "  while (x[ctx.tid.x] >= 0.0f) y[ctx.tid.x] += 1.0f;\n"),
              "thread (0, 0, 0): still runs after 0.2 s");
  EXPECT_SAYS(fault("meeting_loop",
                    "  while (x[ctx.tid.x] >= 0.0f) "
                    "threadgroup_barrier(mem_flags::mem_threadgroup);\n"),
              "): still runs after 0.2 s");
  EXPECT_EQ(fault("ends", "  if (ctx.tg.x == 0u) y[ctx.tid.x] = x[ctx.tid.x];\n"), "");
}
#endif

TEST(SimulatorFaults, LanesThatDoNotWaitForEachOther) {
  const std::string text = R"(
  s[ctx.tid.x] = x[ctx.tid.x];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  y[ctx.tid.x] = s[ctx.tid.x ^ 1u];
)";
  EXPECT_EQ(fault_of(two_buffers("right", text), 1, 64, 64, 64), "");
  const std::string barrier = "simdgroup_barrier(mem_flags::mem_threadgroup);";
  EXPECT_SAYS(fault_of(two_buffers("wrong", without(text, barrier)), 1, 64, 64, 64),
              "where nothing has been written");
  // A simd operation is no barrier, and a barrier is one for the memory that it names.
  const std::string shuffle = "if (simd_shuffle_xor(s[ctx.tid.x], 1) == 7.5f) return;";
  EXPECT_SAYS(fault_of(two_buffers("wrong", without(text, barrier, shuffle)), 1, 64, 64, 64),
              "which thread (1, 0, 0) wrote without a barrier between");
  const std::string device = "simdgroup_barrier(mem_flags::mem_device);";
  EXPECT_SAYS(fault_of(two_buffers("wrong", without(text, barrier, device)), 1, 64, 64, 64),
              "which thread (1, 0, 0) wrote without a barrier between");
}

TEST(SimulatorFaults, DeviceMemoryWithoutItsBarrier) {
  const std::string text = R"(
  y[ctx.tid.x] = x[ctx.tid.x];
  threadgroup_barrier(mem_flags::mem_device);
  float other = y[63u - ctx.tid.x];
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  y[ctx.tid.x] = other;
)";
  EXPECT_EQ(fault_of(two_buffers("right", text, Kind::read_write), 1, 64, 64, 64), "");
  const std::string wrong = without(text, "threadgroup_barrier(mem_flags::mem_device);",
                                    "threadgroup_barrier(mem_flags::mem_threadgroup);");
  EXPECT_SAYS(fault_of(two_buffers("wrong", wrong, Kind::read_write), 1, 64, 64, 64),
              "reads 4 bytes at offset 252 of parameter 'y' of 256 bytes, which thread (63, 0, 0) "
              "wrote without a barrier between");
}

// Nobody goes on before all have come: what was read before the barrier may be written after it.
TEST(SimulatorFaults, BarrierThatNamesNoMemory) {
  const std::string none = "threadgroup_barrier(mem_flags::mem_none);  // before ";
  const KernelSource reads_first =
      two_buffers("none_before_writing", without(kReverse, kBefore + "writing", none + "writing"));
  const KernelSource writes_first =
      two_buffers("none_before_reading", without(kReverse, kBefore + "reading", none + "reading"));
  for (const Order order : {Order::forward, Order::greedy}) {
    EXPECT_EQ(fault_of(reads_first, 1, 64, 64, 64, with(order, true)), "");
    EXPECT_SAYS(fault_of(writes_first, 1, 64, 64, 64, with(order, true)),
                "of threadgroup array 's' of 256 bytes, ");
  }
  const auto among_lanes = [](const std::string& name, const std::string& before_reading,
                              const std::string& before_writing) {
    return two_buffers(
        name, "  s[ctx.lane] = x[ctx.lane];\n  simdgroup_barrier(mem_flags::mem_" + before_reading +
                  ");\n  const float other = s[31u - ctx.lane];\n"
                  "  simdgroup_barrier(mem_flags::mem_" +
                  before_writing + ");\n  s[ctx.lane] = other;\n  y[ctx.lane] = other;\n");
  };
  EXPECT_EQ(fault_of(among_lanes("lanes_none_last", "threadgroup", "none"), 1, 32, 32, 32), "");
  EXPECT_SAYS(fault_of(among_lanes("lanes_none_first", "none", "threadgroup"), 1, 32, 32, 32),
              "without a barrier between");
}

#if defined(__x86_64__)
TEST(SimulatorFaults, DivisionOfAnIntegerByZero) {
  const KernelSource source = two_buffers(
      "divides", "  int zero = int(ctx.lane) - int(ctx.lane);\n  y[0] = float(7 / zero);\n");
  EXPECT_SAYS(fault_of(source, 1, 1, 64, 64, with(Order::forward, false)),
              "divides an integer by zero");
}
#endif

TEST(SimulatorFaults, MisalignedVectors) {
  const KernelSource source =
      two_buffers("misaligned", "  *reinterpret_cast<device ulong*>(y + 1) = ulong(x[0]);\n");
  EXPECT_SAYS(
      fault_of(source, 1, 1, 64, 64),
      "writes 8 bytes at offset 4 of parameter 'y' of 256 bytes, which is not aligned to 8");
#if defined(__x86_64__)
  // Found by the processor, which names no address.
  const KernelSource wide = two_buffers(
      "misaligned_wide",
      "  typedef float wide __attribute__((vector_size(16)));\n"
      "  *reinterpret_cast<wide*>(y + 1) = *reinterpret_cast<const wide*>(x) * 2.0f;\n");
  EXPECT_SAYS(fault_of(wide, 1, 1, 64, 64, with(Order::forward, false)),
              "makes a vector access at an address that is not aligned for it");
#endif
}

// Whatever lies beside them, the simulator's own lists are not what a wild pointer is about.
TEST(SimulatorFaults, WildPointersAreNotBlamedOnTheSimulator) {
  const KernelSource source = two_buffers(
      "beside_contexts",
      "  y[0] = reinterpret_cast<const float*>(hearth_simulator)[4096u * (1u + p.n)] + x[0];\n");
  const std::string fault = fault_of(source, 1, 1, 64, 64);
  EXPECT_SAYS(fault, "thread (0, 0, 0): reads 4 bytes at ");
  EXPECT_EQ(fault.find("the simulator's"), fault.npos) << fault;
}

// Where the memory of a process lies is chance, so these addresses are made up.
TEST(SimulatorFaults, WildPointersBelongToWhatLiesNear) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); };
  std::vector<AccessRange> ranges(3);
  ranges[0].name = "the simulator's contexts";
  ranges[0].begin = at(0x1000'0000);
  ranges[0].bytes = 4096;
  ranges[0].is_named = false;
  ranges[1].name = "parameter 'p'";
  ranges[1].begin = at(0x2000'0000);
  ranges[1].bytes = 4;
  ranges[2].name = "parameter 'x'";
  ranges[2].begin = at(0x4000'0000);
  ranges[2].bytes = 0x100'0000;
  const std::string none = "an address that belongs to no parameter";
  EXPECT_SAYS(describe(at(0x1000'2000), ranges), none);
  EXPECT_SAYS(describe(at(0x2000'0000 - 11'777'232), ranges), none);
  EXPECT_SAYS(describe(nullptr, ranges), none);
  EXPECT_EQ(describe(at(0x1000'0004), ranges),
            "offset 4 of the simulator's contexts of 4096 bytes");
  EXPECT_EQ(describe(at(0x2000'0190), ranges), "offset 400 of parameter 'p' of 4 bytes");
  EXPECT_EQ(describe(at(0x2000'0000 - 400), ranges), "offset -400 of parameter 'p' of 4 bytes");
  EXPECT_EQ(describe(at(0x4800'0000), ranges),
            "offset 134217728 of parameter 'x' of 16777216 bytes");
}

TEST(SimulatorFaults, NameLinesOfTheText) {
  SimOptions options;
  options.debug = true;
  const std::string reads = "  float sum = 0.0f;\n  sum += x[ctx.tid.x + p.n];\n  y[0] = sum;\n";
  EXPECT_SAYS(fault_of(two_buffers("lines", reads), 1, 1, 64, 64, options),
              "reads 4 bytes at offset 400 of parameter 'x' of 256 bytes, at lines:5");
  const std::string spoils =
      "  float local[4] = {};\n  local[int(ctx.tid.x) - int(p.n)] = 1.0f;\n"
      "  y[0] = local[x[0] == 0.0f ? 0 : 1];\n";
  EXPECT_SAYS(fault_of(two_buffers("own_array", spoils), 1, 1, 64, 64, options),
              "uses index -100 of an array of type 'float [4]', at own_array:5");
  const std::string wide = "  *reinterpret_cast<device float4*>(y + 1) = float4(x[0]);\n";
  EXPECT_SAYS(fault_of(two_buffers("wide_store", wide), 1, 1, 64, 64, options),
              "at offset 4 of parameter 'y' of 256 bytes, which is not aligned to 16 bytes, at "
              "wide_store:4");
}

TEST(SimulatorFaults, ReadsBehindTheEnd) {
  const KernelSource wrong = two_buffers("wrong", R"(
  float sum = 0.0f;
  for (uint i = ctx.gid.x; i <= p.n; i += 128) sum += x[i];
  if (ctx.gid.x < p.n) y[ctx.gid.x] = sum;
)");
  EXPECT_SAYS(fault_of(wrong, 2, 64, 100, 100),
              "sim: kernel 'wrong', threadgroup (1, 0, 0), thread (36, 0, 0): reads 4 bytes at "
              "offset 400 of parameter 'x' of 400 bytes");
}

TEST(SimulatorFaults, WritesBehindTheEnd) {
  const KernelSource wrong =
      two_buffers("wrong", "if (ctx.gid.x <= p.n) y[ctx.gid.x] = x[ctx.gid.x % p.n];");
  EXPECT_SAYS(fault_of(wrong, 2, 64, 100, 100),
              "threadgroup (1, 0, 0), thread (36, 0, 0): writes 4 bytes at offset 400 of parameter "
              "'y' of 400 bytes");
}

TEST(SimulatorFaults, ReadsBeforeTheBeginning) {
  const KernelSource wrong = two_buffers("wrong", "y[ctx.gid.x] = x[int(ctx.gid.x) - 1];");
  EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64),
              "thread (0, 0, 0): reads 4 bytes at offset -4 of parameter 'x' of 256 bytes");
  SimOptions left = with(Order::forward, false);
  left.placement = Placement::left;
  EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64, left),
              "thread (0, 0, 0): faults at offset -4 of parameter 'x' of 256 bytes");
}

TEST(SimulatorFaults, GuardPagesWithoutTheChecker) {
  const KernelSource wrong = two_buffers("wrong", "y[ctx.gid.x + (ctx.gid.x / 63)] = 1.0f;");
  EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64, with(Order::forward, false)),
              "sim: kernel 'wrong', threadgroup (0, 0, 0), thread (63, 0, 0): faults at offset 256 "
              "of parameter 'y' of 256 bytes");
  const KernelSource wild = two_buffers("wild", "y[ulong(ctx.gid.x) << 40] = 1.0f;");
  EXPECT_SAYS(fault_of(wild, 1, 64, 64, 64, with(Order::forward, false)),
              "thread (1, 0, 0): faults at an address that belongs to no parameter");
}

TEST(SimulatorFaults, NeighboursInOneBlock) {
  const KernelSource wrong = two_buffers("wrong", "y[ctx.gid.x] = x[ctx.gid.x + 1];");
  Simulator sim;
  const Address block = sim.upload(counting(128));
  const SizeParams p = {64};
  // The element after x is the first of y.
  sim.run(wrong, 1, 64, {floats(block, 64), floats(block + 256, 64), constant(p)});
  EXPECT_SAYS(sim.fault(), "thread (63, 0, 0): reads 4 bytes at offset 256 of parameter 'x'");
}

TEST(SimulatorFaults, ThreadgroupArraysEnd) {
  const KernelSource wrong = two_buffers("wrong", "s[ctx.tid.x + 1] = 1.0f;");
  EXPECT_SAYS(
      fault_of(wrong, 1, 64, 64, 64),
      "thread (63, 0, 0): writes 4 bytes at offset 256 of threadgroup array 's' of 256 bytes");
  EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64, with(Order::forward, false)),
              "thread (63, 0, 0): faults at offset 256 of threadgroup array 's' of 256 bytes");
}

TEST(SimulatorFaults, ConstantsEnd) {
  const KernelSource wrong =
      two_buffers("wrong", "constant uint* all = &p.n; y[ctx.gid.x] = float(all[1]);");
  EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64),
              "reads 4 bytes at offset 4 of parameter 'p' of 4 bytes");
}

TEST(SimulatorFaults, ParametersUsedAgainstTheirKind) {
  const KernelSource writes =
      two_buffers("wrong", "device float* all = (device float*)x; all[ctx.gid.x] = 1.0f;");
  EXPECT_SAYS(
      fault_of(writes, 1, 64, 64, 64),
      "thread (0, 0, 0): writes 4 bytes at offset 0 of parameter 'x' of 256 bytes, which may "
      "only be read");
  const KernelSource reads = two_buffers("wrong", "y[ctx.gid.x] += 1.0f;");
  EXPECT_SAYS(
      fault_of(reads, 1, 64, 64, 64),
      "thread (0, 0, 0): reads 4 bytes at offset 0 of parameter 'y' of 256 bytes, which may "
      "only be written");
}

TEST(SimulatorFaults, ThreadgroupsThatShareAnElement) {
  EXPECT_SAYS(
      fault_of(two_buffers("wrong", "if (ctx.tid.x == 5) y[ctx.tg.x / 2] = 1.0f;"), 3, 64, 64, 64),
      "threadgroup (1, 0, 0), thread (5, 0, 0): writes 4 bytes at offset 0 of parameter 'y' of "
      "256 bytes, which thread (5, 0, 0) of threadgroup (0, 0, 0) wrote in the same launch");
  const KernelSource reads =
      two_buffers("wrong", "if (ctx.tid.x == 0) y[ctx.tg.x] = y[0] + 1.0f;", Kind::read_write);
  EXPECT_SAYS(fault_of(reads, 3, 64, 64, 64), "in the same launch");
  EXPECT_SAYS(fault_of(reads, 3, 64, 64, 64, with(Order::reverse, true)),
              "writes 4 bytes at offset 0 of parameter 'y' of 256 bytes, which other threadgroups "
              "read in the same launch");
}

TEST(SimulatorFaults, AtomicsBesidePlainAccesses) {
  const auto mixed = [](const std::string& plain) {
    return kernel(
        "wrong",
        "void wrong(device atomic_uint* count, Ctx ctx) {\n"
        "if (ctx.tid.x == 0) atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);\n" +
            plain + "}\n",
        {{Kind::read_write, "atomic_uint", "count"}});
  };
  const auto fault = [](const KernelSource& source) {
    Simulator sim;
    const Address count = sim.upload(std::vector<std::uint32_t>{0, 0});
    sim.run(source, 2, 64, {floats(count, 2)});
    return sim.fault();
  };
  EXPECT_EQ(fault(mixed("")), "");
  EXPECT_SAYS(fault(mixed("if (ctx.tid.x == 32) *(device uint*)count = 1u;")),
              "writes 4 bytes at offset 0 of parameter 'count' of 8 bytes, which thread (0, 0, 0) "
              "wrote without a barrier between");
  EXPECT_SAYS(fault(mixed("if (ctx.gid.x == 64) atomic_store_explicit(count + 1, "
                          "*(device uint*)count, memory_order_relaxed);")),
              "in the same launch");
}

TEST(SimulatorFaults, UninitialisedThreadgroupMemory) {
  const KernelSource wrong = two_buffers("wrong", "y[ctx.tid.x] = s[ctx.tid.x];");
  EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64),
              "reads 4 bytes at offset 0 of threadgroup array 's' of 256 bytes, where nothing has "
              "been written");
  // Also where the threadgroup before has left something.
  Simulator sim(with(Order::forward, false));
  const Address y = sim.allocate(64);
  const SizeParams p = {0};
  const KernelSource leaves =
      two_buffers("leaves", "y[ctx.tid.x] = s[ctx.tid.x]; s[ctx.tid.x] = 1.0f;");
  sim.run(leaves, 2, 64, {floats(sim.upload(counting(64)), 64), floats(y, 64), constant(p)});
  for (const float value : sim.download(y, 64)) EXPECT_TRUE(std::isnan(value));
}

TEST(SimulatorFaults, BarrierThatSomeDoNotReach) {
  const KernelSource wrong = two_buffers(
      "wrong", "if (ctx.tid.x >= 40) return;\nthreadgroup_barrier(mem_flags::mem_threadgroup);");
  const KernelSource other = two_buffers("wrong", R"(
  if (ctx.tid.x < 32) {
    for (uint i = 99; i < p.n; ++i) {
      y[ctx.tid.x] = float(i);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  } else {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
)");
  for (const SimOptions& options : all_options()) {
    EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64, options),
                "thread (40, 0, 0): has returned, while 40 of 64 threads wait at a barrier");
    EXPECT_SAYS(fault_of(other, 1, 64, 64, 64, options),
                "thread (32, 0, 0): is at another barrier than thread 0");
  }
}

TEST(SimulatorFaults, SimdOperationThatSomeDoNotReach) {
  const KernelSource returned =
      two_buffers("wrong", "if (ctx.lane == 3) return;\ny[ctx.tid.x] = simd_sum(x[ctx.tid.x]);");
  const KernelSource waits = two_buffers("wrong", R"(
  float value = x[ctx.tid.x];
  if (ctx.tid.x < 48) value = simd_sum(value);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[ctx.tid.x] = value;
)");
  const KernelSource other = two_buffers("wrong", R"(
  float value = x[ctx.tid.x];
  if (ctx.lane < 16) {
    value = simd_sum(value);
  } else {
    value = simd_max(value);
  }
  y[ctx.tid.x] = value;
)");
  for (const SimOptions& options : all_options()) {
    EXPECT_SAYS(fault_of(returned, 1, 64, 64, 64, options),
                "thread (0, 0, 0): waits in a simd operation that lane 3 of its simdgroup does not "
                "reach: it has returned");
    EXPECT_SAYS(
        fault_of(waits, 1, 64, 64, 64, options),
        "thread (32, 0, 0): waits in a simd operation that lane 16 of its simdgroup does not "
        "reach: it waits at a barrier (deadlock)");
    EXPECT_SAYS(fault_of(other, 1, 64, 64, 64, options),
                "thread (16, 0, 0): is in another simd operation than lane 0 of its simdgroup");
  }
  EXPECT_SAYS(fault_of(returned, 1, 48, 64, 64), "in a simdgroup of 16 threads");
}

TEST(SimulatorFaults, StacksEnd) {
  const KernelSource wrong = two_buffers("wrong", R"(
  float large[40000];
  for (uint i = 0; i < 40000; ++i) large[(i * p.n) % 40000] = float(i);
  y[ctx.tid.x] = large[ctx.tid.x * p.n];
)");
  for (const bool check : {true, false}) {
    EXPECT_SAYS(fault_of(wrong, 1, 64, 64, 64, with(Order::forward, check)),
                "has used up its stack");
  }
}

TEST(SimulatorFaults, LaunchesBeyondTheLimits) {
  KernelSource source = two_buffers("narrow", "y[ctx.gid.x] = 1.0f;");
  source.max_threads = 32;
  EXPECT_SAYS(fault_of(source, 1, 64, 64, 64),
              "too many threads in a threadgroup; got 64, expected at most 32");
  source = two_buffers("wide", "y[ctx.gid.x] = 1.0f;");
  // More than every kernel has, as launches may ask for.
  source.parameters[3].count = 10'000;
  EXPECT_EQ(fault_of(source, 1, 64, 64, 64), "");
  source = two_buffers("wider", "y[ctx.gid.x] = 1.0f;");
  source.parameters[3].count = 30'000;
  EXPECT_SAYS(fault_of(source, 1, 64, 64, 64),
              "too much threadgroup memory; got 120000, expected at most 101376");
  EXPECT_SAYS(fault_of(source, 0, 64, 64, 64), "runs on an empty grid");
}

TEST(SimulatorFaults, AreThrownOnce) {
  const KernelSource wrong = two_buffers("wrong", "y[64] = 1.0f;");
  const KernelSource right = two_buffers("right", "y[ctx.gid.x] = x[ctx.gid.x];");
  Simulator sim;
  const Address x = sim.upload(counting(64));
  const Address y = sim.allocate(64);
  const SizeParams p = {64};
  const std::vector<runtime::Argument> arguments = {floats(x, 64), floats(y, 64), constant(p)};
  sim.run(wrong, 1, 64, arguments);
  sim.run(right, 1, 64, arguments);
  EXPECT_THROW(sim.download(y, 64), Error);
  EXPECT_EQ(sim.download(y, 64), counting(64));
}

}  // namespace
}  // namespace hearth::sim
