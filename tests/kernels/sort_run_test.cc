// The kernels that sort, on the simulator, against the CPU's: lines of one element to lines that no
// threadgroup holds, and which kernels did it.
#include <string>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/ops.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

void expect_sorted(const Array& here, std::int64_t axis, bool descending, const char* kernel) {
  const Array x = to_device(here, hearth::testing::kernel_device_under_test()).eval();
  const auto expected = sort_with_indices(here, axis, descending);
  const std::string what = std::string(name(here.dtype())) + to_string(here.shape());
  hearth::testing::expect_ran(kernel, [&] {
    const auto both = sort_with_indices(x, axis, descending);
    expect_close(both.first, expected.first.to_doubles(), 0, what);
    EXPECT_EQ(both.second.to_doubles(), expected.second.to_doubles()) << what;
    EXPECT_EQ(argsort(x, axis, descending, DType::i32).to_doubles(), expected.second.to_doubles());
    expect_close(sort(x, axis, descending), expected.first.to_doubles(), 0, what);
  });
}

TEST(SortKernels, LinesInThreadgroups) {
  std::uint64_t seed = 0;
  for (const std::int64_t n : {1, 2, 3, 31, 32, 33, 64, 65, 300, 512, 513, 1500, 2048}) {
    for (const DType dtype : {DType::f32, DType::i64}) {
      const std::int64_t rows = n < 100 ? 41 : 3;
      const Array x = random_array({rows, n}, dtype, -20, 20, ++seed);
      expect_sorted(is_float(dtype) ? floor(x).eval() : x, 1, n % 2 == 0, "sort_block");
    }
  }
  expect_sorted(random_array({4096, 2}, DType::f32, -9, 9, 50), 0, false, "sort_block");
}

TEST(SortKernels, LongerLines) {
  expect_sorted(random_array({4097}, DType::f32, -9, 9, 60), 0, false, "sort_place");
  expect_sorted(random_array({2049, 2}, DType::f64, -9, 9, 61), 0, true, "sort_place");
  expect_sorted(floor(random_array({3, 5000}, DType::bf16, -9, 9, 62)).eval(), 1, true,
                "sort_line_keys");
  expect_sorted(random_array({300, 4100}, DType::u8, 0, 200, 63), 1, false, "sort_line_keys");
  expect_sorted(random_array({2, 2500}, DType::i64, -9e15, 9e15, 64), 1, false, "sort_next_keys");
}

// Keys that several elements have, whose bits come from where they stood.
TEST(SortKernels, LongLinesKeepTheBitsOfTheirElements) {
  const double odd[] = {0, -0.0, kInf, -kInf, kNan, 1, -1, 0.5};
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32, DType::i8, DType::bool_}) {
    Values values = random_values(9000, is_bool(dtype) ? 0 : -90, 90, 7);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_float(dtype) && i % 3 == 0) values[i] = odd[i / 3 % std::size(odd)];
      if (dtype == DType::u32) values[i] = std::abs(values[i]);
    }
    for (const bool descending : {false, true}) {
      const Array x = array(values, {9000}, dtype);
      expect_sorted(x, 0, descending, "sort_place");
      if (!is_float(dtype)) continue;
      const Array there = to_device(x, hearth::testing::kernel_device_under_test());
      // Of -0 the reciprocal is -inf.
      const Values got = recip(sort(there, 0, descending)).to_doubles();
      const Values wanted = recip(sort(x, 0, descending)).to_doubles();
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(got[i] == wanted[i] || std::abs(got[i] - wanted[i]) < 1e-2 ||
                    (std::isnan(got[i]) && std::isnan(wanted[i])))
            << i << ": " << got[i] << ", " << wanted[i];
      }
    }
  }
}

}  // namespace
}  // namespace hearth
