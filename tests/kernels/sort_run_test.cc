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

}  // namespace
}  // namespace hearth
