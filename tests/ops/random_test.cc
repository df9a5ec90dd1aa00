// Random ops: golden words, ranges, moments, and how generators move.
#include "hearth/random.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "check.h"
#include "core/philox.h"
#include "graph/record/array_access.h"

namespace hearth {
namespace {

using namespace check;

// The published answers for philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox(ones, ones, ones),
            (PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu),
            (PhiloxBlock{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(RandomBits, AreTheWordsOfPhilox) {
  Generator zero;
  EXPECT_EQ(random_bits({4}, DType::u32, Device(), &zero).to_vector<std::uint32_t>(),
            (std::vector<std::uint32_t>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(zero, (Generator{0, 1}));
  Generator source{0x123456789abcdef0u, 0xfedcba9876543210u};
  const auto words =
      random_bits({50, 21}, DType::u32, Device(), &source).to_vector<std::uint32_t>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i], philox(0x123456789abcdef0u, i / 4, 0xfedcba9876543210u)[i % 4]) << i;
  }
  const auto pairs = random_bits({7}, DType::u64, Device(), &source).to_vector<std::uint64_t>();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const PhiloxBlock block = philox(0x123456789abcdef0u, i / 2, 0xfedcba9876543211u);
    EXPECT_EQ(pairs[i], philox_pair(block[i % 2 * 2], block[i % 2 * 2 + 1])) << i;
  }
}

// A draw does not depend on how it is split: a long one begins like a short one.
TEST(RandomBits, ElementsDependOnTheirIndexOnly) {
  Generator a{5, 6};
  Generator b{5, 6};
  const auto shorter = random_bits({1000}, DType::u32, Device(), &a).to_vector<std::uint32_t>();
  auto longer = random_bits({300000}, DType::u32, Device(), &b).to_vector<std::uint32_t>();
  longer.resize(1000);
  EXPECT_EQ(shorter, longer);
}

TEST(RandomUniform, GoldenValues) {
  Generator zero;
  const auto values = random_uniform({4}, 0, 1, DType::f32, Device(), &zero).to_vector<float>();
  const std::uint32_t words[] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values[i], static_cast<float>(words[i] >> 8) * 0x1p-24f);
  }
}

TEST(RandomUniform, StaysInRange) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Generator source{1, 0};
    const Values values = random_uniform({20000}, -1, 3, dtype, Device(), &source).to_doubles();
    double total = 0;
    for (const double value : values) {
      EXPECT_GE(value, -1);
      EXPECT_LT(value, 3);
      total += value;
    }
    EXPECT_NEAR(total / 20000, 1, 0.04);
  }
  Generator source{1, 0};
  expect_values(random_uniform({2}, 5, 5, DType::f32, Device(), &source), {2}, {5, 5});
}

// Of the f32 radius and angle that core/philox.h defines.
TEST(RandomNormal, IsWithinFourUlp) {
  constexpr std::int64_t kCount = 200001;
  Generator source{9, 4};
  const std::vector<float> values =
      random_normal({kCount}, 0, 1, DType::f32, Device::cpu(), &source).to_vector<float>();
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock block = philox(9, i / 4, 4);
    const std::uint32_t first = block[i % 4 / 2 * 2], second = block[i % 4 / 2 * 2 + 1];
    const double u = static_cast<double>((first >> 8) + 1) * 0x1p-24;
    const double angle = 6.2831853071795864769f * philox_unit(second);
    const double exact =
        std::sqrt(-2 * std::log(u)) * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    const double ulp = std::ldexp(1.0, std::ilogb(std::max(std::abs(exact), 1e-37)) - 23);
    worst = std::max(worst, std::abs(values[i] - exact) / ulp);
  }
  EXPECT_LE(worst, 4);
}

TEST(RandomNormal, HasItsMoments) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Generator source{3, 0};
    const Values values = random_normal({40000}, 2, 3, dtype, Device(), &source).to_doubles();
    double mean = 0;
    double power = 0;
    double third = 0;
    int tail = 0;
    for (const double value : values) {
      const double z = (value - 2) / 3;
      EXPECT_TRUE(std::isfinite(value));
      mean += z / 40000;
      power += z * z / 40000;
      third += z * z * z / 40000;
      tail += std::abs(z) > 2 ? 1 : 0;
    }
    EXPECT_NEAR(mean, 0, 0.025);
    EXPECT_NEAR(power, 1, 0.04);
    EXPECT_NEAR(third, 0, 0.08);
    EXPECT_NEAR(tail / 40000.0, 0.0455, 0.005);
  }
  Generator source{3, 0};
  EXPECT_EQ(random_normal({3}, 0, 1, DType::f32, Device(), &source).shape(), Shape{3});
}

TEST(RandomBernoulli, CountsAndLimits) {
  for (const DType dtype : {DType::bool_, DType::f32, DType::bf16, DType::u8, DType::i64}) {
    Generator source{4, 0};
    double hits = 0;
    for (const double value :
         random_bernoulli({20000}, 0.3, dtype, Device(), &source).to_doubles()) {
      EXPECT_TRUE(value == 0 || value == 1);
      hits += value;
    }
    EXPECT_NEAR(hits / 20000, 0.3, 0.015);
  }
  expect_values(random_bernoulli({100}, 0, DType::u8), {100}, Values(100, 0.0));
  expect_values(random_bernoulli({100}, 1, DType::u8), {100}, Values(100, 1.0));
}

// The distance of the bounds overflowed, and every draw was the value below the higher one.
TEST(RandomUniform, RangesThatTheirDtypeDoesNotHold) {
  const auto refused = [](double low, double high, DType dtype) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)random_uniform({4}, low, high, dtype); });
  };
  refused(-3e38, 3e38, DType::f32);
  refused(-3e38, 3e38, DType::bf16);
  refused(0, 1e39, DType::f32);
  refused(-1e308, 1e308, DType::f64);
  refused(0, 70000, DType::f16);
  Generator source{1, 0};
  const Values wide =
      random_uniform({1000}, -1.7e38, 1.7e38, DType::f32, Device(), &source).to_doubles();
  EXPECT_LT(*std::min_element(wide.begin(), wide.end()), -1.5e38);
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), 1.5e38);
  for (const double value : random_uniform({1000}, -65504, 65504, DType::f16).to_doubles()) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(RandomIntegers, CoverTheRange) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i8, DType::u16}) {
    Generator source{5, 0};
    std::vector<int> counts(7);
    for (const double value :
         random_integers({14000}, 3, 10, dtype, Device(), &source).to_doubles()) {
      ASSERT_GE(value, 3);
      ASSERT_LT(value, 10);
      ++counts[static_cast<std::size_t>(value - 3)];
    }
    for (const int count : counts) EXPECT_NEAR(count, 2000, 200);
  }
  const auto wide = random_integers({64}, INT64_MIN, INT64_MAX).to_vector<std::int64_t>();
  EXPECT_TRUE(std::any_of(wide.begin(), wide.end(), [](std::int64_t v) { return v < 0; }));
  EXPECT_TRUE(std::any_of(wide.begin(), wide.end(), [](std::int64_t v) { return v > 0; }));
}

TEST(Random, EmptyAndRankZero) {
  EXPECT_EQ(random_uniform({0, 3}).to_doubles(), Values{});
  EXPECT_EQ(random_normal({}).shape(), Shape{});
  EXPECT_EQ(random_integers({2, 0}, 0, 5).shape(), (Shape{2, 0}));
}

TEST(Random, Errors) {
  expect_error(ErrorCode::invalid_argument, [] { (void)random_uniform({2}, 1, 0); });
  expect_error(ErrorCode::invalid_argument, [] { (void)random_uniform({2}, 0, kInf); });
  expect_error(ErrorCode::invalid_argument, [] { (void)random_normal({2}, 0, -1); });
  expect_error(ErrorCode::invalid_argument, [] { (void)random_bernoulli({2}, 1.1); });
  expect_error(ErrorCode::invalid_argument, [] { (void)random_bernoulli({2}, kNan); });
  expect_error(ErrorCode::invalid_argument, [] { (void)random_integers({2}, 5, 5); });
  expect_error(ErrorCode::invalid_argument, [] { (void)random_integers({2}, 0, 257, DType::u8); });
  expect_error(ErrorCode::dtype, [] { (void)random_uniform({2}, 0, 1, DType::i32); });
  expect_error(ErrorCode::dtype, [] { (void)random_integers({2}, 0, 5, DType::f32); });
  expect_error(ErrorCode::dtype, [] { (void)random_bits({2}, DType::f32); });
  expect_error(ErrorCode::shape, [] { (void)random_uniform({-2}); });
  const Generator before = generator();
  expect_error(ErrorCode::shape, [] { (void)random_uniform({-2}); });
  EXPECT_EQ(generator(), before);
}

TEST(Generators, SeedAndRestore) {
  seed(42);
  EXPECT_EQ(generator(), (Generator{42, 0}));
  const Values first = random_uniform({5}).to_doubles();
  const Generator saved = generator();
  EXPECT_EQ(saved, (Generator{42, 1}));
  const Values second = random_uniform({5}).to_doubles();
  EXPECT_NE(first, second);
  generator() = saved;
  EXPECT_EQ(random_uniform({5}).to_doubles(), second);
  seed(42);
  EXPECT_EQ(random_uniform({5}).to_doubles(), first);
}

TEST(Generators, AreSplitByThread) {
  seed(7);
  Generator one;
  Generator two;
  Generator again;
  std::thread([&] {
    one = generator();
    seed(8);
    EXPECT_EQ(generator(), (Generator{8, 0}));
  }).join();
  std::thread([&] { two = generator(); }).join();
  again = generator();  // this thread's was split anew from 8
  EXPECT_NE(one.seed, 7u);
  EXPECT_NE(two.seed, 8u);
  EXPECT_NE(one.seed, two.seed);
  EXPECT_NE(again.seed, 7u);
  EXPECT_NE(again.seed, 8u);
  EXPECT_EQ(again.counter, 0u);
  seed(0);
}

TEST(Generators, DrawsAreFixedWhenRecorded) {
  seed(9);
  const Array a = random_uniform({4});
  const Array b = random_uniform({4});
  const Values late = b.to_doubles();
  const Values early = a.to_doubles();
  seed(9);
  EXPECT_EQ(random_uniform({4}).to_doubles(), early);
  EXPECT_EQ(random_uniform({4}).to_doubles(), late);
}

TEST(Generators, SeedsAreNoPartOfAPlan) {
  random_uniform({16}).eval();
  random_uniform({16}).eval();
  const Statistics before = statistics();
  for (int i = 0; i < 5; ++i) random_uniform({16}, i, i + 1).eval();
  EXPECT_EQ(statistics().plan_misses, before.plan_misses);
}

TEST(Dropout, ZeroesAndScales) {
  const Array x = array(Values(20000, 2.0), {20000}, DType::f32);
  Generator source{11, 0};
  double kept = 0;
  for (const double value : dropout(x, 0.25, true, &source).to_doubles()) {
    EXPECT_TRUE(value == 0 || std::abs(value - 2 / 0.75) < 1e-6);
    kept += value != 0 ? 1 : 0;
  }
  EXPECT_NEAR(kept / 20000, 0.75, 0.015);
  EXPECT_EQ(source.counter, 1u);
}

TEST(Dropout, IdentityAndEverything) {
  const Array x = random_array({3, 4});
  Generator source{11, 0};
  EXPECT_EQ(node_of(dropout(x, 0, true, &source)), node_of(x));
  EXPECT_EQ(node_of(dropout(x, 0.5, false, &source)), node_of(x));
  EXPECT_EQ(source.counter, 0u);
  const Array leaf = array({1, kInf, kNan}, {3}).require_grad();
  const Array y = dropout(leaf, 1);
  expect_values(y, {3}, {0, 0, 0});
  expect_values(backward(sum(y)).get(leaf), {3}, {0, 0, 0});
  expect_error(ErrorCode::invalid_argument, [&] { (void)dropout(x, 1.5); });
  expect_error(ErrorCode::dtype, [] { (void)dropout(ints({1}, {1}), 0.5); });
}

TEST(Dropout, Gradients) {
  check_gradients(
      [](std::span<const Array> x) {
        Generator source{12, 3};
        return dropout(x[0], 0.5, true, &source);
      },
      {random_array({4, 5})});
}

}  // namespace
}  // namespace hearth
