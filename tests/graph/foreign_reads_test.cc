// Values of one thread's tape that another thread reads while more is recorded behind them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "graph/counted.h"
#include "graph/effort.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

std::vector<float> read_elsewhere(const Array& x) {
  std::vector<float> values;
  std::thread([&] { values = x.to_vector<float>(); }).join();
  return values;
}

// A step that reads its loss after `recorded` of the ops that follow it, 0 to 3.
float step(Array& w, const Array& x, int recorded) {
  float read = NAN;
  int now = 0;
  const auto at = [&](const Array& loss) {
    if (now++ == recorded) read = read_elsewhere(loss)[0];
  };
  Array product = mul(x, w);
  const Array loss = sum(square(product));
  Array scaled = mul(product, 2.0);
  product = Array();  // the front's value, which only what lies behind it reads
  at(loss);
  Array gradient = mul(scaled, x);
  scaled = Array();
  at(loss);
  gradient = mul(gradient, 0.001);
  at(loss);
  w = sub(w, gradient);
  gradient = Array();
  at(loss);
  return read;
}

TEST(ForeignReads, FindTheirPlansWheneverTheyCome) {
  for (const Device device : devices_under_test()) {
    const Array x = iota({32}, device);
    Array w = div(iota({32}, device), 100.0);
    std::vector<double> expected(32);
    for (std::size_t i = 0; i < 32; ++i) expected[i] = static_cast<double>(i) / 100;
    const auto run = [&](int recorded) {
      double loss = 0;
      for (std::size_t i = 0; i < 32; ++i) {
        const double product = static_cast<double>(i) * expected[i];
        loss += product * product;
        expected[i] -= 0.001 * 2 * product * static_cast<double>(i);
      }
      EXPECT_NEAR(step(w, x, recorded), loss, 1e-4 * loss) << device.name() << recorded;
    };
    for (int i = 0; i < 8; ++i) run(i % 4);
    const Statistics later = counted([&] {
      for (int i = 0; i < 20; ++i) run((i * 7 + i / 3) % 4);
    });
    EXPECT_EQ(later.plan_misses, 0) << device.name();
    EXPECT_EQ(later.plan_hits, later.submissions) << device.name();
    const std::vector<float> last = w.to_vector<float>();
    for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(last[i], expected[i], 1e-5) << device.name();
  }
}

// Nothing behind the value is computed.
TEST(ForeignReads, LeaveWhatLiesBehindThem) {
  for (const Device device : devices_under_test()) {
    const Array x = add(iota({10}, device), 1.0);
    const Array y = mul(x, 2.0);
    const Array z = exp(y);
    EXPECT_EQ(read_elsewhere(y)[4], 10);
    EXPECT_TRUE(x.is_evaluated());
    EXPECT_FALSE(z.is_evaluated());
    EXPECT_NEAR(z.to_vector<float>()[0], std::exp(2.0), 1e-5);
  }
}

// All results of an op are in front, whichever is read.
TEST(ForeignReads, OpsOfSeveralResultsStayWhole) {
  for (const Device device : devices_under_test()) {
    const auto [values, indices] = topk_with_indices(iota({20}, device), 3);
    const Array after = add(values, cast(indices, DType::f32));
    EXPECT_EQ(read_elsewhere(values), (std::vector<float>{19, 18, 17}));
    EXPECT_EQ(after.to_vector<float>(), (std::vector<float>{38, 36, 34}));
    const auto [more, places] = topk_with_indices(neg(iota({20}, device)), 2);
    const Array last = add(more, 1.0);
    EXPECT_EQ(read_elsewhere(cast(places, DType::f32)), (std::vector<float>{0, 1}));
    EXPECT_EQ(last.to_vector<float>(), (std::vector<float>{1, 0}));
  }
}

TEST(ForeignReads, FailuresReachWhatLiesBehind) {
  for (const Device device : devices_under_test()) {
    const Array x = add(iota({64, 64}, device), 1.0);
    const Array y = mul(x, 2.0);
    const Array z = add(y, 1.0);
    device.set_memory_limit(device.memory().in_use + 1);
    bool threw = false;
    std::thread([&] {
      try {
        y.to_vector<float>();
      } catch (const Error& error) {
        threw = error.code() == ErrorCode::out_of_memory;
      }
    }).join();
    device.set_memory_limit(std::int64_t{4} << 30);
    EXPECT_TRUE(threw) << device.name();
    EXPECT_THROW(z.eval(), Error) << device.name();
  }
}

// Random programs in two copies: one is read at random places by another thread, with handles
// dropped at random, and gives what the other gives.
TEST(ForeignReads, ChangeNoValueOfRandomPrograms) {
  for (const Device device : devices_under_test()) {
    for (int seed = 0; seed < scaled(30); ++seed) {
      std::mt19937 random(static_cast<std::uint32_t>(seed));
      const auto below = [&](std::size_t n) { return random() % n; };
      // Small values: large arguments of a sine make much of a rounding.
      const Array start = div(iota({6, 7}, device), 42.0);
      std::vector<Array> read{start}, plain{add(start, 0.0)};
      for (int i = 0; i < 60; ++i) {
        const std::size_t a = below(read.size()), b = below(read.size());
        const std::size_t kind = below(6);
        const auto next = [&](std::vector<Array>& values) {
          const Array &x = values[a], &y = values[b];
          switch (kind) {
            case 0:
              return mul(add(x, y), 0.5);
            case 1:
              return mul(sin(x), y);
            case 2:
              return sub(x, mean(y, {1}, true));
            case 3:
              return tanh(maximum(x, y));
            case 4:
              return flip(x, {0});
            default:
              return std::get<0>(sort_with_indices(mul(x, y), 1));
          }
        };
        read.push_back(next(read));
        plain.push_back(next(plain));
        if (below(5) == 0) {
          const std::size_t at = below(read.size());
          EXPECT_EQ(read_elsewhere(read[at]).size(), 42u);
        }
        if (below(3) == 0) {
          const std::size_t at = 1 + below(read.size() - 1);
          read.erase(read.begin() + static_cast<std::ptrdiff_t>(at));
          plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
      for (std::size_t i = 0; i < read.size(); ++i) {
        const std::vector<float> got = read[i].to_vector<float>();
        const std::vector<float> wanted = plain[i].to_vector<float>();
        for (std::size_t j = 0; j < got.size(); ++j) {
          ASSERT_NEAR(got[j], wanted[j], 1e-5 * (1 + std::abs(wanted[j])))
              << device.name() << " seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth::testing
