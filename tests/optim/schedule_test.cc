// Schedules, in numbers written out.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "error_text.h"
#include "hearth/optim.h"

namespace hearth {
namespace {

void expect_rates(const optim::Schedule& schedule, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(schedule(static_cast<std::int64_t>(i)), expected[i], 1e-12) << "step " << i;
  }
}

TEST(Schedules, Linear) {
  expect_rates(optim::linear(0.9, 0.5, 4), {0.9, 0.8, 0.7, 0.6, 0.5, 0.5});
  expect_rates(optim::linear(0.5, 0.9, 0), {0.9, 0.9});
}

TEST(Schedules, Exponential) {
  expect_rates(optim::exponential(0.5, 0.1), {0.5, 0.05, 0.005});
  EXPECT_EQ(optim::exponential(1, 0.5)(INT64_MAX), 0);
}

TEST(Schedules, Stairs) {
  expect_rates(optim::stairs(1, 2), {1, 1, 0.1, 0.1, 0.01, 0.01});
  expect_rates(optim::stairs(8, 1, 0.5), {8, 4, 2, 1});
}

TEST(Schedules, Noam) {
  // Burn's: its first step is 1.
  const optim::Schedule rate = optim::noam(2, 4, 16);
  expect_rates(rate, {0.0625, 0.125, 0.1875, 0.25, 0.5 / std::sqrt(5.0)});
  EXPECT_NEAR(optim::noam(1)(3999), std::pow(512, -0.5) * std::pow(4000, -0.5), 1e-15);
}

TEST(Schedules, CombinedRates) {
  const std::vector<optim::Schedule> two = {optim::constant(4), optim::stairs(1, 1)};
  expect_rates(optim::combined(two), {4, 0.4, 0.04});
  expect_rates(optim::combined(two, optim::Combine::sum), {5, 4.1, 4.01});
  expect_rates(optim::combined(two, optim::Combine::mean), {2.5, 2.05, 2.005});
}

TEST(Schedules, SequenceBeginsEachAnew) {
  const optim::Schedule rate =
      optim::sequence({optim::linear(0, 1, 2), optim::stairs(1, 1), optim::constant(7)}, {2, 5});
  expect_rates(rate, {0, 0.5, 1, 0.1, 0.01, 7, 7});
}

TEST(Schedules, RefuseWhatMakesNone) {
  const auto refused = [](const std::function<void()>& call, const char* expected) {
    const std::string message = check::error_of(ErrorCode::invalid_argument, call);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  const optim::Schedule one = optim::constant(1);
  refused([] { (void)optim::linear(1, 0, -1); }, "linear: negative steps; got -1");
  refused([] { (void)optim::exponential(1, 0); }, "exponential: gamma out of range; got 0");
  refused([] { (void)optim::exponential(1, NAN); }, "exponential: gamma out of range; got nan");
  refused([] { (void)optim::stairs(1, 0); }, "stairs: every too small; got 0, expected 1 or more");
  refused([] { (void)optim::noam(1, 0); }, "noam: warm_up too small");
  refused([] { (void)optim::noam(1, 4000, 0); }, "noam: dim too small");
  refused([] { (void)optim::combined({}); }, "combined: no schedules; got none");
  refused([&] { (void)optim::combined({one, {}}); }, "combined: no schedule in the list");
  refused([&] { (void)optim::sequence({one, one}, {}); }, "sequence: milestones do not fit; got 0");
  refused([&] { (void)optim::sequence({one, one, one}, {3, 3}); }, "sequence: milestone too small");
  refused([&] { optim::sequence({one, one}, {1})(-1); }, "sequence: negative step; got -1");
  for (const auto& each : {optim::linear(1, 0, 3), optim::exponential(1, 0.5), optim::stairs(1, 2),
                           optim::noam(1), optim::combined({one})}) {
    EXPECT_THROW(each(-1), Error);
  }
}

}  // namespace
}  // namespace hearth
