// Regions that end in a reduction, on the simulator, against the CPU. Elements are chosen so that
// sums and products are exact: results have equal bits whatever the order.
#include <algorithm>
#include <cmath>

#include "graph/lower/layout.h"
#include "hearth/ops.h"
#include "kernels/regions/region_runner.h"

namespace hearth::gpu_test {
namespace {

using namespace region_test;  // NOLINT(google-build-using-namespace): the ops

Strides kept_strides(const Shape& shape, std::uint32_t axes) {
  Strides strides = Strides::filled(shape.rank(), 0);
  std::int64_t next = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if ((axes >> i & 1u) != 0) continue;
    strides[i] = next;
    next *= shape[i];
  }
  return strides;
}

Region reduction(const OpDef& op, DType dtype, const Shape& shape, std::uint32_t axes,
                 const Strides& strides) {
  Region region;
  region.shape = shape;
  region.inputs = {{dtype, strides}};
  const bool truth = &op == &any_def || &op == &all_def;
  region.reduction = {&op, 0, axes, truth ? DType::bool_ : dtype, kept_strides(shape, axes)};
  return region;
}
Region reduction(const OpDef& op, DType dtype, const Shape& shape, std::uint32_t axes) {
  return reduction(op, dtype, shape, axes, contiguous_strides(shape));
}

RegionRunner::Options values_for(const OpDef& op, DType dtype) {
  RegionRunner::Options options;
  if (is_float(dtype) && &op == &sum_def) options.values = Values::counts;
  if (is_float(dtype) && &op == &prod_def) options.values = Values::powers;
  return options;
}

TEST(ReductionRun, EveryOpAndDtypeByRows) {
  RegionRunner runner;
  for (const DType dtype : kDTypes) {
    std::vector<const OpDef*> ops = {size_of(dtype) < 4 ? &max_def : &sum_def};
    if (dtype == DType::f32 || dtype == DType::i8)
      ops = {&sum_def, &prod_def, &max_def, &min_def, &any_def, &all_def};
    if (is_bool(dtype)) ops = {&any_def, &all_def};
    for (const OpDef* op : ops) {
      runner.check(reduction(*op, dtype, {37, 75}, 2), values_for(*op, dtype));
    }
  }
}

TEST(ReductionRun, EveryOpAndDtypeByColumns) {
  RegionRunner runner;
  for (const DType dtype : kDTypes) {
    std::vector<const OpDef*> ops = {size_of(dtype) < 4 ? &prod_def : &min_def};
    if (dtype == DType::f16 || dtype == DType::u32)
      ops = {&sum_def, &prod_def, &max_def, &min_def, &any_def, &all_def};
    if (is_bool(dtype)) ops = {&any_def, &all_def};
    for (const OpDef* op : ops) {
      runner.check(reduction(*op, dtype, {75, 48}, 1), values_for(*op, dtype));
    }
  }
}

TEST(ReductionRun, EverySetOfAxes) {
  RegionRunner runner;
  for (const Shape& shape : {Shape{6, 5, 8}, Shape{3, 4, 5, 7}}) {
    for (std::uint32_t axes = 0; axes < 1u << shape.rank(); ++axes) {
      runner.check(reduction(sum_def, DType::i32, shape, axes));
    }
  }
  // Of eight axes that do not merge.
  runner.check(reduction(sum_def, DType::i32, {2, 3, 2, 3, 2, 3, 2, 4}, 0x55));
}

TEST(ReductionRun, EveryLayout) {
  RegionRunner runner(true);
  const auto check = [&](const Shape& shape, std::uint32_t axes, const Strides& strides) {
    runner.check(reduction(sum_def, DType::i32, shape, axes, strides));
  };
  check({40, 36}, 1, {1, 40});    // by rows, in the order of memory
  check({40, 36}, 2, {1, 40});    // by columns
  check({40, 36}, 2, {-36, -1});  // turned around
  check({40, 36}, 1, {-36, -1});
  check({40, 36}, 3, {0, 1});  // repeated
  check({40, 36}, 1, {0, 2});
  check({40, 36}, 2, {0, 0});
  check({40, 36}, 2, {80, 2});  // with gaps
  check({9, 7, 12}, 5, {1, 108, 9});
  check({}, 0, {});
  check({1, 1}, 3, {1, 1});
  // Not aligned for vectors.
  Region region = reduction(sum_def, DType::i32, {20, 64}, 2);
  runner.check(region, {.values = Values::any, .shifts = {1}, .taken = {}});
  region = reduction(sum_def, DType::i32, {20, 64}, 1);
  runner.check(region, {.values = Values::any, .shifts = {2}, .taken = {}});
}

TEST(ReductionRun, EveryLengthOfARow) {
  RegionRunner runner;
  for (const std::int64_t length :
       {1, 2, 3, 4, 7, 8, 31, 33, 64, 100, 128, 129, 300, 511, 1000, 2051, 4100}) {
    runner.check(reduction(sum_def, DType::i32, {3, length}, 2));
    runner.check(reduction(sum_def, DType::i32, {length}, 1));
  }
  for (const std::int64_t rows : {1, 2, 5, 31, 65, 300}) {
    for (const std::int64_t columns : {4, 12, 260}) {
      runner.check(reduction(sum_def, DType::i32, {rows, columns}, 1));
    }
  }
}

TEST(ReductionRun, FewResultsInChunks) {
  RegionRunner runner;
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::bool_}) {
    const OpDef& op = is_bool(dtype) ? any_def : sum_def;
    runner.check(reduction(op, dtype, {100003}, 1), values_for(op, dtype));
  }
  runner.check(reduction(max_def, DType::f32, {3, 40000}, 2));
  runner.check(reduction(sum_def, DType::i64, {20000, 6}, 1));
  runner.check(reduction(sum_def, DType::i32, {200, 6, 300}, 5));
  runner.check(reduction(min_def, DType::f32, {20000, 12}, 1));
}

// x y + s is written out, its square is reduced.
Region with_outputs(const Shape& shape, std::uint32_t axes, const Strides& x, const Strides& y) {
  Region region;
  region.shape = shape;
  region.inputs = {{DType::f32, x}, {DType::f16, y}};
  region.scalars = {{DType::f32, 0}};
  region.instructions = {{&cast_def, DType::f32, {1, -1, -1, -1}},
                         {&mul_def, DType::f32, {0, 3, -1, -1}},
                         {&add_def, DType::f32, {4, 2, -1, -1}},
                         {&abs_def, DType::f32, {5, -1, -1, -1}}};
  const Strides dense = contiguous_strides(shape);
  region.outputs = {{DType::f32, 5, dense}};
  region.reduction = {&sum_def, 6, axes, DType::f32, kept_strides(shape, axes)};
  return region;
}

TEST(ReductionRun, OutputsBesideTheResult) {
  RegionRunner runner(true);
  RegionRunner::Options options;
  options.values = Values::counts;
  runner.check(with_outputs({33, 20}, 2, {20, 1}, {0, 1}), options);
  runner.check(with_outputs({33, 20}, 1, {20, 1}, {1, 0}), options);
  runner.check(with_outputs({70}, 1, {1}, {1}), options);
  runner.check(with_outputs({6, 5, 9}, 5, {-45, 9, 1}, {1, 54, 6}), options);
  runner.check(with_outputs({2, 3, 4}, 2, {12, 4, -1}, {0, 0, 0}), options);
  // The output takes the memory of x.
  options.taken = {0};
  runner.check(with_outputs({33, 20}, 2, {20, 1}, {0, 1}), options);
  runner.check(with_outputs({33, 20}, 1, {20, 1}, {0, 1}), options);
}

TEST(ReductionRun, NothingToReduce) {
  RegionRunner runner;
  for (const OpDef* op : {&sum_def, &prod_def, &max_def, &min_def}) {
    for (const DType dtype : {DType::f32, DType::u16}) {
      runner.check(reduction(*op, dtype, {5, 0}, 2));
    }
  }
  runner.check(reduction(sum_def, DType::i32, {0, 5}, 1));
  runner.check(reduction(sum_def, DType::i32, {3, 0, 5}, 2));
  runner.check(reduction(sum_def, DType::i32, {0, 5}, 2));
  // One element for all of an empty space was read, although the kernel is given none of it.
  runner.check(reduction(sum_def, DType::f32, {0, 5}, 3, {0, 0}));
  runner.check(reduction(prod_def, DType::f16, {3, 0}, 2, {0, 0}));
}

// Many short chains: far better than one after the other, whose error here is some hundred ulps.
TEST(ReductionRun, SumsOfFloatsAreAccurate) {
  RegionRunner runner;
  constexpr std::int64_t kCount = 200000;
  const auto check = [&](const Shape& shape, std::uint32_t axes) {
    const Region region = reduction(sum_def, DType::f32, shape, axes);
    std::vector<float> x(static_cast<std::size_t>(kCount));
    for (float& each : x) each = static_cast<float>(runner.random()()) * 0x1p-32f;
    const std::int64_t results = kCount / 200000 * (axes == 1 && shape.rank() == 2 ? shape[1] : 1);
    const Address in = runner.driver().allocate(kCount * 4);
    const Address out = runner.driver().allocate(results * 4);
    runner.driver().copy_to_device(in, x.data(), kCount * 4);
    runner.launch(region, {in, out}, {});
    std::vector<float> got(static_cast<std::size_t>(results));
    runner.driver().copy_to_host(got.data(), out, results * 4);
    for (std::int64_t r = 0; r < results; ++r) {
      double want = 0;
      for (std::int64_t i = r; i < kCount; i += results) want += x[static_cast<std::size_t>(i)];
      EXPECT_NEAR(got[static_cast<std::size_t>(r)] / want, 1.0, 4e-7);
    }
  };
  check({kCount}, 1);
  check({kCount / 4, 4}, 1);
}

// Rows of bytes where one decides, at any place; any byte but 0 is true.
TEST(ReductionRun, OneByteOfARow) {
  std::mt19937_64 random(3);
  const Device device = Device::named("sim");
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (const Shape& shape :
       {Shape{50, 1}, Shape{50, 15}, Shape{50, 16}, Shape{50, 250}, Shape{50, 256}, Shape{50, 512},
        Shape{20, 530}, Shape{20, 4096}, Shape{4, 40000}, Shape{8192, 528}}) {
    const std::int64_t rows = shape[0], length = shape[1];
    const auto size = static_cast<std::size_t>(rows * length);
    std::vector<std::byte> few(size, std::byte{0}), most(size), bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
      most[i] = std::byte(1 + below(255));
      bytes[i] = std::byte(below(256));
    }
    std::vector<double> decided(static_cast<std::size_t>(rows)),
        spared = decided, sum = decided, sum_signed = decided, largest(decided.size(), -128);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      if (row % 3 != 0) {
        const auto place = static_cast<std::size_t>(row * length + below(length));
        few[place] = std::byte(1 + below(255));
        most[place] = std::byte{0};
        decided[at] = 1;
      }
      spared[at] = 1 - decided[at];
      for (std::int64_t i = 0; i < length; ++i) {
        const auto byte =
            static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(row * length + i)]);
        sum[at] += byte;
        sum_signed[at] += static_cast<std::int8_t>(byte);
        largest[at] = std::max<double>(largest[at], static_cast<std::int8_t>(byte));
      }
    }
    const auto there = [&](const std::vector<std::byte>& data, DType dtype) {
      return Array::from_bytes(data, dtype, shape, device);
    };
    EXPECT_EQ(any(there(few, DType::bool_), {1}).to_doubles(), decided) << to_string(shape);
    EXPECT_EQ(all(there(most, DType::bool_), {1}).to_doubles(), spared) << to_string(shape);
    EXPECT_EQ(hearth::sum(cast(there(bytes, DType::u8), DType::i64), {1}).to_doubles(), sum);
    EXPECT_EQ(hearth::sum(cast(there(bytes, DType::i8), DType::i32), {1}).to_doubles(), sum_signed);
    for (double& each : sum) each = std::fmod(each, 256);  // u8 wraps
    EXPECT_EQ(hearth::sum(there(bytes, DType::u8), {1}).to_doubles(), sum) << to_string(shape);
    EXPECT_EQ(max(there(bytes, DType::i8), {1}).to_doubles(), largest) << to_string(shape);
    // The same by columns.
    const auto columns = [&](const std::vector<std::byte>& data) {
      std::vector<std::byte> turned(size);
      for (std::int64_t i = 0; i < rows * length; ++i) {
        turned[static_cast<std::size_t>(i % length * rows + i / length)] =
            data[static_cast<std::size_t>(i)];
      }
      return Array::from_bytes(turned, DType::bool_, {length, rows}, device);
    };
    EXPECT_EQ(any(columns(few), {0}).to_doubles(), decided) << to_string(shape);
    EXPECT_EQ(all(columns(most), {0}).to_doubles(), spared) << to_string(shape);
  }
}

// 600 threadgroups, of half the threads.
TEST(ReductionRun, ManyColumns) {
  RegionRunner runner;
  for (const std::int64_t rows : {20, 33}) {
    runner.check(reduction(sum_def, DType::f32, {5, rows, 15360}, 2),
                 values_for(sum_def, DType::f32));
    runner.check(reduction(max_def, DType::bf16, {5, rows, 30720}, 2),
                 values_for(max_def, DType::bf16));
  }
}

}  // namespace
}  // namespace hearth::gpu_test
