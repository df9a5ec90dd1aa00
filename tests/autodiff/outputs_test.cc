// Gradients of ops with several results: any of them, some of them, again.
#include <cmath>

#include "check.h"
#include "graph/op_def.h"
#include "graph/record/grad_record.h"
#include "hearth/grad.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

Array at_random(const Shape& shape, std::uint64_t seed) {
  return check::array(check::random_values(element_count(shape), -1, 1, seed), shape, DType::f64);
}

Params attention_params(std::int64_t keys) {
  return Params().f64(0.4).f64(0).boolean(true).boolean(false).i64(0).dynamic_i64(keys);
}

std::vector<Array> attention_with_lse(std::span<const Array> qkv) {
  const Array* const inputs[] = {&qkv[0], &qkv[1], &qkv[2]};
  return record_outputs(defs::attention_with_lse_op, inputs, attention_params(qkv[1].shape()[2]));
}

std::vector<Array> attention_inputs() {
  return {at_random({1, 2, 4, 3}, 1), at_random({1, 2, 4, 3}, 2), at_random({1, 2, 4, 5}, 3)};
}

TEST(OutputGradients, OfTheValueGoToItsElement) {
  const Array x =
      Array::from_data(std::vector<double>{1, 5, 2, 7, 7, 3}, {2, 3}, Device::cpu()).require_grad();
  const auto [values, at] = max_with_indices(x, 1);
  EXPECT_EQ(grad_of(at), nullptr) << "integers have none";
  const Array weights = Array::from_data(std::vector<double>{10, 20}, {2}, Device::cpu());
  const Gradients gradients = backward(sum(mul(values, weights)));
  EXPECT_EQ(gradients.get(x).to_doubles(), (std::vector<double>{0, 10, 0, 20, 0, 0}));
}

TEST(OutputGradients, ThroughOneResultOnly) {
  for (const std::size_t only : {0, 1}) {
    check::check_gradients(
        [only](std::span<const Array> x) { return square(attention_with_lse(x)[only]); },
        attention_inputs());
  }
}

TEST(OutputGradients, ThroughAllResultsAreAddedUp) {
  check::check_gradients(
      [](std::span<const Array> x) {
        const std::vector<Array> both = attention_with_lse(x);
        return add(sum(square(both[0])), sum(sin(both[1])));
      },
      attention_inputs());
}

TEST(OutputGradients, AResultUsedTwiceIsAddedUp) {
  check::check_gradients(
      [](std::span<const Array> x) {
        const Array sums = attention_with_lse(x)[1];
        return mul(exp(sums), sums);
      },
      attention_inputs());
}

TEST(OutputGradients, AreDifferentiatedAgain) {
  for (const std::size_t only : {0, 1}) {
    check::check_second_gradients(
        [only](std::span<const Array> x) { return square(attention_with_lse(x)[only]); },
        attention_inputs());
  }
}

// Of an op without a rule: its results are computed again, and each gradient goes its way.
TEST(OutputGradients, WithoutARuleComeFromTheComposite) {
  const std::vector<Array> inputs = {at_random({3, 4}, 4), at_random({3, 4}, 5), at_random({4}, 6)};
  for (const std::size_t only : {0, 1, 2}) {
    check::check_gradients(
        [only](std::span<const Array> x) {
          const Array* const pointers[] = {&x[0], &x[1], &x[2]};
          return square(
              record_outputs(defs::layer_norm_backward_op, pointers, Params().f64(1e-3))[only]);
        },
        inputs);
  }
}

TEST(OutputGradients, ReleaseTheirOp) {
  const Array x = at_random({4, 3}, 7).require_grad();
  const auto [values, at] = max_with_indices(x, 0);
  const Array loss = sum(square(values));
  const Gradients kept = backward(loss, {.retain = true});
  const Gradients again = backward(loss);
  EXPECT_EQ(kept.get(x).to_doubles(), again.get(x).to_doubles());
  EXPECT_THROW(backward(loss), Error);
  EXPECT_THROW(backward(sum(values)), Error);
}

TEST(OutputGradients, AreNotTrackedWithoutNeed) {
  const Array x = at_random({4, 3}, 8);
  EXPECT_EQ(grad_of(max_with_indices(x, 0).first), nullptr);
  const NoGrad none;
  EXPECT_EQ(grad_of(max_with_indices(x.require_grad(), 0).first), nullptr);
}

// Attention by way of its op with sums, as a device with a kernel for that records it.
TEST(OutputGradients, AgreeWithAttentionItself) {
  std::vector<Array> a = attention_inputs(), b;
  for (Array& x : a) x = x.require_grad();
  for (const Array& x : a) b.push_back(x.detach().require_grad());
  const Gradients with_sums = backward(sum(square(attention_with_lse(a)[0])));
  const Array* const inputs[] = {&b[0], &b[1], &b[2]};
  const Gradients plain =
      backward(sum(square(record(defs::attention_op, inputs, attention_params(4)))));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::vector<double> x = with_sums.get(a[i]).to_doubles();
    const std::vector<double> y = plain.get(b[i]).to_doubles();
    for (std::size_t e = 0; e < x.size(); ++e) EXPECT_NEAR(x[e], y[e], 1e-12);
  }
}

}  // namespace
}  // namespace hearth
