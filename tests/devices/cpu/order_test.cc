#include "devices/cpu/gemm/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/product_operands.h"

namespace hearth::cpu {
namespace {

using namespace products;

// Rows of x by weights [out, in], in products of any number of rows.
TEST(GemmOrder, ARowByWeightsHasTheSameBitsAmongAnyOthers) {
  Random random(21);
  for (int i = 0; i < 72; ++i) {
    const auto [dtype, c_dtype] = float_types()[static_cast<std::size_t>(i % 6)];
    if (dtype == DType::bf16 && amx_gemm() != nullptr) continue;  // tiles have their own order
    const std::int64_t rows = 200, n = random.between(1, i % 4 == 0 ? 5 : 150);
    const std::int64_t k = random.between(1, i % 5 == 0 ? 9000 : 700);
    const Operand x = operand(random, rows, k, dtype, i % 7 == 0 ? Layout::padded : Layout::plain);
    const Operand weight = operand(random, n, k, dtype, Layout::plain);
    const std::int64_t size = size_of(dtype), line = n * size_of(c_dtype);
    const auto multiplied = [&](std::int64_t first, std::int64_t count, int threads) {
      std::vector<unsigned char> c(static_cast<std::size_t>(count * line), 0xff);
      GemmArgs g;
      g.m = count;
      g.n = n;
      g.k = k;
      g.a = static_cast<const unsigned char*>(x.data()) + first * x.row_stride * size;
      g.a_row_stride = x.row_stride;
      g.b = weight.data();
      g.b_row_stride = 1;
      g.b_col_stride = k;
      g.c = c.data();
      g.c_row_stride = n;
      g.dtype = dtype;
      g.c_dtype = c_dtype;
      g.threads = threads;
      multiply(g);
      return c;
    };
    const std::vector<unsigned char> all = multiplied(0, rows, 2);
    for (std::int64_t first = 0; first < rows;) {
      const std::int64_t count = std::min(random.between(1, first % 2 == 0 ? 6 : 70), rows - first);
      const std::vector<unsigned char> some = multiplied(first, count, 1);
      const auto from = all.begin() + first * line;
      ASSERT_TRUE(std::equal(some.begin(), some.end(), from))
          << name(dtype) << " n=" << n << " k=" << k << " rows " << first << " and " << count;
      first += count;
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
