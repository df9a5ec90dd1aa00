// scatter and select_assign with every update on the simulator, against a plain loop: many values
// for one element, in shapes that each implementation takes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "check.h"
#include "hearth/ops.h"
#include "ran.h"

namespace hearth::gpu_test {
namespace {

using check::Values;
using testing::expect_ran;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double combined(double sum, double value, IndexingUpdateOp update, bool truths) {
  switch (update) {
    case IndexingUpdateOp::assign:
      return value;
    case IndexingUpdateOp::add:
      return truths ? (sum + value > 0 ? 1 : 0) : sum + value;
    case IndexingUpdateOp::mul:
      return sum * value;
    case IndexingUpdateOp::min:
      return std::isnan(sum) || std::isnan(value) ? kNan : std::min(sum, value);
    case IndexingUpdateOp::max:
      break;
  }
  return std::isnan(sum) || std::isnan(value) ? kNan : std::max(sum, value);
}

constexpr IndexingUpdateOp kAll[] = {IndexingUpdateOp::assign, IndexingUpdateOp::add,
                                     IndexingUpdateOp::mul, IndexingUpdateOp::min,
                                     IndexingUpdateOp::max};

class UpdatesRun : public ::testing::Test {
 protected:
  // For products powers of two, few of whole numbers above 1; else small numbers, with a NaN now
  // and then.
  Values numbers(const Shape& shape, DType dtype, IndexingUpdateOp update) {
    constexpr double kFactors[] = {1, -1, 2, 0.5, -0.5, 1};
    Values values(static_cast<std::size_t>(element_count(shape)));
    for (double& x : values) {
      const std::uint64_t drawn = random_();
      if (is_bool(dtype)) {
        x = static_cast<double>(drawn % 3 == 0);
      } else if (update == IndexingUpdateOp::mul) {
        x = is_float(dtype) ? kFactors[drawn % 6] : drawn % 64 == 0 ? 2 : drawn % 2 == 0 ? 1 : -1;
      } else {
        x = static_cast<double>(drawn % 100) - (info(dtype).is_signed ? 50 : 0);
        if (is_float(dtype) && update != IndexingUpdateOp::add && drawn % 97 == 0) x = kNan;
      }
      if (!is_bool(dtype) && !is_float(dtype) && !info(dtype).is_signed) x = std::abs(x);
    }
    return values;
  }
  // Of `below` with one in 16 outside; half of them one place where `crowded`.
  std::vector<std::int64_t> places(const Shape& shape, std::int64_t below, bool crowded) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(element_count(shape)));
    for (std::int64_t& place : places) {
      place = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
      if (random_() % 16 == 0) place = below;
      if (crowded && random_() % 2 == 0) place = below / 2;
    }
    return places;
  }

  // Whether indices are a list for slices, or of the values' shape.
  void check(const Shape& shape, int axis, std::int64_t count, DType dtype, IndexingUpdateOp update,
             bool is_list, bool crowded = false) {
    Shape selection = shape;
    selection[axis] = count;
    const Shape listed = is_list ? Shape{count} : selection;
    Values want = numbers(shape, dtype, update);
    const Values values = numbers(selection, dtype, update);
    const std::vector<std::int64_t> at = places(listed, shape[axis], crowded);
    const Device sim = Device::named("sim");
    const auto there = [&](const Array& x) { return to_device(x, sim); };
    const Array x = there(check::array(want, shape, dtype));
    const Array v = there(check::array(values, selection, dtype));
    const Array ids = there(cast(check::ints(at, listed), crowded ? DType::i64 : DType::i32));

    std::int64_t inner = 1;
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto linear = static_cast<std::int64_t>(i);
      const std::int64_t position = linear / inner % count, outer = linear / inner / count;
      const std::int64_t place = at[is_list ? static_cast<std::size_t>(position) : i];
      if (place >= shape[axis]) continue;
      double& sum =
          want[static_cast<std::size_t>((outer * shape[axis] + place) * inner + linear % inner)];
      sum = combined(sum, values[i], update, is_bool(dtype));
    }
    const Array got =
        is_list ? select_assign(x, ids, v, axis, update) : scatter(x, ids, v, axis, update);
    check::expect_close(got.to_doubles(), check::array(want, shape, dtype).to_doubles(), 0,
                        to_string(shape) + " " + std::to_string(count) + " " +
                            std::string(name(dtype)) + " " +
                            std::to_string(static_cast<int>(update)));
  }

  std::mt19937_64 random_{11};
};

constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::bool_};

TEST_F(UpdatesRun, ElementsInShortLines) {
  expect_ran("scatter_serial_F32_F32_float_UpdateMax",
             [&] { check({5, 9}, 1, 20, DType::f32, IndexingUpdateOp::max, false); });
  for (const IndexingUpdateOp update : kAll) {
    for (const DType dtype :
         {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
          DType::i8, DType::u64, DType::u32, DType::u16, DType::u8, DType::bool_}) {
      const bool may_leave = update == IndexingUpdateOp::add && size_of(dtype) == 1;
      if (!may_leave || is_bool(dtype)) check({5, 9}, 1, 20, dtype, update, false);
    }
    check({7, 3}, 0, 25, DType::f32, update, false);
  }
}

// Of rows that go to one place the last one stays.
TEST_F(UpdatesRun, RowsThatReplaceOthers) {
  constexpr IndexingUpdateOp kAssign = IndexingUpdateOp::assign;
  expect_ran("assign_rows_uint4_int_1", [&] { check({40, 16}, 0, 64, DType::f32, kAssign, true); });
  expect_ran("assign_rows_ushort_long_1",
             [&] { check({9, 3, 5}, 0, 70, DType::bf16, kAssign, true, true); });
  for (const DType dtype : kDTypes) {
    for (const std::int64_t count : {1, 2, 33, 300}) {
      check({17, 2, 24}, 0, count, dtype, kAssign, true, count > 2);
    }
  }
  check({5}, 0, 40, DType::f64, kAssign, true, true);
  expect_ran("segmented_sum_F32_float_UpdateAssign_4",
             [&] { check({600, 4}, 0, 2049, DType::f32, kAssign, true); });
}

TEST_F(UpdatesRun, ElementsByShares) {
  expect_ran("scatter_privatized_F32_float_UpdateMul",
             [&] { check({3, 700}, 1, 2300, DType::f32, IndexingUpdateOp::mul, false); });
  for (const IndexingUpdateOp update : kAll) {
    for (const DType dtype : kDTypes) {
      check({3, 700}, 1, 2300, dtype, update, false);
    }
    check({600, 6}, 0, 700, DType::f32, update, false);
    check({40, 5}, 0, 500, DType::f32, update, false, true);
    check({3, 70}, 1, 230, DType::u32, update, false);
    check({3, 70}, 1, 230, DType::i64, update, false);
    check({3, 70}, 1, 230, DType::i16, update, false);
    check({3, 70}, 1, 230, DType::f64, update, false);
  }
}

TEST_F(UpdatesRun, ElementsByBins) {
  expect_ran("bin_sums_F32_float_UpdateMin",
             [&] { check({13000, 5}, 0, 1000, DType::f32, IndexingUpdateOp::min, false); });
  for (const IndexingUpdateOp update : kAll) {
    for (const DType dtype : kDTypes) check({13000, 3}, 0, 900, dtype, update, false);
    check({2, 50000}, 1, 1700, DType::f32, update, false, true);
    check({200, 3}, 0, 9000, DType::f32, update, false);
  }
}

TEST_F(UpdatesRun, ElementsBySortedKeys) {
  expect_ran({"element_keys", "segmented_sum_F32_float_UpdateAssign"},
             [&] { check({100000, 2}, 0, 3200, DType::f32, IndexingUpdateOp::assign, false); });
  for (const IndexingUpdateOp update : kAll) {
    check({100000, 2}, 0, 3200, DType::f32, update, false, true);
    check({100000, 2}, 0, 3200, DType::i32, update, false);
  }
}

TEST_F(UpdatesRun, Slices) {
  expect_ran({"selection_keys", "segmented_sum_BF16_float_UpdateMul"},
             [&] { check({20, 48}, 0, 100, DType::bf16, IndexingUpdateOp::mul, true); });
  for (const IndexingUpdateOp update : kAll) {
    for (const DType dtype : kDTypes) {
      check({20, 48}, 0, 100, dtype, update, true);
      check({3, 9}, 1, 20, dtype, update, true);  // by threads
      check({1, 4}, 0, 300, dtype, update, true);
    }
    check({3, 40, 6}, 1, 400, DType::f32, update, true, true);
    check({4, 50}, 1, 700, DType::i64, update, true, true);
    check({9, 2}, 0, 90, DType::u32, update, true);
    check({9, 2}, 0, 90, DType::f64, update, true);
  }
}

}  // namespace
}  // namespace hearth::gpu_test
