// Products by simdgroup matrices with each of their tiles, and by those of every GPU, against sums
// in f64: edges of tiles, layouts, batches, epilogues, rows with gaps between them, shared inner
// axes; with NaN all around what they may read. On the simulator races and accesses are checked.
#include "graph/selector.h"
#include "kernels/families.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/simdgroup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "check.h"
#include "devices/element.h"
#include "devices/sim/sim_driver.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "kernels/autotune/candidate_plan.h"
#include "kernels/launch/step_plan.h"
#include "ops/definition/defs.h"
#include "runtime/commands/command_batch.h"
#include "runtime/commands/encoder.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::gpu {
namespace {

using check::Values;

constexpr std::int64_t kMargin = 32;  // elements around an operand
constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16};

enum class Lie { rows, tight, columns, gaps, backwards };
enum class After { nothing, bias_relu, residual_gelu };

struct Case {
  DType dtype = DType::f32;
  std::int64_t m = 1, n = 1, k = 1;
  Lie a = Lie::tight, b = Lie::tight;
  After after = After::nothing;
  Shape batch = {};                   // of the result
  bool one_a = false, one_b = false;  // the same for all of the last batch axis
  std::int64_t c_gap = 0;
  std::int64_t shift = 0;  // elements that operands begin after an aligned address
  std::int64_t shares = 1;
};

std::string text(const Case& c) {
  return std::string(name(c.dtype)) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
         std::to_string(c.k) + " a " + std::to_string(static_cast<int>(c.a)) + " b " +
         std::to_string(static_cast<int>(c.b)) + " after " +
         std::to_string(static_cast<int>(c.after)) + " shift " + std::to_string(c.shift) +
         " shares " + std::to_string(c.shares);
}

// Memory of NaN with an operand in it.
struct Operand {
  TensorSpec spec;
  std::int64_t first = 0;  // element
  std::vector<std::byte> bytes;

  std::int64_t place(std::int64_t i) const {
    std::int64_t at = first;
    for (int axis = spec.shape.rank() - 1; axis >= 0; --axis) {
      at += i % spec.shape[axis] * spec.strides[axis];
      i /= spec.shape[axis];
    }
    return at;
  }
  double operator[](std::int64_t i) const {
    return cpu::get_element(bytes.data(), place(i), spec.dtype);
  }
};

Operand poisoned(DType dtype, const Shape& shape, Lie lie, std::int64_t gap, std::int64_t shift,
                 bool broadcast) {
  Operand made;
  const int rank = shape.rank();
  const std::int64_t rows = shape[rank - 2], cols = shape[rank - 1];
  made.spec = {dtype, shape, Strides::filled(rank, 0), false};
  Strides& strides = made.spec.strides;
  const auto padded = [](std::int64_t count) { return (count + 7) / 8 * 8 + 8; };
  std::int64_t line = lie == Lie::rows ? padded(cols) : cols + gap;
  if (lie == Lie::columns) line = padded(rows);
  if (lie == Lie::gaps) line = 2 * cols + 3;
  const std::int64_t lines = lie == Lie::columns ? cols : rows;
  strides[rank - 2] = lie == Lie::columns ? 1 : lie == Lie::backwards ? -line : line;
  strides[rank - 1] = lie == Lie::columns ? line : lie == Lie::gaps ? 2 : 1;
  made.first = kMargin + shift + (lie == Lie::backwards ? (rows - 1) * line : 0);
  std::int64_t step = lines * line;
  for (int axis = rank - 3; axis >= 0; --axis) {
    const bool same = broadcast && axis == rank - 3;
    strides[axis] = same ? 0 : step;
    if (!same) step *= shape[axis];
  }
  made.bytes.assign(static_cast<std::size_t>((step + shift + 2 * kMargin) * size_of(dtype)),
                    std::byte{0xff});
  return made;
}

class SimdgroupMatmul : public ::testing::Test {
 protected:
  SimdgroupMatmul() : driver_(driver()), registry_(registry()) {}
  ~SimdgroupMatmul() override { release(); }

  // The device's; in place of the simulator's one that checks.
  static runtime::Driver& driver() {
    const Device device = testing::kernel_device_under_test();
    if (device != Device::named("sim")) return *device.impl().driver();
    static auto* const checking = new sim::SimDriver(sim::SimOptions{.check = true});
    return *checking;
  }
  // Kernels are compiled once for all tests.
  static runtime::KernelRegistry& registry() {
    static auto* const made = new runtime::KernelRegistry(driver(), runtime::KernelCache(""));
    return *made;
  }
  void release() {
    for (const Address block : blocks_) driver_.free(block);
    blocks_.clear();
  }

  Operand random_operand(DType dtype, const Shape& shape, Lie lie, std::int64_t shift,
                         bool broadcast) {
    Operand made = poisoned(dtype, shape, lie, 0, shift, broadcast);
    std::uniform_real_distribution<double> values(-1, 1);
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      cpu::set_element(made.bytes.data(), made.place(i), dtype, values(random_));
    }
    return made;
  }
  Address upload(const Operand& operand) {
    const auto bytes = static_cast<std::int64_t>(operand.bytes.size());
    const Address block = blocks_.emplace_back(driver_.allocate(bytes));
    driver_.copy_to_device(block, operand.bytes.data(), bytes);
    return block + operand.first * size_of(operand.spec.dtype);
  }

  // The operands of a case, and what it should give.
  struct Problem {
    Signature signature;
    std::vector<Operand> inputs;
    Operand output;
    Values expected;
  };
  Problem make(const Case& c) {
    Problem made;
    const auto shape = [&](std::int64_t rows, std::int64_t cols) {
      Shape all = c.batch;
      all.push_back(rows);
      all.push_back(cols);
      return all;
    };
    made.inputs = {random_operand(c.dtype, shape(c.m, c.k), c.a, c.shift, c.one_a),
                   random_operand(c.dtype, shape(c.k, c.n), c.b, c.shift, c.one_b)};
    Signature& signature = made.signature;
    signature.op = &defs::matmul_op;
    if (c.after == After::bias_relu) {
      made.inputs.push_back(random_operand(c.dtype, {1, c.n}, Lie::tight, c.shift, false));
      signature.epilogue = {{&defs::add_op, 2}, {&defs::relu_op}};
    } else if (c.after == After::residual_gelu) {
      made.inputs.push_back(random_operand(c.dtype, shape(c.m, c.n), Lie::tight, c.shift, false));
      signature.epilogue = {{&defs::add_op, 2}, {&defs::gelu_tanh_op}};
    }
    made.output = poisoned(c.dtype, shape(c.m, c.n), Lie::tight, c.c_gap, c.shift, false);
    for (const Operand& input : made.inputs) signature.inputs.push_back(input.spec);
    signature.output = made.output.spec;
    for (std::int64_t i = 0; i < element_count(made.output.spec.shape); ++i) {
      const std::int64_t row = i / c.n, col = i % c.n, batch = row / c.m;
      double sum = 0;
      for (std::int64_t q = 0; q < c.k; ++q) {
        sum += made.inputs[0][row * c.k + q] * made.inputs[1][(batch * c.k + q) * c.n + col];
      }
      if (c.after == After::bias_relu) sum = std::max(0.0, sum + made.inputs[2][col]);
      if (c.after == After::residual_gelu) {
        sum += made.inputs[2][i];
        sum *= 0.5 * (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
      }
      made.expected.push_back(sum);
    }
    return made;
  }

  // What the launch leaves where the output lies, as bytes.
  std::vector<std::byte> run(const Problem& problem, const Prepared& prepared) {
    std::vector<Address> operands;
    for (const Operand& input : problem.inputs) operands.push_back(upload(input));
    operands.push_back(upload(problem.output));
    Address workspace = nullptr;
    if (prepared.workspace_bytes > 0) {
      workspace = blocks_.emplace_back(driver_.allocate(prepared.workspace_bytes));
    }
    runtime::CommandBatch batch;
    runtime::Encoder encoder(registry_, batch, driver_.properties(), nullptr, 0);
    launch_steps({&problem.signature, prepared.state.get(), operands.data(),
                  static_cast<int>(operands.size()), workspace, nullptr, 0, &encoder});
    driver_.submit(batch.commands());
    launches_ = static_cast<int>(batch.size());
    std::vector<std::byte> bytes(problem.output.bytes.size());
    driver_.copy_to_host(
        bytes.data(), operands.back() - problem.output.first * size_of(problem.output.spec.dtype),
        static_cast<std::int64_t>(bytes.size()));
    release();
    return bytes;
  }
  void expect_result(const Problem& problem, const std::vector<std::byte>& bytes) {
    Operand got = problem.output;
    got.bytes = bytes;
    Values values;
    for (std::int64_t i = 0; i < element_count(got.spec.shape); ++i) values.push_back(got[i]);
    check::expect_close(values, problem.expected, check::tolerance(got.spec.dtype));
    // What is no element is as it was.
    Operand outside = problem.output;
    outside.bytes = bytes;
    const auto item = static_cast<std::size_t>(size_of(got.spec.dtype));
    for (std::int64_t i = 0; i < element_count(got.spec.shape); ++i) {
      const std::size_t at = static_cast<std::size_t>(got.place(i)) * item;
      std::fill_n(outside.bytes.begin() + static_cast<std::ptrdiff_t>(at), item, std::byte{0xff});
    }
    EXPECT_TRUE(outside.bytes == problem.output.bytes);
  }
  // With one tile, or null: matmul/tiles.metal.
  std::vector<std::byte> check(const Case& c, const SimdgroupTile* tile) {
    SCOPED_TRACE(text(c) + (tile == nullptr
                                ? " tiles"
                                : " by " + std::to_string(tile->m) + "x" + std::to_string(tile->n) +
                                      "x" + std::to_string(tile->depth)));
    random_.seed(7);
    const Problem problem = make(c);
    EXPECT_TRUE(accepts_simdgroup(problem.signature));
    auto bytes =
        run(problem, tile == nullptr ? prepare_tiles(problem.signature)
                                     : simdgroup_matmul(problem.signature, *tile, c.shares));
    expect_result(problem, bytes);
    return bytes;
  }
  // With every tile, which must give the same bits, and with matmul/tiles.metal.
  void check_all(const Case& c) {
    check(c, nullptr);
    std::vector<std::byte> first;
    for (const SimdgroupTile& tile : all_tiles()) {
      auto bytes = check(c, &tile);
      if (first.empty()) first = bytes;
      EXPECT_TRUE(bytes == first) << text(c);
    }
  }
  static Signature signature_of(std::int64_t m, std::int64_t n, std::int64_t k,
                                DType dtype = DType::f32) {
    Signature signature;
    signature.op = &defs::matmul_op;
    signature.inputs = {{dtype, {m, k}, {k, 1}, false}, {dtype, {k, n}, {n, 1}, false}};
    signature.output = {dtype, {m, n}, {n, 1}, false};
    return signature;
  }
  static std::vector<SimdgroupTile> all_tiles() {
    return simdgroup_tiles(signature_of(8, 8, 8), 8);
  }

  runtime::Driver& driver_;
  runtime::KernelRegistry& registry_;
  std::mt19937 random_;
  std::vector<Address> blocks_;
  int launches_ = 0;
};

TEST_F(SimdgroupMatmul, EdgesOfEveryTile) {
  for (const SimdgroupTile& tile : all_tiles()) {
    for (std::int64_t i = 1; i <= tile.m + 1; i += i % 8 == 1 ? 6 : 1) {
      check({.m = i, .n = 9, .k = tile.depth + 1}, &tile);
    }
    for (std::int64_t i = 1; i <= tile.n + 1; i += i % 8 == 1 ? 6 : 1) {
      check({.m = 9, .n = i, .k = 3}, &tile);
    }
    for (std::int64_t i = 1; i <= tile.depth + 1; ++i) check({.m = 5, .n = 4, .k = i}, &tile);
  }
}

TEST_F(SimdgroupMatmul, EveryTileInEveryLayoutGivesTheSameBits) {
  using enum Lie;
  using enum DType;
  check_all({.dtype = f32, .m = 70, .n = 67, .k = 45, .a = rows, .b = rows});
  check_all({.dtype = f16, .m = 67, .n = 33, .k = 40, .a = columns, .b = columns});
  check_all({.dtype = bf16, .m = 17, .n = 66, .k = 19, .a = rows, .b = columns});
  check_all({.dtype = f16, .m = 33, .n = 16, .k = 16, .a = columns, .b = rows});
  check_all({.dtype = f32, .m = 66, .n = 35, .k = 36, .a = columns, .b = columns});
}

TEST_F(SimdgroupMatmul, GapsAndAddressesBetweenPackets) {
  const SimdgroupTile tile = all_tiles().front();
  for (const DType dtype : kDTypes) {
    for (const Lie lie : {Lie::rows, Lie::columns, Lie::gaps, Lie::backwards}) {
      for (const std::int64_t shift : {0, 1, 4, 8}) {
        check({.dtype = dtype, .m = 11, .n = 24, .k = 24, .a = lie, .b = Lie::rows, .shift = shift},
              &tile);
        check({.dtype = dtype, .m = 11, .n = 24, .k = 24, .b = lie, .shift = shift}, &tile);
      }
    }
  }
}

TEST_F(SimdgroupMatmul, BatchesAndBroadcasting) {
  for (const SimdgroupTile& tile : all_tiles()) {
    const Case c{.m = 9, .n = 12, .k = 20, .batch = {3, 2}};
    check(c, &tile);
    for (const bool one_a : {false, true}) {
      Case broadcast = c;
      (one_a ? broadcast.one_a : broadcast.one_b) = true;
      broadcast.a = one_a ? Lie::rows : Lie::columns;
      check(broadcast, &tile);
    }
  }
}

TEST_F(SimdgroupMatmul, Epilogues) {
  for (const DType dtype : kDTypes) {
    const Case c{.dtype = dtype,
                 .m = 35,
                 .n = 66,
                 .k = 18,
                 .b = Lie::columns,
                 .after = dtype == DType::f16 ? After::bias_relu : After::residual_gelu};
    check_all(c);
    Case batched = c;
    batched.batch = {2};
    batched.c_gap = 6;
    const SimdgroupTile tile = all_tiles().back();
    check(batched, &tile);
    batched.k = 70;
    batched.shares = 3;
    check(batched, &tile);
    batched.after = After::bias_relu;
    check(batched, &tile);
  }
}

TEST_F(SimdgroupMatmul, RowsWithGapsBetweenThem) {
  check_all({.dtype = DType::f16, .m = 10, .n = 13, .k = 8, .c_gap = 3});
}

TEST_F(SimdgroupMatmul, ThreadgroupsShareTheInnerAxis) {
  for (const std::int64_t shares : {2, 3, 4}) {
    check_all({.m = 12, .n = 10, .k = 130, .shares = shares});
    EXPECT_EQ(launches_, 2);
    check_all({.dtype = DType::bf16,
               .m = 5,
               .n = 33,
               .k = 67,
               .a = Lie::rows,
               .b = Lie::columns,
               .c_gap = 7,
               .shares = shares});
  }
  // More than there are slices, and none.
  check_all({.m = 12, .n = 10, .k = 20, .shares = 9});
  EXPECT_EQ(launches_, 1);
}

// Panels of threadgroups: more rows of tiles than one has.
TEST_F(SimdgroupMatmul, ManyTiles) {
  const SimdgroupTile tile{32, 32, 16};
  for (const DType dtype : kDTypes)
    check({.dtype = dtype, .m = 32 * 18 + 5, .n = 70, .k = 3}, &tile);
}

TEST_F(SimdgroupMatmul, ZerosAroundDoNotMeetNaN) {
  Case c{.m = 3, .n = 5, .k = 6};
  for (const SimdgroupTile& tile : all_tiles()) {
    random_.seed(3);
    Problem problem = make(c);
    // The last row of a is NaN, the second column of b infinite.
    for (std::int64_t q = 0; q < c.k; ++q) {
      Operand &a = problem.inputs[0], &b = problem.inputs[1];
      cpu::set_element(a.bytes.data(), a.place(2 * c.k + q), c.dtype, check::kNan);
      cpu::set_element(b.bytes.data(), b.place(q * c.n + 1), c.dtype, q == 0 ? check::kInf : 0);
    }
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        double& expected = problem.expected[static_cast<std::size_t>(i * c.n + j)];
        if (j == 1) expected = std::copysign(check::kInf, problem.inputs[0][i * c.k]);
        if (i == 2) expected = check::kNan;
      }
    }
    expect_result(problem, run(problem, simdgroup_matmul(problem.signature, tile, 1)));
  }
}

TEST_F(SimdgroupMatmul, TheTileAndTheSharesFitTheGpu) {
  const auto first = [](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cores) {
    const SimdgroupTile tile = simdgroup_tiles(signature_of(m, n, k), cores).front();
    return tile.m * tile.n;
  };
  for (const std::int64_t cores : {8, 16, 32, 64}) {
    EXPECT_EQ(first(4096, 4096, 4096, cores), 64 * 64);
    EXPECT_EQ(first(32, 32, 4096, cores), 32 * 32);
    EXPECT_EQ(simdgroup_shares(signature_of(4096, 4096, 4096), cores), 1);
    EXPECT_EQ(simdgroup_shares(signature_of(64, 64, 256), cores), 1);
    EXPECT_GT(simdgroup_shares(signature_of(64, 64, 8192), cores), 1);
  }
  EXPECT_LE(first(512, 512, 512, 64), first(512, 512, 512, 8));
  Signature integers = signature_of(8, 8, 8, DType::i32);
  EXPECT_FALSE(accepts_simdgroup(integers));
  EXPECT_FALSE(accepts_simdgroup(signature_of(8, 8, 8, DType::f64)));
}

// Vectors and integers stay with their kernels.
TEST_F(SimdgroupMatmul, OthersAreNone) {
  SelectorOptions options{.families = families()};
  options.traits.has_simdgroup_matrix = true;
  const Selector selector(options);
  const auto launches = [&](const Signature& signature) {
    const Prepared prepared = selector.prepare(*selector.find(signature), signature);
    const auto* plan = static_cast<const KernelPlan*>(prepared.state.get());
    return static_cast<const StepPlan*>(plan)->steps()[0].kernel->source()->name;
  };
  EXPECT_TRUE(launches(signature_of(64, 64, 64)).starts_with("matmul_simdgroup_"));
  EXPECT_TRUE(launches(signature_of(64, 64, 64, DType::i32)).starts_with("matmul_uint"));
  Signature vector = signature_of(1, 512, 512);
  vector.inputs[1].strides = {1, 512};
  EXPECT_TRUE(launches(vector).starts_with("matvec_"));
}

}  // namespace
}  // namespace hearth::gpu
