// The kernels of products with packed weights, of each kind of processors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "devices/packed_rows.h"

namespace hearth::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The blocks of a weight: less than a stretch, whole ones, and ones with a remainder.
std::vector<std::int64_t> block_counts(DType format) {
  const std::int64_t stretch = std::int64_t{16} * packed_group(format) / block_of(format);
  return {1, stretch, stretch + 1, 3 * stretch - 1, 4 * stretch + 1};
}

TEST(PackedProduct, HasTheKernelsThatAreAskedFor) {
  const char* const wanted = std::getenv("HEARTH_PACKED_KERNELS");
  EXPECT_STREQ(packed_machine().name, wanted != nullptr ? wanted : machines().back()->name);
}

TEST(PackedProduct, PlainKernelsAgreeWithDecodedWeights) {
  for (const DType format : formats()) {
    SCOPED_TRACE(std::string(name(format)));
    double error = 0, size = 0;
    for (const std::int64_t blocks : block_counts(format)) {
      Weights weights(format, 7, blocks);
      const std::vector<float> x = random_floats(19 * weights.in, 3);
      Coded coded(*packed_plain(), format, x, weights.in);
      const std::vector<float> got = coded.by_lines(weights, 1);
      for (std::int64_t j = 0; j < weights.count; ++j) {
        const std::vector<float> w = weights.decoded(j);
        for (std::int64_t i = 0; i < coded.rows(); ++i) {
          double product = 0, true_product = 0, x_norm = 0, w_norm = 0;
          for (std::int64_t e = 0; e < weights.in; ++e) {
            const double of_weight = w[static_cast<std::size_t>(e)];
            const double of_x = x[static_cast<std::size_t>(i * weights.in + e)];
            product += of_weight * coded.value(i, e);
            true_product += of_weight * of_x;
            x_norm += of_x * of_x;
            w_norm += of_weight * of_weight;
          }
          const double result = got[static_cast<std::size_t>(i * weights.count + j)];
          EXPECT_NEAR(result, product, 1e-5 * std::sqrt(x_norm * w_norm)) << i << ' ' << j;
          error += (result - true_product) * (result - true_product);
          size += true_product * true_product;
        }
      }
    }
    EXPECT_LE(std::sqrt(error / size), 0.012);
  }
}

TEST(PackedProduct, AllKernelsHaveTheSameBits) {
  for (const DType format : formats()) {
    for (const std::int64_t blocks : block_counts(format)) {
      for (const std::int64_t count : {1, 15, 19, 33}) {
        const Weights weights(format, count, blocks, 5);
        const std::vector<float> x = random_floats(19 * weights.in, 7);
        Coded plain(*packed_plain(), format, x, weights.in);
        const std::vector<std::uint32_t> expected = bits(plain.by_lines(weights, 1));
        for (const PackedMachine* machine : machines()) {
          SCOPED_TRACE(std::string(name(format)) + " of " + std::to_string(weights.in) + ", " +
                       std::to_string(count) + ", " + machine->name);
          Coded coded(*machine, format, x, weights.in);
          ASSERT_EQ(coded.bytes(), plain.bytes());
          for (const int together : {1, 2, 4}) {
            EXPECT_EQ(bits(coded.by_lines(weights, together)), expected) << together;
          }
          if (!coded.has_panels()) continue;
          for (const int together : {8, 12}) {
            EXPECT_EQ(bits(coded.by_panels(weights, together)), expected) << together;
          }
        }
      }
    }
  }
}

TEST(PackedProduct, BundlesTakeAnyNumberOfRows) {
  for (const PackedMachine* machine : machines()) {
    const Weights weights(DType::q4_k, 3, 3);
    for (std::int64_t rows = 1; rows <= 19; ++rows) {
      Coded coded(*machine, weights.format, random_floats(rows * weights.in, 9), weights.in);
      if (!coded.has_panels()) continue;
      const std::vector<std::uint32_t> expected = bits(coded.by_lines(weights, 1));
      EXPECT_EQ(bits(coded.by_panels(weights, 12)), expected) << rows;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), expected) << rows;
    }
  }
}

TEST(PackedProduct, LargestCodesDoNotOverflow) {
  for (const DType format : formats()) {
    Weights weights(format, 16, 2);
    // All bits of codes set, or none, under scales that are finite.
    std::mt19937 engine(3);
    for (std::int64_t i = 0; i < weights.count; ++i) {
      for (int block = 0; block < 2; ++block) {
        std::byte* const at = weights.row(i) + block * size_of(format);
        const std::vector<std::byte> kept(at, at + size_of(format));
        std::fill_n(at, size_of(format), i % 2 == 0 ? std::byte{0xff} : std::byte{0});
        // Halves of scales lie at either end.
        std::copy_n(kept.begin(), 4, at);
        std::copy_n(kept.end() - 4, 4, at + size_of(format) - 4);
      }
    }
    std::vector<float> x(static_cast<std::size_t>(8 * weights.in));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 && i > x.size() / 2 ? -1.0f : 1.0f;
    Coded plain(*packed_plain(), format, x, weights.in);
    const std::vector<std::uint32_t> expected = bits(plain.by_lines(weights, 1));
    for (const PackedMachine* machine : machines()) {
      SCOPED_TRACE(std::string(name(format)) + ", " + machine->name);
      Coded coded(*machine, format, x, weights.in);
      EXPECT_EQ(bits(coded.by_lines(weights, 4)), expected);
      if (!coded.has_panels()) continue;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), expected);
    }
  }
}

TEST(PackedProduct, WhatIsNotFiniteStaysSo) {
  for (const DType format : formats()) {
    Weights weights(format, 3, 3);
    const std::int64_t in = weights.in;
    std::vector<float> x = random_floats(5 * in, 11);
    x[static_cast<std::size_t>(1 * in + 2)] = kInfinity;
    x[static_cast<std::size_t>(2 * in + in - 1)] = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(x.begin() + 3 * in, in, 0.0f);
    std::fill_n(x.begin() + 4 * in, 32, 1e-40f);
    for (const PackedMachine* machine : machines()) {
      SCOPED_TRACE(std::string(name(format)) + ", " + machine->name);
      Coded coded(*machine, format, x, in);
      const std::vector<float> got = coded.by_lines(weights, 4);
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_TRUE(std::isfinite(got[j]));
        EXPECT_TRUE(std::isnan(got[3 + j]));
        EXPECT_TRUE(std::isnan(got[6 + j]));
        EXPECT_EQ(got[9 + j], 0);
        EXPECT_TRUE(std::isfinite(got[12 + j]));
      }
      if (!coded.has_panels()) continue;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), bits(got));
    }
  }
}

TEST(PackedProduct, ScalesOfWeightsMayBeInfinite) {
  for (const DType format : {DType::q4_0, DType::q8_0, DType::q4_1, DType::q4_k}) {
    Weights weights(format, 2, 1);
    const std::uint16_t infinity = 0x7c00;
    std::memcpy(weights.row(1), &infinity, sizeof(infinity));
    for (const PackedMachine* machine : machines()) {
      SCOPED_TRACE(std::string(name(format)) + ", " + machine->name);
      Coded coded(*machine, format, random_floats(weights.in, 13), weights.in);
      const std::vector<float> got = coded.by_lines(weights, 1);
      EXPECT_TRUE(std::isfinite(got[0]));
      EXPECT_FALSE(std::isfinite(got[1]));
      if (!coded.has_panels()) continue;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), bits(got));
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
