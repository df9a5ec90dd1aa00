// Which experts rows go through, and what each weighs.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

// route_experts of one row, in f64 on the host.
struct Route {
  std::vector<std::size_t> experts;
  Values weights;
};

// The k best of `values`, of equal ones the first.
std::vector<std::size_t> best_of(const Values& values, std::size_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  });
  order.resize(k);
  return order;
}

Values softmax_of(const Values& x) {
  const double top = *std::max_element(x.begin(), x.end());
  Values y;
  double total = 0;
  for (const double value : x) total += y.emplace_back(std::exp(value - top));
  for (double& value : y) value /= total;
  return y;
}

Route route_of(const Values& scores, std::size_t used, const RouteOptions& options,
               const Values& choice_bias) {
  Values gates = scores;
  if (options.gate == ExpertGate::softmax) gates = softmax_of(scores);
  for (double& gate : gates) {
    if (options.gate == ExpertGate::sigmoid) gate = 1 / (1 + std::exp(-gate));
    if (options.gate == ExpertGate::sqrt_softplus) gate = std::sqrt(std::log1p(std::exp(gate)));
  }
  Values choice = gates;
  for (std::size_t e = 0; e < choice_bias.size(); ++e) choice[e] += choice_bias[e];
  const auto groups = static_cast<std::size_t>(options.groups);
  const auto used_groups = static_cast<std::size_t>(options.used_groups);
  if (used_groups > 0 && used_groups < groups) {
    const std::size_t size = choice.size() / groups;
    Values of_groups;
    for (std::size_t g = 0; g < groups; ++g) {
      Values part(choice.begin() + static_cast<std::ptrdiff_t>(g * size),
                  choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      std::sort(part.rbegin(), part.rend());
      const bool two = options.group_score == ExpertGroupScore::best_two && size > 1;
      of_groups.push_back(part[0] + (two ? part[1] : 0));
    }
    std::vector<bool> is_used(groups, false);
    for (const std::size_t g : best_of(of_groups, used_groups)) is_used[g] = true;
    for (std::size_t e = 0; e < choice.size(); ++e) {
      if (!is_used[e / size]) choice[e] = -kInf;
    }
  }
  Route route;
  route.experts = best_of(choice, used);
  for (const std::size_t e : route.experts) route.weights.push_back(gates[e]);
  if (options.softmax_chosen) route.weights = softmax_of(route.weights);
  if (options.renormalize) {
    double total = 0;
    for (const double weight : route.weights) total += weight;
    for (double& weight : route.weights) {
      weight /= std::max(total, options.least_sum) + options.epsilon;
    }
  }
  for (double& weight : route.weights) weight *= options.scale;
  return route;
}

void expect_routes(const Array& scores, std::int64_t used, RouteOptions options, Device device) {
  const std::int64_t rows = scores.shape()[0], count = scores.shape()[1];
  const Values bias = options.choice_bias.defined() ? options.choice_bias.to_doubles() : Values();
  if (options.choice_bias.defined()) options.choice_bias = to_device(options.choice_bias, device);
  const auto [experts, weights] = route_experts(to_device(scores, device), used, options);
  EXPECT_EQ(experts.dtype(), DType::i32);
  EXPECT_EQ(experts.shape(), Shape({rows, used}));
  EXPECT_EQ(weights.dtype(), scores.dtype() == DType::f64 ? DType::f64 : DType::f32);
  EXPECT_EQ(weights.shape(), Shape({rows, used}));
  const Values all = scores.to_doubles();
  Values expected_experts, expected_weights;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Values one(all.begin() + row * count, all.begin() + (row + 1) * count);
    const Route route = route_of(one, static_cast<std::size_t>(used), options, bias);
    for (const std::size_t e : route.experts) expected_experts.push_back(static_cast<double>(e));
    expected_weights.insert(expected_weights.end(), route.weights.begin(), route.weights.end());
  }
  EXPECT_EQ(experts.to_doubles(), expected_experts);
  expect_close(weights.to_doubles(), expected_weights, scores.dtype() == DType::f64 ? 1e-12 : 2e-6);
}

constexpr ExpertGate kGates[] = {ExpertGate::softmax, ExpertGate::sigmoid, ExpertGate::none,
                                 ExpertGate::sqrt_softplus};

TEST(RouteExperts, TakesTheBestOfEachGate) {
  for (const Device device : devices_under_test()) {
    for (const ExpertGate gate : kGates) {
      for (const DType dtype : {DType::f64, DType::f32}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(gate)) + " on " + device.name());
        const Array scores = random_array({9, 16}, dtype, -3, 3, 5);
        expect_routes(scores, 4, {.gate = gate}, device);
        expect_routes(scores, 16, {.gate = gate, .renormalize = true}, device);
        expect_routes(scores, 1, {.gate = gate, .renormalize = true, .scale = 2.5}, device);
        expect_routes(scores, 3, {.gate = gate, .softmax_chosen = true}, device);
        const Array bias = random_array({16}, dtype, -2, 2, 6);
        expect_routes(
            scores, 4,
            {.gate = gate, .choice_bias = bias, .renormalize = true, .epsilon = 1e-3, .scale = 0.5},
            device);
      }
    }
  }
}

TEST(RouteExperts, TakesExpertsOfTheBestGroups) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      for (const ExpertGroupScore score : {ExpertGroupScore::best_two, ExpertGroupScore::best}) {
        const Array scores = random_array({11, 24}, dtype, -3, 3, 5);
        const Array bias = random_array({24}, dtype, -1, 1, 6);
        for (const std::int64_t groups : {4, 12, 24}) {
          expect_routes(scores, 2,
                        {.gate = ExpertGate::sigmoid,
                         .choice_bias = bias,
                         .groups = groups,
                         .used_groups = 3,
                         .group_score = score,
                         .renormalize = true},
                        device);
        }
        // All of them are as none.
        expect_routes(scores, 2, {.groups = 4, .used_groups = 4, .group_score = score}, device);
        expect_routes(scores, 2, {.groups = 4, .group_score = score}, device);
      }
    }
  }
}

TEST(RouteExperts, ManyExpertsInGroupsAreRouted) {
  for (const Device device : devices_under_test()) {
    const Array scores = random_array({5, 256}, DType::f32, -4, 4, 7);
    const Array bias = random_array({256}, DType::f32, -0.1, 0.1, 8);
    expect_routes(scores, 8,
                  {.gate = ExpertGate::sigmoid,
                   .choice_bias = bias,
                   .groups = 8,
                   .used_groups = 4,
                   .renormalize = true,
                   .epsilon = 1e-20,
                   .scale = 2.5},
                  device);
    expect_routes(random_array({3, 512}, DType::f32, -4, 4, 9), 10, {.renormalize = true}, device);
    expect_routes(random_array({2, 600}, DType::f32, -4, 4, 9), 33, {.renormalize = true}, device);
  }
}

// NaN is chosen first, and what is infinitely low last.
TEST(RouteExperts, NanIsTheLargest) {
  for (const Device device : devices_under_test()) {
    const Array scores = array({-kInf, 1, kNan, -kInf, -0.0, 0.0, kInf, -2}, {1, 8}, DType::f32);
    const auto [experts, weights] =
        route_experts(to_device(scores, device), 8, {.gate = ExpertGate::none});
    EXPECT_EQ(experts.to_doubles(), Values({2, 6, 1, 4, 5, 7, 0, 3}));
    expect_values(weights, {1, 8}, {kNan, kInf, 1, 0, 0, -2, -kInf, -kInf});
  }
}

TEST(RouteExperts, OfEqualOnesTheLowestAreTaken) {
  for (const Device device : devices_under_test()) {
    const Array scores = full({3, 8}, 0.25, DType::f32);
    expect_routes(scores, 3, {}, device);
    expect_routes(scores, 3, {.gate = ExpertGate::none, .groups = 4, .used_groups = 2}, device);
    const Array pairs = array({1, 2, 2, 0, 2, 1, 0, 2}, {1, 8}, DType::f32);
    expect_routes(pairs, 5, {.gate = ExpertGate::sigmoid}, device);
  }
}

TEST(RouteExperts, SmallSumsCountAsTheLeast) {
  const Array scores = array({-40, -50, -60, -45}, {1, 4}, DType::f64);
  for (const Device device : devices_under_test()) {
    expect_routes(scores, 2, {.gate = ExpertGate::sigmoid, .renormalize = true}, device);
    expect_routes(
        scores, 2,
        {.gate = ExpertGate::sigmoid, .renormalize = true, .least_sum = 0, .epsilon = 1e-20},
        device);
    const auto [experts, weights] = route_experts(
        to_device(scores, device), 2, {.gate = ExpertGate::sigmoid, .renormalize = true});
    EXPECT_EQ(experts.to_doubles(), Values({0, 3}));
    EXPECT_NEAR(weights.to_doubles()[0], std::exp(-40) * 0x1p14, 1e-18);
  }
}

// Halves are routed in f32: what they round to, they weigh.
TEST(RouteExperts, HalvesAreRoutedInF32) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const Array scores = random_array({5, 32}, dtype, -2, 2, 3);
      const auto [experts, weights] =
          route_experts(to_device(scores, device), 4, {.renormalize = true});
      const auto [wide_experts, wide_weights] =
          route_experts(to_device(cast(scores, DType::f32), device), 4, {.renormalize = true});
      EXPECT_EQ(weights.dtype(), DType::f32);
      EXPECT_EQ(experts.to_doubles(), wide_experts.to_doubles());
      EXPECT_EQ(weights.to_doubles(), wide_weights.to_doubles());
    }
  }
}

TEST(RouteExperts, ARowDoesNotDependOnOthers) {
  for (const Device device : devices_under_test()) {
    const Array scores = to_device(random_array({70, 64}, DType::f32, -2, 2, 3), device);
    const RouteOptions all[] = {
        {.gate = ExpertGate::sigmoid, .groups = 8, .used_groups = 3, .renormalize = true},
        {.gate = ExpertGate::softmax, .renormalize = true},
        {.gate = ExpertGate::none, .softmax_chosen = true},
        {.gate = ExpertGate::sqrt_softplus, .renormalize = true}};
    for (const RouteOptions& options : all) {
      for (const std::int64_t used : {3, 6}) {
        const auto [experts, weights] = route_experts(scores, used, options);
        for (const std::int64_t row : {0, 33, 69}) {
          const auto [one, weight] = route_experts(narrow(scores, 0, row, 1), used, options);
          EXPECT_EQ(one.to_doubles(), narrow(experts, 0, row, 1).to_doubles());
          EXPECT_EQ(weight.to_doubles(), narrow(weights, 0, row, 1).to_doubles());
        }
      }
    }
  }
}

// More experts than one sum has terms.
TEST(RouteExperts, AnyNumberIsUsed) {
  for (const Device device : devices_under_test()) {
    const Array scores = random_array({3, 80}, DType::f64, -2, 2, 3);
    for (const std::int64_t used : {32, 33, 67, 80}) {
      expect_routes(scores, used, {.gate = ExpertGate::sigmoid, .renormalize = true}, device);
    }
  }
}

TEST(RouteExperts, WeightsHaveGradients) {
  for (const ExpertGate gate : kGates) {
    for (const bool renormalize : {false, true}) {
      RouteOptions options = {.gate = gate, .renormalize = renormalize, .scale = 1.5};
      const Many weights = [&](std::span<const Array> in) {
        return route_experts(in[0], 3, options).second;
      };
      check_gradients(weights, {random_array({4, 8}, DType::f64, -2, 2, 9)});
      options.softmax_chosen = true;
      check_gradients(weights, {random_array({4, 8}, DType::f64, -2, 2, 10)});
    }
  }
  // Far from what it is chosen for a gate is 0, and so is its slope.
  const Array far = full({1, 4}, -300, DType::f32).require_grad();
  const auto routes = route_experts(far, 2, {.gate = ExpertGate::sqrt_softplus});
  const Gradients grads = backward(sum(routes.second));
  EXPECT_EQ(grads.at(far).to_doubles(), Values(4, 0.0));
}

TEST(RouteExperts, NoRowsHaveNoExperts) {
  for (const Device device : devices_under_test()) {
    const auto [experts, weights] = route_experts(
        zeros({0, 8}, DType::f32, device), 2, {.groups = 4, .used_groups = 2, .renormalize = true});
    EXPECT_EQ(experts.shape(), Shape({0, 2}));
    EXPECT_EQ(weights.shape(), Shape({0, 2}));
    EXPECT_TRUE(weights.to_doubles().empty());
  }
}

// A mixture of experts, trained: all weights move.
TEST(RouteExperts, MixturesHaveGradients) {
  const Many mixture = [](std::span<const Array> in) {
    const Array scores = matmul(in[0], in[1]);
    const auto [experts, weights] = route_experts(scores, 2, {.renormalize = true});
    const Array up = silu(expert_linear(in[0], in[2], experts));
    const Array down = expert_linear(up, in[3], experts, in[4]);
    return sum(mul(down, unsqueeze(weights, {2})), {1});
  };
  check_gradients(
      mixture,
      {random_array({5, 6}, DType::f64, -1, 1, 1), random_array({6, 4}, DType::f64, -1, 1, 2),
       random_array({4, 7, 6}, DType::f64, -1, 1, 3), random_array({4, 6, 7}, DType::f64, -1, 1, 4),
       random_array({4, 6}, DType::f64, -1, 1, 5)});
}

TEST(RouteExperts, TellsWhatDoesNotFit) {
  const Array scores = ones({3, 8});
  const auto refused = [](ErrorCode code, const auto& f) { expect_error(code, f); };
  const ErrorCode argument = ErrorCode::invalid_argument;
  refused(ErrorCode::shape, [&] { (void)route_experts(ones({8}), 2); });
  refused(ErrorCode::dtype, [&] { (void)route_experts(ones({3, 8}, DType::i32), 2); });
  refused(argument, [&] { (void)route_experts(Array(), 2); });
  refused(argument, [&] { (void)route_experts(scores, 0); });
  refused(argument, [&] { (void)route_experts(scores, 9); });
  refused(argument, [&] { (void)route_experts(scores, 2, {.groups = 3}); });
  refused(argument, [&] { (void)route_experts(scores, 2, {.groups = 0}); });
  refused(argument, [&] { (void)route_experts(scores, 2, {.groups = 4, .used_groups = 5}); });
  refused(argument, [&] { (void)route_experts(scores, 2, {.groups = 4, .used_groups = -1}); });
  refused(argument, [&] { (void)route_experts(scores, 5, {.groups = 4, .used_groups = 2}); });
  refused(argument, [&] { (void)route_experts(scores, 2, {.scale = kNan}); });
  refused(argument, [&] { (void)route_experts(scores, 2, {.gate = static_cast<ExpertGate>(9)}); });
  refused(ErrorCode::shape, [&] { (void)route_experts(scores, 2, {.choice_bias = ones({7})}); });
  refused(ErrorCode::dtype,
          [&] { (void)route_experts(scores, 2, {.choice_bias = ones({8}, DType::i32)}); });
}

TEST(RouteExperts, OfTensors) {
  const Array scores = random_array({3, 8}, DType::f32);
  const auto [experts, weights] = route_experts(Tensor<2>(scores), 2, {.renormalize = true});
  const auto [plain_experts, plain_weights] = route_experts(scores, 2, {.renormalize = true});
  EXPECT_EQ(experts.array().to_doubles(), plain_experts.to_doubles());
  EXPECT_EQ(weights.array().to_doubles(), plain_weights.to_doubles());
}

}  // namespace
}  // namespace hearth
