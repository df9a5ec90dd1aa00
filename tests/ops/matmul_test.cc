// matmul and linear against plain loops.
#include <vector>

#include "check.h"

namespace hearth {
namespace {

using namespace check;

// [batch, m, k] x [batch, k, n]; a batch of 1 stretches.
Values product(const Values& a, const Values& b, std::int64_t batch_a, std::int64_t batch_b,
               std::int64_t m, std::int64_t k, std::int64_t n) {
  const std::int64_t batch = std::max(batch_a, batch_b);
  Values out(static_cast<std::size_t>(batch * m * n));
  for (std::int64_t s = 0; s < batch; ++s) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          total += a[static_cast<std::size_t>(((batch_a == 1 ? 0 : s) * m + i) * k + p)] *
                   b[static_cast<std::size_t>(((batch_b == 1 ? 0 : s) * k + p) * n + j)];
        }
        out[static_cast<std::size_t>((s * m + i) * n + j)] = total;
      }
    }
  }
  return out;
}

TEST(Matmul, MatchesLoopsForAllFloats) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const auto& [m, k, n] :
         {std::array<std::int64_t, 3>{3, 4, 5}, {1, 64, 33}, {65, 17, 1}, {37, 129, 70}}) {
      const Array a = random_array({m, k}, dtype, -1, 1, 1);
      const Array b = random_array({k, n}, dtype, -1, 1, 2);
      const Array c = matmul(a, b);
      EXPECT_EQ(c.dtype(), dtype);
      EXPECT_EQ(c.shape(), (Shape{m, n}));
      expect_close(c, product(a.to_doubles(), b.to_doubles(), 1, 1, m, k, n), 4 * tolerance(dtype));
    }
  }
}

TEST(Matmul, BroadcastsBatches) {
  const Array a = random_array({2, 1, 3, 4}, DType::f64, -1, 1, 1);
  const Array b = random_array({5, 4, 6}, DType::f64, -1, 1, 2);
  const Array c = matmul(a, b);
  ASSERT_EQ(c.shape(), (Shape{2, 5, 3, 6}));
  const Values x = a.to_doubles();
  const Values y = b.to_doubles();
  Values expected;
  for (int i = 0; i < 2; ++i) {
    const Values part =
        product(Values(x.begin() + i * 12, x.begin() + (i + 1) * 12), y, 1, 5, 3, 4, 6);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  expect_close(c, expected, 1e-12);

  const Array d = matmul(random_array({3, 2, 4}), random_array({4, 5}, DType::f64, -1, 1, 2));
  EXPECT_EQ(d.shape(), (Shape{3, 2, 5}));
  expect_close(d, product(random_values(24), random_values(20, -1, 1, 2), 1, 1, 6, 4, 5), 1e-12);
}

TEST(Matmul, ReadsAnyLayout) {
  const Array a = random_array({6, 5}, DType::f32, -1, 1, 1);
  const Array b = random_array({7, 6}, DType::f32, -1, 1, 2);
  const auto dense = [](const Array& x) { return x.to_doubles(); };
  expect_close(
      matmul(transpose(a), transpose(b)),
      product(dense(contiguous(transpose(a))), dense(contiguous(transpose(b))), 1, 1, 5, 6, 7),
      1e-5);
  const Array stepped = slice(a, {{0, 6, 2}, {0, 5, -2}});
  const Array flipped = flip(b, {0, 1});
  const Array narrow_b = slice(flipped, {{1, 4}, {}});
  expect_close(matmul(stepped, narrow_b),
               product(dense(contiguous(stepped)), dense(contiguous(narrow_b)), 1, 1, 3, 3, 6),
               1e-5);
  const Array row = expand(random_array({1, 4}, DType::f32), {3, 4});
  const Array column = expand(random_array({4, 1}, DType::f32), {4, 2});
  expect_close(matmul(row, column), product(dense(row), dense(column), 1, 1, 3, 4, 2), 1e-5);
}

TEST(Matmul, RankOneIsARowOrAColumn) {
  const Array v = random_array({4});
  const Array m = random_array({4, 3}, DType::f64, -1, 1, 2);
  EXPECT_EQ(matmul(v, m).shape(), (Shape{3}));
  expect_close(matmul(v, m), product(v.to_doubles(), m.to_doubles(), 1, 1, 1, 4, 3), 1e-12);
  EXPECT_EQ(matmul(transpose(m), v).shape(), (Shape{3}));
  EXPECT_EQ(matmul(v, v).shape(), Shape{});
  EXPECT_EQ(matmul(random_array({2, 3, 4}), v).shape(), (Shape{2, 3}));
  EXPECT_EQ(matmul(v, random_array({2, 4, 3})).shape(), (Shape{2, 3}));
}

TEST(Matmul, IntegersAreExactAndWrap) {
  const Array a = ints({1, 2, 3, 4}, {2, 2});
  const Array b = ints({5, 6, 7, 8}, {2, 2});
  EXPECT_EQ(matmul(a, b).to_vector<std::int64_t>(), (std::vector<std::int64_t>{19, 22, 43, 50}));
  const Array wide = Array::from_data(std::vector<std::int32_t>{1 << 30, 1 << 30}, {1, 2});
  const Array twos = Array::from_data(std::vector<std::int32_t>{2, 2}, {2, 1});
  EXPECT_EQ(matmul(wide, twos).to_vector<std::int32_t>(), (std::vector<std::int32_t>{0}));
  const Array bytes = Array::from_data(std::vector<std::uint8_t>{200, 100}, {1, 2});
  EXPECT_EQ(matmul(bytes, transpose(bytes)).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{static_cast<std::uint8_t>(200 * 200 + 100 * 100)}));
}

TEST(Matmul, EmptyExtents) {
  EXPECT_EQ(matmul(random_array({0, 4}), random_array({4, 3})).to_doubles(), Values{});
  expect_values(matmul(random_array({2, 0}), random_array({0, 3})), {2, 3}, Values(6, 0.0));
  EXPECT_EQ(matmul(random_array({0, 2, 4}), random_array({4, 3})).shape(), (Shape{0, 2, 3}));
}

TEST(Matmul, HalvesAccumulateInF32) {
  const Array ones_row = array(Values(4096, 1.0), {1, 4096}, DType::f16);
  const Array small = array(Values(4096, 1.0 / 1024), {4096, 1}, DType::f16);
  expect_close(matmul(ones_row, small), {4.0}, 1e-3);
  const Array b = array(Values(4096, 1.0), {4096, 1}, DType::bf16);
  expect_close(matmul(cast(ones_row, DType::bf16), b), {4096.0}, 1e-6);
}

TEST(Matmul, SpecialValues) {
  const Array a = array({1, kInf, 0, 1}, {2, 2}, DType::f32);
  const Array b = array({1, 2, 0, 1}, {2, 2}, DType::f32);
  expect_close(matmul(a, b), {kNan, kInf, 0, 1}, 0);
}

TEST(Matmul, Errors) {
  const Array a = random_array({3, 4});
  expect_error(ErrorCode::shape, [&] { (void)matmul(a, a); });
  expect_error(ErrorCode::shape,
               [&] { (void)matmul(random_array({2, 3, 4}), random_array({3, 4, 5})); });
  expect_error(ErrorCode::shape, [&] { (void)matmul(a, 2.0); });
  expect_error(ErrorCode::dtype, [&] { (void)matmul(a, random_array({4, 3}, DType::f32)); });
  const Array mask = array(Values(4, 1), {2, 2}, DType::bool_);
  expect_error(ErrorCode::dtype, [&] { (void)matmul(mask, mask); });
}

TEST(Matmul, Gradients) {
  const auto f = [](std::span<const Array> x) { return matmul(x[0], x[1]); };
  check_gradients(f, {random_array({3, 4}), random_array({4, 2}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({2, 3, 4}), random_array({2, 4, 2}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({2, 1, 3, 4}), random_array({3, 4, 2}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({5, 3, 4}), random_array({4, 2}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({3, 4}), random_array({5, 4, 2}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({3, 2, 4}), random_array({1, 4, 2}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({4}), random_array({2, 4, 3}, DType::f64, -1, 1, 2)});
  check_gradients(f, {random_array({2, 3, 4}), random_array({4}, DType::f64, -1, 1, 2)});
  check_gradients([](std::span<const Array> x) { return matmul(transpose(x[0]), transpose(x[1])); },
                  {random_array({4, 3}), random_array({2, 4}, DType::f64, -1, 1, 2)});
  check_second_gradients(f, {random_array({2, 3}), random_array({3, 2}, DType::f64, -1, 1, 2)});
}

TEST(Matmul, OneSidedGradients) {
  const Array a = random_array({2, 3, 4}).require_grad();
  const Array b = random_array({4, 5}, DType::f64, -1, 1, 2);
  const Gradients gradients = backward(sum(matmul(a, b)));
  const Values y = b.to_doubles();
  Values expected;
  for (int i = 0; i < 6; ++i) {
    for (int p = 0; p < 4; ++p) {
      double total = 0;
      for (int j = 0; j < 5; ++j) total += y[static_cast<std::size_t>(p * 5 + j)];
      expected.push_back(total);
    }
  }
  expect_close(gradients.get(a), expected, 1e-12);
  const Array w = b.require_grad();
  EXPECT_EQ(backward(sum(matmul(a.detach(), w))).get(w).shape(), (Shape{4, 5}));
}

TEST(Linear, FoldsLeadingAxes) {
  const Array w = random_array({5, 4}, DType::f32, -1, 1, 2);
  const Array b = random_array({5}, DType::f32, -1, 1, 3);
  const Values weight = w.to_doubles();
  const Values bias = b.to_doubles();
  for (const Shape& shape :
       {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}, Shape{0, 4}, Shape{2, 1, 2, 4}}) {
    const Array x = random_array(shape, DType::f32);
    const Values rows = x.to_doubles();
    Values expected;
    for (std::size_t r = 0; r < rows.size() / 4; ++r) {
      for (std::size_t o = 0; o < 5; ++o) {
        double total = bias[o];
        for (std::size_t i = 0; i < 4; ++i) total += rows[r * 4 + i] * weight[o * 4 + i];
        expected.push_back(total);
      }
    }
    Shape out = shape;
    out[out.rank() - 1] = 5;
    expect_values(linear(x, w, b), out, expected);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= bias[i % 5];
    expect_values(linear(x, w), out, expected);
  }
}

TEST(Linear, Gradients) {
  const auto f = [](std::span<const Array> x) { return linear(x[0], x[1], x[2]); };
  const Array w = random_array({5, 4}, DType::f64, -1, 1, 2);
  const Array b = random_array({5}, DType::f64, -1, 1, 3);
  check_gradients(f, {random_array({2, 3, 4}), w, b});
  check_gradients(f, {random_array({3, 4}), w, b});
  check_gradients(f, {random_array({4}), w, b});
  check_second_gradients(f, {random_array({2, 4}), w, b});
}

TEST(Linear, Errors) {
  const Array w = random_array({5, 4});
  expect_error(ErrorCode::shape, [&] { (void)linear(random_array({2, 5}), w); });
  expect_error(ErrorCode::shape, [&] { (void)linear(random_array({2, 4}), random_array({4})); });
  expect_error(ErrorCode::shape, [&] { (void)linear(random_array({2, 4}), w, random_array({4})); });
  expect_error(ErrorCode::dtype, [&] { (void)linear(random_array({2, 4}, DType::f32), w); });
}

}  // namespace
}  // namespace hearth
