// include/hearth/buffer_pool.h on the simulator, or on the device that is under test.
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/buffer_pool.h"

namespace hearth::runtime {
namespace {

using check::error_of;

class BufferPools : public ::testing::Test {
 protected:
  std::int64_t in_use() const { return device.memory().in_use; }
  Device device = hearth::testing::kernel_device_under_test();
};

TEST_F(BufferPools, BlocksAreUsedAgain) {
  BufferPool pool(device);
  EXPECT_TRUE(pool.device() == device);
  std::byte* first = nullptr;
  {
    const Buffer x = pool.make(DType::f32, {100});
    EXPECT_EQ(x.bytes(), 400);
    EXPECT_EQ(x.shape(), Shape{100});
    EXPECT_TRUE(x.device() == device);
    first = x.address();
    EXPECT_EQ(pool.statistics().buffers, 1);
    EXPECT_EQ(pool.statistics().in_use, 512);
  }
  EXPECT_EQ(pool.statistics().kept, 512);
  const Buffer view = [&] {
    const Buffer y = pool.zeros(DType::i32, {4, 25});
    EXPECT_EQ(y.address(), first);
    return y.view(99, {1});
  }();
  EXPECT_EQ(view.to_vector<std::int32_t>(), std::vector<std::int32_t>{0});
  BufferPoolStatistics now = pool.statistics();
  EXPECT_EQ(now.buffers, 1);  // the view has the block
  EXPECT_EQ(now.reused, 1);
  EXPECT_EQ(now.fresh, 1);
  EXPECT_EQ(now.kept, 0);
  // A block of more than twice the size is kept for what needs it.
  {
    const Buffer large = pool.make(DType::u8, {5000});
  }
  const Buffer small = pool.make(DType::u8, {10});
  now = pool.statistics();
  EXPECT_EQ(now.kept, 8192);
  EXPECT_EQ(now.in_use, 512 + 256);
  EXPECT_EQ(now.peak, 512 + 8192);
}

TEST_F(BufferPools, BuffersHoldWhatIsWritten) {
  BufferPool pool(device);
  for (int round = 0; round < 3; ++round) {
    const Buffer x = pool.make(DType::f32, {3});
    const std::vector<float> values = {1, 2, static_cast<float>(round)};
    x.write(std::as_bytes(std::span(values)));
    const Buffer y = pool.make(DType::f32, {3});
    y.copy_from(x);
    EXPECT_EQ(y.to_vector<float>(), values);
  }
  EXPECT_EQ(pool.statistics().fresh, 2);
}

TEST_F(BufferPools, LimitsHold) {
  BufferPool pool(device, {.limit_bytes = 4096});
  std::optional<Buffer> a = pool.make(DType::u8, {2048}), b = pool.make(DType::u8, {1024});
  const std::string text = error_of([&] { pool.make(DType::u8, {1025}); });
  EXPECT_NE(text.find("over its limit; got 2048 bytes beside 3072 in use by 2 buffers"),
            std::string::npos)
      << text;
  b.reset();
  EXPECT_EQ(pool.statistics().kept, 1024);
  const Buffer c = pool.make(DType::u8, {2048});  // what is kept goes first
  EXPECT_EQ(pool.statistics().kept, 0);
  EXPECT_EQ(pool.statistics().in_use, 4096);
  EXPECT_THROW(pool.make(DType::f64, {1 << 20}), Error);
  EXPECT_THROW(pool.reserve(1, 1), Error);
  EXPECT_EQ(pool.statistics().buffers, 2);
}

TEST_F(BufferPools, BlocksAreReserved) {
  BufferPool pool(device);
  const std::int64_t before = in_use();
  pool.reserve(3, 300000);
  EXPECT_EQ(pool.statistics().kept, 3 << 19);
  pool.reserve(2, 300000);  // there are three
  EXPECT_EQ(pool.statistics().kept, 3 << 19);
  EXPECT_GE(in_use() - before, 3 << 19);
  const Buffer x = pool.make(DType::u8, {300000});
  EXPECT_EQ(pool.statistics().fresh, 0);
  pool.trim();
  EXPECT_EQ(pool.statistics().kept, 0);
  EXPECT_LT(in_use() - before, 2 << 19);
}

TEST_F(BufferPools, BuffersOutliveTheirPool) {
  const std::int64_t before = in_use();
  Buffer x;
  {
    BufferPool pool(device);
    x = pool.zeros(DType::f32, {1000});
    const Buffer kept = pool.make(DType::f32, {1 << 20});
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000));
  EXPECT_LT(in_use() - before, 1 << 20);
  x = Buffer();
  EXPECT_EQ(in_use(), before);
}

TEST_F(BufferPools, ReservesDropWhatIsKeptForOthers) {
  BufferPool pool(device, {.limit_bytes = 4096});
  {
    const Buffer a = pool.make(DType::u8, {2048}), b = pool.make(DType::u8, {2048});
  }
  EXPECT_EQ(pool.statistics().kept, 4096);
  pool.reserve(8, 512);
  EXPECT_EQ(pool.statistics().kept, 4096);
  const std::int64_t fresh = pool.statistics().fresh;
  std::vector<Buffer> all;
  for (int i = 0; i < 8; ++i) all.push_back(pool.make(DType::u8, {512}));
  EXPECT_EQ(pool.statistics().fresh, fresh);
  EXPECT_THROW(pool.reserve(1, 512), Error);
}

TEST_F(BufferPools, ThreadsShareAPool) {
  BufferPool pool(device, {.limit_bytes = 1 << 20});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([pool, i]() mutable {
      for (int round = 0; round < 50; ++round) {
        const Buffer x = pool.make(DType::u8, {256 << (i % 3)});
        ASSERT_TRUE(x.defined());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const BufferPoolStatistics after = pool.statistics();
  EXPECT_EQ(after.buffers, 0);
  EXPECT_EQ(after.in_use, 0);
  EXPECT_EQ(after.reused + after.fresh, 200);
  EXPECT_LE(after.peak, 4 * 1024);
}

TEST_F(BufferPools, MistakesAreErrors) {
  EXPECT_NE(error_of([] { BufferPool pool(Device::cpu()); }).find("expected a GPU"),
            std::string::npos);
  EXPECT_NE(error_of([&] { BufferPool pool(device, {.limit_bytes = -1}); }).find("got -1"),
            std::string::npos);
  BufferPool pool(device);
  EXPECT_THROW(pool.make(DType::f32, {-1}), Error);
  EXPECT_THROW(pool.reserve(-1, 1), Error);
  EXPECT_THROW(pool.reserve(1, -1), Error);
  EXPECT_EQ(pool.statistics().fresh, 0);
  EXPECT_EQ(pool.make(DType::f32, {0}).bytes(), 0);
}

}  // namespace
}  // namespace hearth::runtime
