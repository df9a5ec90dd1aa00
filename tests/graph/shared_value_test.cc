// Values that several ops of a recording share.
#include <gtest/gtest.h>

#include <thread>

#include "graph/counted.h"
#include "graph/op_def.h"
#include "graph/record/node.h"
#include "graph/switches.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

constexpr SharedKey kKey = {OpName::hash_of("a test's values"), 3, 0, 0};

// Five numbers from key[2] on, counting in `made` how often they are made.
Array numbers(Device device, const SharedKey& key, int* made) {
  return shared_value(device, key, [&] {
    ++*made;
    const auto first = static_cast<std::int64_t>(key[2]);
    return arange(first, first + 5, 1, DType::i64, device);
  });
}

TEST(SharedValue, IsMadeOnceARecording) {
  for (const Device device : devices_under_test()) {
    submit();
    int made = 0;
    const Array first = numbers(device, kKey, &made);
    const Array second = numbers(device, kKey, &made);
    EXPECT_EQ(made, 1);
    EXPECT_EQ(node_of(first), node_of(second));
    SharedKey other = kKey;
    other[2] = 7;
    const Array third = numbers(device, other, &made);
    EXPECT_EQ(made, 2);
    EXPECT_EQ(add(first, third).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{7, 9, 11, 13, 15}));
    // What was read is submitted: the next recording has its own.
    const Array again = numbers(device, kKey, &made);
    EXPECT_EQ(made, 3);
    EXPECT_NE(node_of(again), node_of(first));
    EXPECT_EQ(again.to_vector<std::int64_t>(), first.to_vector<std::int64_t>());
  }
}

TEST(SharedValue, IsNotKept) {
  for (const Device device : devices_under_test()) {
    submit();
    int made = 0;
    const Array shifted = add(numbers(device, kKey, &made), 1);
    const std::int64_t before = device.memory().in_use;
    submit();
    EXPECT_LE(device.memory().in_use - before, 5 * 8 + 512) << "only what has a handle";
    EXPECT_EQ(made, 1);
    EXPECT_EQ(shifted.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  }
}

TEST(SharedValue, BelongsToAThread) {
  const Device device = Device::cpu();
  submit();
  int made = 0;
  const Array mine = numbers(device, kKey, &made);
  std::thread([&] {
    const Array theirs = numbers(device, kKey, &made);
    EXPECT_NE(node_of(theirs), node_of(mine));
    EXPECT_EQ(add(mine, theirs).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{0, 2, 4, 6, 8}));
  }).join();
  EXPECT_EQ(made, 2);
}

// However many there are, each is right.
TEST(SharedValue, ManyKeys) {
  const Device device = Device::cpu();
  int made = 0;
  std::vector<Array> all;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      SharedKey key = kKey;
      key[2] = i;
      all.push_back(numbers(device, key, &made));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].to_vector<std::int64_t>()[0], static_cast<std::int64_t>(i % 100));
  }
  EXPECT_GE(made, 100);
  EXPECT_LT(made, 200);
}

TEST(SharedValue, LayersShareTheMaskOfCausalAttention) {
  const Device device = Device::cpu();
  const Switches before = switches();
  switches().composites = true;
  const Array x = iota({1, 1, 6, 4}, device);
  const auto attend = [&](const Array& q) {
    AttentionOptions options;
    options.causal = true;
    return attention(mul(q, 0.01), x, x, options);
  };
  attend(x).eval();
  const std::int64_t first = counted([&] { attend(x).eval(); }).recorded;
  const std::int64_t both = counted([&] { attend(attend(x)).eval(); }).recorded;
  switches() = before;
  EXPECT_EQ(2 * first - both, 3) << "arange, its column and the comparison";
}

}  // namespace
}  // namespace hearth::testing
