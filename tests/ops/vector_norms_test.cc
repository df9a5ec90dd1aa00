// Norms, distances and closeness, against what NumPy gives.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

const double kPowers[] = {0, 0.5, 1, 2, 3, -1, -2, kInf, -kInf};

TEST(Norms, OfVectors) {
  const Values expected[] = {{2, 3},
                             {13.928203230275509, 14.656854249492378},
                             {7, 5},
                             {5, 3},
                             {4.497941445275415, 2.571281590658235},
                             {0, 0.5},
                             {0, 0.816496580927726},
                             {4, 2},
                             {0, 1}};
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Array x = array({3, -4, 0, 1, 2, -2}, {2, 3}, dtype);
    for (std::size_t i = 0; i < std::size(kPowers); ++i) {
      const std::string what = "p = " + std::to_string(kPowers[i]);
      expect_values(vector_norm(x, kPowers[i], {1}), {2}, expected[i], what);
      expect_values(vector_norm(transpose(x), kPowers[i], {0}, true), {1, 2}, expected[i], what);
      EXPECT_EQ(vector_norm(x, kPowers[i]).dtype(), dtype);
    }
    expect_values(vector_norm(x), {}, {5.830951894845301});
  }
}

TEST(Norms, OfIntegersWhereTheyAreWhole) {
  const Array x = array({3, -4, 0}, {3}, DType::i32);
  expect_values(vector_norm(x, 0), {}, {2});
  expect_values(vector_norm(x, 1), {}, {7});
  expect_values(vector_norm(x, kInf), {}, {4});
  expect_values(vector_norm(x, -kInf), {}, {0});
  EXPECT_EQ(vector_norm(x, 1).dtype(), DType::i32);
  expect_error(ErrorCode::dtype, [&] { (void)vector_norm(x); });
  expect_error(ErrorCode::dtype, [] { (void)vector_norm(ones({2}, DType::bool_), 1); });
}

TEST(Norms, HalvesDoNotOverflowInBetween) {
  const Array x = full({4}, 30000.0, DType::f16);
  expect_values(vector_norm(x), {}, {60000});
  expect_values(vector_normalize(x), {4}, {0.5, 0.5, 0.5, 0.5});
  expect_values(cosine_similarity(x, x), {}, {1});
}

TEST(Norms, OfSpecialValues) {
  expect_values(vector_norm(array({kNan, 1}, {2})), {}, {kNan});
  expect_values(vector_norm(array({kInf, 1}, {2})), {}, {kInf});
  expect_values(vector_norm(zeros({0})), {}, {0});
  expect_values(vector_norm(zeros({2, 0}), 1, {1}), {2}, {0, 0});
  expect_error(ErrorCode::invalid_argument, [] { (void)vector_norm(zeros({0}), kInf); });
  expect_error(ErrorCode::invalid_argument, [] { (void)vector_norm(zeros({2}), kNan); });
  expect_error(ErrorCode::invalid_argument, [] { (void)vector_norm(zeros({2}), 2, {1}); });
}

TEST(Norms, MaxAbs) {
  const Array x = array({3, -4, 0, 1, 2, -2}, {2, 3});
  expect_values(max_abs(x), {}, {4});
  expect_values(max_abs(x, {1}, true), {2, 1}, {4, 2});
  expect_values(max_abs(array({1, kNan}, {2})), {}, {kNan});
  expect_values(max_abs(array({-128, 5}, {2}, DType::i8)), {}, {-128});
  expect_error(ErrorCode::invalid_argument, [] { (void)max_abs(zeros({0})); });
}

TEST(Norms, Normalize) {
  const Array x = array({3, -4, 0, 0}, {2, 2});
  expect_values(vector_normalize(x), {2, 2}, {0.6, -0.8, 0, 0});
  expect_values(vector_normalize(x, 1, 0), {2, 2}, {1, -1, 0, 0});
  expect_values(vector_normalize(x, 2, -1, 10), {2, 2}, {0.3, -0.4, 0, 0});
  expect_error(ErrorCode::dtype, [] { (void)vector_normalize(ones({2}, DType::i64)); });
}

TEST(Norms, CosineSimilarity) {
  const Array a = array({1, 0, 1, 1, 0, 0}, {3, 2}), b = array({1, 0}, {2});
  expect_values(cosine_similarity(a, b), {3}, {1, std::sqrt(0.5), 0});
  expect_values(cosine_similarity(a, b, 1, true), {3, 1}, {1, std::sqrt(0.5), 0});
  expect_values(cosine_similarity(a, neg(a), 0), {2}, {-1, -1});
  expect_error(ErrorCode::shape, [&] { (void)cosine_similarity(a, ones({3}, DType::f64)); });
  expect_error(ErrorCode::dtype, [&] { (void)cosine_similarity(a, cast(b, DType::f32)); });
}

TEST(Norms, Cdist) {
  const Array a = array({0, 0, 3, 4}, {2, 2}), b = array({0, 0, 0, 1, 3, 0}, {3, 2});
  expect_values(cdist(a, b), {2, 3}, {0, 1, 3, 5, std::sqrt(18.0), 4});
  expect_values(cdist(a, b, 1), {2, 3}, {0, 1, 3, 7, 6, 4});
  expect_values(cdist(expand(a, {2, 2, 2}), b, kInf), {2, 2, 3},
                {0, 1, 3, 4, 3, 4, 0, 1, 3, 4, 3, 4});
  expect_values(cdist(zeros({0, 2}), zeros({3, 2})), {0, 3}, {});
  expect_error(ErrorCode::shape, [&] { (void)cdist(a, ones({3, 1}, DType::f64)); });
  expect_error(ErrorCode::shape, [&] { (void)cdist(a, ones({2}, DType::f64)); });
}

// Points of 16 bits go by their products where they are not near: here some are equal, some near,
// some far from all others, and some no numbers, in layouts of all kinds.
TEST(Norms, CdistOfHalves) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const double centre : {0.0, 3.0, 200.0}) {
      const std::int64_t m = 70, n = 131, k = 200;
      const Array noise = random_array({m, k}, DType::f64, -1, 1, 5);
      Array a = cast(add(noise, centre), dtype).eval();
      Array b = cat({slice(a, {{0, 31}}),
                     cast(add(random_array({n - 31, k}, DType::f64, -1, 1, 6), centre), dtype)},
                    0)
                    .eval();
      b = where(less(reshape(arange(0, n), {n, 1}), Array(40)), b, mul(b, -1.0)).eval();
      const Array turned = transpose(contiguous(transpose(b)).eval());
      const Values x = a.to_doubles(), y = b.to_doubles();
      const Values got = cdist(a, b).to_doubles(), other = cdist(a, turned).to_doubles();
      const double unit = dtype == DType::bf16 ? 1.0 / 256 : 1.0 / 2048;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double square = 0;
          for (std::int64_t c = 0; c < k; ++c) {
            const double apart =
                x[static_cast<std::size_t>(i * k + c)] - y[static_cast<std::size_t>(j * k + c)];
            square += apart * apart;
          }
          const double expected = std::sqrt(square);
          const auto at = static_cast<std::size_t>(i * n + j);
          ASSERT_NEAR(got[at], expected, expected * unit) << i << " " << j << " " << centre;
          ASSERT_NEAR(other[at], expected, expected * unit) << i << " " << j << " " << centre;
        }
      }
    }
    Values odd(40 * 32, 1.0);
    odd[0] = kInf;
    odd[32] = std::nan("");
    const Array x = array(odd, {40, 32}, dtype), y = ones({30, 32}, dtype);
    const Values got = cdist(x, y).to_doubles();
    EXPECT_EQ(got[0], kInf);
    EXPECT_TRUE(std::isnan(got[30]));
    EXPECT_EQ(got[60], 0.0);
    EXPECT_TRUE(std::isnan(cdist(x, x).to_doubles()[0]));
  }
}

TEST(Norms, Gradients) {
  const Array x = array({0.5, -1.25, 2, 0.75, -0.3, 1.5}, {2, 3});
  for (const double p : kPowers) {
    if (p == 0) continue;  // a count
    check_gradients([&](std::span<const Array> in) { return vector_norm(in[0], p, {1}); }, {x});
  }
  for (const double p : {0.5, 2.0, 3.0}) {
    check_second_gradients([&](std::span<const Array> in) { return vector_norm(in[0], p, {1}); },
                           {x});
  }
  check_second_gradients([](std::span<const Array> in) { return vector_normalize(in[0]); }, {x});
  check_second_gradients([](std::span<const Array> in) { return cosine_similarity(in[0], in[1]); },
                         {x, array({1, 2, -0.5}, {3})});
  check_gradients([](std::span<const Array> in) { return cdist(in[0], in[1]); },
                  {x, array({1, 2, -0.5, 0.1, 0.2, 0.3}, {2, 3})});
  check_gradients([](std::span<const Array> in) { return max_abs(in[0], {0}); }, {x});
}

TEST(Norms, OfZeroHaveNoSlope) {
  for (const double p : {1.0, 2.0, 3.0}) {
    const Array x = zeros({3}).require_grad();
    expect_values(backward(vector_norm(x, p)).get(x), {3}, {0, 0, 0});
  }
  const Array x = zeros({2, 2}).require_grad();
  expect_values(backward(sum(cdist(x, x))).get(x), {2, 2}, {0, 0, 0, 0});
}

TEST(Closeness, IsClose) {
  const Array a = array({1, kInf, -kInf, kNan, 1e10, 0, kInf, 5}, {8});
  const Array b = array({1.00001, kInf, kInf, kNan, 1.00001e10, 1e-9, 5, kInf}, {8});
  expect_values(is_close(a, b), {8}, {1, 1, 0, 0, 1, 1, 0, 0});
  expect_values(is_close(a, b, 0, 0), {8}, {0, 1, 0, 0, 0, 0, 0, 0});
  expect_values(is_close(array({1, 2}, {2, 1}), array({1, 2}, {2}), 0, 0.5), {2, 2}, {1, 0, 0, 1});
  expect_values(is_close(array({60000}, {1}, DType::f16), array({59968}, {1}, DType::f16), 1e-3),
                {1}, {1});
  expect_error(ErrorCode::dtype,
               [] { (void)is_close(ones({2}, DType::i64), ones({2}, DType::i64)); });
  expect_error(ErrorCode::dtype, [&] { (void)is_close(a, cast(b, DType::f32)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)is_close(a, b, -1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)is_close(a, b, 0, kNan); });
}

TEST(Closeness, OfEverything) {
  const Array a = array({1, 2}, {2});
  expect_values(all_close(a, add(a, 1e-9)), {}, {1});
  expect_values(all_close(a, array({1, 3}, {2})), {}, {0});
  expect_values(all_close(zeros({0}), zeros({0})), {}, {1});
  expect_values(contains_nan(a), {}, {0});
  expect_values(contains_nan(array({1, kNan}, {2}, DType::bf16)), {}, {1});
  expect_values(contains_nan(array({kInf, -kInf}, {2}, DType::f16)), {}, {0});
  expect_error(ErrorCode::dtype, [] { (void)contains_nan(ones({2}, DType::i64)); });
}

// Whose magnitude has no number of the dtype.
TEST(Norms, TheLeastIntegerIsTheFarthest) {
  const auto farthest = [](const std::vector<std::int64_t>& values, DType dtype) {
    const Array x =
        cast(Array::from_data(values, {static_cast<std::int64_t>(values.size())}), dtype);
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(max_abs(x).item<std::int64_t>(), vector_norm(x, infinity).item<std::int64_t>());
    return max_abs(x).item<std::int64_t>();
  };
  EXPECT_EQ(farthest({-128, 100}, DType::i8), -128);
  EXPECT_EQ(farthest({INT64_MIN, 3}, DType::i64), INT64_MIN);
  EXPECT_EQ(farthest({-5, 3}, DType::i32), 5);
  EXPECT_EQ(farthest({-3, 3}, DType::i16), 3);
  EXPECT_EQ(farthest({-2, -7}, DType::i64), 7);
  EXPECT_EQ(farthest({0, 200}, DType::u8), 200);
}

}  // namespace
}  // namespace hearth
