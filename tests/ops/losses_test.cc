// Losses of elements and rows, against PyTorch and written-out cases.
#include "ops/channel_golden.h"

namespace hearth {
namespace {

using namespace check;

constexpr Reduction kNone = Reduction::none;
using In = std::span<const Array>;

// In the dtype of the other inputs.
Array golden_beside(const std::string& name, const std::string& label, const Array& x) {
  return ChannelCase(name).array(label, x.dtype());
}

TEST(Losses, OfElementsAsTorch) {
  for (const bool logits : {false, true}) {
    const std::string name = logits ? "binary_cross_entropy_with_logits" : "binary_cross_entropy";
    expect_as_torch(
        name, {"x"},
        [&](In in) {
          const Array targets = golden_beside(name, "targets", in[0]);
          const Array weight = golden_beside(name, "weight", in[0]);
          return logits ? binary_cross_entropy_with_logits(in[0], targets, weight, kNone)
                        : binary_cross_entropy(in[0], targets, weight, kNone);
        },
        1e-11, 1e-3);
  }
  expect_as_torch("l1", {"x", "targets"}, [](In in) { return l1_loss(in[0], in[1], kNone); });
  expect_as_torch("mse", {"x", "targets"}, [](In in) { return mse_loss(in[0], in[1], kNone); });
  expect_as_torch("lp", {"x", "targets"}, [](In in) { return lp_loss(in[0], in[1], 2.5, kNone); });
  expect_as_torch("huber", {"x", "targets"},
                  [](In in) { return huber_loss(in[0], in[1], 0.7, kNone); });
  expect_as_torch("smooth_l1", {"x", "targets"},
                  [](In in) { return smooth_l1_loss(in[0], in[1], 0.7, kNone); });
  expect_as_torch("kl_div", {"x", "targets"},
                  [](In in) { return kl_div(in[0], in[1], false, kNone); });
  expect_as_torch("kl_div_batch_mean", {"x", "targets"},
                  [](In in) { return kl_div(in[0], in[1], false, Reduction::batch_mean); });
  expect_as_torch("kl_div_log_target", {"x", "targets"},
                  [](In in) { return kl_div(in[0], in[1], true, kNone); });
  for (const bool full : {false, true}) {
    expect_as_torch(
        "gaussian_nll_" + std::to_string(full), {"x", "targets", "variance"},
        [full](In in) { return gaussian_nll_loss(in[0], in[1], in[2], full, 1e-6, kNone); });
    for (const bool log_input : {false, true}) {
      const std::string name = "poisson_nll_" + std::to_string(log_input) + std::to_string(full);
      expect_as_torch(name, {"x"}, [&](In in) {
        return poisson_nll_loss(in[0], golden_beside(name, "targets", in[0]), log_input, full, 1e-8,
                                kNone);
      });
    }
  }
  expect_as_torch("hinge_embedding", {"x", "targets"},
                  [](In in) { return hinge_embedding_loss(in[0], in[1], 0.8, kNone); });
  expect_as_torch("soft_margin", {"x", "targets"},
                  [](In in) { return soft_margin_loss(in[0], in[1], kNone); });
  expect_as_torch("margin_ranking", {"a", "b", "targets"},
                  [](In in) { return margin_ranking_loss(in[0], in[1], in[2], 0.3, kNone); });
}

TEST(Losses, OfRowsAsTorch) {
  expect_as_torch("cosine_embedding", {"a", "b", "targets"},
                  [](In in) { return cosine_embedding_loss(in[0], in[1], in[2], -0.4, kNone); });
  for (const int p : {1, 2}) {
    const std::string name = "multi_margin_" + std::to_string(p);
    expect_as_torch(name, {"x", "targets"}, [&](In in) {
      return multi_margin_loss(in[0], in[1], 0.8, p, golden_beside(name, "weight", in[0]), kNone);
    });
  }
  for (const bool swap : {false, true}) {
    expect_as_torch("triplet_margin_" + std::to_string(swap), {"a", "b", "c"}, [swap](In in) {
      return triplet_margin_loss(in[0], in[1], in[2], 1.3, 3, swap, 1e-6, kNone);
    });
  }
}

TEST(Losses, Reductions) {
  const Array x = array({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f32), t = zeros({2, 3});
  expect_values(l1_loss(x, t, kNone), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(l1_loss(x, t), {}, {3.5});
  expect_values(l1_loss(x, t, Reduction::sum), {}, {21});
  expect_values(l1_loss(x, t, Reduction::batch_mean), {}, {10.5});
  expect_values(l1_loss(full({}, 3.0), full({}, 1.0), Reduction::batch_mean), {}, {2});
  expect_values(l1_loss(zeros({0, 3}), zeros({0, 3})), {}, {kNan});
  expect_values(l1_loss(zeros({0, 3}), zeros({0, 3}), Reduction::sum), {}, {0});
  expect_values(cross_entropy(zeros({2, 3, 4}), zeros({2, 3}, DType::i64), Reduction::batch_mean),
                {}, {3 * std::log(4.0)});
  // Sums of halves are added in f32.
  const Array half = full({70000}, 1.0, DType::f16);
  const Array mean_of_halves = l1_loss(half, zeros({70000}, DType::f16));
  EXPECT_EQ(mean_of_halves.dtype(), DType::f16);
  expect_values(mean_of_halves, {}, {1});
}

TEST(Losses, AtTheEdges) {
  // Logarithms of 0 count -100, and no gradient is NaN.
  const Array p = array({0, 1, 0, 1}, {4}, DType::f32).require_grad();
  const Array t = array({0, 1, 1, 0}, {4}, DType::f32);
  const Array loss = binary_cross_entropy(p, t, Array(), kNone);
  expect_values(loss, {4}, {0, 0, 100, 100});
  expect_close(backward(sum(loss)).get(p), {1, -1, -1e12, 1e12}, 1e-6);
  const Array tiny = array({1e-20, 1e-13, 1e-11}, {3}).require_grad();
  const Array costs = binary_cross_entropy(tiny, ones({3}, DType::f64), Array(), kNone);
  expect_close(costs, {-std::log(1e-20), -std::log(1e-13), -std::log(1e-11)}, 1e-14);
  expect_close(backward(sum(costs)).get(tiny), {-1e12, -1e12, -1e11}, 1e-12);
  const Array far = array({1e4, -1e4, 1e4, -1e4}, {4}, DType::f32).require_grad();
  const Array logits = binary_cross_entropy_with_logits(far, t, Array(), kNone);
  expect_values(logits, {4}, {1e4, 1e4, 0, 0});
  expect_values(backward(sum(logits)).get(far), {4}, {1, -1, 0, 0});
  expect_values(soft_margin_loss(far, array({1, 1, -1, -1}, {4}, DType::i32), kNone), {4},
                {0, 1e4, 1e4, 0});
  // A target of 0 costs nothing beside log 0.
  const Array logs = array({-kInf, 0}, {2}, DType::f32).require_grad();
  const Array divergence = kl_div(logs, array({0, 1}, {2}, DType::f32), false, kNone);
  expect_values(divergence, {2}, {0, 0});
  expect_values(backward(sum(divergence)).get(logs), {2}, {0, -1});
  // Where x = t no gradient is NaN, whatever the power.
  for (const double power : {0.5, 1.0, 1.5, 2.0, 3.0}) {
    const Array x = array({1, 3}, {2}, DType::f64).require_grad();
    const Array at_target = lp_loss(x, array({1, 1}, {2}), power, kNone);
    expect_values(at_target, {2}, {0, std::pow(2, power)});
    expect_close(backward(sum(at_target)).get(x), {0, power * std::pow(2, power - 1)}, 1e-12);
  }
  // A variance below epsilon counts as epsilon.
  expect_values(gaussian_nll_loss(ones({1}), zeros({1}), zeros({1}), false, 0.25, kNone), {1},
                {(std::log(0.25) + 4) / 2});
  expect_values(smooth_l1_loss(array({-3}, {1}, DType::f32), zeros({1}), 0, kNone), {1}, {3});
  expect_values(huber_loss(array({kNan, kInf}, {2}, DType::f32), zeros({2}), 1, kNone), {2},
                {kNan, kInf});
  expect_values(
      multi_margin_loss(array({1, 2, 3}, {1, 3}, DType::f32), ints({5}, {1}), 1, 1, Array(), kNone),
      {1}, {kNan});
  expect_values(multi_margin_loss(zeros({1, 0}), ints({0}, {1}), 1, 1, Array(), kNone), {1},
                {kNan});
  EXPECT_EQ(multi_margin_loss(zeros({0, std::int64_t{1} << 40}), zeros({0}, DType::i64), 1, 1,
                              Array(), kNone)
                .shape(),
            Shape{0});
  expect_values(cosine_embedding_loss(zeros({1, 3}), ones({1, 3}), ints({1}, {1})), {}, {1});
}

TEST(Losses, TargetsOfOtherDTypes) {
  const Array x = array({0.25, 0.5}, {2}, DType::f32);
  const double expected = -std::log(0.25) / 2 - std::log(0.5) / 2;
  for (const DType dtype : {DType::bool_, DType::u8, DType::i32, DType::i64, DType::f32}) {
    expect_values(binary_cross_entropy(x, array({1, 0}, {2}, dtype)), {}, {expected});
  }
  expect_error(ErrorCode::dtype, [&] { (void)binary_cross_entropy(x, ones({2}, DType::f64)); });
  expect_error(ErrorCode::dtype, [&] { (void)mse_loss(x, ones({2}, DType::i64)); });
}

TEST(Losses, Refuse) {
  const Array x = zeros({2, 3}), other = zeros({3}), whole = zeros({2, 3}, DType::i32);
  expect_error(ErrorCode::shape, [&] { (void)mse_loss(x, other); });
  expect_error(ErrorCode::dtype, [&] { (void)mse_loss(whole, whole); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)mse_loss(x, Array()); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)mse_loss(Array(), x); });
  for (const double delta : {0.0, -1.0, kNan}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)huber_loss(x, x, delta); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)lp_loss(x, x, delta); });
  }
  expect_error(ErrorCode::invalid_argument, [&] { (void)smooth_l1_loss(x, x, -1); });
  expect_error(ErrorCode::shape, [&] { (void)binary_cross_entropy(x, x, zeros({2})); });
  expect_error(ErrorCode::shape, [&] { (void)binary_cross_entropy(x, x, zeros({4, 2, 3})); });
  expect_error(ErrorCode::dtype, [&] { (void)binary_cross_entropy(x, x, whole); });
  expect_error(ErrorCode::shape, [&] { (void)gaussian_nll_loss(x, x, other); });
  expect_error(ErrorCode::shape, [&] { (void)cosine_embedding_loss(other, other, other); });
  expect_error(ErrorCode::shape, [&] { (void)cosine_embedding_loss(x, x, other); });
  expect_error(ErrorCode::dtype,
               [&] { (void)cosine_embedding_loss(x, x, zeros({2}, DType::f64)); });
  expect_error(ErrorCode::dtype, [&] { (void)multi_margin_loss(x, zeros({2})); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)multi_margin_loss(x, zeros({2}, DType::i64), 1, 3); });
  expect_error(ErrorCode::shape,
               [&] { (void)multi_margin_loss(x, zeros({2}, DType::i64), 1, 1, zeros({2})); });
  expect_error(ErrorCode::shape,
               [&] { (void)triplet_margin_loss(zeros({}), zeros({}), zeros({})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)triplet_margin_loss(x, x, x, 1, 0); });
}

TEST(Losses, SecondGradients) {
  const Array x = random_array({2, 3}), t = random_array({2, 3}, DType::f64, 2, 3, 5);
  check_second_gradients([](In in) { return huber_loss(in[0], in[1], 9, kNone); }, {x, t});
  check_second_gradients([](In in) { return lp_loss(in[0], in[1], 3, kNone); }, {x, t});
  check_second_gradients(
      [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], Array(), kNone); }, {x, t});
  check_second_gradients(
      [](In in) { return gaussian_nll_loss(in[0], in[1], in[2], true, 1e-6, kNone); },
      {x, t, random_array({2, 3}, DType::f64, 0.5, 2, 7)});
  check_second_gradients([](In in) { return soft_margin_loss(in[0], in[1], kNone); }, {x, t});
  check_second_gradients([](In in) { return poisson_nll_loss(in[0], in[1], true, true, 0, kNone); },
                         {x, t});
}

}  // namespace
}  // namespace hearth
