// cat, gather, select, scatter_add and select_add on the simulator, against the CPU. Values are
// small integers: sums have equal bits whatever the order.
#include <gtest/gtest.h>

#include <random>

#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/sim/sim_driver.h"
#include "graph/switches.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "ran.h"

namespace hearth::gpu_test {
namespace {

using testing::expect_ran;

class IndexingRun : public ::testing::Test {
 protected:
  Array values(const Shape& shape, DType dtype) {
    std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
    for (double& x : data) x = static_cast<double>(random_() % 4);
    return cast(Array::from_data(data, shape, Device::named("cpu")), dtype);
  }
  // Of `below`, and a few outside; every second one is 1 with `crowded`.
  Array indices(const Shape& shape, std::int64_t below, DType dtype, bool crowded = false) {
    std::vector<std::int64_t> data(static_cast<std::size_t>(element_count(shape)));
    for (std::int64_t& x : data) {
      x = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
      if (crowded && random_() % 2 == 0) x = below > 1 ? 1 : 0;
    }
    return cast(Array::from_data(data, shape, Device::named("cpu")), dtype);
  }
  static Array there(const Array& x) { return to_device(x, Device::named("sim")); }

  static void expect_equal(const Array& got, const Array& want, const std::string& what) {
    EXPECT_EQ(got.to_doubles(), want.to_doubles()) << what;
  }

  void check_rows(const Shape& shape, int axis, std::int64_t count, DType dtype,
                  bool crowded = false, DType index = DType::i64) {
    Shape selection = shape;
    selection[axis] = count;
    const Array x = values(shape, dtype), rows = values(selection, dtype);
    const Array ids = indices({count}, shape[axis], index, crowded);
    expect_equal(select_add(there(x), there(ids), there(rows), axis),
                 select_add(x, ids, rows, axis),
                 to_string(shape) + " " + std::to_string(count) + " " + std::string(name(dtype)));
  }
  void check_elements(const Shape& shape, int axis, const Shape& selection, DType dtype) {
    const Array x = values(shape, dtype), rows = values(selection, dtype);
    const Array ids = indices(selection, shape[axis], DType::i32);
    expect_equal(scatter_add(there(x), there(ids), there(rows), axis),
                 scatter_add(x, ids, rows, axis), to_string(shape) + " " + to_string(selection));
  }

  std::mt19937_64 random_{7};
};

TEST_F(IndexingRun, RowsInEveryDtype) {
  expect_ran({"selection_keys", "segmented_sum"},
             [&] { check_rows({20, 48}, 0, 100, DType::f32); });
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
        DType::i8, DType::u64, DType::u32, DType::u16, DType::u8, DType::bool_}) {
    check_rows({20, 48}, 0, 100, dtype);
    check_rows({20, 7}, 0, 70, dtype);
  }
}

TEST_F(IndexingRun, RowsOfEveryShape) {
  check_rows({5, 12}, 0, 33, DType::f32);
  check_rows({1, 4}, 0, 1000, DType::f32);
  check_rows({300, 4}, 0, 3000, DType::f32, true, DType::i32);
  check_rows({70000, 1}, 0, 500, DType::f32);
  check_rows({3, 40, 6}, 1, 90, DType::f16);
  check_rows({4, 50}, 1, 200, DType::f32, true);
  check_rows({9}, 0, 5000, DType::i32);
}

TEST_F(IndexingRun, Elements) {
  expect_ran("scatter_serial_F32", [&] { check_elements({5, 300}, 1, {5, 20}, DType::f32); });
  check_elements({5, 300}, 1, {5, 200}, DType::f32);
  check_elements({300, 5}, 0, {150, 4}, DType::f16);
  check_elements({3, 60, 4}, 1, {2, 100, 4}, DType::i16);
  check_elements({1000}, 0, {4000}, DType::f32);
  const Array x = values({40, 60}, DType::f32), rows = values({60, 40}, DType::f32);
  const Array ids = indices({60, 40}, 60, DType::i64);
  expect_equal(scatter_add(there(x), transpose(there(ids)), flip(transpose(there(rows)), {0}), 1),
               scatter_add(x, transpose(ids), flip(transpose(rows), {0}), 1), "transposed");
}

TEST_F(IndexingRun, ElementsByShares) {
  expect_ran("scatter_privatized", [&] { check_elements({3, 700}, 1, {3, 2300}, DType::f32); });
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i64, DType::u8, DType::bool_}) {
    check_elements({3, 700}, 1, {3, 2300}, dtype);
    check_elements({600, 7}, 0, {700, 6}, dtype);
  }
  check_elements({2, 13000}, 1, {2, 900}, DType::f32);  // several ranges
  check_elements({4000, 3}, 0, {700, 3}, DType::f32);
  check_elements({2, 7000, 5}, 1, {2, 300, 5}, DType::bf16);
  check_elements({5, 1}, 0, {2100, 1}, DType::f32);  // crowded
  check_elements({1, 2, 400}, 2, {1, 2, 33}, DType::f32);
}

// Extents that shares do not look through, and lines too long for them.
TEST_F(IndexingRun, ElementsByBins) {
  expect_ran({"bin_sums"}, [&] { check_elements({13000, 5}, 0, {1000, 5}, DType::f32); });
  expect_ran({"element_keys", "segmented_sum"},
             [&] { check_elements({100000, 2}, 0, {3200, 2}, DType::f32); });
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::i64, DType::u64, DType::u8,
                            DType::i16, DType::bool_}) {
    check_elements({13000, 5}, 0, {1000, 5}, dtype);
    check_elements({2, 50000}, 1, {2, 1700}, dtype);
  }
  check_elements({3, 300}, 1, {3, 9000}, DType::f32);        // one bin
  check_elements({192 * 512, 1}, 0, {9000, 1}, DType::f32);  // one line, contiguous
  check_elements({98000, 2}, 0, {3100, 2}, DType::bf16);     // nearly as many bins as there may be
  check_elements({100000, 2}, 0, {3200, 2}, DType::f32);     // one too many: sorted
  check_elements({2, 14000, 9}, 1, {2, 500, 7}, DType::f32);
  check_elements({14000, 2, 3}, 0, {500, 2, 3}, DType::f16);
  check_elements({200, 3}, 0, {20000, 3}, DType::f32);  // crowded
}

TEST_F(IndexingRun, ElementsByBinsOfAnyLayoutAndIndex) {
  const Array x = values({13000, 9}, DType::f32), rows = values({700, 9}, DType::f32);
  std::vector<std::int64_t> data(700 * 9);
  for (std::int64_t& at : data) {
    at = static_cast<std::int64_t>(random_() % 16000) - 1500;  // some outside
  }
  const Array ids = Array::from_data(data, {700, 9}, Device::named("cpu"));
  std::vector<double> want = x.to_doubles();
  const std::vector<double> added = rows.to_doubles();
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] >= 0 && data[i] < 13000) {
      want[static_cast<std::size_t>(data[i]) * 9 + i % 9] += added[i];
    }
  }
  EXPECT_EQ(scatter_add(there(x), there(ids), there(rows), 0).to_doubles(), want);
  const Array turned = contiguous(transpose(there(ids))).eval();
  EXPECT_EQ(scatter_add(there(x), transpose(turned), flip(flip(there(rows), {0}).eval(), {0}), 0)
                .to_doubles(),
            want);
  const Array lying = contiguous(transpose(there(x))).eval();
  EXPECT_EQ(
      contiguous(transpose(scatter_add(lying, turned, transpose(there(rows)), 1))).to_doubles(),
      want);
}

TEST_F(IndexingRun, SumsOfElementsHaveTheOrderOfTheirLine) {
  const Array x = random_normal({300, 5}, 0, 1, DType::f32, Device::named("cpu"));
  const Array rows = random_normal({900, 5}, 0, 1, DType::f32, Device::named("cpu"));
  const Array ids = indices({900, 5}, 300, DType::i32, true);
  expect_equal(scatter_add(there(x), there(ids), there(rows), 0), scatter_add(x, ids, rows, 0),
               "columns");
  expect_equal(scatter_add(there(transpose(x)), there(transpose(ids)), there(transpose(rows)), 1),
               scatter_add(transpose(x), transpose(ids), transpose(rows), 1), "rows");
  // By bins, among them one that most elements go to.
  const Array wide = random_normal({13000, 5}, 0, 1, DType::f32, Device::named("cpu"));
  const Array many = random_normal({2100, 5}, 0, 1, DType::f32, Device::named("cpu"));
  const Array crowd = indices({2100, 5}, 13000, DType::i64, true);
  expect_equal(scatter_add(there(wide), there(crowd), there(many), 0),
               scatter_add(wide, crowd, many, 0), "bins");
}

TEST_F(IndexingRun, AddressesThatAllowNoVectors) {
  const Array flat = values({1 + 64 * 8}, DType::f32), x = values({20, 8}, DType::f32);
  const Array ids = indices({64}, 20, DType::i64);
  const Array moved = there(flat).eval();
  expect_equal(select_add(there(x), there(ids), reshape(narrow(moved, 0, 1, 512), {64, 8}), 0),
               select_add(x, ids, reshape(narrow(flat, 0, 1, 512), {64, 8}), 0), "moved by one");
}

TEST_F(IndexingRun, SelectedRows) {
  const auto check = [&](const Array& x, const Array& moved, int axis, std::int64_t count) {
    const Array ids = indices({count}, x.shape(axis), DType::i32);
    expect_equal(select(moved, there(ids), axis), select(x, ids, axis), to_string(x.shape()));
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::u8}) {
    for (const Shape& shape : {Shape{20, 48}, Shape{5, 9, 6}, Shape{7, 3}, Shape{4, 2000}}) {
      const Array x = values(shape, dtype);
      for (int axis = 0; axis < shape.rank(); ++axis) check(x, there(x), axis, 11);
    }
  }
  const Array x = values({6, 10, 16}, DType::f32);
  const Array moved = there(x).eval();
  check(transpose(x), transpose(moved), 0, 9);
  check(flip(x, {0, 1}), flip(moved, {0, 1}), 1, 9);
  check(narrow(x, 2, 1, 13), narrow(moved, 2, 1, 13), 1, 9);
  check(narrow(x, 2, 4, 8), narrow(moved, 2, 4, 8), 0, 9);
}

TEST_F(IndexingRun, AtomicAdditions) {
  const Switches before = switches();
  switches().deterministic = false;
  expect_ran("scatter_atomics", [&] { check_elements({3, 60, 4}, 1, {2, 100, 4}, DType::f32); });
  for (const DType dtype : {DType::f32, DType::i32, DType::u32, DType::f16}) {
    check_rows({20, 48}, 0, 100, dtype);
    check_rows({3, 10, 6}, 1, 9, dtype, true);
    check_elements({3, 60, 4}, 1, {2, 100, 4}, dtype);
  }
  switches() = before;
}

TEST_F(IndexingRun, Gathered) {
  const Array x = values({50, 41}, DType::f16);
  for (const int axis : {0, 1}) {
    const Array ids = indices({40, 41}, x.shape(axis), DType::i64);
    expect_equal(gather(there(x), there(ids), axis), gather(x, ids, axis), "gather");
  }
}

TEST_F(IndexingRun, Assigned) {
  const auto check = [&](const Shape& shape, const std::vector<Slice>& region, const Shape& part,
                         DType dtype) {
    const Array x = values(shape, dtype), value = values(part, dtype);
    const Array flat = values({1 + value.size()}, dtype), x_there = there(x).eval();
    const auto behind_one = [&](const Array& all) {
      return reshape(narrow(all, 0, 1, value.size()), part);
    };
    const std::string what = to_string(shape) + " " + to_string(part);
    expect_equal(slice_assign(x_there, region, there(value)), slice_assign(x, region, value), what);
    expect_equal(slice_assign(x_there, region, behind_one(there(flat).eval())),
                 slice_assign(x, region, behind_one(flat)), what + " moved by one");
    expect_equal(slice_assign(x_there, region, flip(there(value).eval(), {0})),
                 slice_assign(x, region, flip(value, {0})), what + " flipped");
    expect_equal(slice_assign(x_there, region, 3.0), slice_assign(x, region, 3.0),
                 what + " scalar");
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::u8}) {
    check({40, 32}, {{3, 20}}, {17, 32}, dtype);
    check({6, 9, 48}, {{}, {2, 7}}, {6, 5, 48}, dtype);
    check({6, 9, 48}, {{1, 5}, {2, 3}}, {4, 1, 48}, dtype);
    check({40, 33}, {{3, 20}}, {17, 33}, dtype);
    check({40, 33}, {{}, {5, 8}}, {40, 3}, dtype);
    check({12, 32}, {{0, 12, -2}, {}}, {6, 32}, dtype);
    check({12, 32}, {{}, {0, 32, -1}}, {12, 32}, dtype);
    check({12, 32}, {{1, 12, 3}, {8, 16}}, {4, 8}, dtype);
    check({7, 5, 8}, {}, {7, 5, 8}, dtype);
  }
}

TEST_F(IndexingRun, Concatenated) {
  for (const DType dtype : {DType::f32, DType::u8}) {
    const Array x = values({20, 30}, dtype), y = values({30, 20}, dtype),
                z = values({20, 7}, dtype);
    expect_equal(cat({there(x), transpose(there(y)), there(z)}, 1), cat({x, transpose(y), z}, 1),
                 "columns");
    expect_equal(cat({there(y), transpose(there(x))}, 0), cat({y, transpose(x)}, 0), "rows");
  }
}

// Whatever threads and threadgroups come first.
TEST_F(IndexingRun, TheSameInEveryOrder) {
  const Device cpu = Device::named("cpu");
  const Array rows = random_normal({500, 8}, 0, 1, DType::f32, cpu).eval();
  const Array ids = random_integers({500}, 0, 3, DType::i64, cpu).eval();
  const Array x = random_normal({3, 8}, 0, 1, DType::f32, cpu).eval();
  const Array places = random_integers({500, 8}, 0, 3, DType::i64, cpu).eval();
  std::vector<std::vector<float>> by_row, by_element;
  int number = 0;
  for (const sim::Schedule schedule :
       {sim::Schedule{sim::Order::forward}, sim::Schedule{sim::Order::reverse},
        sim::Schedule{sim::Order::greedy}, sim::Schedule{sim::Order::shuffled, 1},
        sim::Schedule{sim::Order::shuffled, 2}}) {
    sim::SimOptions options;
    options.schedule = schedule;
    const Device device(kept_device(
        new gpu::GpuDevice("sim", 10 + number++, std::make_unique<sim::SimDriver>(options))));
    const auto moved = [&](const Array& array) { return to_device(array, device); };
    by_row.push_back(select_add(moved(x), moved(ids), moved(rows), 0).to_vector<float>());
    by_element.push_back(scatter_add(moved(x), moved(places), moved(rows), 0).to_vector<float>());
    EXPECT_EQ(by_row.back(), by_row.front()) << "schedule " << number;
    EXPECT_EQ(by_element.back(), by_element.front()) << "schedule " << number;
  }
}

}  // namespace
}  // namespace hearth::gpu_test
