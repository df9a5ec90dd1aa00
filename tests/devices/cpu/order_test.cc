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

TEST(GemmOrder, WeightsOfF16GiveTheBitsOfTheirFloats) {
  Random random(22);
  for (const std::int64_t m : {0, 1, 13, 49, 200, 400}) {
    for (const std::int64_t k : {0, 1, 15, 130, 2500}) {
      const std::int64_t n = random.between(1, 150);
      const Operand x = operand(random, m, k, DType::f32, Layout::plain);
      const Operand weight = operand(random, n, k, DType::f16, Layout::plain);
      std::vector<float> floats(static_cast<std::size_t>(n * k));
      for (std::size_t i = 0; i < floats.size(); ++i) {
        floats[i] = static_cast<float>(static_cast<const float16*>(weight.data())[i]);
      }
      GemmArgs g;
      g.m = m;
      g.n = n;
      g.k = k;
      g.a = x.data();
      g.a_row_stride = k;
      g.b_row_stride = 1;
      g.b_col_stride = k;
      g.c_row_stride = n;
      g.threads = 2;
      const auto filled = static_cast<std::size_t>(m * n);
      std::vector<float> expected(filled, -1), got(filled, -2);
      g.b = floats.data();
      g.c = expected.data();
      gemm(g);
      g.b = weight.data();
      g.c = got.data();
      gemm_f16_weights(g);
      const auto bits = [](const std::vector<float>& v) {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(v.data());
        return std::vector<unsigned char>(bytes, bytes + v.size() * sizeof(float));
      };
      EXPECT_EQ(bits(got), bits(expected)) << m << " x " << k << " by " << n;
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
