// The hostile device is as hostile as it says.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/record/node.h"
#include "hearth/ops.h"
#include "machines/hostile/address_space.h"
#include "machines/hostile/hostile_device.h"

namespace hearth {
namespace {

Device hostile() { return Device::named("hostile"); }

// Death tests start the program anew: a fork of one with threads is not safe.
class Hostile : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Hostile, HostAccessFaults) {
  const Array x = Array::from_data(std::vector<float>{1, 2, 3}, {3}, hostile());
  const auto* address = reinterpret_cast<const volatile float*>(node_of(x)->storage->address);
  EXPECT_DEATH(
      {
        const float value = *address;
        static_cast<void>(value);
      },
      "");
  EXPECT_EQ(x.to_vector<float>()[2], 3);
}

TEST_F(Hostile, FreshMemoryIsPoisoned) {
  DeviceImpl& device = hostile().impl();
  const Address address = device.allocate(40);
  float values[10];
  device.copy_to_host(values, address, 40);
  for (const float value : values) EXPECT_TRUE(std::isnan(value));
  device.free(address, 40);
}

TEST_F(Hostile, AddressesAreNotReusedSoon) {
  DeviceImpl& device = hostile().impl();
  Address last = nullptr;
  for (int i = 0; i < 50; ++i) {
    const Address address = device.allocate(100);
    EXPECT_NE(address, last);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % kAlignment, 0u);
    last = address;
    device.free(address, 100);
    device.synchronize();
  }
}

TEST_F(Hostile, BlocksEndAtAGuardPage) {
  hostile::AddressSpace space;
  const Address address = space.take(200);
  std::byte* real = space.real(address);
  real[199 + kPadding] = std::byte{1};
  EXPECT_DEATH(real[200 + kPadding + 63] = std::byte{1}, "");
  EXPECT_TRUE(space.is_live(address));
  space.give_back(address);
  EXPECT_FALSE(space.is_live(address));
}

TEST_F(Hostile, FreedWhileQueued) {
  Array x = add(Array::from_data(std::vector<float>(1000, 1), {1000}, hostile()), 1.0);
  for (int i = 0; i < 50; ++i) {
    const Array y = mul(x, 1.0);
    x = add(y, 1.0);
    submit();
  }
  EXPECT_EQ(x.to_vector<float>()[999], 52);
}

TEST_F(Hostile, IsNotHostMemory) {
  EXPECT_FALSE(hostile().impl().host_visible());
  EXPECT_EQ(hostile().name(), "hostile:0");
  EXPECT_THROW((void)add(zeros({2}, DType::f32, hostile()), ones({2}).eval()), Error);
}

}  // namespace
}  // namespace hearth
