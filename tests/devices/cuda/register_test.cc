// Which machines have cards, and what those without are told.
#include "devices/cuda/register.h"

#include <gtest/gtest.h>

#include "devices/cuda/fake_card.h"

namespace hearth::cuda {
namespace {

class CudaRegister : public testing::Test {
 protected:
  void SetUp() override {
    fake_ = open_fake(kFakeFolder);
    ASSERT_NE(fake_, nullptr);
    fake_->reset();
  }
  void TearDown() override {
    EXPECT_EQ(fake_->live(), 0);
    fake_->reset();
  }
  // The fake driver and the real compiler.
  static Places complete() {
    Places places = only(kFakeFolder);
    places.virtual_env = test_environment();
    return places;
  }
  static bool has_compiler() {
    std::vector<std::string> notes;
    return Nvrtc::open(complete(), 13000, notes) != nullptr;
  }

  fake::FakeCuda* fake_ = nullptr;
};

#define NEEDS_COMPILER() \
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC: pip install -r requirements-test.txt"

TEST_F(CudaRegister, NoDriver) {
  const gpu::FoundDevices cards = find_cards(only("/nowhere"));
  EXPECT_TRUE(cards.drivers.empty());
  EXPECT_EQ(cards.notes.front(), "/nowhere/libcuda.so.1: no such file");
  EXPECT_TRUE(any_contains(cards.notes, "no NVIDIA driver"));
}

TEST_F(CudaRegister, NoCard) {
  fake_->cards = 0;
  const gpu::FoundDevices cards = find_cards(complete());
  EXPECT_TRUE(cards.drivers.empty());
  EXPECT_TRUE(contains(cards.notes.back(), "cuInit gives CUDA_ERROR_NO_DEVICE"))
      << cards.notes.back();
}

TEST_F(CudaRegister, DriverThatCountsNoCard) {
  fake_->fail["cuDeviceGetCount"] = Result::not_initialized;
  EXPECT_TRUE(contains(find_cards(complete()).notes.back(), "cuDeviceGetCount gives error 3"));
}

TEST_F(CudaRegister, OldDriver) {
  const gpu::FoundDevices cards = find_cards(only(kOldFakeFolder));
  EXPECT_TRUE(cards.drivers.empty());
  EXPECT_TRUE(contains(cards.notes.back(),
                       "too old; got one of CUDA 13.0 without cuGraphAddKernelNode_v2 "
                       "cuGraphExecKernelNodeSetParams_v2, expected CUDA 12.0"))
      << cards.notes.back();
}

TEST_F(CudaRegister, NoCompiler) {
  const gpu::FoundDevices cards = find_cards(only(kFakeFolder));
  EXPECT_TRUE(cards.drivers.empty());
  EXPECT_TRUE(any_contains(cards.notes, kFakeFolder + "/libnvrtc.so.13: no such file"));
  EXPECT_TRUE(contains(cards.notes.back(), "no CUDA compiler")) << cards.notes.back();
}

TEST_F(CudaRegister, OneDriverForEachCard) {
  NEEDS_COMPILER();
  fake_->cards = 2;
  const gpu::FoundDevices cards = find_cards(complete());
  ASSERT_EQ(cards.drivers.size(), 2u) << cards.notes.back();
  const runtime::Properties& properties = cards.drivers[1]->properties();
  EXPECT_EQ(properties.name, "Fake 1");
  EXPECT_EQ(properties.architecture, "sm_90");
  EXPECT_EQ(properties.memory, 256 << 20);
  EXPECT_EQ(properties.processors, 132);
  EXPECT_EQ(properties.max_threads, 1024);
  EXPECT_EQ(properties.thread_registers, 255);
  EXPECT_EQ(properties.per_clock.multiply_adds, 128);
  EXPECT_EQ(properties.per_clock.threadgroup_bytes, 128);
  EXPECT_EQ(properties.threadgroup_memory, 49152);
  EXPECT_EQ(properties.large_threadgroup_memory, 232448);
  EXPECT_EQ(properties.cache_bytes, 50 << 20);
  EXPECT_FALSE(properties.unified);
  EXPECT_TRUE(properties.has_f64);
  EXPECT_TRUE(properties.has_tile_products);
  EXPECT_FALSE(properties.has_simdgroup_matrix);
  EXPECT_TRUE(any_contains(cards.notes, "NVIDIA driver of CUDA 13.0"));
  EXPECT_TRUE(any_contains(cards.notes, "card 1: Fake 1, sm_90"));
  // Nobody has used a card, so none has a context.
  EXPECT_EQ(fake_->calls["cuDevicePrimaryCtxRetain"], 0);
}

TEST_F(CudaRegister, CardThatTheCompilerHasForgotten) {
  NEEDS_COMPILER();
  fake_->major = 5;
  const gpu::FoundDevices cards = find_cards(complete());
  EXPECT_TRUE(cards.drivers.empty());
  EXPECT_TRUE(contains(cards.notes.back(), "card 0: Fake 0, sm_50: too old for the compiler"))
      << cards.notes.back();
}

TEST_F(CudaRegister, CardThatDoesNotAnswer) {
  NEEDS_COMPILER();
  fake_->cards = 2;
  fake_->fail["cuDeviceTotalMem_v2"] = Result::invalid_device;
  const gpu::FoundDevices cards = find_cards(complete());
  EXPECT_EQ(cards.drivers.size(), 1u);
  EXPECT_TRUE(any_contains(cards.notes, "card 0: cuda: a card does not answer"));
}

// Whatever this machine has: no exception, and notes that say so.
TEST(CudaRegisterHere, AnyMachine) {
  const auto drivers = open_drivers();
  const auto lines = notes();
  ASSERT_FALSE(lines.empty());
  if (drivers.empty()) {
    EXPECT_TRUE(any_contains(lines, "no NVIDIA driver") || any_contains(lines, "card") ||
                any_contains(lines, "compiler") || any_contains(lines, "driver"));
  }
}

}  // namespace
}  // namespace hearth::cuda
