// topk, argtopk, bincount and nonzero_static, by their public functions: against whole sorts and
// counts on the host, over lengths that kernels treat apart, ties, special values and layouts.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/hearth.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

constexpr DType kTopDTypes[] = {DType::f64, DType::f32, DType::f16,  DType::bf16, DType::i64,
                                DType::i32, DType::i16, DType::i8,   DType::u64,  DType::u32,
                                DType::u16, DType::u8,  DType::bool_};

// The first k of a stable sort, of the bits of elements as well.
void expect_top(const Array& x, std::int64_t k, std::int64_t axis = -1) {
  const std::string what = std::string(name(x.dtype())) + to_string(x.shape()) + " on " +
                           x.device().name() + ", k = " + std::to_string(k);
  const auto whole = sort_with_indices(x, axis, true);
  const Array values = narrow(whole.first, axis, 0, k), places = narrow(whole.second, axis, 0, k);
  const auto top = topk_with_indices(x, k, axis);
  EXPECT_EQ(top.second.to_doubles(), places.to_doubles()) << what;
  expect_close(top.first, values.to_doubles(), 0, what);
  expect_close(topk(x, k, axis), values.to_doubles(), 0, what);
  EXPECT_EQ(argtopk(x, k, axis, DType::i32).to_doubles(), places.to_doubles()) << what;
  if (!is_float(x.dtype())) return;
  // Of -0 the reciprocal is -inf.
  expect_close(recip(top.first), recip(values).to_doubles(), 0, what);
}

TEST(TopK, LengthsAndCounts) {
  for (const Device device : devices_under_test()) {
    std::uint64_t seed = 0;
    for (const std::int64_t n : {1, 31, 32, 63, 64, 65, 200, 1000, 1024, 3001}) {
      const Array x = to_device(random_array({3, n}, DType::f32, -9, 9, ++seed), device);
      for (const std::int64_t k : {0, 1, 2, 10, 31, 33, 100, 256, 257, 1000}) {
        if (k <= n) expect_top(x, k);
      }
      expect_top(x, n);
    }
    // Several parts, and parts of their results.
    expect_top(to_device(random_array({2, 40000}, DType::f32, -9, 9, 31), device), 70);
    expect_top(to_device(random_array({70001}, DType::bf16, -9, 9, 32), device), 5);
    expect_top(to_device(random_array({66000}, DType::i64, -9e15, 9e15, 33), device), 256);
  }
}

TEST(TopK, TiesTakeTheFirstInEveryDType) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : kTopDTypes) {
      if (device.name() != Device().name() && size_of(dtype) > 1 && !is_float(dtype) &&
          dtype != DType::u64) {
        continue;
      }
      const Array x = random_array({2, 1500}, DType::f64, 0, 4, 5);
      const Array few = to_device(cast(floor(x), dtype), device);
      for (const std::int64_t k : {1, 10, 60, 200}) expect_top(few, k);
      expect_top(to_device(ones({40, 300}, dtype), device), 7);
      expect_top(to_device(zeros({20000}, dtype), device), 9);
      // One that is larger, behind many that are equal.
      const Array last = cat({zeros({2999}, dtype), ones({1}, dtype)}, 0);
      expect_top(to_device(last, device), 100);
      // The least key of all, which fills places that have no element.
      const Array least =
          is_float(dtype) ? full({1100}, -kInf, dtype) : cast(full({1100}, 0, DType::i64), dtype);
      expect_top(to_device(least, device), 70);
    }
    const Array low = full({2000}, std::numeric_limits<std::int64_t>::min(), DType::i64);
    expect_top(to_device(low, device), 40);
  }
}

TEST(TopK, SpecialValues) {
  const double odd[] = {0, -0.0, kInf, -kInf, kNan, 1, -1, 0.5};
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      Values values = random_values(2100, -3, 3, 9);
      for (std::size_t i = 0; i < values.size(); i += 7) values[i] = odd[i / 7 % std::size(odd)];
      const Array x = to_device(array(values, {3, 700}, dtype), device);
      for (const std::int64_t k : {1, 20, 60, 87}) expect_top(x, k);
      const Array zeros_only = where(greater(x, 0.0), Array(0.0), Array(-0.0));
      expect_top(cast(zeros_only, dtype).eval(), 30);
    }
  }
}

TEST(TopK, LayoutsAndAxes) {
  for (const Device device : devices_under_test()) {
    const Array x = to_device(random_array({70, 6, 90}, DType::f32, -9, 9, 3), device);
    for (const std::int64_t axis : {0, 1, 2, -1, -3}) expect_top(x, 3, axis);
    expect_top(swap_axes(x, 0, 2), 4, 2);
    expect_top(flip(x, {2}), 4);
    expect_top(slice(x, {{1, 69, 2}, {1, 5}, {3, 88}}), 5);
    expect_top(expand(narrow(x, 1, 2, 1), {70, 6, 90}), 5);
  }
}

TEST(TopK, GradientsGoToWhereElementsWere) {
  for (const Device device : devices_under_test()) {
    const Array x = to_device(random_array({4, 300}, DType::f32, -9, 9, 3), device);
    const Array w = to_device(random_array({4, 12}, DType::f32, 1, 2, 4), device);
    const auto gradient_of = [&](auto&& choose) {
      return grad([&](const Array& at) { return sum(choose(at) * w); })(x);
    };
    const Array got = gradient_of([](const Array& at) { return topk(at, 12); });
    const Array wanted =
        gradient_of([](const Array& at) { return narrow(sort(at, -1, true), -1, 0, 12); });
    expect_close(got, wanted.to_doubles(), 0, "gradient");
  }
}

// Bytes of a row that starts anywhere.
TEST(Places, OfRowsThatStartAnywhere) {
  for (const Device device : devices_under_test()) {
    for (const std::int64_t size : {1, 15, 16, 17, 4096, 4097, 9000, 70000, 200001}) {
      const Array all = to_device(less(random_array({size + 3}, DType::f32, 0, 1, 8), 0.3), device);
      all.eval();
      for (const std::int64_t first : {0, 3}) {
        const Array chosen = narrow(all, 0, first, size);
        const Values flags = chosen.to_doubles();
        Values expected;
        for (std::size_t i = 0; i < flags.size(); ++i) {
          if (flags[i] != 0) expected.push_back(static_cast<double>(i));
        }
        EXPECT_EQ(nonzero(chosen)[0].to_doubles(), expected) << device.name() << ", " << size;
      }
      const Array backwards = flip(all, {0});
      EXPECT_EQ(nonzero(backwards)[0].size(), nonzero(all)[0].size());
    }
  }
}

TEST(Counts, OfEveryDTypeLengthAndLayout) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : kTopDTypes) {
      if (!is_int(dtype)) continue;
      const double least = info(dtype).is_signed ? -5 : 0;
      const Array numbers = floor(random_array({3, 50000}, DType::f64, least, 120, 4));
      const Array x = to_device(cast(numbers, dtype), device);
      for (const std::int64_t length : {0, 1, 50, 121, 9000}) {
        for (const Array& each : {x, flip(x, {1}), transpose(x), slice(x, {{1, 3}, {7, 900, 3}})}) {
          Values expected(static_cast<std::size_t>(length), 0.0);
          for (const double number : each.to_doubles()) {
            if (number >= 0 && number < static_cast<double>(length)) {
              expected[static_cast<std::size_t>(number)] += 1;
            }
          }
          const Array got = bincount(each, Array(), 0, length);
          EXPECT_EQ(got.dtype(), DType::i64);
          EXPECT_EQ(got.to_doubles(), expected)
              << name(dtype) << " on " << device.name() << ", " << length;
        }
      }
    }
    const Array top = to_device(
        array({18446744073709549568.0, 3, 9223372036854775808.0}, {3}, DType::u64), device);
    EXPECT_EQ(bincount(top, Array(), 0, 5).to_doubles(), (Values{0, 0, 0, 1, 0}));
  }
}

}  // namespace
}  // namespace hearth
