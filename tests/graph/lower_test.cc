// What is worked out of a region for every device: layout, liveness, fused multiply-adds.
#include "graph/lower/lowered_region.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <vector>

#include "core/axes.h"
#include "hearth/shape.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

constexpr DType f32 = DType::f32;

// A region over `inputs` dense inputs of 6 elements.
Region region_of(int inputs, DType dtype = f32) {
  Region region;
  region.shape = {6};
  for (int i = 0; i < inputs; ++i) region.inputs.push_back({dtype, {1}});
  return region;
}
// The number of the value.
int add(Region* region, const OpDef& op, std::initializer_list<int> args, DType dtype = f32) {
  RegionInstruction instruction{&op, dtype, {-1, -1, -1, -1}};
  int k = 0;
  for (const int arg : args) instruction.args[k++] = static_cast<std::int16_t>(arg);
  region->instructions.push_back(instruction);
  return region->first_result() + static_cast<int>(region->instructions.size()) - 1;
}
void store(Region* region, int value) {
  region->outputs.push_back({region->value_dtype(value), value, {1}});
}

TEST(Lower, AProductUsedOnceJoinsASum) {
  for (const OpDef* op : {&defs::add_op, &defs::sub_op}) {
    for (const int side : {0, 1}) {
      Region region = region_of(3);
      const int product = add(&region, defs::mul_op, {0, 1});
      store(&region, side == 0 ? add(&region, *op, {product, 2}) : add(&region, *op, {2, product}));
      const LoweredRegion lowered = lower(region);
      EXPECT_TRUE(lowered.instructions[0].absorbed);
      EXPECT_FALSE(lowered.is_carried_out(0));
      EXPECT_EQ(lowered.instructions[1].product, side);
      region.exact = true;
      EXPECT_FALSE(lower(region).instructions[0].absorbed);
      EXPECT_EQ(lower(region).instructions[1].product, -1);
    }
  }
}

TEST(Lower, OfTwoProductsTheFirstJoins) {
  Region region = region_of(3);
  const int first = add(&region, defs::mul_op, {0, 1});
  const int second = add(&region, defs::mul_op, {1, 2});
  store(&region, add(&region, defs::add_op, {second, first}));
  const LoweredRegion lowered = lower(region);
  EXPECT_FALSE(lowered.instructions[0].absorbed);
  EXPECT_TRUE(lowered.instructions[1].absorbed);
  EXPECT_EQ(lowered.instructions[2].product, 0);
}

TEST(Lower, WhatIsUsedElsewhereIsRounded) {
  Region leaves = region_of(3);
  const int product = add(&leaves, defs::mul_op, {0, 1});
  store(&leaves, add(&leaves, defs::add_op, {product, 2}));
  Region twice = leaves, reduced = leaves;
  store(&leaves, product);
  EXPECT_FALSE(lower(leaves).instructions[0].absorbed);
  store(&twice, add(&twice, defs::exp_op, {product}));
  EXPECT_FALSE(lower(twice).instructions[0].absorbed);
  reduced.reduction = {&defs::sum_op, product, 1, f32, {0}};
  EXPECT_FALSE(lower(reduced).instructions[0].absorbed);
  // A use that nothing needs is none.
  Region dead = region_of(3);
  const int once = add(&dead, defs::mul_op, {0, 1});
  add(&dead, defs::exp_op, {once});
  store(&dead, add(&dead, defs::add_op, {once, 2}));
  EXPECT_TRUE(lower(dead).instructions[0].absorbed);
  EXPECT_FALSE(lower(dead).instructions[1].live);
}

TEST(Lower, IntegersHaveNoFma) {
  Region region = region_of(3, DType::i32);
  const int product = add(&region, defs::mul_op, {0, 1}, DType::i32);
  store(&region, add(&region, defs::add_op, {product, 2}, DType::i32));
  EXPECT_EQ(lower(region).instructions[1].product, -1);
}

TEST(Lower, FactorsAreReadWhereTheSumIs) {
  Region region = region_of(4);
  const int product = add(&region, defs::mul_op, {0, 1});
  int x = add(&region, defs::exp_op, {2});
  for (int i = 0; i < 20; ++i) x = add(&region, defs::exp_op, {x});
  store(&region, x);
  store(&region, add(&region, defs::add_op, {product, 3}));
  const LoweredRegion lowered = lower(region);
  std::vector<int> want = {22, 22, 1, 22, 22};
  for (int i = 2; i <= 21; ++i) want.push_back(i);
  want.insert(want.end(), {-1, -1});
  EXPECT_EQ(lowered.last_read, want);
  EXPECT_EQ(lowered.uses[0], 1);
  EXPECT_EQ(lowered.uses[static_cast<std::size_t>(x)], 1);
}

TEST(Lower, CastsRoundHalvesThatAreComputed) {
  Region region = region_of(1, DType::f16);
  const int read = add(&region, defs::cast_op, {0});
  const int computed = add(&region, defs::exp_op, {0}, DType::f16);
  const int wide = add(&region, defs::cast_op, {computed});
  const int again = add(&region, defs::cast_op, {wide}, DType::bf16);
  for (const int value : {read, wide, add(&region, defs::cast_op, {again})}) {
    store(&region, value);
  }
  const auto rounds = [&](int value) {
    const auto at = static_cast<std::size_t>(value - region.first_result());
    return lower(region).instructions[at].rounds_source;
  };
  EXPECT_FALSE(rounds(read));
  EXPECT_TRUE(rounds(wide));
  EXPECT_FALSE(rounds(again));
  EXPECT_FALSE(rounds(again + 1)) << "a cast has rounded it";
  region.exact = true;
  EXPECT_FALSE(rounds(wide));
}

TEST(Lower, ResultsAreBroughtBackWhereTheyMayBeOutside) {
  const auto narrows = [](const OpDef& op, DType dtype, bool exact) {
    Region region = region_of(2, dtype);
    store(&region, add(&region, op, {0, 1}, dtype));
    region.exact = exact;
    return lower(region).instructions[0].narrows;
  };
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::u16, DType::u32}) {
    EXPECT_TRUE(narrows(defs::add_op, dtype, false));
    EXPECT_FALSE(narrows(defs::maximum_op, dtype, false));
  }
  for (const DType dtype : {DType::i32, DType::i64, DType::u64, DType::f32, DType::f64}) {
    EXPECT_FALSE(narrows(defs::add_op, dtype, true));
  }
  EXPECT_FALSE(narrows(defs::maximum_op, DType::f16, false));
  EXPECT_TRUE(narrows(defs::maximum_op, DType::f16, true));
}

TEST(Lower, ArgumentsAreConvertedByTheFormula) {
  Region region = region_of(3, DType::u8);
  store(&region, add(&region, defs::less_op, {0, 1}, DType::bool_));
  store(&region, add(&region, defs::logical_and_op, {3, 3}, DType::bool_));
  store(&region, add(&region, defs::where_op, {4, 1, 2}, DType::u8));
  const LoweredRegion lowered = lower(region);
  EXPECT_EQ(lowered.argument_dtype(0, 0), DType::u8);
  EXPECT_EQ(lowered.argument_dtype(1, 1), DType::bool_);
  EXPECT_EQ(lowered.argument_dtype(2, 0), DType::bool_);
  EXPECT_EQ(lowered.argument_dtype(2, 1), DType::u8);
}

TEST(Lower, ReductionsFollowMemory) {
  Region region;
  region.shape = {4, 1, 3, 5};
  region.inputs = {{f32, {1, 7, -20, 4}}};  // the last two axes backwards and forwards
  region.reduction = {&defs::sum_op, 0, 0b0100, f32, {5, 5, 0, 1}};
  const RegionLayout layout = lower(region).layout;
  ASSERT_EQ(layout.axes.size(), 3u);
  EXPECT_EQ(layout.axes[0].strides, (std::vector<std::int64_t>{20, 0}));
  EXPECT_TRUE(layout.axes[0].reduced);
  EXPECT_EQ(layout.axes[1].strides, (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(layout.axes[2].strides, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(layout.operands[0].first(), -40);
  EXPECT_EQ(layout.operands[0].lowest, -40);
  EXPECT_EQ(layout.operands[0].span, 60);
  EXPECT_EQ(layout.elements, 60);
  EXPECT_EQ(layout.results, 20);
  // The lowest index wins: elements of the reduced axis keep their order.
  region.reduction = {&defs::argmax_op, 0, 0b0100, DType::i64, {5, 5, 0, 1}};
  const RegionLayout ordered = lower(region).layout;
  EXPECT_EQ(ordered.axes[0].strides, (std::vector<std::int64_t>{-20, 0}));
  EXPECT_EQ(ordered.operands[0].first(), 0);
}

TEST(MergeAxes, JoinsWhatEveryOperandStepsOverAsOne) {
  Shape shape = {2, 1, 3, 4, 5};
  Strides dense = {60, 9, 20, 5, 1}, broadcast = {0, 9, 0, 5, 1}, sparse = {120, 9, 40, 10, 2};
  merge_axes(&shape, {&dense, &sparse});
  EXPECT_EQ(shape, (Shape{120}));
  EXPECT_EQ(sparse, (Strides{2}));
  shape = {2, 1, 3, 4, 5};
  dense = {60, 9, 20, 5, 1};
  merge_axes(&shape, {&dense, &broadcast});
  EXPECT_EQ(shape, (Shape{6, 20}));
  EXPECT_EQ(dense, (Strides{20, 1}));
  EXPECT_EQ(broadcast, (Strides{0, 1}));
  shape = {1, 1};
  dense = {3, 1};
  merge_axes(&shape, {&dense});
  EXPECT_EQ(shape.rank() + dense.rank(), 0);
  shape = {2, 3, 1, 4};
  dense = {12, 4, 4, 1};
  std::uint32_t marks = 0b1001;
  Strides* const one[] = {&dense};
  merge_axes(&shape, one, &marks);
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  EXPECT_EQ(marks, 0b101u);
}

TEST(MergeAxes, AxisByAxisIsTheSame) {
  const Shape shape = {2, 1, 3, 4, 5};
  const Strides dense = {60, 9, 20, 5, 1}, broadcast = {0, 9, 0, 5, 1};
  MergedAxes<2> axes;
  for (int i = 0; i < shape.rank(); ++i) axes.append(shape[i], {dense[i], broadcast[i]});
  ASSERT_EQ(axes.rank, 2);
  EXPECT_EQ(axes.extents[0], 6);
  EXPECT_EQ(axes.extents[1], 20);
  EXPECT_EQ(axes.strides[0], (std::array<std::int64_t, 2>{20, 0}));
  EXPECT_EQ(axes.strides[1], (std::array<std::int64_t, 2>{1, 1}));
}

}  // namespace
}  // namespace hearth
