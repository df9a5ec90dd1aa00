// include/hearth/runtime.h on the simulator, or on the device that is under test.
#include "hearth/runtime.h"

#include <gtest/gtest.h>

#include <numeric>

#include "devices_under_test.h"

namespace hearth::runtime {
namespace {

using Kind = KernelParameter::Kind;

constexpr char kText[] = R"(
struct Params {
  float factor;
  uint count;
};
template <typename T>
void scale(device const T* x, device T* y, constant Params& p, Ctx ctx) {
  uint i = ctx.gid.x;
  if (i < p.count) y[i] = T(float(x[i]) * p.factor);
}
)";

struct Params {
  float factor;
  std::uint32_t count;
};

KernelSource scale_source(const std::string& type) {
  return {"scale_" + type,
          kText,
          "scale<" + type + ">",
          {{Kind::read, type, "x"}, {Kind::write, type, "y"}, {Kind::constant, "Params", "p"}}};
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

class RuntimeApi : public ::testing::Test {
 protected:
  Device device = hearth::testing::kernel_device_under_test();
};

TEST_F(RuntimeApi, RunsKernelsOfItsUser) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(100), device);
  const Buffer y(device, DType::f32, {100}), z(device, DType::f32, {100});
  CommandEncoder encoder(device);
  encoder.dispatch(scale, {4}, {32}, {x, y, constant(Params{2, 100})});
  encoder.dispatch(scale, {4}, {32}, {y, z, constant(Params{3, 100})});
  encoder.wait();
  const std::vector<float> got = z.to_vector<float>();
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(got[i], 6 * static_cast<float>(i + 1));
}

TEST_F(RuntimeApi, ViewsNamePartsOfABuffer) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(64), device);
  const Buffer y = Buffer::zeros(device, DType::f32, {64});
  CommandEncoder encoder(device);
  encoder.dispatch(scale, {1}, {32}, {x.view(32, {32}), y.view(0, {32}), constant(Params{1, 32})});
  encoder.wait();
  const std::vector<float> got = y.to_vector<float>();
  EXPECT_EQ(got[0], 33);
  EXPECT_EQ(got[31], 64);
  EXPECT_EQ(got[32], 0);
  EXPECT_EQ(x.view(32, {4, 8}).byte_offset(), 128);
  EXPECT_THROW(x.view(33, {32}), Error);
  EXPECT_THROW(x.view(-1, {2}), Error);
  EXPECT_EQ(x.reinterpret(DType::i32, {8, 8}).bytes(), 256);
  EXPECT_THROW(x.reinterpret(DType::i64, {64}), Error);
}

TEST_F(RuntimeApi, BuffersAreCopiedOnTheDevice) {
  const Buffer x = Buffer::from_data(ramp(64), device);
  const Buffer y = Buffer::zeros(device, DType::f32, {32});
  y.copy_from(x.view(16, {32}));
  EXPECT_EQ(y.to_vector<float>().front(), 17);
  EXPECT_EQ(y.to_vector<float>().back(), 48);
  EXPECT_THROW(y.copy_from(x), Error);
  EXPECT_THROW(y.copy_from(Buffer()), Error);
}

TEST_F(RuntimeApi, CapturesReplayAndRebind) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(32), device);
  const Buffer y(device, DType::f32, {32}), z = Buffer::zeros(device, DType::f32, {32});
  CommandEncoder encoder(device);
  encoder.dispatch(scale, {1}, {32}, {x, y, constant(Params{2, 32})});
  encoder.dispatch(scale, {1}, {32}, {y, x, constant(Params{1, 32})});
  Capture twice = encoder.capture();
  EXPECT_EQ(twice.commands(), 2);
  EXPECT_EQ(twice.groups(), 2);
  encoder.wait();
  EXPECT_EQ(x.to_vector<float>()[0], 1);  // captured, not run
  for (int i = 0; i < 3; ++i) twice.replay();
  EXPECT_EQ(x.to_vector<float>()[0], 8);
  const Buffer other = Buffer::from_data(ramp(32), device);
  twice.rebind(x, other);
  twice.replay();
  EXPECT_EQ(other.to_vector<float>()[31], 64);
  EXPECT_EQ(x.to_vector<float>()[0], 8);
  EXPECT_THROW(twice.rebind(other, Buffer(device, DType::f32, {31})), Error);
}

TEST_F(RuntimeApi, CountsAndProfilesWhatRuns) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(32), device);
  const Buffer y(device, DType::f32, {32});
  const auto run = [&] {
    CommandEncoder encoder(device);
    encoder.dispatch(scale, {1}, {32}, {x, y, constant(Params{2, 32})});
    encoder.dispatch(scale, {1}, {32}, {y, x, constant(Params{0.5f, 32})});
    Capture both = encoder.capture();
    both.replay();
    both.replay();
    encoder.wait();
  };
  const Statistics before = statistics();
  run();
  EXPECT_EQ(x.to_vector<float>()[3], 4);
  y.copy_from(x);
  const Statistics after = statistics();
  EXPECT_EQ(after.launches - before.launches, 4);
  EXPECT_EQ(after.replays - before.replays, 2);
  EXPECT_EQ(after.waits - before.waits, 2);
  EXPECT_EQ(after.bytes_to_host - before.bytes_to_host, 128);
  EXPECT_EQ(after.bytes_on_device - before.bytes_on_device, 128);

  const Profile profile;
  run();
  EXPECT_EQ(x.to_vector<float>()[3], 4);
  ASSERT_EQ(profile.kernels().size(), 1u);
  EXPECT_EQ(profile.kernels()[0].name, "scale_float");
  EXPECT_EQ(profile.kernels()[0].launches, 4);
  EXPECT_GT(profile.kernels()[0].seconds, 0);
}

TEST_F(RuntimeApi, MistakesAreErrors) {
  const auto message = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message([] { properties(Device::cpu()); }).find("expected a GPU"), std::string::npos);
  EXPECT_NE(message([] { Buffer(Device::cpu(), DType::f32, {1}); }).find("expected a GPU"),
            std::string::npos);
  EXPECT_NE(message([] { Buffer().device(); }).find("undefined Buffer"), std::string::npos);
  KernelSource broken = scale_source("float");
  broken.name = "broken";
  broken.text += "this is no kernel;";
  EXPECT_NE(message([&] { Kernel(device, broken); }).find("broken"), std::string::npos);
  const Kernel scale(device, scale_source("float"));
  const Buffer x(device, DType::f32, {32});
  CommandEncoder encoder(device);
  EXPECT_NE(message([&] { encoder.dispatch(scale, {1}, {32}, {x, x}); }).find("wrong number"),
            std::string::npos);
  std::vector<std::byte> few(4);
  EXPECT_NE(message([&] { x.read(few); }).find("wrong size"), std::string::npos);
}

}  // namespace
}  // namespace hearth::runtime
