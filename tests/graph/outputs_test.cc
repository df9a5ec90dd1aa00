// Ops of several results: which of them live, what is computed for them, and where they fail.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "graph/counted.h"
#include "graph/op_def.h"
#include "graph/record/node.h"
#include "graph/switches.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"

namespace hearth::testing {
namespace {

// Eight rows of which element i is the largest of row i.
Array peaks(Device device) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < 64; ++i) values[i] = i % 9 == 0 ? 100 : static_cast<float>(i % 7);
  return Array::from_data(values, {8, 8}, device);
}

std::vector<std::int64_t> places(const Array& indices) { return indices.to_vector<std::int64_t>(); }
const std::vector<std::int64_t> kDiagonal = {0, 1, 2, 3, 4, 5, 6, 7};

std::vector<Array> norm_backward(const Array& grad, const Array& x) {
  const Array* const inputs[] = {&grad, &x};
  return record_outputs(defs::layer_norm_backward_op, inputs, Params().f64(1e-5));
}

TEST(Outputs, HaveDtypesOfTheirOwn) {
  for (const Device device : devices_under_test()) {
    const auto [values, at] = max_with_indices(peaks(device), 1);
    EXPECT_EQ(values.dtype(), DType::f32);
    EXPECT_EQ(at.dtype(), DType::i64);
    EXPECT_EQ(values.to_vector<float>(), std::vector<float>(8, 100)) << device.name();
    EXPECT_EQ(places(at), kDiagonal) << device.name();
  }
}

TEST(Outputs, AreOneLaunch) {
  const Array x = peaks(Device::cpu());
  const Statistics count = counted([&] {
    const auto [values, at] = max_with_indices(x, 1);
    values.eval();
    EXPECT_EQ(places(at), kDiagonal);
  });
  EXPECT_EQ(count.dispatches, 1);
  EXPECT_EQ(count.copies, 0);
  EXPECT_EQ(count.recorded, 2) << "a node for each";
}

TEST(Outputs, EitherAloneKeepsTheOpAlive) {
  for (const Device device : devices_under_test()) {
    const Array x = peaks(device);
    EXPECT_EQ(places(max_with_indices(x, 1).second), kDiagonal) << device.name();
    EXPECT_EQ(max_with_indices(x, 1).first.to_vector<float>(), std::vector<float>(8, 100));
    const std::vector<double> dbias = norm_backward(x, x)[2].to_doubles();
    for (std::size_t i = 0; i < 8; ++i) {
      double total = 0;
      for (std::size_t row = 0; row < 8; ++row) {
        const std::size_t at = 8 * row + i;
        total += at % 9 == 0 ? 100 : static_cast<double>(at % 7);
      }
      EXPECT_NEAR(dbias[i], total, 1e-4) << device.name();
    }
  }
}

TEST(Outputs, ThoseThatNobodyKeepsRunNothing) {
  const Array x = peaks(Device::cpu());
  const Statistics count = counted([&] {
    max_with_indices(x, 1);
    add(x, 1.0).eval();
  });
  EXPECT_EQ(count.dispatches, 1);
}

TEST(Outputs, TakeMemoryOnlyIfTheyAreKept) {
  const Device cpu = Device::cpu();
  const Array x = zeros({1024, 1024}, DType::f32, cpu).eval();
  const auto growth = [&](auto keep) {
    const std::int64_t before = cpu.memory().in_use;
    const Array kept = keep(norm_backward(x, x));
    kept.eval();
    return cpu.memory().in_use - before;
  };
  EXPECT_GE(growth([](const std::vector<Array>& all) { return all[0]; }), 4 << 20);
  // What was packed with dx would hold its memory.
  EXPECT_LT(growth([](const std::vector<Array>& all) { return all[1]; }), 1 << 20);
}

TEST(Outputs, WhichEscapeIsPartOfThePlan) {
  const Array x = peaks(Device::cpu());
  const auto run = [&](bool both) {
    return counted([&] {
             auto all = max_with_indices(mul(x, 3.0), 1);
             if (!both) all.second = Array();
             all.first.eval();
           })
        .plan_misses;
  };
  run(true);
  EXPECT_EQ(run(true), 0) << "the same plan";
  EXPECT_EQ(run(false), 1) << "the indices do not escape";
  EXPECT_EQ(run(false), 0);
  EXPECT_EQ(run(true), 0);
}

TEST(Outputs, OneIsDonatedWhileTheOtherStays) {
  for (const Device device : devices_under_test()) {
    const Array x = peaks(device);
    auto [values, at] = max_with_indices(x, 1, true);
    values.eval();
    const Statistics count = counted([&] {
      values = add(std::move(values), 1.0);
      values.eval();
    });
    EXPECT_EQ(count.donations, 1) << device.name();
    EXPECT_EQ(values.to_vector<float>(), std::vector<float>(8, 101));
    EXPECT_EQ(places(at), kDiagonal) << device.name();
  }
}

TEST(Outputs, DieWithoutEachOther) {
  for (const Device device : devices_under_test()) {
    const Array x = peaks(device);
    // The indices are read after memory of the values has been handed on.
    auto [values, at] = max_with_indices(x, 1);
    const Array total = sum(exp(sub(values, 100.0)));
    values = Array();
    const Array chosen = gather(x, unsqueeze(at, {1}), 1);
    EXPECT_EQ(total.item(), 8) << device.name();
    EXPECT_EQ(chosen.to_vector<float>(), std::vector<float>(8, 100)) << device.name();
  }
}

TEST(Outputs, WithoutElementsNeedNoKernelUnlessOneHas) {
  for (const Device device : devices_under_test()) {
    const Array none = zeros({0, 5}, DType::f32, device).eval();
    const std::vector<Array> all = norm_backward(none, none);
    EXPECT_EQ(all[0].size(), 0);
    EXPECT_EQ(all[1].to_vector<float>(), std::vector<float>(5, 0)) << device.name();
    const auto [values, at] = max_with_indices(none, 1);
    EXPECT_EQ(values.size(), 0);
    EXPECT_TRUE(places(at).empty());
  }
}

TEST(Outputs, FailTogether) {
  const Device cpu = Device::cpu();
  const Array x = zeros({64, 1024}, DType::f32, cpu).eval();
  const Array grad = zeros({64, 1024}, DType::f32, cpu).eval();
  cpu.set_memory_limit(cpu.memory().in_use + cpu.memory().arena + 4096);
  const std::vector<Array> all = norm_backward(grad, x);
  for (const Array& each : all) {
    try {
      each.eval();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      EXPECT_NE(std::string(error.what()).find("layer_norm_backward"), std::string::npos)
          << error.what();
    }
  }
  // What is made of a failed value fails too, all of it.
  for (const Array& each : norm_backward(all[0], x)) EXPECT_THROW(each.eval(), Error);
  cpu.set_memory_limit(std::int64_t{4} << 30);
  EXPECT_EQ(norm_backward(grad, x)[2].to_vector<float>(), std::vector<float>(1024, 0));
}

TEST(Outputs, OfAnotherThreadAreSubmittedWithTheirOp) {
  for (const Device device : devices_under_test()) {
    const Array x = peaks(device);
    std::pair<Array, Array> made;
    std::thread([&] { made = max_with_indices(x, 1); }).join();
    std::vector<std::thread> readers;
    std::vector<std::int64_t> seen[2];
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&, i] { seen[i] = places(add(made.second, std::int64_t{i})); });
    }
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(seen[0], kDiagonal) << device.name();
    EXPECT_EQ(seen[1].back(), 8) << device.name();
  }
}

// A tape is never cut between an op and its results.
TEST(Outputs, LongTapesKeepThemTogether) {
  const Array x = peaks(Device::cpu());
  std::vector<Array> kept;
  for (int i = 0; i < 5000; ++i) {
    auto [values, at] = max_with_indices(x, 1);
    kept.push_back(i % 2 == 0 ? values : at);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i % 2 == 1) {
      ASSERT_EQ(places(kept[i]), kDiagonal) << i;
    } else {
      ASSERT_EQ(kept[i].to_vector<float>()[7], 100) << i;
    }
  }
}

TEST(Outputs, NanWinsAndTheFirstOfEquals) {
  const float nan = std::nanf("");
  for (const Device device : devices_under_test()) {
    const std::vector<float> values = {1, 3, 3, 2, nan, 5, nan, 9, -1, -1, -2, -2};
    const Array x = Array::from_data(values, {3, 4}, device);
    const auto [largest, at] = max_with_indices(x, 1);
    EXPECT_EQ(places(at), (std::vector<std::int64_t>{1, 0, 0})) << device.name();
    EXPECT_EQ(largest.to_vector<float>()[0], 3);
    EXPECT_TRUE(std::isnan(largest.to_vector<float>()[1])) << device.name();
    EXPECT_EQ(places(min_with_indices(x, 1).second), (std::vector<std::int64_t>{0, 0, 2}));
  }
}

}  // namespace
}  // namespace hearth::testing
