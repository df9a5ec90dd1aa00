// The kernels that sort and select, on the simulator, against the CPU's: lines of one element to
// lines that no threadgroup holds, and which kernels did it.
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
      expect_sorted(is_float(dtype) ? floor(x).eval() : x, 1, n % 2 == 0,
                    is_float(dtype) ? "sort_threads" : "sort_block");
    }
  }
  for (const DType dtype : {DType::bf16, DType::f16, DType::i16, DType::u8, DType::bool_}) {
    const Array x = floor(random_array({3, 700}, DType::f32, 0, 9, 40));
    expect_sorted(cast(x, dtype).eval(), 1, true, "sort_threads");
    expect_sorted(cast(x, dtype).eval(), 0, false, "sort_threads");
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

TEST(SortKernels, LargestElementsWithoutASort) {
  const auto expect_top = [](const Array& here, std::int64_t k, const char* kernel) {
    const Array x = to_device(here, hearth::testing::kernel_device_under_test()).eval();
    const auto expected = sort_with_indices(here, -1, true);
    hearth::testing::expect_ran(kernel, [&] {
      const auto top = topk_with_indices(x, k);
      expect_close(top.first, narrow(expected.first, -1, 0, k).to_doubles(), 0, kernel);
      EXPECT_EQ(top.second.to_doubles(), narrow(expected.second, -1, 0, k).to_doubles());
    });
  };
  expect_top(random_array({3, 900}, DType::bf16, -9, 9, 70), 10, "topk_elements");
  expect_top(zeros({2, 5000}, DType::f32), 40, "topk_elements");
  expect_top(random_array({40000}, DType::f32, -9, 9, 71), 90, "topk_parts");
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
