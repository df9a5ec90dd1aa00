// nonzero, argwhere, mask_select and unique: order, layouts, special values, waits, gradients.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

constexpr DType kSelectable[] = {DType::f64, DType::f32, DType::f16,  DType::bf16, DType::i64,
                                 DType::i32, DType::i16, DType::i8,   DType::u64,  DType::u32,
                                 DType::u16, DType::u8,  DType::bool_};

// Some zeros among a few numbers.
Array with_zeros(const Shape& shape, DType dtype, std::uint64_t seed, Device device) {
  Values values = random_values(element_count(shape), 0, 4, seed);
  for (double& value : values) value = std::floor(value);
  return to_device(array(values, shape, dtype), device);
}

// Row-major indices of what is not 0.
std::vector<Values> host_nonzero(const Array& x) {
  const Values values = x.to_doubles();
  std::vector<Values> indices(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      indices[static_cast<std::size_t>(axis)].push_back(static_cast<double>(rest % x.shape(axis)));
      rest /= x.shape(axis);
    }
  }
  return indices;
}

void expect_nonzero(const Array& x) {
  const std::vector<Values> expected = host_nonzero(x);
  const std::vector<Array> got = nonzero(x);
  ASSERT_EQ(got.size(), expected.size());
  const Array rows = argwhere(x);
  EXPECT_EQ(rows.dtype(), DType::i64);
  const auto count = static_cast<std::int64_t>(expected.empty() ? 0 : expected[0].size());
  EXPECT_EQ(rows.shape(), Shape({count, x.rank()}));
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    EXPECT_EQ(got[at].dtype(), DType::i64);
    expect_values(got[at], {count}, expected[at]);
    expect_values(squeeze(narrow(rows, 1, axis, 1), {1}), {count}, expected[at]);
  }
}

TEST(Selection, NonzeroInEveryDtypeAndLayout) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : kSelectable) {
      expect_nonzero(with_zeros({37}, dtype, 1, device));
      expect_nonzero(with_zeros({3, 5, 4}, dtype, 2, device));
    }
    const Array x = with_zeros({4, 6, 5}, DType::f32, 3, device);
    expect_nonzero(permute(x, {2, 0, 1}));
    expect_nonzero(flip(x, {0, 2}));
    expect_nonzero(slice(x, {Slice{1, 4}, Slice{0, std::nullopt, 2}}));
    expect_nonzero(expand(narrow(x, 1, 2, 1), {4, 3, 5}));
    expect_nonzero(with_zeros({2, 1, 2, 1, 2, 1, 2, 2}, DType::i32, 4, device));
    expect_nonzero(with_zeros({30000}, DType::u8, 5, device));
    expect_nonzero(zeros({2, 3}, DType::f32, device));
    expect_nonzero(ones({2, 3}, DType::f32, device));
    expect_nonzero(zeros({2, 0, 3}, DType::f32, device));
    const std::int64_t wide = std::int64_t{1} << 29;
    const Array none = expand(zeros({0, 1, 1}, DType::f32, device), {0, wide, wide});
    EXPECT_EQ(argwhere(none).shape(), Shape({0, 3}));
    EXPECT_EQ(nonzero(none)[1].shape(), Shape({0}));
  }
}

TEST(Selection, NanIsNotZeroAndBothZerosAre) {
  for (const Device& device : devices_under_test()) {
    const Array x = to_device(array({0.0, kNan, -0.0, -kInf, 1e-40}, {5}, DType::f64), device);
    expect_values(nonzero(x)[0], {3}, {1, 3, 4});
  }
}

TEST(Selection, RankZero) {
  for (const Device& device : devices_under_test()) {
    EXPECT_TRUE(nonzero(ones({}, DType::f32, device)).empty());
    EXPECT_EQ(argwhere(ones({}, DType::f32, device)).shape(), Shape({1, 0}));
    EXPECT_EQ(argwhere(zeros({}, DType::f32, device)).shape(), Shape({0, 0}));
    const Array one = full({}, 3.0, DType::f32, device);
    expect_values(mask_select(one, ones({}, DType::bool_, device)), {1}, {3});
    expect_values(unique(one), {1}, {3});
  }
}

TEST(Selection, MaskSelectKeepsOrder) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : kSelectable) {
      const Array x = with_zeros({4, 9}, dtype, 6, device);
      const Array mask = to_device(
          array(with_zeros({9, 4}, DType::f64, 7, device).to_doubles(), {9, 4}, DType::bool_),
          device);
      const Array turned = transpose(mask);
      Values expected;
      const Values values = x.to_doubles(), is_kept = turned.to_doubles();
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (is_kept[i] != 0) expected.push_back(values[i]);
      }
      const Array got = mask_select(x, turned);
      EXPECT_EQ(got.dtype(), dtype);
      expect_values(got, {static_cast<std::int64_t>(expected.size())}, expected);
    }
    expect_values(
        mask_select(ones({2, 2}, DType::f32, device), zeros({2, 2}, DType::bool_, device)), {0},
        {});
  }
}

TEST(Selection, MaskSelectGradients) {
  const Array mask = array({1, 0, 1, 1, 0, 0}, {2, 3}, DType::bool_);
  const Many f = [&](std::span<const Array> in) { return square(mask_select(in[0], mask)); };
  check_gradients(f, {random_array({2, 3})});
  check_second_gradients(f, {random_array({2, 3})});
  const Many none = [&](std::span<const Array> in) {
    return mask_select(in[0], zeros({2, 3}, DType::bool_));
  };
  check_gradients(none, {random_array({2, 3})});
}

TEST(Selection, UniqueIsSortedAndInverseGivesTheArrayBack) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : kSelectable) {
      for (const Shape& shape : {Shape({1}), Shape({50}), Shape({7, 3, 5}), Shape({0, 4})}) {
        const Array x = with_zeros(shape, dtype, 8, device);
        const auto [values_found, indices, inverse, counts_found] = unique_all(x);
        const Values values = x.to_doubles();
        const std::set<double> different(values.begin(), values.end());
        EXPECT_EQ(values_found.to_doubles(), Values(different.begin(), different.end()));
        EXPECT_EQ(values_found.dtype(), dtype);
        EXPECT_EQ(inverse.shape(), shape);
        EXPECT_EQ(unique(x).to_doubles(), values_found.to_doubles());
        EXPECT_EQ(sum(counts_found).item<std::int64_t>(), x.size());
        if (x.size() == 0) continue;
        const Array flat_inverse = reshape(inverse, {x.size()});
        EXPECT_EQ(select(values_found, flat_inverse, 0).to_doubles(), values);
        Values first, counts;
        for (const double value : different) {
          first.push_back(
              static_cast<double>(std::find(values.begin(), values.end(), value) - values.begin()));
          counts.push_back(static_cast<double>(std::count(values.begin(), values.end(), value)));
        }
        EXPECT_EQ(indices.to_doubles(), first);
        EXPECT_EQ(counts_found.to_doubles(), counts);
      }
    }
  }
}

// Many integers are counted where their range is short; the others are sorted.
TEST(Selection, UniqueOfManyIntegers) {
  const std::int64_t size = 20000;
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u64, DType::u32,
                              DType::u16, DType::u8, DType::bool_}) {
      const bool is_signed =
          dtype == DType::i64 || dtype == DType::i32 || dtype == DType::i16 || dtype == DType::i8;
      for (const double extent : {1.0, 40.0, 120.0, 19999.0, 20000.0, 20001.0, 60000.0}) {
        if (extent > (size_of(dtype) == 1 ? 120 : 20001) && size_of(dtype) < 4) continue;
        const double low = is_signed ? -std::floor(extent / 2) : 0;
        Values values = random_values(size, low, low + extent, 31);
        for (double& value : values) value = std::floor(value);
        values.front() = low, values.back() = low + extent - 1;
        const Array x = to_device(array(values, {100, 200}, dtype), device);
        const Values given = x.to_doubles();
        const std::set<double> different(given.begin(), given.end());
        const Array got = unique(x);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_EQ(got.to_doubles(), Values(different.begin(), different.end()))
            << name(dtype) << " " << extent;
      }
    }
    // The whole range of 64 bits has no length that fits them.
    const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
    std::vector<std::int64_t> ends(static_cast<std::size_t>(size), most);
    ends[77] = least, ends[78] = most - 1;
    const auto found = [&] { return unique(to_device(Array::from_data(ends, {size}), device)); };
    EXPECT_EQ(found().to_vector<std::int64_t>(), (std::vector{least, most - 1, most}));
    ends[77] = most - 20000;
    EXPECT_EQ(found().to_vector<std::int64_t>(), (std::vector{most - 20000, most - 1, most}));
    ends[77] = most - 19999;
    EXPECT_EQ(found().to_vector<std::int64_t>(), (std::vector{most - 19999, most - 1, most}));
  }
}

TEST(Selection, UniqueOfSpecialValues) {
  for (const Device& device : devices_under_test()) {
    const Array x =
        to_device(array({kNan, 1, -0.0, kInf, kNan, 0.0, -kInf, 1, kNan}, {9}, DType::f32), device);
    const auto [values_found, indices, inverse, counts_found] = unique_all(x);
    expect_values(values_found, {5}, {-kInf, -0.0, 1, kInf, kNan});
    expect_values(indices, {5}, {6, 2, 1, 3, 0});
    expect_values(counts_found, {5}, {1, 2, 2, 1, 3});
    expect_values(inverse, {9}, {4, 2, 1, 3, 4, 1, 0, 2, 4});
  }
}

TEST(Selection, UniqueGradientsGoToFirstElements) {
  const Many f = [](std::span<const Array> in) {
    return square(unique(cat({in[0], narrow(in[0], 0, 0, 2)}, 0)));
  };
  check_gradients(f, {random_array({6}, DType::f64, -1, 1, 12)}, 1e-6);
}

TEST(Selection, EachWaitIsCounted) {
  const auto waits_of = [](const std::function<void()>& call) {
    const std::int64_t before = statistics().syncs;
    call();
    return statistics().syncs - before;
  };
  for (const Device& device : devices_under_test()) {
    const Array x = with_zeros({5, 5}, DType::f32, 9, device);
    const Array mask = greater(x, 1.0);
    EXPECT_EQ(waits_of([&] { (void)nonzero(x); }), 1);
    EXPECT_EQ(waits_of([&] { (void)argwhere(x); }), 1);
    EXPECT_EQ(waits_of([&] { (void)mask_select(x, mask); }), 1);
    EXPECT_EQ(waits_of([&] { (void)unique_all(x); }), 1);
    EXPECT_EQ(waits_of([&] { (void)nonzero(zeros({0}, DType::f32, device)); }), 0);
    EXPECT_EQ(waits_of([&] { (void)sort(x); }), 0);
  }
}

TEST(Selection, RefusesWhatDoesNotFit) {
  const Array x = ones({2, 3});
  expect_error(ErrorCode::shape, [&] { (void)mask_select(x, ones({3}, DType::bool_)); });
  expect_error(ErrorCode::dtype, [&] { (void)mask_select(x, x); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)mask_select(x, Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)mask_select(Array(), Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)nonzero(Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)argwhere(Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)unique(Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)unique_all(Array()); });
  const Device other = devices_under_test().back();
  if (other == Device::cpu()) return;
  expect_error(ErrorCode::device, [&] {
    (void)mask_select(ones({3}, DType::f32, Device::cpu()), ones({3}, DType::bool_, other));
  });
}

}  // namespace
}  // namespace hearth
