// softmax and its kin, layer_norm, rms_norm and rope against plain loops.
#include <algorithm>

#include "check.h"

namespace hearth {
namespace {

using namespace check;

class Softmax : public BothWays {};
class Norm : public BothWays {};
class Rope : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, Softmax, testing::Bool(), way_name);
INSTANTIATE_TEST_SUITE_P(, Norm, testing::Bool(), way_name);
INSTANTIATE_TEST_SUITE_P(, Rope, testing::Bool(), way_name);

// Applies `row` to every row of x [rows, n].
template <class Row>
Values by_row(const Values& x, std::size_t n, Row row) {
  Values out;
  for (std::size_t at = 0; at < x.size(); at += n) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(at);
    const Values result = row(Values(begin, begin + static_cast<std::ptrdiff_t>(n)));
    out.insert(out.end(), result.begin(), result.end());
  }
  return out;
}

Values softmax_row(const Values& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double total = 0;
  for (const double value : x) total += std::exp(value - top);
  Values out;
  for (const double value : x) out.push_back(std::exp(value - top) / total);
  return out;
}

double logsumexp_row(const Values& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double total = 0;
  for (const double value : x) total += std::exp(value - top);
  return top + std::log(total);
}

TEST_P(Softmax, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t n : {1, 2, 7, 16, 33, 1000}) {
      const Array x = random_array({5, n}, dtype, -8, 8);
      const Values values = x.to_doubles();
      const auto width = static_cast<std::size_t>(n);
      const Values p = by_row(values, width, softmax_row);
      expect_values(softmax(x), {5, n}, p, "softmax");
      expect_values(softmax(transpose(x), 0), {n, 5}, transpose(array(p, {5, n})).to_doubles(),
                    "softmax of columns");
      const Values l = by_row(values, width, [](const Values& row) {
        Values out;
        for (const double value : row) out.push_back(value - logsumexp_row(row));
        return out;
      });
      expect_values(log_softmax(x), {5, n}, l, "log_softmax");
      const Values s =
          by_row(values, width, [](const Values& row) { return Values{logsumexp_row(row)}; });
      expect_values(logsumexp(x), {5}, s, "logsumexp");
      expect_values(logsumexp(x, 1, true), {5, 1}, s, "logsumexp, keepdim");
    }
  }
}

TEST_P(Softmax, MiddleAxisAndLayouts) {
  const Array x = random_array({3, 4, 5});
  const Array moved = softmax(swap_axes(x, 1, 2), -1);
  expect_close(softmax(x, 1), swap_axes(moved, 1, 2).to_doubles(), 1e-12);
  const Array part = slice(x, {{}, {0, 4, -2}, {1, 4}});
  expect_close(softmax(part, -1), softmax(contiguous(part), 2).to_doubles(), 0);
  const Array wide = expand(random_array({3, 1, 5}), {3, 4, 5});
  expect_close(softmax(wide, 1), Values(60, 0.25), 1e-12);
}

TEST_P(Softmax, LargeAndInfiniteInputs) {
  const Array x = array({1e4, 1e4, -1e4, -kInf, 0, 1, -kInf, -kInf, -kInf}, {3, 3}, DType::f32);
  const Values p = softmax(x).to_doubles();
  expect_close(Values(p.begin(), p.begin() + 3), {0.5, 0.5, 0}, 1e-6);
  expect_close(Values(p.begin() + 3, p.begin() + 6), softmax_row({-kInf, 0, 1}), 1e-6);
  for (int i = 6; i < 9; ++i) EXPECT_TRUE(std::isnan(p[static_cast<std::size_t>(i)]));
  const Values s = logsumexp(x).to_doubles();
  EXPECT_NEAR(s[0], 1e4 + std::log(2), 1e-2);
  EXPECT_EQ(s[2], -kInf);
  expect_close(logsumexp(array({kInf, 0, kNan, 0}, {2, 2})), {kInf, kNan}, 0);
}

TEST_P(Softmax, OtherForms) {
  const Array x = array({0, std::log(2.0), std::log(5.0)}, {1, 3});
  expect_values(softmin(x), {1, 3}, {10.0 / 17, 5.0 / 17, 2.0 / 17});
  expect_values(quiet_softmax(x), {1, 3}, {1.0 / 9, 2.0 / 9, 5.0 / 9});
  expect_values(quiet_softmax(full({2, 1}, -kInf, DType::f64), 0), {2, 1}, {0, 0});
  expect_values(quiet_softmax(array({}, {0, 2}), 1), {0, 2}, {});
}

TEST_P(Softmax, Empty) {
  EXPECT_EQ(softmax(random_array({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(softmax(random_array({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(log_softmax(random_array({3, 0})).to_doubles(), Values{});
  expect_values(logsumexp(random_array({2, 0})), {2}, {-kInf, -kInf});
  EXPECT_EQ(logsumexp(random_array({0, 3})).shape(), (Shape{0}));
}

TEST_P(Softmax, Gradients) {
  for (const std::int64_t axis : {0, 1, 2}) {
    const Array x = random_array({2, 3, 4}, DType::f64, -2, 2);
    check_gradients([axis](std::span<const Array> a) { return softmax(a[0], axis); }, {x});
    check_gradients([axis](std::span<const Array> a) { return log_softmax(a[0], axis); }, {x});
    check_gradients([axis](std::span<const Array> a) { return logsumexp(a[0], axis); }, {x});
  }
  const Array x = random_array({2, 3}, DType::f64, -2, 2);
  check_second_gradients([](std::span<const Array> a) { return softmax(a[0]); }, {x});
  check_second_gradients([](std::span<const Array> a) { return log_softmax(a[0]); }, {x});
  check_second_gradients([](std::span<const Array> a) { return logsumexp(a[0], 0, true); }, {x});
}

TEST_P(Softmax, GradientOfLogsumexpOverNothingButInfinity) {
  const Array x = array({-kInf, -kInf, 0, 0}, {2, 2}).require_grad();
  expect_close(backward(sum(logsumexp(x))).get(x), {0, 0, 0.5, 0.5}, 1e-12);
}

TEST_P(Softmax, Errors) {
  expect_error(ErrorCode::invalid_argument, [] { (void)softmax(random_array({2, 3}), 2); });
  expect_error(ErrorCode::invalid_argument, [] { (void)softmax(random_array({})); });
  expect_error(ErrorCode::dtype, [] { (void)softmax(ints({1, 2}, {2})); });
}

Values norm_row(const Values& x, const Values& w, const Values& b, double epsilon, bool centred) {
  double mean = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  if (!centred) mean = 0;
  double power = 0;
  for (const double value : x)
    power += (value - mean) * (value - mean) / static_cast<double>(x.size());
  Values out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double y = (x[i] - mean) / std::sqrt(power + epsilon);
    if (!w.empty()) y *= w[i];
    if (!b.empty()) y += b[i];
    out.push_back(y);
  }
  return out;
}

TEST_P(Norm, LengthsBecomeOne) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t n : {1, 7, 128, 9001}) {
      const Array x = random_array({5, n}, dtype, -3, 3);
      const Values y = by_row(x.to_doubles(), static_cast<std::size_t>(n), [](Values row) {
        double squares = 0.01;
        for (const double value : row) squares += value * value;
        for (double& value : row) value /= std::sqrt(squares);
        return row;
      });
      expect_values(l2_norm(x, 0.01), {5, n}, y, "l2_norm");
      expect_values(l2_norm(transpose(contiguous(transpose(x))), 0.01), {5, n}, y, "of columns");
    }
  }
  expect_close(l2_norm(zeros({2, 3})), Values(6, 0), 0);
  expect_close(l2_norm(array({3e-30, 4e-30}, {2}, DType::f64), 0), {0.6, 0.8}, 1e-12);
}

TEST_P(Norm, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t n : {1, 3, 16, 65, 768}) {
      const Array x = random_array({2, 3, n}, dtype, -1, 3, 1);
      const Array w = random_array({n}, dtype, 0.5, 1.5, 2);
      const Array b = random_array({n}, dtype, -1, 1, 3);
      const auto expected = [&](bool with_w, bool with_b, bool centred) {
        return by_row(x.to_doubles(), static_cast<std::size_t>(n), [&](const Values& row) {
          return norm_row(row, with_w ? w.to_doubles() : Values{},
                          with_b ? b.to_doubles() : Values{}, 1e-5, centred);
        });
      };
      const Shape shape = {2, 3, n};
      const double bound = 3 * tolerance(dtype);
      expect_close(layer_norm(x, w, b), expected(true, true, true), bound, "layer_norm");
      expect_close(layer_norm(x, w), expected(true, false, true), bound, "without bias");
      expect_close(layer_norm(x, Array(), b), expected(false, true, true), bound, "without weight");
      expect_close(layer_norm(x), expected(false, false, true), bound, "plain layer_norm");
      expect_close(rms_norm(x, w), expected(true, false, false), bound, "rms_norm");
      expect_close(rms_norm(x), expected(false, false, false), bound, "plain rms_norm");
      EXPECT_EQ(layer_norm(x, w, b).dtype(), dtype);
      EXPECT_EQ(rms_norm(x, w).shape(), shape);
    }
  }
}

// A large common offset must not eat the variance.
TEST_P(Norm, VarianceSurvivesAnOffset) {
  Values x = random_values(256, -1, 1);
  const Values plain = norm_row(x, {}, {}, 1e-5, true);
  for (double& value : x) value += 1000;
  expect_close(layer_norm(array(x, {256}, DType::f32)), plain, 2e-3);
}

TEST_P(Norm, StridedRowsAndWeights) {
  const Array x = random_array({6, 4});
  const Array w = slice(random_array({8}, DType::f64, -1, 1, 2), {{0, 8, 2}});
  const Array t = transpose(random_array({4, 6}));
  expect_close(layer_norm(t, w), layer_norm(contiguous(t), contiguous(w)).to_doubles(), 1e-14);
  const Array f = flip(x, {1});
  expect_close(rms_norm(f, w), rms_norm(contiguous(f), contiguous(w)).to_doubles(), 1e-14);
}

TEST_P(Norm, Empty) {
  EXPECT_EQ(layer_norm(random_array({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(rms_norm(random_array({3, 0}), random_array({0})).shape(), (Shape{3, 0}));
  const Array w = random_array({3}).require_grad();
  expect_close(backward(sum(rms_norm(random_array({0, 3}), w))).get(w), {0, 0, 0}, 0);
}

TEST_P(Norm, Gradients) {
  const Array x = random_array({2, 3, 5}, DType::f64, -1, 2);
  const Array w = random_array({5}, DType::f64, 0.5, 1.5, 2);
  const Array b = random_array({5}, DType::f64, -1, 1, 3);
  check_gradients([](std::span<const Array> a) { return layer_norm(a[0], a[1], a[2]); }, {x, w, b});
  check_gradients([](std::span<const Array> a) { return layer_norm(a[0], a[1]); }, {x, w});
  check_gradients([](std::span<const Array> a) { return layer_norm(a[0], Array(), a[1]); }, {x, b});
  check_gradients([](std::span<const Array> a) { return layer_norm(a[0]); }, {x});
  check_gradients([](std::span<const Array> a) { return rms_norm(a[0], a[1]); }, {x, w});
  check_gradients([](std::span<const Array> a) { return rms_norm(a[0]); }, {x});
  const Array y = random_array({2, 3}, DType::f64, -1, 2, 7);
  const Array v = random_array({3}, DType::f64, 0.5, 1.5, 8);
  check_second_gradients([](std::span<const Array> a) { return layer_norm(a[0], a[1]); }, {y, v});
  check_second_gradients([](std::span<const Array> a) { return rms_norm(a[0], a[1]); }, {y, v});
}

TEST_P(Norm, Errors) {
  const Array x = random_array({2, 4});
  expect_error(ErrorCode::shape, [&] { (void)layer_norm(x, random_array({3})); });
  expect_error(ErrorCode::shape, [&] { (void)rms_norm(x, random_array({2, 4})); });
  expect_error(ErrorCode::shape, [] { (void)layer_norm(random_array({})); });
  expect_error(ErrorCode::dtype, [&] { (void)rms_norm(x, random_array({4}, DType::f32)); });
  expect_error(ErrorCode::dtype, [] { (void)rms_norm(ints({1, 2}, {2})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)layer_norm(x, Array(), Array(), -1); });
}

Values rope_loops(const Values& x, const Shape& shape, const RopeOptions& options) {
  const std::int64_t dim = shape.back();
  const std::int64_t rows = shape[shape.rank() - 2];
  Values out = x;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(x.size()) / std::max<std::int64_t>(dim, 1);
       ++r) {
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      const double angle =
          static_cast<double>(options.offset + r % rows) *
          std::pow(options.base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      const auto a = static_cast<std::size_t>(r * dim + (options.interleaved ? 2 * i : i));
      const auto b =
          static_cast<std::size_t>(r * dim + (options.interleaved ? 2 * i + 1 : i + dim / 2));
      out[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
      out[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
    }
  }
  return out;
}

TEST_P(Rope, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const bool interleaved : {false, true}) {
      for (const std::int64_t offset : {0, 5, 100000}) {
        const RopeOptions options{.base = 10000, .interleaved = interleaved, .offset = offset};
        const Array x = random_array({2, 3, 4, 64}, dtype);
        // A far position has fewer digits left for its angle.
        const double bound = tolerance(dtype) + static_cast<double>(offset) * 1e-15;
        const Array y = rope(x, options);
        EXPECT_EQ(y.shape(), x.shape());
        expect_close(y, rope_loops(x.to_doubles(), x.shape(), options), bound);
      }
    }
  }
}

TEST_P(Rope, HeadsBehindTheSequence) {
  const Array x = random_array({2, 4, 3, 8}, DType::f32);  // [batch, sequence, heads, dim]
  const Array moved = permute(x, {0, 2, 1, 3});
  expect_close(rope(moved), rope_loops(contiguous(moved).to_doubles(), moved.shape(), {}), 3e-6);
  EXPECT_EQ(rope(random_array({2, 0, 8})).shape(), (Shape{2, 0, 8}));
}

TEST_P(Rope, OffsetContinuesASequence) {
  const Array x = random_array({6, 8});
  const Array whole = rope(x);
  const Array tail = rope(slice(x, {{4}}), {.offset = 4});
  expect_close(tail, slice(whole, {{4}}).to_doubles(), 1e-12);
}

TEST_P(Rope, Gradients) {
  const Array x = random_array({2, 3, 6});
  for (const bool interleaved : {false, true}) {
    const auto f = [interleaved](std::span<const Array> a) {
      return rope(a[0], {.base = 100, .interleaved = interleaved, .offset = 3});
    };
    check_gradients(f, {x});
    // It is linear, so its second gradients are those of its square.
    check_second_gradients([&f](std::span<const Array> a) { return square(f(a)); },
                           {random_array({2, 4})});
  }
}

TEST_P(Rope, Errors) {
  expect_error(ErrorCode::shape, [] { (void)rope(random_array({4, 5})); });
  expect_error(ErrorCode::shape, [] { (void)rope(random_array({4})); });
  expect_error(ErrorCode::dtype, [] { (void)rope(ints({1, 2, 3, 4}, {2, 2})); });
  expect_error(ErrorCode::invalid_argument, [] { (void)rope(random_array({2, 4}), {.base = -1}); });
}

}  // namespace
}  // namespace hearth
