// searchsorted and bucketize: against counting, of every dtype, layout and special value.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

bool goes_before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// How many elements of each row are before each value, counted one by one.
Values counted_before(const Array& sorted, const Array& values, bool right) {
  const Values rows = sorted.to_doubles(), wanted = values.to_doubles();
  const std::int64_t n = sorted.shape().back(), m = values.shape().back();
  Values counts;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(wanted.size()); ++i) {
    const double value = wanted[static_cast<std::size_t>(i)];
    int count = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const double element = rows[static_cast<std::size_t>(i / m * n + j)];
      count += right ? !goes_before(value, element) : goes_before(element, value);
    }
    counts.push_back(count);
  }
  return counts;
}

// Few different numbers, floats with special ones among them.
Array few_numbers(const Shape& shape, DType dtype, std::uint64_t seed, Device device) {
  Values values = random_values(element_count(shape), 0, 20, seed);
  for (double& value : values) {
    value = std::floor(value) - (is_float(dtype) || info(dtype).is_signed ? 10 : 0);
    if (!is_float(dtype)) continue;
    if (value == 3) value = kNan;
    if (value == 4) value = kInf;
    if (value == 5) value = -kInf;
    if (value == 6) value = -0.0;
  }
  return to_device(array(values, shape, dtype), device);
}

TEST(Searchsorted, CountsWhatIsBeforeInEveryDtype) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype :
         {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
          DType::i8, DType::u64, DType::u32, DType::u16, DType::u8}) {
      for (const std::int64_t n : {1, 2, 7, 8, 33, 300}) {
        const Array sorted =
            sort(few_numbers({2, 3, n}, dtype, 1 + static_cast<unsigned>(n), device));
        const Array values = few_numbers({2, 3, 11}, dtype, 99, device);
        for (const bool right : {false, true}) {
          const Array places = searchsorted(sorted, values, right);
          EXPECT_EQ(places.dtype(), DType::i64);
          expect_values(places, {2, 3, 11}, counted_before(sorted, values, right),
                        std::string(name(dtype)));
          const Array small = searchsorted(sorted, values, right, DType::i32);
          EXPECT_EQ(small.dtype(), DType::i32);
          EXPECT_EQ(small.to_doubles(), places.to_doubles());
        }
      }
    }
  }
}

TEST(Searchsorted, ReadsEveryLayout) {
  for (const Device& device : devices_under_test()) {
    const Array base = few_numbers({6, 4, 5}, DType::f32, 5, device);
    const Array sorted = sort(base, 0);             // [6, 4, 5]
    const Array rows = permute(sorted, {1, 2, 0});  // [4, 5, 6] over strides
    const Array wanted = permute(few_numbers({9, 5, 4}, DType::f32, 6, device), {2, 1, 0});
    expect_values(searchsorted(rows, wanted), {4, 5, 9}, counted_before(rows, wanted, false));
    const Array backwards = flip(sort(few_numbers({3, 8}, DType::f32, 7, device), 1, true), {1});
    const Array one = expand(few_numbers({1, 3}, DType::f32, 8, device), {3, 3});
    expect_values(searchsorted(backwards, one, true), {3, 3}, counted_before(backwards, one, true));
    const Array every_second = slice(sort(few_numbers({3, 8}, DType::f32, 9, device), 1),
                                     {Slice{}, Slice{1, std::nullopt, 2}});
    expect_values(searchsorted(every_second, one), {3, 3},
                  counted_before(every_second, one, false));
  }
}

TEST(Searchsorted, OneRowServesValuesOfAnyShape) {
  for (const Device& device : devices_under_test()) {
    const Array edges = to_device(array({1, 3, 5, 7, 9}, {5}, DType::f32), device);
    const Array values = to_device(array({3, 6, 9, 0, 10, kNan}, {3, 2}, DType::f32), device);
    expect_values(searchsorted(edges, values), {3, 2}, {1, 3, 4, 0, 5, 5});
    expect_values(searchsorted(edges, values, true), {3, 2}, {2, 3, 5, 0, 5, 5});
    expect_values(bucketize(values, edges), {3, 2}, {1, 3, 4, 0, 5, 5});
    expect_values(bucketize(values, edges, true, DType::i32), {3, 2}, {2, 3, 5, 0, 5, 5});
    expect_values(searchsorted(edges, Array(6.0)), {}, {3});
    expect_values(searchsorted(edges, reshape(narrow(values, 0, 0, 1), {1, 1, 2})), {1, 1, 2},
                  {1, 3});
  }
}

TEST(Searchsorted, Integers64AreExact) {
  for (const Device& device : devices_under_test()) {
    const std::int64_t big = std::int64_t{1} << 62;
    const std::vector<std::int64_t> row = {std::numeric_limits<std::int64_t>::min(), -big - 1, -big,
                                           big, big + 1};
    const Array sorted = Array::from_data(row, {5}, device);
    expect_values(searchsorted(sorted, sorted), {5}, {0, 1, 2, 3, 4});
    expect_values(searchsorted(sorted, sorted, true), {5}, {1, 2, 3, 4, 5});
  }
}

TEST(Searchsorted, EmptyRowsAndValues) {
  for (const Device& device : devices_under_test()) {
    const Array none = zeros({0}, DType::f32, device);
    expect_values(searchsorted(none, ones({3}, DType::f32, device)), {3}, {0, 0, 0});
    expect_values(searchsorted(ones({3}, DType::f32, device), none), {0}, {});
    EXPECT_EQ(
        searchsorted(ones({0, 3}, DType::f32, device), ones({0, 5}, DType::f32, device)).shape(),
        Shape({0, 5}));
  }
}

// A long row, whose values are searched for in chunks by several threads.
TEST(Searchsorted, LongRows) {
  for (const Device& device : devices_under_test()) {
    const Array row = arange(0, 100000, 2, DType::i32, device);
    const Array wanted = arange(-5, 100005, 1, DType::i32, device);
    const Array expected = clamp(floor_divide(wanted + 1, Array(2)), 0, 50000);
    EXPECT_TRUE(all(equal(searchsorted(row, wanted, false, DType::i32), expected)).item<bool>());
  }
}

TEST(Searchsorted, RefusesWhatDoesNotFit) {
  const Array row = ones({3});
  expect_error(ErrorCode::shape, [&] { (void)searchsorted(ones({2, 3}), ones({3, 3})); });
  expect_error(ErrorCode::shape, [&] { (void)searchsorted(ones({2, 3}), ones({3})); });
  expect_error(ErrorCode::shape, [&] { (void)bucketize(row, ones({2, 2})); });
  expect_error(ErrorCode::dtype, [&] { (void)searchsorted(row, ones({3}, DType::f64)); });
  expect_error(ErrorCode::dtype, [&] { (void)searchsorted(row, row, false, DType::u8); });
  expect_error(ErrorCode::dtype,
               [&] { (void)searchsorted(cast(row, DType::bool_), cast(row, DType::bool_)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)searchsorted(Array(), row); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)searchsorted(row, Array()); });
}

}  // namespace
}  // namespace hearth
