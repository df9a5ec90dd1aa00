#include "runtime/memory/fresh_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "runtime/memory/host_pool.h"
#include "runtime/memory/system_memory.h"

namespace hearth::testing {
namespace {

constexpr std::int64_t kBytes = std::int64_t{8} << 20;

void write_ones(std::byte* address, std::int64_t bytes) {
  std::memset(address, 1, static_cast<std::size_t>(bytes));
}

bool is_all(const std::byte* address, std::int64_t bytes, int value) {
  return std::all_of(address, address + bytes, [&](std::byte b) { return b == std::byte(value); });
}

TEST(FreshPages, AreZeroedOnceWhateverWasWritten) {
  std::byte* pages = map_pages(kBytes);
  ASSERT_NE(pages, nullptr);
  write_ones(pages, kBytes);
  EXPECT_FALSE(zero_fresh_pages(pages, kBytes)) << "not noted";
  for (const auto& [begin, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, kBytes}, {0, kBytes - 64}, {100, kBytes - 5000}, {4096, kBytes}}) {
    write_ones(pages, kBytes);
    note_fresh_pages(pages, kBytes);
    if (!zero_fresh_pages(pages + begin, end - begin)) GTEST_SKIP() << "writing is all there is";
    EXPECT_TRUE(is_all(pages, begin, 1));
    EXPECT_TRUE(is_all(pages + begin, end - begin, 0));
    EXPECT_TRUE(is_all(pages + end, kBytes - end, 1));
    EXPECT_FALSE(zero_fresh_pages(pages + begin, end - begin)) << "fresh no more";
  }
  unmap_pages(pages, kBytes);
}

TEST(FreshPages, OthersAreLeftAsTheyAre) {
  std::byte* pages = map_pages(kBytes);
  ASSERT_NE(pages, nullptr);
  write_ones(pages, kBytes);
  note_fresh_pages(pages, kBytes / 2);
  EXPECT_FALSE(zero_fresh_pages(pages + kBytes / 4, kBytes / 2)) << "only half of them";
  EXPECT_FALSE(zero_fresh_pages(pages + kBytes / 2, kBytes / 2)) << "behind them";
  EXPECT_FALSE(zero_fresh_pages(pages, kLeastFreshBytes - 1)) << "too few";
  forget_fresh_pages(pages);
  EXPECT_FALSE(zero_fresh_pages(pages, kBytes / 2)) << "forgotten";
  EXPECT_TRUE(is_all(pages, kBytes, 1));
  unmap_pages(pages, kBytes);
}

TEST(FreshPages, BlocksThatComeAgainAreNotFresh) {
  HostPool pool(kBytes * 4);
  std::byte* block = pool.allocate(kBytes);
  write_ones(block, kBytes);
  pool.free(block, kBytes);
  ASSERT_EQ(pool.allocate(kBytes), block);
  EXPECT_FALSE(zero_fresh_pages(block, kBytes));
  EXPECT_TRUE(is_all(block, kBytes, 1));
  pool.free(block, kBytes);
  pool.trim();
}

// Pages that the process has; -1 where the system does not tell.
std::int64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return -1;
  long all = 0, resident = -1;
  if (std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = -1;
  std::fclose(file);
  return resident < 0 ? -1 : resident * sysconf(_SC_PAGESIZE);
}

TEST(FreshPages, LargeZerosTakeNoPagesUntilTheyAreUsed) {
  constexpr std::int64_t kCount = std::int64_t{64} << 20;
  const Device cpu = Device::cpu();
  cpu.trim();
  std::byte* probe = map_pages(kBytes);
  ASSERT_NE(probe, nullptr);
  note_fresh_pages(probe, kBytes);
  const bool is_spared = zero_fresh_pages(probe, kBytes);
  unmap_pages(probe, kBytes);
  const std::int64_t before = resident_bytes();
  Array x = zeros({kCount}, DType::u8, cpu).eval();
  if (is_spared && before >= 0) {
    EXPECT_LT(resident_bytes() - before, kCount / 2);
  }
  EXPECT_TRUE(
      is_all(reinterpret_cast<const std::byte*>(x.to_vector<std::uint8_t>().data()), kCount, 0));
  // In the same block again, after ones.
  x = add(std::exchange(x, Array()), 1);
  x.eval();
  x = Array();
  x = zeros({kCount}, DType::u8, cpu).eval();
  EXPECT_TRUE(
      is_all(reinterpret_cast<const std::byte*>(x.to_vector<std::uint8_t>().data()), kCount, 0));
  x = Array();
  x = full({kCount}, 3, DType::u8, cpu).eval();
  EXPECT_EQ(x.to_vector<std::uint8_t>()[kCount - 1], 3);
}

}  // namespace
}  // namespace hearth::testing
