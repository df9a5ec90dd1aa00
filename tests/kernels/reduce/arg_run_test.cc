// argmax and argmin on the simulator, against a walk over every line.
#include <cmath>

#include "hearth/ops.h"
#include "kernels/regions/region_runner.h"

namespace hearth::gpu_test {
namespace {

using region_test::Scalar;

bool wins(const Scalar& b, const Scalar& a, DType dtype, bool smallest) {
  if (!is_float(dtype)) {
    if (dtype == DType::u64) {
      const auto x = static_cast<std::uint64_t>(b.i), y = static_cast<std::uint64_t>(a.i);
      return smallest ? x < y : x > y;
    }
    return smallest ? b.i < a.i : b.i > a.i;
  }
  if (std::isnan(a.f)) return false;
  return std::isnan(b.f) || (smallest ? b.f < a.f : b.f > a.f);
}

class ArgRun : public testing::Test {
 protected:
  void check(bool smallest, DType dtype, DType index, const Shape& shape, int axis,
             const Strides& strides, Values values = Values::any, std::int64_t shift = 0) {
    Shape kept = shape;
    kept[axis] = 1;
    Region region;
    region.shape = shape;
    region.inputs = {{dtype, strides}};
    region.reduction = {smallest ? &defs::argmin_op : &defs::argmax_op, 0, 1u << axis, index,
                        contiguous_strides(kept)};
    region.reduction.strides[axis] = 0;
    Operand x = runner_.operand(shape, strides, dtype, values, shift);
    const std::int64_t count = element_count(kept);
    const std::int64_t size = size_of(index);
    sim::SimDriver& driver = runner_.driver();
    const Address input = driver.allocate(x.bytes);
    const Address result = driver.allocate(count * size);
    driver.copy_to_device(input, x.memory.data(), x.bytes);
    driver.fill(result, 0xa5, count * size);
    ASSERT_NO_THROW(runner_.launch(region, {input + x.first, result}, {})) << describe(region);
    std::vector<std::byte> got(static_cast<std::size_t>(count * size));
    driver.copy_to_host(got.data(), result, count * size);
    for (std::int64_t line = 0; line < count; ++line) {
      std::int64_t at = 0;
      std::int64_t rest = line;
      for (int i = shape.rank() - 1; i >= 0; --i) {
        at += rest % kept[i] * strides[i];
        rest /= kept[i];
      }
      const auto element = [&](std::int64_t i) {
        return region_test::load(x.at() + (at + i * strides[axis]) * size_of(dtype), dtype);
      };
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < shape[axis]; ++i) {
        if (wins(element(i), element(best), dtype, smallest)) best = i;
      }
      const Scalar found = region_test::load(got.data() + line * size, index);
      ASSERT_EQ(found.i, best) << describe(region) << " line " << line;
    }
    driver.free(input);
    driver.free(result);
  }
  void check(DType dtype, const Shape& shape, int axis, Values values = Values::any) {
    for (const bool smallest : {false, true}) {
      check(smallest, dtype, DType::i64, shape, axis, contiguous_strides(shape), values);
    }
  }

  RegionRunner runner_{true};
};

TEST_F(ArgRun, EveryDtypeAlongBothAxes) {
  for (const DType dtype : kDTypes) {
    check(dtype, {37, 75}, 1);
    check(dtype, {75, 48}, 0);
  }
}

TEST_F(ArgRun, EveryIndexDtype) {
  for (const DType index : kDTypes) {
    if (is_int(index)) check(false, DType::f32, index, {9, 100}, 1, {100, 1});
  }
}

TEST_F(ArgRun, TiesAndNaNs) {
  for (const std::int64_t n : {1, 2, 3, 31, 64, 129, 1000, 5000}) {
    check(DType::f32, {3, n}, 1, Values::counts);
    check(DType::f32, {n, 3}, 0, Values::counts);
    check(DType::f16, {n, 8}, 0);
    check(DType::f16, {8, n}, 1);
  }
}

// With the values, which are the elements themselves, and with only one of the two.
TEST(ArgLines, WithTheirValues) {
  const Device device = Device::named("sim");
  for (const DType dtype : {DType::f32, DType::bf16, DType::i16, DType::f64}) {
    for (const Shape& shape : {Shape{3, 5000}, Shape{500, 7}, Shape{40, 128}}) {
      std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
      for (std::size_t i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<double>(i * 7919 % 251);
      }
      const Array here = cast(Array::from_data(elements, shape, Device::cpu()), dtype).eval();
      const Array x = to_device(here, device);
      for (const std::int64_t axis : {0, 1}) {
        const auto both = max_with_indices(x, axis, axis == 1);
        const auto expected = max_with_indices(here, axis, axis == 1);
        EXPECT_EQ(both.second.to_doubles(), argmax(here, axis).to_doubles());
        EXPECT_EQ(both.first.to_doubles(), expected.first.to_doubles()) << name(dtype) << axis;
        EXPECT_EQ(both.first.dtype(), dtype);
        EXPECT_EQ(min_with_indices(x, axis).first.to_doubles(), min(here, {axis}).to_doubles());
        EXPECT_EQ(min_with_indices(x, axis).second.to_doubles(), argmin(here, axis).to_doubles());
      }
    }
  }
}

// Elements that no other is worse than are found as well.
TEST(ArgLines, OfTheWorst) {
  const Device device = Device::named("sim");
  const auto check = [&](DType dtype, double worst, const Shape& shape) {
    const Array x = full(shape, worst, dtype, device).eval();
    for (const std::int64_t axis : {0, 1}) {
      const std::vector<double> first(static_cast<std::size_t>(shape[1 - axis]), 0);
      EXPECT_EQ(argmax(x, axis).to_doubles(), first) << name(dtype) << axis;
      EXPECT_EQ(argmin(neg(x), axis).to_doubles(), first) << name(dtype) << axis;
    }
  };
  for (const Shape& shape : {Shape{40, 128}, Shape{3, 5000}, Shape{5000, 3}, Shape{7, 9}}) {
    check(DType::f32, -INFINITY, shape);
    check(DType::f16, -INFINITY, shape);
    check(DType::i64, 0, shape);
    check(DType::f32, NAN, shape);
  }
}

TEST_F(ArgRun, LongLinesInChunks) {
  check(DType::f32, {70000}, 0, Values::counts);
  check(DType::f32, {70001}, 0);
  check(DType::f64, {30000, 2}, 0);
  check(DType::f32, {9000, 36}, 0);
  check(DType::i64, {2, 40000}, 1);
}

TEST_F(ArgRun, EveryLayout) {
  const auto both = [&](const Shape& shape, int axis, const Strides& strides,
                        std::int64_t shift = 0) {
    check(false, DType::f32, DType::i32, shape, axis, strides, Values::counts, shift);
    check(true, DType::f32, DType::i32, shape, axis, strides, Values::any, shift);
  };
  both({40, 36}, 0, {1, 40});
  both({40, 36}, 1, {1, 40});
  both({40, 36}, 1, {-36, -1});
  both({40, 36}, 0, {-36, -1});
  both({40, 36}, 0, {36, -1});
  both({40, 36}, 1, {0, 2});
  both({40, 36}, 0, {0, 1});
  both({9, 7, 12}, 1, {84, 12, 1});
  both({9, 7, 12}, 2, {1, -108, 9});
  both({9, 7, 12}, 0, {84, 12, 1});
  both({1, 5}, 0, {5, 1});
  both({1}, 0, {1});
  both({20, 64}, 1, {64, 1}, 1);
  both({20, 64}, 0, {64, 1}, 3);
}

}  // namespace
}  // namespace hearth::gpu_test
