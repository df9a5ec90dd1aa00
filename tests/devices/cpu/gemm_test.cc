// Products by gemm(), and by gemm_skinny() where they are skinny.
#include "devices/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "devices/cpu/gemm/amx_packing.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/product_operands.h"
#include "devices/element.h"
#include "runtime/device/worker_pool.h"
#include "unit_roundoff.h"

namespace hearth::cpu {
namespace {

using namespace products;

struct Case {
  std::int64_t m, n, k;
  DType dtype, c_dtype;
  Layout a_layout, b_layout;
  bool accumulate;
  std::int64_t c_pad;
};

std::string describe(const Case& c) {
  return "m=" + std::to_string(c.m) + " n=" + std::to_string(c.n) + " k=" + std::to_string(c.k) +
         " " + std::string(name(c.dtype)) + "->" + std::string(name(c.c_dtype)) +
         " a=" + std::to_string(static_cast<int>(c.a_layout)) +
         " b=" + std::to_string(static_cast<int>(c.b_layout)) + (c.accumulate ? " +=" : " =");
}

void check_product(const Case& t, const Operand& a, const Operand& b,
                   const std::vector<unsigned char>& before, const std::vector<unsigned char>& c) {
  const std::int64_t stride = t.n + t.c_pad;
  const std::int64_t size = size_of(t.c_dtype);
  std::vector<double> x(static_cast<std::size_t>(t.m * t.k)),
      y(static_cast<std::size_t>(t.k * t.n));
  for (std::int64_t i = 0; i < t.m; ++i) {
    for (std::int64_t p = 0; p < t.k; ++p) {
      x[static_cast<std::size_t>(i * t.k + p)] =
          get_element(a.data(), i * a.row_stride + p * a.col_stride, t.dtype);
    }
  }
  for (std::int64_t j = 0; j < t.n; ++j) {
    for (std::int64_t p = 0; p < t.k; ++p) {
      y[static_cast<std::size_t>(j * t.k + p)] =
          get_element(b.data(), p * b.row_stride + j * b.col_stride, t.dtype);
    }
  }
  const double eps = t.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
  int shown = 0;
  for (std::int64_t i = 0; i < t.m && shown < 5; ++i) {
    for (std::int64_t j = 0; j < stride && shown < 5; ++j) {
      const std::int64_t at = i * stride + j;
      if (j >= t.n) {
        if (std::memcmp(&c[static_cast<std::size_t>(at * size)],
                        &before[static_cast<std::size_t>(at * size)],
                        static_cast<std::size_t>(size)) != 0) {
          ADD_FAILURE() << "wrote between the rows of C at " << i << "," << j;
          ++shown;
        }
        continue;
      }
      double sum = t.accumulate ? get_element(before.data(), at, t.c_dtype) : 0;
      double norm = std::abs(sum);
      for (std::int64_t p = 0; p < t.k; ++p) {
        const double product =
            x[static_cast<std::size_t>(i * t.k + p)] * y[static_cast<std::size_t>(j * t.k + p)];
        sum += product;
        norm += std::abs(product);
      }
      const double got = get_element(c.data(), at, t.c_dtype);
      double bound = 0;
      if (is_float(t.dtype)) {
        bound = static_cast<double>(t.k + 2) * eps * norm;
        if (t.c_dtype != t.dtype || t.dtype == DType::f16 || t.dtype == DType::bf16) {
          bound += hearth::testing::unit_roundoff(t.c_dtype) * std::abs(sum) * 1.01 + 1e-7;
        }
      } else if (t.c_dtype != DType::i64 && t.c_dtype != DType::u64) {
        sum -= std::floor(sum / std::ldexp(1.0, static_cast<int>(size) * 8)) *
               std::ldexp(1.0, static_cast<int>(size) * 8);
        if (info(t.c_dtype).is_signed && sum >= std::ldexp(1.0, static_cast<int>(size) * 8 - 1)) {
          sum -= std::ldexp(1.0, static_cast<int>(size) * 8);
        }
      }
      if (!(std::abs(got - sum) <= bound)) {
        ADD_FAILURE() << "at " << i << "," << j << ": got " << got << ", expected " << sum
                      << " within " << bound;
        ++shown;
      }
    }
  }
}

// Returns whether the product is skinny.
bool check_case(Random& random, const Case& t, int threads) {
  const Operand a = operand(random, t.m, t.k, t.dtype, t.a_layout);
  const Operand b = operand(random, t.k, t.n, t.dtype, t.b_layout);
  const std::int64_t stride = t.n + t.c_pad;
  const std::int64_t size = size_of(t.c_dtype);
  std::vector<unsigned char> c(static_cast<std::size_t>(t.m * stride * size), 0xff);  // NaN or -1
  if (t.accumulate) {
    for (std::int64_t i = 0; i < t.m * stride; ++i)
      set_element(c.data(), i, t.c_dtype, random.value(t.c_dtype));
  }
  const std::vector<unsigned char> before = c;

  GemmArgs g;
  g.m = t.m;
  g.n = t.n;
  g.k = t.k;
  g.a = a.data();
  g.a_row_stride = a.row_stride;
  g.a_col_stride = a.col_stride;
  g.b = b.data();
  g.b_row_stride = b.row_stride;
  g.b_col_stride = b.col_stride;
  g.c = c.data();
  g.c_row_stride = stride;
  g.dtype = t.dtype;
  g.c_dtype = t.c_dtype;
  g.accumulate = t.accumulate;
  g.threads = threads;
  {
    SCOPED_TRACE(describe(t) + " by gemm");
    gemm(g);
    check_product(t, a, b, before, c);
  }
  if (t.dtype == DType::bf16) {
    SCOPED_TRACE(describe(t) + " in tiles");
    c = before;
    gemm_bf16(emulated_amx_gemm(), g);
    check_product(t, a, b, before, c);
    if (amx_gemm() != nullptr) {
      SCOPED_TRACE("of the processor");
      const std::vector<unsigned char> emulated = c;
      c = before;
      gemm_bf16(*amx_gemm(), g);
      EXPECT_EQ(c, emulated);
    }
  }
  if (!is_skinny(g)) return false;
  SCOPED_TRACE(describe(t) + " by gemm_skinny");
  c = before;
  gemm_skinny(g);
  check_product(t, a, b, before, c);
  return true;
}

TEST(Gemm, RandomShapesLayoutsAndFloats) {
  Random random(1);
  int skinny = 0;
  for (int i = 0; i < 240; ++i) {
    const auto [dtype, c_dtype] = float_types()[static_cast<std::size_t>(i % 6)];
    const std::int64_t most = i % 3 == 0 ? 200 : 40;
    skinny += check_case(random,
                         {random.between(1, most), random.between(1, most), random.between(1, most),
                          dtype, c_dtype, static_cast<Layout>(random.between(0, kLayouts - 1)),
                          static_cast<Layout>(random.between(0, kLayouts - 1)),
                          random.between(0, 1) == 1, random.between(0, 1) * 3},
                         static_cast<int>(random.between(1, 2)))
                  ? 1
                  : 0;
  }
  EXPECT_GT(skinny, 10);
}

TEST(Gemm, EveryPairOfLayouts) {
  Random random(2);
  for (const auto& [dtype, c_dtype] : float_types()) {
    for (int a = 0; a < kLayouts; ++a) {
      for (int b = 0; b < kLayouts; ++b) {
        for (const std::int64_t m : {1, 3, 37}) {
          for (const std::int64_t n : {1, 5, 83}) {
            check_case(random,
                       {m, n, 45, dtype, c_dtype, static_cast<Layout>(a), static_cast<Layout>(b),
                        (a + b) % 2 == 1, 0},
                       1);
          }
        }
      }
    }
  }
}

TEST(Gemm, EverySmallSize) {
  Random random(3);
  for (std::int64_t m = 1; m <= 14; ++m) {
    for (std::int64_t n = 1; n <= 70; n += m % 3 + 1) {
      for (const std::int64_t k : {1, 2, 7, 17}) {
        check_case(random,
                   {m, n, k, DType::f32, DType::f32, Layout::plain, Layout::plain, false, 2}, 1);
      }
    }
  }
}

TEST(Gemm, LongSumsAndManyTasks) {
  Random random(4);
  for (const auto& [dtype, c_dtype] : float_types()) {
    for (const bool accumulate : {false, true}) {
      check_case(random, {7, 70, 1500, dtype, c_dtype, Layout::plain, Layout::plain, accumulate, 0},
                 2);
      check_case(random,
                 {130, 300, 401, dtype, c_dtype, Layout::plain, Layout::plain, accumulate, 0}, 2);
      check_case(
          random,
          {130, 520, 65, dtype, c_dtype, Layout::transposed, Layout::transposed, accumulate, 0}, 2);
      check_case(random,
                 {1, 900, 1300, dtype, c_dtype, Layout::plain, Layout::plain, accumulate, 0}, 2);
      check_case(random,
                 {1, 900, 1301, dtype, c_dtype, Layout::plain, Layout::transposed, accumulate, 0},
                 2);
      check_case(random,
                 {900, 1, 1300, dtype, c_dtype, Layout::plain, Layout::plain, accumulate, 0}, 2);
      check_case(random,
                 {900, 1, 1301, dtype, c_dtype, Layout::transposed, Layout::plain, accumulate, 3},
                 2);
    }
  }
}

TEST(Gemm, TilesAcrossTasks) {
  Random random(11);
  for (const Layout a : {Layout::plain, Layout::transposed, Layout::negative}) {
    for (const Layout b : {Layout::plain, Layout::transposed}) {
      // Whole tiles of A where it lies, packed ones, and several parts of k.
      for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
               {64, 96, 64}, {400, 70, 33}, {33, 300, 1100}, {400, 64, 544}}) {
        check_case(random, {m, n, k, DType::bf16, DType::bf16, a, b, false, 0}, 2);
        check_case(random, {m, n, k, DType::bf16, DType::f32, a, b, true, 1}, 2);
      }
    }
  }
}

// Many threads pack what they need, A and, of small products, B.
TEST(Gemm, TilesOfManyThreads) {
  Random random(13);
  WorkerPool& pool = WorkerPool::global();
  const int before = pool.threads();
  for (const int threads : {8, 2}) {
    pool.set_threads(threads);
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {400, 300, 544}, {1030, 70, 100}, {513, 200, 65}}) {
      check_case(random, {m, n, k, DType::bf16, DType::f32, Layout::plain, Layout::plain, true, 0},
                 2);
      check_case(random,
                 {m, n, k, DType::bf16, DType::bf16, Layout::transposed, Layout::plain, false, 0},
                 2);
    }
  }
  pool.set_threads(before);
}

TEST(Gemm, TilesArePackedAlikeOnEveryProcessor) {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t m = random.between(1, 50), k = random.between(1, 100);
    const Operand a = operand(random, m, k, DType::bf16, static_cast<Layout>(i % kLayouts));
    const auto* from = static_cast<const bfloat16*>(a.data());
    const auto up = [](std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; };
    const auto elements = static_cast<std::size_t>(up(m, kTileRows) * up(k, kTileDepth));
    std::vector<std::uint16_t> packed[2];
    std::vector<std::uint32_t> panels[2];
    for (const bool portable : {false, true}) {
      const AmxPacking& packing = portable ? kPortableAmxPacking : amx_packing();
      std::vector<std::uint16_t>& tiles = packed[portable];
      tiles.assign(elements, 0xffff);
      packing.a(from, a.row_stride, a.col_stride, m, k, reinterpret_cast<bfloat16*>(tiles.data()));
      // The same matrix as B: m values of k, k columns.
      const std::int64_t height = up((m + 1) / 2, kTilePairs);
      panels[portable].assign(static_cast<std::size_t>(height * up(k, kTileCols)), 0xffffffff);
      packing.b(from, a.row_stride, a.col_stride, m, k, height, 0, 0, 0, panels[portable].data());
    }
    EXPECT_EQ(packed[0], packed[1]);
    EXPECT_EQ(panels[0], panels[1]);
  }
}

TEST(Gemm, Integers) {
  Random random(5);
  for (const DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u64, DType::u32,
                            DType::u16, DType::u8}) {
    for (int i = 0; i < 12; ++i) {
      check_case(random,
                 {random.between(1, 90), random.between(1, 300), random.between(0, 120), dtype,
                  dtype, static_cast<Layout>(i % kLayouts), static_cast<Layout>((i / 2) % kLayouts),
                  i % 3 == 0, 1},
                 2);
    }
  }
}

TEST(Gemm, EmptyExtents) {
  Random random(6);
  for (const auto& [dtype, c_dtype] : float_types()) {
    for (const std::int64_t m : {0, 1, 20}) {
      for (const std::int64_t n : {0, 1, 33}) {
        for (const std::int64_t k : {0, 3}) {
          check_case(random, {m, n, k, dtype, c_dtype, Layout::plain, Layout::transposed, false, 1},
                     2);
          check_case(random, {m, n, k, dtype, c_dtype, Layout::plain, Layout::plain, true, 1}, 2);
        }
      }
    }
  }
}

GemmArgs plain(std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b,
               void* c, DType dtype = DType::f32) {
  GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.a_row_stride = k;
  g.b = b;
  g.b_row_stride = n;
  g.c = c;
  g.c_row_stride = n;
  g.dtype = dtype;
  g.c_dtype = dtype;
  return g;
}

TEST(Gemm, NanAndInfinityPropagate) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t m : {1, 5, 100}) {
    for (const std::int64_t n : {1, 17, 130}) {
      const std::int64_t k = 50;
      std::vector<float> a(static_cast<std::size_t>(m * k), 0.0f);
      std::vector<float> b(static_cast<std::size_t>(k * n), 1.0f);
      std::vector<float> c(static_cast<std::size_t>(m * n));
      b[static_cast<std::size_t>(20 * n)] = inf;  // 0 * inf in column 0 only
      multiply(plain(m, n, k, a.data(), b.data(), c.data()));
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const float got = c[static_cast<std::size_t>(i * n + j)];
          if (j == 0) {
            EXPECT_TRUE(std::isnan(got));
          } else {
            EXPECT_EQ(got, 0.0f);
          }
        }
      }
    }
  }
}

TEST(Gemm, SameBitsForAnyNumberOfThreads) {
  Random random(7);
  for (const auto& [dtype, c_dtype] : float_types()) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {300, 200, 900}, {64, 64, 64}, {1, 3000, 700}, {3000, 1, 700}, {9, 1100, 130}}) {
      const Operand a = operand(random, m, k, dtype, Layout::plain);
      const Operand b = operand(random, k, n, dtype, Layout::plain);
      std::vector<std::vector<unsigned char>> results;
      for (const int threads : {1, 2, 5}) {
        WorkerPool::global().set_threads(threads);
        results.emplace_back(static_cast<std::size_t>(m * n * size_of(c_dtype)));
        GemmArgs g = plain(m, n, k, a.data(), b.data(), results.back().data(), dtype);
        g.c_dtype = c_dtype;
        multiply(g);
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_EQ(results[0], results[2]);
    }
  }
  WorkerPool::global().set_threads(2);
}

// Of weights [n, k], with tiles as well as without.
TEST(Gemm, ByRowARowHasTheSameBitsInAnyCompany) {
  Random random(29);
  constexpr std::int64_t n = 200, k = 700, kMost = 70;
  for (const auto& [dtype, c_dtype] : float_types()) {
    const Operand a = operand(random, kMost, k, dtype, Layout::plain);
    const Operand b = operand(random, k, n, dtype, Layout::transposed);
    const auto product = [&](std::int64_t first, std::int64_t rows) {
      std::vector<unsigned char> c(static_cast<std::size_t>(rows * n * size_of(c_dtype)), 0xff);
      const unsigned char* const from = a.bytes.data() + (a.offset + first * k) * size_of(dtype);
      GemmArgs g = plain(rows, n, k, from, b.data(), c.data(), dtype);
      g.b_row_stride = b.row_stride;
      g.b_col_stride = b.col_stride;
      g.c_dtype = c_dtype;
      g.by_row = true;
      is_skinny(g) ? gemm_skinny(g) : gemm(g);
      return c;
    };
    std::vector<unsigned char> alone;
    for (std::int64_t i = 0; i < kMost; ++i) {
      const std::vector<unsigned char> row = product(i, 1);
      alone.insert(alone.end(), row.begin(), row.end());
    }
    for (const std::int64_t rows : {2, 7, 9, 25, 49, 70}) {
      const auto size = static_cast<std::ptrdiff_t>(rows * n * size_of(c_dtype));
      EXPECT_EQ(product(0, rows), std::vector<unsigned char>(alone.begin(), alone.begin() + size))
          << rows << " rows of " << name(dtype);
    }
  }
}

TEST(Gemm, EpilogueSeesEveryElementOnceBeforeRounding) {
  struct Context {
    const std::vector<float>* bias;
  };
  Random random(8);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {1, 200, 30}, {130, 1, 30}, {220, 330, 500}, {3, 5, 0}}) {
      const Operand a = operand(random, m, k, dtype, Layout::plain);
      const Operand b = operand(random, k, n, dtype, Layout::plain);
      std::vector<float> bias(static_cast<std::size_t>(n));
      for (float& x : bias) x = static_cast<float>(random.value(DType::f32));
      std::vector<float> plain_c(static_cast<std::size_t>(m * n));
      std::vector<float> biased(static_cast<std::size_t>(m * n));
      GemmArgs g = plain(m, n, k, a.data(), b.data(), plain_c.data(), dtype);
      g.c_dtype = DType::f32;
      multiply(g);
      Context context{&bias};
      g.c = biased.data();
      g.epilogue.context = &context;
      g.epilogue.apply = [](void* pointer, void* tile, std::int64_t stride, std::int64_t,
                            std::int64_t, std::int64_t col, std::int64_t rows, std::int64_t cols) {
        const auto& values = *static_cast<Context*>(pointer)->bias;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            static_cast<float*>(tile)[i * stride + j] += values[static_cast<std::size_t>(col + j)];
          }
        }
      };
      multiply(g);
      for (std::size_t i = 0; i < biased.size(); ++i) {
        ASSERT_EQ(biased[i], plain_c[i] + bias[i % static_cast<std::size_t>(n)]);
      }
    }
  }
}

TEST(Gemm, Batched) {
  Random random(9);
  const std::int64_t n = 34, k = 18;
  for (const std::int64_t m : {1, 21}) {
    for (const std::int64_t count : {0, 1, 3, 40}) {
      for (const bool share_b : {false, true}) {
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
          const Operand a = operand(random, count * m, k, dtype, Layout::plain);
          const Operand b = operand(random, (share_b ? 1 : count) * k, n, dtype, Layout::plain);
          const std::size_t bytes = static_cast<std::size_t>(count * m * n * size_of(dtype));
          std::vector<unsigned char> c(bytes, 0xff), expected(bytes, 0xff);
          multiply(plain(m, n, k, a.data(), b.data(), c.data(), dtype),
                   {count, m * k, share_b ? 0 : k * n, m * n});
          const auto size = size_of(dtype);
          for (std::int64_t i = 0; i < count; ++i) {
            multiply(plain(m, n, k, a.bytes.data() + i * m * k * size,
                           b.bytes.data() + (share_b ? 0 : i * k * n * size),
                           expected.data() + i * m * n * size, dtype));
          }
          EXPECT_EQ(c, expected);
        }
      }
    }
  }
}

TEST(Gemm, WhatIsSkinny) {
  const auto asks = [](std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, Layout a_layout,
                       Layout b_layout) {
    Random random(10);
    const Operand a = operand(random, m, k, dtype, a_layout);
    const Operand b = operand(random, k, n, dtype, b_layout);
    GemmArgs g = plain(m, n, k, a.data(), b.data(), nullptr, dtype);
    g.a_row_stride = a.row_stride;
    g.a_col_stride = a.col_stride;
    g.b_row_stride = b.row_stride;
    g.b_col_stride = b.col_stride;
    EXPECT_TRUE(can_be_skinny(dtype, m, n, k) || !is_skinny(g));
    return is_skinny(g);
  };
  constexpr Layout kPlain = Layout::plain, kTransposed = Layout::transposed;
  const std::int64_t rows = cpu_skinny().dot_rows;
  const std::int64_t bf16_rows = bf16_gemm() == nullptr ? rows : amx_gemm() != nullptr ? 8 : 24;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const bool half = size_of(dtype) == 2;
    EXPECT_TRUE(asks(1, 16, 16, dtype, kPlain, kPlain));
    EXPECT_FALSE(asks(1, 15, 16, dtype, kPlain, kPlain));
    EXPECT_FALSE(asks(1, 16, 15, dtype, kPlain, kPlain));
    EXPECT_EQ(asks(4, 255, 256, dtype, kPlain, kPlain), half);
    EXPECT_TRUE(asks(4, 256, 256, dtype, kPlain, kPlain));
    EXPECT_FALSE(asks(5, 256, 256, dtype, kPlain, kPlain));
    const std::int64_t most = dtype == DType::bf16  ? bf16_rows
                              : dtype == DType::f64 ? kSkinnyDotRows / 2
                                                    : rows;
    EXPECT_TRUE(asks(most, 32, 32, dtype, kPlain, kTransposed));
    EXPECT_FALSE(asks(most + 1, 32, 32, dtype, kPlain, kTransposed));
    EXPECT_TRUE(asks(16, 4, 16, dtype, kTransposed, kPlain));
    EXPECT_TRUE(asks(1000, 1, 16, dtype, kPlain, kPlain));
    EXPECT_FALSE(asks(1000, 5, 16, dtype, kPlain, kPlain));
    EXPECT_FALSE(asks(1, 32, 32, dtype, kPlain, Layout::strided));
  }
  EXPECT_FALSE(asks(1, 64, 64, DType::i32, kPlain, kPlain));
}

TEST(Gemm, RefusesWhatItCannotMultiply) {
  float x[4] = {};
  EXPECT_THROW(gemm(plain(-1, 1, 1, x, x, x)), Error);
  EXPECT_THROW(gemm(plain(1, 1, -1, x, x, x)), Error);
  EXPECT_THROW(gemm(plain(1, 1, 1, x, x, x, DType::bool_)), Error);
  GemmArgs mixed = plain(1, 1, 1, x, x, x);
  mixed.c_dtype = DType::f64;
  EXPECT_THROW(gemm(mixed), Error);
}

}  // namespace
}  // namespace hearth::cpu
