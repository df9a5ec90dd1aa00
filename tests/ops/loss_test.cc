// cross_entropy against plain loops.
#include "check.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

using namespace check;

class CrossEntropy : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, CrossEntropy, testing::Bool(), way_name);

Values losses(const Values& logits, const std::vector<std::int64_t>& targets, std::int64_t classes,
              std::int64_t ignored = -100, double smoothing = 0) {
  Values out;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (targets[r] == ignored) {
      out.push_back(0);
      continue;
    }
    const double* row = logits.data() + static_cast<std::int64_t>(r) * classes;
    double top = -kInf;
    for (std::int64_t i = 0; i < classes; ++i) top = std::max(top, row[i]);
    double total = 0;
    double mean = 0;
    for (std::int64_t i = 0; i < classes; ++i) {
      total += std::exp(row[i] - top);
      mean += row[i] / static_cast<double>(classes);
    }
    const double whole = top + std::log(total);
    const bool valid = targets[r] >= 0 && targets[r] < classes;
    const double hit = valid ? row[targets[r]] : kNan;
    out.push_back((1 - smoothing) * (whole - hit) + smoothing * (whole - mean));
  }
  return out;
}

// What backward() gives its gradient beside what it is given without.
TEST_P(CrossEntropy, TakesTheLossesForItsGradient) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Array logits = random_array({3, 4}, dtype), targets = ints({0, 3, 2}, {3});
    const Array loss = cross_entropy(logits, targets, Reduction::none);
    const Array grad = random_array({3}, loss.dtype());
    const auto gradient = [&](const Array& losses) {
      return call(defs::cross_entropy_backward_op, Params().i64(-100),
                  {&grad, &logits, &targets, &losses});
    };
    expect_values(gradient(loss), {3, 4}, gradient(Array()).to_doubles());
    const DType other = dtype == DType::f64 ? DType::f32 : DType::f64;
    expect_error(ErrorCode::shape, [&] { (void)gradient(narrow(loss, 0, 0, 2)); });
    expect_error(ErrorCode::dtype, [&] { (void)gradient(cast(loss, other)); });
  }
}

TEST_P(CrossEntropy, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t classes : {1, 2, 10, 65, 1000}) {
      const Array logits = random_array({6, classes}, dtype, -9, 9);
      const std::vector<std::int64_t> targets = {0, classes - 1, classes / 2, 0, -100, classes / 3};
      const Values expected = losses(logits.to_doubles(), targets, classes);
      const Array each = cross_entropy(logits, ints(targets, {6}), Reduction::none);
      EXPECT_EQ(each.dtype(), dtype == DType::f64 ? DType::f64 : DType::f32);
      expect_values(each, {6}, expected);
      double total = 0;
      for (const double loss : expected) total += loss;
      const Array narrow_targets = cast(ints(targets, {6}), DType::i32);
      expect_close(cross_entropy(logits, narrow_targets, Reduction::sum), {total}, 1e-5);
      expect_close(cross_entropy(logits, narrow_targets), {total / 5}, 1e-5);
    }
  }
}

TEST_P(CrossEntropy, LeadingAxes) {
  const Array logits = random_array({2, 3, 4}, DType::f32);
  const std::vector<std::int64_t> targets = {0, 1, 2, 3, 2, 1};
  const Values expected = losses(logits.to_doubles(), targets, 4);
  expect_values(cross_entropy(logits, ints(targets, {2, 3}), Reduction::none), {2, 3}, expected);
  expect_values(cross_entropy(slice(logits, {{0, 1}, {0, 1}}), ints({0}, {1, 1}), Reduction::none),
                {1, 1}, {expected[0]});
  const Array one = random_array({4});
  EXPECT_EQ(cross_entropy(one, ints({2}, {}), Reduction::none).shape(), Shape{});
}

TEST_P(CrossEntropy, IgnoredAndWrongTargets) {
  const Array logits = random_array({4, 3});
  const std::vector<std::int64_t> targets = {1, 3, 2, -1};
  expect_values(cross_entropy(logits, ints(targets, {4}), Reduction::none, 2), {4},
                losses(logits.to_doubles(), targets, 3, 2));
  const Values got = cross_entropy(logits, ints(targets, {4}), Reduction::none).to_doubles();
  EXPECT_TRUE(std::isnan(got[1]) && std::isnan(got[3]));
  // An ignored row counts for nothing, whatever its logits are.
  const Array spoiled = slice_assign(logits, {{0, 1}}, kNan);
  const Array leaf = spoiled.require_grad();
  const Array loss = cross_entropy(leaf, ints({-100, 0, 1, 2}, {4}));
  const Values clean = losses(logits.to_doubles(), {-100, 0, 1, 2}, 3);
  expect_close(loss, {(clean[1] + clean[2] + clean[3]) / 3}, 1e-12);
  const Values g = backward(loss).get(leaf).to_doubles();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_TRUE(i < 3 ? g[i] == 0 : std::isfinite(g[i])) << i;
}

TEST_P(CrossEntropy, LargeLogits) {
  const Array logits = array({1e4, -1e4, 0, 80, 90, -kInf}, {2, 3}, DType::f32);
  expect_close(cross_entropy(logits, ints({1, 1}, {2}), Reduction::none),
               {2e4, std::log1p(std::exp(-10.0))}, 1e-6);
}

TEST_P(CrossEntropy, Empty) {
  EXPECT_EQ(cross_entropy(random_array({0, 3}), ints({}, {0}), Reduction::none).shape(), Shape{0});
  expect_close(cross_entropy(random_array({0, 3}), ints({}, {0}), Reduction::sum), {0}, 0);
  expect_close(cross_entropy(random_array({0, 3}), ints({}, {0})), {kNan}, 0);
  expect_close(cross_entropy(random_array({2, 0}), ints({0, -100}, {2}), Reduction::none),
               {kNan, 0}, 0);
}

TEST_P(CrossEntropy, LabelSmoothing) {
  const Array logits = random_array({3, 5}, DType::f64, -3, 3);
  const std::vector<std::int64_t> targets = {4, -100, 0};
  expect_values(cross_entropy(logits, ints(targets, {3}), Reduction::none, -100, 0.1), {3},
                losses(logits.to_doubles(), targets, 5, -100, 0.1));
  check_gradients(
      [&](std::span<const Array> x) {
        return cross_entropy(x[0], ints(targets, {3}), Reduction::mean, -100, 0.2);
      },
      {logits});
}

TEST_P(CrossEntropy, Gradients) {
  const Array logits = random_array({2, 3, 4}, DType::f64, -2, 2);
  const Array targets = ints({0, 1, -100, 3, 2, 1}, {2, 3});
  for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    const auto f = [&](std::span<const Array> x) {
      return cross_entropy(x[0], targets, reduction);
    };
    check_gradients(f, {logits});
    check_second_gradients(f, {logits});
  }
  const Array half = random_array({2, 3}, DType::bf16, -2, 2);
  const Array leaf = half.require_grad();
  const Array g = backward(cross_entropy(leaf, ints({0, 2}, {2}))).get(leaf);
  EXPECT_EQ(g.dtype(), DType::bf16);
  const Array p = softmax(cast(half, DType::f64));
  expect_close(g, mul(sub(p, one_hot(ints({0, 2}, {2}), 3, DType::f64)), 0.5).to_doubles(), 4e-3);
}

TEST_P(CrossEntropy, Errors) {
  const Array logits = random_array({2, 3});
  expect_error(ErrorCode::shape, [&] { (void)cross_entropy(logits, ints({0}, {1})); });
  expect_error(ErrorCode::shape, [&] { (void)cross_entropy(logits, ints({0, 1}, {2, 1})); });
  expect_error(ErrorCode::shape, [&] { (void)cross_entropy(random_array({}), ints({0}, {})); });
  expect_error(ErrorCode::dtype, [&] { (void)cross_entropy(logits, random_array({2})); });
  expect_error(ErrorCode::dtype, [] { (void)cross_entropy(ints({1, 2}, {1, 2}), ints({0}, {1})); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)cross_entropy(logits, ints({0, 1}, {2}), Reduction::mean, -100, 1.5); });
}

}  // namespace
}  // namespace hearth
