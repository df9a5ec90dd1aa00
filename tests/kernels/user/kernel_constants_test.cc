// Constants of a launch as the bytes of their parameters' types.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "error_text.h"
#include "kernels/user/kernel_parameters.h"
#include "kernels/user/user_ops.h"

namespace hearth {
namespace {

using check::error_of;

std::vector<std::byte> bytes_for(const char* type, const KernelConstant& constant) {
  return gpu::constant_bytes({"n", type, false, true}, constant);
}

// What a kernel reads.
template <class T>
T read(const char* type, const KernelConstant& constant) {
  const std::vector<std::byte> bytes = bytes_for(type, constant);
  T value{};
  EXPECT_EQ(bytes.size(), sizeof value);
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string refused(const char* type, const KernelConstant& constant) {
  return error_of(ErrorCode::invalid_argument, [&] { bytes_for(type, constant); });
}

// Both ends of T's range are held, as integers and as doubles, and their neighbours refused.
template <class T>
void check_range(const char* type) {
  using Limits = std::numeric_limits<T>;
  const T low = Limits::min(), high = Limits::max();
  for (const T value : {low, high, T{0}, T{1}}) {
    EXPECT_EQ(read<T>(type, {"n", value}), value) << type;
  }
  const double end = std::ldexp(1.0, Limits::digits), below = std::nextafter(end, 0.0);
  const double last = sizeof(T) < 8 ? end - 1 : below;
  EXPECT_EQ(read<T>(type, {"n", last}), static_cast<T>(last)) << type;
  EXPECT_EQ(read<T>(type, {"n", static_cast<double>(low)}), low) << type;
  const std::string expected = ", expected what constant " + std::string(type) + "& n holds";
  EXPECT_EQ(refused(type, {"n", end}),
            "a constant is out of range; got " + std::to_string(end) + expected);
  const double before = low == 0 ? -1 : std::min(-end - 1, std::nextafter(-end, -2 * end));
  EXPECT_EQ(refused(type, {"n", before}),
            "a constant is out of range; got " + std::to_string(before) + expected);
  if constexpr (sizeof(T) < 8) {
    for (const std::int64_t value : {std::int64_t{high} + 1, std::int64_t{low} - 1}) {
      EXPECT_EQ(refused(type, {"n", value}),
                "a constant is out of range; got " + std::to_string(value) + expected);
    }
  }
}

TEST(KernelConstants, IntegersOfEachRange) {
  check_range<std::int8_t>("char");
  check_range<std::uint8_t>("uchar");
  check_range<std::int16_t>("short");
  check_range<std::uint16_t>("ushort");
  check_range<std::int32_t>("int");
  check_range<std::uint32_t>("uint");
  check_range<std::int64_t>("long");
  check_range<std::uint64_t>("ulong");
}

TEST(KernelConstants, IntegersOf64Bits) {
  const std::uint64_t seed = 0x9E3779B97F4A7C15;
  EXPECT_EQ(read<std::uint64_t>("ulong", {"n", seed}), seed);
  EXPECT_EQ(read<std::int64_t>("long", {"n", 0x1p62}), std::int64_t{1} << 62);
  EXPECT_EQ(refused("long", {"n", seed}),
            "a constant is out of range; got 11400714819323198485, expected what constant long& n "
            "holds");
  EXPECT_EQ(refused("ulong", {"n", -1}),
            "a constant is out of range; got -1, expected what constant ulong& n holds");
  EXPECT_EQ(read<float>("float", {"n", seed}), static_cast<float>(seed));
}

// Just above the middle of two halves, where a float in between would be the middle.
TEST(KernelConstants, AreRoundedOnce) {
  const auto half = [](const KernelConstant& constant) {
    return static_cast<float>(read<float16>("half", constant));
  };
  const auto brain = [](const KernelConstant& constant) {
    return static_cast<float>(read<bfloat16>("bfloat", constant));
  };
  EXPECT_EQ(half({"n", 1 + 0x1p-11 + 0x1p-40}), 1 + 0x1p-10f);
  EXPECT_EQ(half({"n", -(1 + 0x1p-11 + 0x1p-40)}), -1 - 0x1p-10f);
  EXPECT_EQ(half({"n", 1 + 3 * 0x1p-11 - 0x1p-40}), 1 + 0x1p-10f);
  EXPECT_EQ(half({"n", 1 + 0x1p-11}), 1);
  EXPECT_EQ(half({"n", 65520 - 0x1p-30}), 65504);
  EXPECT_EQ(half({"n", 65520.0}), HUGE_VALF);
  EXPECT_EQ(half({"n", 1e300}), HUGE_VALF);
  EXPECT_TRUE(std::isnan(half({"n", std::nan("")})));
  EXPECT_EQ(brain({"n", 1 + 0x1p-8 + 0x1p-40}), 1 + 0x1p-7f);
  EXPECT_EQ(brain({"n", 0x1p-133 * (1 + 0x1p-1 + 0x1p-30)}), 0x1p-132f);
  const std::int64_t one = 1;
  EXPECT_EQ(brain({"n", (one << 60) + (one << 52) + 1}), 0x1p60f + 0x1p53f);
  EXPECT_EQ(brain({"n", -((one << 60) + (one << 52) + 1)}), -0x1p60f - 0x1p53f);
  EXPECT_EQ(brain({"n", (one << 60) + (one << 52)}), 0x1p60f);
  EXPECT_EQ(read<float>("float", {"n", (one << 60) + (one << 36) + 1}), 0x1p60f + 0x1p37f);
}

TEST(KernelConstants, TruthsAreZeroOrOne) {
  EXPECT_EQ(bytes_for("bool", {"n", true}), std::vector<std::byte>{std::byte{1}});
  EXPECT_EQ(bytes_for("bool", {"n", 0}), std::vector<std::byte>{std::byte{0}});
  EXPECT_EQ(refused("bool", {"n", 2}),
            "a constant is out of range; got 2, expected what constant bool& n holds");
}

TEST(KernelConstants, FractionsAreNoIntegers) {
  for (const double value : {0.5, -1e-3, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(refused("long", {"n", value}), "a constant is no integer; got " +
                                                 std::to_string(value) +
                                                 ", expected one for constant long& n");
  }
}

TEST(KernelConstants, VectorsAreNoNumbers) {
  for (const char* type : {"float4", "half3", "packed_float2", "float4x4", "uint2"}) {
    EXPECT_EQ(refused(type, {"n", 1}), "a constant is no number; got one for constant " +
                                           std::string(type) +
                                           "& n, expected a struct of its layout");
  }
  EXPECT_EQ(bytes_for("float4", {"n", std::array<float, 4>{}}).size(), 16u);
}

TEST(KernelConstants, ReachTheKernel) {
  const CustomOp op({.name = "test.seed",
                     .kernel = R"(
kernel void f(device const ulong* x, constant ulong& seed, device ulong* y,
              uint i [[thread_position_in_grid]]) { y[i] = x[i] ^ seed; }
)",
                     .launch = [](std::span<const TensorType>, std::span<const TensorType>) {
                       const std::uint64_t seed = 0x9E3779B97F4A7C15;
                       return KernelLaunch{.constants = {{"seed", seed}}};
                     }});
  const std::vector<std::uint64_t> x = {0, 1, ~std::uint64_t{0}};
  const Array got = op(Array::from_data(x, {3}, testing::kernel_device_under_test()));
  EXPECT_EQ(got.to_vector<std::uint64_t>(),
            (std::vector<std::uint64_t>{0x9E3779B97F4A7C15, 0x9E3779B97F4A7C14,
                                        ~std::uint64_t{0x9E3779B97F4A7C15}}));
}

}  // namespace
}  // namespace hearth
