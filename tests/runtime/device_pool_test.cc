#include "runtime/memory/device_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/fake_driver.h"

namespace hearth::runtime {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(DevicePool, BlocksNeverOverlap) {
  FakeDriver driver(256 * kMiB);
  DevicePool pool(driver, std::int64_t{1} << 40);
  std::mt19937 random(3);
  std::map<Address, std::int64_t> held;
  for (int i = 0; i < 3000; ++i) {
    if (held.size() > 40 || (!held.empty() && random() % 2 == 0)) {
      auto victim = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
      pool.free(victim->first, victim->second);
      held.erase(victim);
      continue;
    }
    const auto bytes = static_cast<std::int64_t>(1 + random() % (i % 10 == 0 ? 200000u : 3000u));
    const Address address = pool.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % kAlignment, 0u);
    const auto next = held.lower_bound(address);
    if (next != held.end()) {
      ASSERT_LE(address + bytes, next->first);
    }
    if (next != held.begin()) {
      const auto before = std::prev(next);
      ASSERT_LE(before->first + before->second, address);
    }
    held[address] = bytes;
  }
  for (const auto& [address, bytes] : held) pool.free(address, bytes);
  EXPECT_EQ(pool.statistics().in_use, 0);
}

TEST(DevicePool, LargeBlocksAreReusedAndTrimmed) {
  FakeDriver driver;
  DevicePool pool(driver, std::int64_t{1} << 40);
  const Address a = pool.allocate(3 * kMiB);
  pool.free(a, 3 * kMiB);
  EXPECT_EQ(pool.allocate(3 * kMiB - 100000), a);
  pool.free(a, 3 * kMiB - 100000);
  EXPECT_EQ(pool.statistics().fresh, 1);
  const Address weights = pool.allocate(5 * kMiB + 12345);
  EXPECT_EQ(driver.blocks[weights], 5 * kMiB + 64 * 1024);
  pool.free(weights, 5 * kMiB + 12345);
  pool.trim();
  EXPECT_TRUE(driver.blocks.empty());
  EXPECT_EQ(pool.statistics().cached, 0);
}

TEST(DevicePool, OutOfMemoryTrimsFirst) {
  FakeDriver driver;  // 16 MiB
  DevicePool pool(driver, std::int64_t{1} << 40);
  const Address a = pool.allocate(9 * kMiB);
  pool.free(a, 9 * kMiB);
  const Address b = pool.allocate(14 * kMiB);  // fits only without the cached block
  EXPECT_THROW(pool.allocate(9 * kMiB), Error);
  pool.free(b, 14 * kMiB);
  pool.set_limit(kMiB);
  try {
    pool.allocate(2 * kMiB);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("over the limit"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::runtime
