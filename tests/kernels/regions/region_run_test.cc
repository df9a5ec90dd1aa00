// Elementwise regions on the simulator give the bits that the CPU gives.
#include <numeric>

#include "devices/platform_bits.h"
#include "kernels/regions/region_runner.h"

namespace hearth::gpu_test {
namespace {

using namespace region_test;  // NOLINT(google-build-using-namespace): the ops

#define UNARY(name) &name##_def,
const OpDef* const kUnary[] = {
#include "ops/op_list.def"
};
#define BINARY(name) &name##_def,
const OpDef* const kBinary[] = {
#include "ops/op_list.def"
};
#define COMPARISON(name) &name##_def,
const OpDef* const kComparisons[] = {
#include "ops/op_list.def"
};
#define LOGICAL(name) &name##_def,
const OpDef* const kLogical[] = {
#include "ops/op_list.def"
};

bool takes_integers(const OpDef& op) {
  if (op.accepts_dtype == nullptr || op.accepts_dtype(DType::i32)) return true;
  const std::string name = op.name.text;
  for (const char* one : {"floor", "ceil", "round", "relu"}) {
    if (name == one) return true;
  }
  return false;
}
bool takes_floats(const OpDef& op) {
  return op.accepts_dtype == nullptr || op.accepts_dtype(DType::f32);
}
bool is_platforms(const OpDef& op) { return platform_bits(op.name.text) != nullptr; }

// A region with one output for each instruction.
class Ops {
 public:
  Ops(DType dtype, std::int64_t count) {
    region.shape = {count};
    for (int i = 0; i < 3; ++i) region.inputs.push_back({dtype, {1}});
    region.inputs.push_back({DType::bool_, {1}});
    region.scalars.push_back({dtype, 1});
  }
  void add(const OpDef& op, DType dtype, std::initializer_list<int> args) {
    RegionInstruction instruction{&op, dtype, {-1, -1, -1, -1}};
    int k = 0;
    for (const int arg : args) instruction.args[k++] = static_cast<std::int16_t>(arg);
    region.instructions.push_back(instruction);
    const int value = region.first_result() + static_cast<int>(region.instructions.size()) - 1;
    region.outputs.push_back({dtype, value, {1}});
  }
  Region region;
};

void add_ops(Ops& ops, DType dtype, bool platforms) {
  constexpr int kScalar = 4;
  if (is_bool(dtype)) {
    for (const OpDef* op : kLogical) ops.add(*op, dtype, {0, 1});
    ops.add(logical_not_def, dtype, {0});
  } else {
    for (const OpDef* op : kUnary) {
      if (is_platforms(*op) == platforms &&
          (is_float(dtype) ? takes_floats(*op) : takes_integers(*op))) {
        ops.add(*op, dtype, {0});
      }
    }
    for (const OpDef* op : kBinary) {
      if (is_float(dtype) ? is_platforms(*op) == platforms && takes_floats(*op)
                          : takes_integers(*op)) {
        ops.add(*op, dtype, {0, 1});
      }
    }
  }
  if (platforms) return;
  for (const OpDef* op : kComparisons) ops.add(*op, DType::bool_, {0, 1});
  if (!is_bool(dtype)) ops.add(signbit_def, DType::bool_, {0});
  if (is_float(dtype)) {
    for (const OpDef* op : {&is_nan_def, &is_inf_def, &is_finite_def}) {
      ops.add(*op, DType::bool_, {0});
    }
  }
  ops.add(where_def, dtype, {3, 0, kScalar});
  if (is_bool(dtype)) return;
  ops.add(clamp_def, dtype, {0, 1, 2});
  if (is_float(dtype)) ops.add(lerp_def, dtype, {0, 1, 2});
  // Products that join sums, and one that does not: it is an output as well.
  ops.add(mul_def, dtype, {0, kScalar});
  const int product =
      ops.region.first_result() + static_cast<int>(ops.region.instructions.size()) - 1;
  ops.add(add_def, dtype, {product, 2});
  for (const bool second : {false, true}) {
    for (const OpDef* op : {&add_def, &sub_def}) {
      ops.add(mul_def, dtype, {0, 1});
      ops.region.outputs.pop_back();
      const int joined =
          ops.region.first_result() + static_cast<int>(ops.region.instructions.size()) - 1;
      if (second) {
        ops.add(*op, dtype, {2, joined});
      } else {
        ops.add(*op, dtype, {joined, 2});
      }
    }
  }
}

TEST(RegionRun, EveryOpInEveryDtype) {
  RegionRunner runner;
  for (const DType dtype : kDTypes) {
    Ops ops(dtype, 1003);
    add_ops(ops, dtype, false);
    runner.check(ops.region);
    if (dtype == DType::f16 || dtype == DType::bf16) {
      ops.region.exact = true;
      runner.check(ops.region);
    }
  }
}

TEST(RegionRun, OpsWithThePlatformsLastBits) {
  RegionRunner runner;
  for (const DType dtype : {DType::f64, DType::f32}) {
    Ops ops(dtype, 1003);
    add_ops(ops, dtype, true);
    runner.check(ops.region, {.values = Values::any, .shifts = {}, .taken = {}, .ulps = 2});
  }
}

TEST(RegionRun, CastsBetweenAllDtypes) {
  RegionRunner runner;
  for (const DType from : kDTypes) {
    Ops ops(from, 515);
    for (const DType to : kDTypes) ops.add(cast_def, to, {0});
    runner.check(ops.region);
  }
}

// where(m, a b + s, a) in f32, its cast to f16, and a comparison; a is f32, b f16 and m bool.
Region mixed(const Shape& shape, const Strides& a, const Strides& b, const Strides& m) {
  Region region;
  region.shape = shape;
  region.inputs = {{DType::f32, a}, {DType::f16, b}, {DType::bool_, m}};
  region.scalars = {{DType::f32, 2}};
  region.instructions = {
      {&cast_def, DType::f32, {1, -1, -1, -1}}, {&mul_def, DType::f32, {0, 4, -1, -1}},
      {&add_def, DType::f32, {5, 3, -1, -1}},   {&where_def, DType::f32, {2, 6, 0, -1}},
      {&cast_def, DType::f16, {7, -1, -1, -1}}, {&less_def, DType::bool_, {7, 0, -1, -1}}};
  const Strides dense = contiguous_strides(shape);
  region.outputs = {{DType::f32, 7, dense}, {DType::f16, 8, dense}, {DType::bool_, 9, dense}};
  return region;
}

TEST(RegionRun, LinearAtEveryLengthAndAlignment) {
  RegionRunner runner(true);
  for (const std::int64_t n : {1, 2, 3, 4, 5, 63, 64, 65, 255, 1027, 5000}) {
    runner.check(mixed({n}, {1}, {1}, {1}));
  }
  // Single elements, also as views of a larger space.
  runner.check(mixed({}, {}, {}, {}));
  runner.check(mixed({3, 5, 7}, {0, 0, 0}, {35, 7, 1}, {0, 0, 0}));
  // Vectors of 1 and 2 elements where addresses allow no more.
  for (const std::vector<std::int64_t>& shifts :
       {std::vector<std::int64_t>{1, 0, 0}, {0, 1, 0}, {0, 2, 0}, {2, 0, 2}, {0, 0, 3}}) {
    runner.check(mixed({517}, {1}, {1}, {1}),
                 {.values = Values::any, .shifts = shifts, .taken = {}});
  }
  runner.check(mixed({0}, {1}, {1}, {1}));
  runner.check(mixed({4, 0, 3}, {0, 3, 1}, {0, 0, 0}, {0, 3, 1}));
}

TEST(RegionRun, VectorsAlongTheInnermostAxis) {
  RegionRunner runner(true);
  runner.check(mixed({30, 8}, {8, 1}, {0, 1}, {1, 0}));  // of 4
  runner.check(mixed({30, 6}, {6, 1}, {0, 1}, {1, 0}));  // of 2
  runner.check(mixed({5, 6, 8}, {8, 80, 1}, {0, 0, 1}, {6, 1, 0}));
  runner.check(mixed({5, 6, 8}, {-48, 8, 1}, {8, -40, 1}, {0, 0, 0}));
  runner.check(mixed({2, 3, 2, 4, 16}, {16, 0, 512, 32, 1}, {0, 16, 64, 0, 1}, {1, 2, 0, 6, 0}));
}

// Axes in a random order, some repeated, some with gaps, some backwards.
Strides random_strides(RegionRunner& runner, const Shape& shape) {
  std::vector<int> order(static_cast<std::size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), runner.random());
  Strides strides = Strides::filled(shape.rank(), 0);
  std::int64_t next = 1;
  for (const int axis : order) {
    const int kind = runner.pick(8);
    if (kind == 0) continue;
    const std::int64_t step = kind == 1 ? 2 : 1;
    strides[axis] = (kind < 4 ? -1 : 1) * next * step;
    next *= step * shape[axis];
  }
  return strides;
}

// A cast of the first input, which lies transposed; with a second one, their sum.
Region turned(DType from, DType to, const Shape& shape, const std::vector<Strides>& strides) {
  Region region;
  region.shape = shape;
  for (const Strides& each : strides) region.inputs.push_back({from, each});
  int value = 0;
  if (strides.size() > 1) {
    region.instructions.push_back({&maximum_def, from, {0, 1, -1, -1}});
    value = static_cast<int>(strides.size());
  }
  region.outputs = {{to, value, contiguous_strides(shape)}};
  return region;
}

TEST(RegionRun, TilesInEveryDtype) {
  RegionRunner runner(true);
  for (const DType dtype : kDTypes) {
    runner.check(turned(dtype, dtype, {144, 160}, {{1, 144}}));
    runner.check(turned(dtype, DType::f32, {48, 272}, {{1, 48}}));
    runner.check(turned(dtype, DType::u8, {34, 66}, {{1, 34}}));
    runner.check(turned(dtype, dtype, {17, 35}, {{1, 17}}));
    runner.check(turned(dtype, dtype, {40, 64}, {{1, 40}, {64, 1}}));
    runner.check(turned(dtype, dtype, {64, 40}, {{1, 64}, {1, 128}}));
  }
}

TEST(RegionRun, TilesOfEveryLayout) {
  RegionRunner runner(true);
  const auto check = [&](const Shape& shape, const std::vector<Strides>& strides,
                         const std::vector<std::int64_t>& shifts = {}) {
    runner.check(turned(DType::f32, DType::f32, shape, strides),
                 {.values = Values::any, .shifts = shifts, .taken = {}});
    runner.check(turned(DType::f16, DType::f32, shape, strides),
                 {.values = Values::any, .shifts = shifts, .taken = {}});
  };
  check({3, 20, 36}, {{720, 1, 20}});  // batches
  check({36, 3, 20}, {{1, 720, 36}});  // rows outside, batches between
  check({2, 3, 20, 24}, {{24, 48, 1, 60}});
  check({20, 36}, {{1, -20}});  // backwards, and with gaps
  check({20, 36}, {{1, 44}});
  check({20, 36}, {{1, 20}}, {1});  // not aligned, or for less
  check({20, 36}, {{1, 20}}, {2});
  check({20, 36}, {{1, 20}, {0, 1}, {1, 0}});
  check({20, 36}, {{1, 20}, {0, 0}, {36, 1}}, {0, 0, 1});
  check({20, 36}, {{-1, 20}});  // not as tiles
  check({20, 36}, {{1, 20}, {2, 40}});
  check({15, 36}, {{1, 15}});
  check({65, 129}, {{1, 65}});
  // More tiles than threadgroup memory has room for.
  check({64, 64}, {{1, 64}, {1, 128}, {1, 192}, {1, 256}, {1, 320}, {1, 384}, {1, 448}, {1, 512}});
}

TEST(RegionRun, StridedOfEveryRank) {
  RegionRunner runner;
  for (int rank = 1; rank <= kMaxRank; ++rank) {
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(rank > 5 ? 2 + runner.pick(2) : 3 + i);
    // Transposed, so that no axes merge, whatever the others are.
    Strides reversed = Strides::filled(rank, 0);
    std::int64_t next = 1;
    for (int i = 0; i < rank; ++i) {
      reversed[i] = (i % 2 == 0 ? -1 : 1) * next;
      next *= shape[i];
    }
    runner.check(mixed(shape, reversed, contiguous_strides(shape), reversed));
    runner.check(
        mixed(shape, reversed, random_strides(runner, shape), random_strides(runner, shape)));
  }
}

TEST(RegionRun, OutputsTakeTheMemoryOfInputs) {
  RegionRunner runner(true);
  // One over its own input, and two, of which the first takes memory that the second one reads.
  Region region;
  region.shape = {1029};
  region.inputs = {{DType::f32, {1}}, {DType::f32, {1}}};
  region.instructions = {{&mul_def, DType::f32, {0, 1, -1, -1}}};
  region.outputs = {{DType::f32, 2, {1}}};
  runner.check(region, {.values = Values::any, .shifts = {}, .taken = {1}});
  region.instructions = {{&neg_def, DType::f32, {0, -1, -1, -1}},
                         {&exp_def, DType::f32, {1, -1, -1, -1}}};
  region.outputs = {{DType::f32, 3, {1}}, {DType::f32, 2, {1}}};
  runner.check(region, {.values = Values::mild, .shifts = {}, .taken = {0, 1}});
}

TEST(RegionRun, CopiesFillsAndUnusedInputs) {
  RegionRunner runner;
  Region copy;
  copy.shape = {33, 17};
  copy.inputs = {{DType::i16, {1, 33}}};
  copy.outputs = {{DType::i16, 0, {17, 1}}};
  runner.check(copy);
  Region fill;
  fill.shape = {1001};
  fill.scalars = {{DType::u8, 0}};
  fill.outputs = {{DType::u8, 0, {1}}};
  runner.check(fill);
  Region unused;
  unused.shape = {100};
  unused.inputs = {{DType::f32, {1}}, {DType::f64, {1}}};
  unused.instructions = {{&exp_def, DType::f64, {1, -1, -1, -1}},
                         {&neg_def, DType::f32, {0, -1, -1, -1}}};
  unused.outputs = {{DType::f32, 3, {1}}};
  runner.check(unused);
}

}  // namespace
}  // namespace hearth::gpu_test
