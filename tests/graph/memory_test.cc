// Donation, shared storage, peaks and limits.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "graph/counted.h"
#include "graph/record/node.h"
#include "hearth/ops.h"
#include "runtime/device/device_spec.h"

namespace hearth::testing {
namespace {

TEST(Memory, UpdatesTakeOverTheirInput) {
  for (const Device device : devices_under_test()) {
    Array x = iota({1000}, device);
    const Statistics count = counted([&] {
      for (int i = 0; i < 3; ++i) {
        x = add(x, 1.0);
        x.eval();
      }
    });
    EXPECT_EQ(count.donations, 3);
    EXPECT_EQ(x.to_vector<float>()[5], 8);
  }
}

TEST(Memory, PartialUpdatesTakeOverTheirInput) {
  for (const Device device : devices_under_test()) {
    Array x = iota({50, 20}, device);
    const Array row = full({1, 20}, -1.0, DType::f32, device).eval();
    const Statistics count = counted([&] {
      x = slice_assign(x, {{3, 4}}, row);
      x.eval();
    });
    EXPECT_EQ(count.donations, 1);
    EXPECT_EQ(count.dispatches, 1) << "no copy";
    const std::vector<float> values = x.to_vector<float>();
    EXPECT_EQ(values[59], 59);
    EXPECT_EQ(values[60], -1);
    EXPECT_EQ(values[79], -1);
    EXPECT_EQ(values[80], 80);
  }
}

// As a cache whose rows are copied and then written, with readers in between.
TEST(Memory, UpdatesInARowStayInOnePlace) {
  for (const Device device : devices_under_test()) {
    Array x = iota({50, 20}, device);
    const Array from = Array::from_data(std::vector<std::int32_t>{1}, {1}, device).eval();
    const Array to = Array::from_data(std::vector<std::int32_t>{40}, {1}, device).eval();
    const Array row = full({1, 20}, -1.0, DType::f32, device).eval();
    x.eval();
    Array between;
    const std::int64_t before = device.memory().in_use;
    device.reset_peak();
    const Statistics count = counted([&] {
      Array copied = select(x, from, 0);
      x = select_assign(std::exchange(x, Array()), to, copied, 0, IndexingUpdateOp::assign);
      copied = Array();
      between = sum(select(x, to, 0));
      x = slice_assign(std::exchange(x, Array()), {{1, 2}}, row);
      x = slice_assign(std::exchange(x, Array()), {{40, 41}, {0, 1}}, 5.0);
      eval(std::array{x, between});
    });
    EXPECT_EQ(count.donations, 1);
    EXPECT_LT(device.memory().peak - before, 50 * 20 * 4) << device.name();
    EXPECT_EQ(between.to_vector<float>()[0], [] {
      float all = 0;
      for (int i = 20; i < 40; ++i) all += static_cast<float>(i);
      return all;
    }());
    const std::vector<float> values = x.to_vector<float>();
    EXPECT_EQ(values[19], 19);
    EXPECT_EQ(values[20], -1);
    EXPECT_EQ(values[40], 40);
    EXPECT_EQ(values[800], 5);
    EXPECT_EQ(values[801], 21);
  }
}

// One value may take an input over, not two.
TEST(Memory, TwoUpdatesOfOneInputAreTwoArrays) {
  for (const Device device : devices_under_test()) {
    Array x = iota({50, 20}, device).eval();
    const Array row = full({1, 20}, -1.0, DType::f32, device).eval();
    Array first = slice_assign(slice_assign(x, {{0, 1}}, row), {{1, 2}}, row);
    Array second = slice_assign(slice_assign(x, {{2, 3}}, row), {{3, 4}}, row);
    x = Array();
    eval(std::array{first, second});
    const std::vector<float> a = first.to_vector<float>(), b = second.to_vector<float>();
    EXPECT_EQ(a[0], -1);
    EXPECT_EQ(a[20], -1);
    EXPECT_EQ(a[40], 40);
    EXPECT_EQ(a[60], 60);
    EXPECT_EQ(b[0], 0);
    EXPECT_EQ(b[20], 20);
    EXPECT_EQ(b[40], -1);
    EXPECT_EQ(b[60], -1);
  }
}

TEST(Memory, KeptHandlesNeverChange) {
  for (const Device device : devices_under_test()) {
    Array x = iota({1000}, device);
    const Array kept = x;
    const Array view = slice(x, {{10, 20}}).eval();
    const Statistics count = counted([&] {
      x = add(x, 1.0);
      x = slice_assign(x, {{0, 500}}, 7.0);
      x.eval();
    });
    EXPECT_EQ(count.donations, 0);
    EXPECT_EQ(kept.to_vector<float>()[0], 0);
    EXPECT_EQ(view.to_vector<float>()[0], 10);
    EXPECT_EQ(x.to_vector<float>()[0], 7);
    EXPECT_EQ(x.to_vector<float>()[600], 600 % 97 + 1);
  }
}

TEST(Memory, LiveViewsKeepTheStorage) {
  Array x = iota({1000});
  const Array view = slice(x, {{10, 20}});
  const Statistics count = counted([&] {
    x = add(x, 1.0);
    x.eval();
  });
  EXPECT_EQ(count.donations, 0);
  EXPECT_EQ(view.to_vector<float>()[0], 10);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
}

TEST(Memory, ReadersComeBeforeTheUpdate) {
  for (const Device device : devices_under_test()) {
    Array x = iota({64, 64}, device);
    const Array before = matmul(x, x);
    x = add(x, 1.0);
    const Array after = matmul(x, x);
    x = Array();
    const Array again = iota({64, 64}, device);
    EXPECT_EQ(before.to_vector<float>(), matmul(again, again).to_vector<float>());
    const Array more = add(again, 1.0);
    EXPECT_EQ(after.to_vector<float>(), matmul(more, more).to_vector<float>());
  }
}

TEST(Memory, EscapingViewsShareStorage) {
  for (const Device device : devices_under_test()) {
    const Array a = iota({20, 30}, device);
    const Array sum_of = add(a, 1.0);
    const Array row = slice(sum_of, {{3, 4}});
    const Array turned = transpose(sum_of);
    sum_of.eval();
    EXPECT_EQ(node_of(row)->storage, node_of(sum_of)->storage);
    EXPECT_EQ(node_of(turned)->storage, node_of(sum_of)->storage);
    const Array outside = reshape(slice(a, {{2, 4}}), {60}).eval();
    EXPECT_EQ(node_of(outside)->storage, node_of(a)->storage);
    EXPECT_EQ(row.to_vector<float>()[0], 91);
    EXPECT_EQ(turned.to_vector<float>()[1], 31);
    EXPECT_EQ(outside.to_vector<float>()[0], 60);
  }
}

TEST(Memory, ReleasedWhenTheLastViewGoes) {
  for (const Device device : devices_under_test()) {
    device.synchronize();
    const std::int64_t before = device.memory().in_use;
    {
      Array a = iota({1000, 100}, device);
      const Array part = slice(a, {{0, 1}}).eval();
      a = Array();
      EXPECT_GE(device.memory().in_use, before + 400000);
      EXPECT_EQ(part.to_vector<float>()[5], 5);
    }
    EXPECT_EQ(device.memory().in_use, before);
  }
}

// A chain of matrix products needs two buffers at a time beside the weight, however long it is.
TEST(Memory, PeakIsThatOfEagerCode) {
  for (const Device device : devices_under_test()) {
    const std::int64_t bytes = 128 * 128 * 4;
    const Array weight = mul(iota({128, 128}, device), 0.001).eval();
    device.synchronize();
    const auto peak = [&](bool eager) {
      device.trim();
      device.reset_peak();
      const std::int64_t before = device.memory().in_use;
      Array x = tanh(weight);
      for (int i = 0; i < 20; ++i) {
        x = tanh(matmul(x, weight));
        if (eager) x.eval();
      }
      x.eval();
      return device.memory().peak - before;
    };
    const std::int64_t eager = peak(true);
    const std::int64_t lazy = peak(false);
    EXPECT_GE(eager, 2 * bytes);
    EXPECT_LE(lazy, std::max(eager, 3 * bytes) + bytes / 8) << device.name();
  }
}

TEST(Memory, FusedIntermediatesNeedNone) {
  const Device device = Device::cpu();
  const Array a = iota({1 << 16});
  device.trim();
  device.reset_peak();
  const std::int64_t before = device.memory().in_use;
  Array x = neg(a);
  x = exp(x);
  x = add(x, 1.0);
  x = mul(x, a);
  x.eval();
  EXPECT_EQ(device.memory().peak - before, 4 << 16);
}

TEST(Memory, OverTheLimitNamesTheLargestAndKeepsInputs) {
  for (const Device device : devices_under_test()) {
    const Array a = iota({1000}, device);
    device.synchronize();
    device.set_memory_limit(device.memory().in_use + device.memory().arena + 100000);
    std::string text;
    const Array small = add(a, 1.0);
    const Array huge = expand(reshape(a, {1, 1000}), {1000, 1000});
    const Array copy = add(huge, 1.0);
    try {
      copy.eval();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      text = error.what();
    }
    EXPECT_NE(text.find("[1000, 1000]"), std::string::npos) << text;
    EXPECT_NE(text.find("add"), std::string::npos) << text;
    EXPECT_THROW(copy.eval(), Error) << "kept";
    device.set_memory_limit(std::int64_t{4} << 30);
    EXPECT_EQ(a.to_vector<float>()[9], 9);
    EXPECT_EQ(add(a, 2.0).to_vector<float>()[9], 11);
    EXPECT_EQ(add(expand(reshape(a, {1, 1000}), {1000, 1000}), 1.0).to_vector<float>()[2005], 6);
  }
}

TEST(Memory, DonatedInputsSurviveRunningOutOfMemory) {
  const Device device = Device::cpu();
  Array x = iota({1000});
  const Array kept = x;
  device.set_memory_limit(device.memory().in_use + device.memory().arena + 100);
  x = add(x, 1.0);
  EXPECT_THROW(x.eval(), Error);
  device.set_memory_limit(std::int64_t{4} << 30);
  EXPECT_EQ(kept.to_vector<float>()[7], 7);
}

// Leaves `bytes` of memory free while it lives.
class MemoryLimit {
 public:
  MemoryLimit(Device device, std::int64_t bytes) : device_(device) {
    device.trim();
    // GPUs count the arena that they have, the CPU what a plan needs of it.
    const MemoryStatistics memory = device.memory();
    const std::int64_t arena = device.impl().driver() != nullptr ? memory.arena : 0;
    device.set_memory_limit(memory.in_use + arena + bytes);
  }
  ~MemoryLimit() { device_.set_memory_limit(std::int64_t{4} << 30); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  Device device_;
};

ErrorCode code_of(const Array& array) {
  try {
    array.eval();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(Memory, WhatHasRoomRunsBesideWhatHasNone) {
  for (const Device device : devices_under_test()) {
    for (const bool submits : {false, true}) {
      Array weight = iota({3}, device).eval();
      Array early = add(iota({3}, device), 1.0);
      Array big;
      Array summary;
      {
        const MemoryLimit limit(device, 1 << 20);
        weight.assign(mul(weight.detach(), 2.0));
        big = add(random_uniform({1 << 22}, 0, 1, DType::f32, device), 1.0);
        summary = add(sum(big), weight);
        weight.assign(add(weight.detach(), early));
        if (submits) {
          submit();
        } else {
          EXPECT_EQ(code_of(big), ErrorCode::out_of_memory);
        }
        EXPECT_EQ(weight.to_vector<float>(), (std::vector<float>{1, 4, 7})) << device.name();
        EXPECT_EQ(early.to_vector<float>(), (std::vector<float>{1, 2, 3}));
      }
      EXPECT_EQ(code_of(big), ErrorCode::out_of_memory) << "kept when there is room again";
      EXPECT_EQ(code_of(summary), ErrorCode::out_of_memory);
      EXPECT_EQ(weight.to_vector<float>(), (std::vector<float>{1, 4, 7}));
    }
  }
}

// Of values of one size those recorded last fail, about as many as do not fit.
TEST(Memory, TheLargestFailFirst) {
  for (const Device device : devices_under_test()) {
    const Array a = iota({1 << 16}, device).eval();
    std::vector<Array> values;
    const MemoryLimit limit(device, (10 << 18) + (1 << 16));
    Array small = full({8}, 3.0, DType::f32, device);
    for (int i = 0; i < 12; ++i) values.push_back(add(a, static_cast<double>(i)));
    small = add(small, 1.0);
    submit();
    EXPECT_EQ(small.to_vector<float>()[7], 4);
    int ready = 0;
    for (int i = 0; i < 12; ++i) {
      const Array& value = values[static_cast<std::size_t>(i)];
      if (code_of(value) == ErrorCode::out_of_memory) continue;
      EXPECT_EQ(ready++, i) << "those before it have values";
      EXPECT_EQ(value.to_vector<float>()[1], static_cast<float>(1 + i));
    }
    EXPECT_GE(ready, 8) << device.name();
    EXPECT_LE(ready, 10) << device.name();
  }
}

// Updates in place need no memory: they are neither lost nor left out.
TEST(Memory, UpdatesInPlaceRunWhereNothingElseHasRoom) {
  for (const Device device : devices_under_test()) {
    Array x = iota({1 << 16}, device).eval();
    const MemoryLimit limit(device, 1000);
    const Array copy = add(x, 5.0);
    x = add(x, 1.0);
    x = add(x, 1.0);
    const Statistics count = counted([&] { x.eval(); });
    EXPECT_EQ(count.donations, 1);
    EXPECT_EQ(x.to_vector<float>()[96], 98);
    EXPECT_EQ(code_of(copy), ErrorCode::out_of_memory);
  }
}

TEST(Memory, AbsurdShapesAreErrors) {
  for (const std::int64_t extent : {std::int64_t{1} << 40, std::int64_t{1} << 50}) {
    try {
      Array x = add(full({extent}, 1.0), 1.0);
      x.eval();
      ADD_FAILURE() << extent;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::shape);
    }
  }
  EXPECT_EQ(sum(full({1000}, 1.0)).item(), 1000);
}

}  // namespace
}  // namespace hearth::testing
