// Which programs share a plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/counted.h"
#include "graph/plan/plan.h"
#include "graph/switches.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

TEST(PlanCache, SecondIterationHits) {
  for (const Device device : devices_under_test()) {
    const Array a = iota({8, 16}, device);
    const auto step = [&] { return sum(mul(tanh(add(a, 1.0)), a)).item(); };
    const double first = step();
    double second = 0;
    const Statistics count = counted([&] { second = step(); });
    EXPECT_EQ(count.plan_hits, 1);
    EXPECT_EQ(count.plan_misses, 0);
    EXPECT_EQ(first, second);
  }
}

TEST(PlanCache, ScalarsAreNoPartOfAPlan) {
  const Array a = iota({100});
  const auto step = [&](double rate, std::int64_t shift) {
    return add(mul(a, rate), Array(shift)).to_vector<float>();
  };
  step(0.5, 3);
  std::vector<float> values;
  const Statistics count = counted([&] { values = step(0.25, 7); });
  EXPECT_EQ(count.plan_misses, 0);
  EXPECT_EQ(count.plan_hits, 1);
  for (int i = 0; i < 97; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], 0.25f * static_cast<float>(i) + 7);
}

TEST(PlanCache, FilledArraysTakeTheirValueFromTheRun) {
  const auto step = [](double value) { return sum(full({4, 4}, value)).item(); };
  EXPECT_EQ(step(2), 32);
  double second = 0;
  const Statistics count = counted([&] { second = step(3); });
  EXPECT_EQ(second, 48);
  EXPECT_EQ(count.plan_misses, 0);
}

TEST(PlanCache, DynamicStartsHit) {
  for (const Device device : devices_under_test()) {
    const Array x = iota({10, 6}, device);
    Array cache = zeros({10, 6}, DType::f32, device).eval();
    const auto step = [&](std::int64_t row) {
      const Array part = dynamic_slice(x, {row, 1}, {2, 3});
      cache = dynamic_slice_assign(cache, {row, 0}, part);
      return sum(mul(part, 2.0)).item();
    };
    step(0);
    step(1);
    double value = 0;
    const Statistics count = counted([&] { value = step(7); });
    EXPECT_EQ(count.plan_misses, 0);
    double expected = 0;
    for (int r = 7; r < 9; ++r) {
      for (int c = 1; c < 4; ++c) expected += 2 * (r * 6 + c);
    }
    EXPECT_EQ(value, expected);
    EXPECT_EQ(slice(cache, {{7, 8}, {0, 3}}).to_vector<float>(), (std::vector<float>{43, 44, 45}));
  }
}

TEST(PlanCache, ShapesDtypesStridesAndFatesAreItsIdentity) {
  const auto misses = [](auto body) { return counted(body).plan_misses; };
  const Array a = iota({6, 6});
  const Array t = transpose(a).eval();
  const auto run = [](const Array& x) { neg(x).eval(); };
  EXPECT_EQ(misses([&] { run(a); }), 1);
  EXPECT_EQ(misses([&] { run(a); }), 0);
  EXPECT_EQ(misses([&] { run(t); }), 1) << "strides";
  EXPECT_EQ(misses([&] { run(iota({6, 7})); }), 1) << "shape";
  EXPECT_EQ(misses([&] { run(iota({6, 6}, Device::cpu(), DType::i64)); }), 1) << "dtype";
  EXPECT_EQ(misses([&] { run(iota({6, 6}, Device::named("hostile"))); }), 1) << "device";
  EXPECT_EQ(misses([&] {
              const Array kept = neg(a);
              exp(kept).eval();
            }),
            1);
  EXPECT_EQ(misses([&] {
              Array x = neg(a);
              x = exp(x);
              x.eval();
            }),
            1)
      << "a handle less";
  EXPECT_EQ(misses([&] {
              switches().exact = true;
              run(a);
              switches().exact = false;
            }),
            1)
      << "switches";
}

TEST(PlanCache, WhichExternalIsWhichIsPartOfIt) {
  const Array a = iota({5});
  const Array b = mul(iota({5}), 10.0).eval();
  EXPECT_EQ(sum(sub(a, b)).item(), -90);
  EXPECT_EQ(sum(sub(a, a)).item(), 0);
  EXPECT_EQ(sum(sub(b, a)).item(), 90);
}

TEST(PlanCache, LoopsWithoutEvalCutAtEqualPlaces) {
  for (const Device device : devices_under_test()) {
    const Array weight = mul(iota({4, 4}, device), 0.01).eval();
    Array x = iota({4, 4}, device);
    const auto steps = [&](int count) {
      for (int i = 0; i < count; ++i) x = tanh(add(matmul(x, weight), 0.5));
    };
    const Statistics count = counted([&] {
      steps(20000 / 3);
      x.eval();
    });
    EXPECT_EQ(count.recorded, 20000 / 3 * 3);
    EXPECT_GE(count.automatic_cuts, 2);
    EXPECT_LE(count.automatic_cuts, 5);
    const Statistics again = counted([&] {
      steps(20000 / 3);
      x.eval();
    });
    EXPECT_EQ(again.plan_misses, 0);
    EXPECT_EQ(again.automatic_cuts, count.automatic_cuts);
  }
}

// 6,000 ops a step and a loss that is read every third step: cuts fall inside steps, and plans are
// found again all the same.
TEST(PlanCache, CutsInsideStepsHit) {
  const Array weight = mul(iota({4, 4}), 0.01).eval();
  Array x = iota({4, 4});
  const auto step = [&] {
    for (int i = 0; i < 2000; ++i) x = tanh(add(matmul(x, weight), 0.5));
  };
  for (int i = 0; i < 6; ++i) {
    step();
    if (i % 3 == 2) sum(x).item();
  }
  const Statistics count = counted([&] {
    for (int i = 0; i < 6; ++i) {
      step();
      if (i % 3 == 2) sum(x).item();
    }
  });
  EXPECT_EQ(count.plan_misses, 0);
  EXPECT_GE(count.plan_hits, 6);
}

TEST(PlanCache, DeadCodeRunsNothing) {
  const Array a = iota({16});
  const Statistics count = counted([&] {
    {
      const Array dead = exp(mul(a, 3.0));
    }
    neg(a).eval();
  });
  EXPECT_EQ(count.dispatches, 1);
}

class PlanCacheLimit {
 public:
  explicit PlanCacheLimit(std::size_t bytes) : before_(set_plan_cache_limit(bytes)) {}
  PlanCacheLimit(const PlanCacheLimit&) = delete;
  PlanCacheLimit& operator=(const PlanCacheLimit&) = delete;
  ~PlanCacheLimit() { set_plan_cache_limit(before_); }

 private:
  std::size_t before_;
};

TEST(PlanCache, AStreamOfDifferentGraphsTakesNoMoreThanItMay) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  constexpr std::int64_t kGraphs = 400;
  const PlanCacheLimit limit(kMost);
  const auto step = [](std::int64_t size) {
    return sum(mul(tanh(full({size}, 0.5)), sum(full({size, 3}, 2.0), {1}))).item();
  };
  const auto misses_of = [&](std::int64_t size) {
    return counted([&] { step(size); }).plan_misses;
  };
  std::size_t most_plans = 0;
  for (std::int64_t size = 1; size <= kGraphs; ++size) {
    EXPECT_GT(misses_of(size), 0) << size;
    EXPECT_EQ(misses_of(size), 0) << size;  // the last one is always there
    const PlanCacheSize now = plan_cache_size();
    EXPECT_LE(now.bytes, kMost);
    most_plans = std::max(most_plans, now.plans);
  }
  EXPECT_GT(most_plans, 2u);
  EXPECT_LT(most_plans, static_cast<std::size_t>(kGraphs));
  // Those used last are there, the oldest are not; each of these takes the place of another.
  const auto plans = static_cast<std::int64_t>(plan_cache_size().plans);
  for (std::int64_t i = 0; i < plans / 4; ++i) EXPECT_EQ(misses_of(kGraphs - i), 0) << i;
  for (std::int64_t size = 1; size < 20; ++size) EXPECT_GT(misses_of(size), 0) << size;
}

TEST(PlanCache, TheLastPlanStaysWhateverItTakes) {
  const PlanCacheLimit limit(1);
  const Array a = iota({5});
  const auto step = [&] { return sum(tanh(a)).item(); };
  step();
  EXPECT_EQ(plan_cache_size().plans, 1u);
  EXPECT_GT(plan_cache_size().bytes, 1u);
  EXPECT_EQ(counted([&] { step(); }).plan_misses, 0);
}

TEST(PlanCache, APlanCountsByItsSteps) {
  const auto bytes_of_products = [](int count) {
    set_plan_cache_limit(set_plan_cache_limit(0));  // empties it but for one
    Array a = iota({4, 4});
    const std::size_t before = plan_cache_size().bytes;
    for (int i = 0; i < count; ++i) a = matmul(a, a);
    a.eval();
    return static_cast<double>(plan_cache_size().bytes) - static_cast<double>(before);
  };
  const double few = bytes_of_products(4), many = bytes_of_products(40);
  EXPECT_GT(many, 5 * few);
  EXPECT_GT(many, 40 * 1000.0);
}

}  // namespace
}  // namespace hearth::testing
