// include/hearth/runtime.h on the simulator, or on the device that is under test.
#include "hearth/runtime.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "devices_under_test.h"
#include "error_text.h"
#include "runtime/compile/kernel_registry.h"
#include "runtime/device/device_spec.h"

namespace hearth::runtime {
namespace {

using check::error_of;

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

std::vector<float> copied(const HostView<const float>& view) { return {view.begin(), view.end()}; }

class RuntimeApi : public ::testing::Test {
 protected:
  Device device = hearth::testing::kernel_device_under_test();
};

TEST(Size3, AProductThatDoesNotFitIsTheGreatestNumber) {
  constexpr std::uint32_t kHalf = std::uint32_t{1} << 31;
  EXPECT_EQ((Size3{3, 4, 5}).product(), 60);
  EXPECT_EQ((Size3{kHalf, kHalf}).product(), std::int64_t{1} << 62);
  EXPECT_EQ((Size3{kHalf, kHalf, 2}).product(), INT64_MAX);
  EXPECT_EQ((Size3{kHalf, kHalf, 4}).product(), INT64_MAX);
  EXPECT_EQ((Size3{UINT32_MAX, UINT32_MAX, 0}).product(), 0);
}

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

TEST_F(RuntimeApi, TheHostSeesABufferWhenWhatIsQueuedIsDone) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(100), device);
  const Buffer y(device, DType::f32, {100});
  CommandEncoder encoder(device);
  encoder.dispatch(scale, {4}, {32}, {x, y, constant(Params{2, 100})});
  encoder.commit();
  const Statistics before = statistics();
  const HostView<const float> view = y.host_view<const float>();
  ASSERT_EQ(view.size(), 100);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(view[i], 2 * static_cast<float>(i + 1));
  const bool shared = properties(device).unified;
  EXPECT_EQ(view.is_copy(), !shared);
  EXPECT_EQ(statistics().bytes_to_host - before.bytes_to_host, shared ? 0 : 400);
  EXPECT_EQ(y.view(50, {2}).host_view<const float>()[0], 102);
  EXPECT_TRUE(y.view(50, {0}).host_view<const float>().empty());
}

TEST_F(RuntimeApi, TheHostWritesWhereItSharesMemory) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(32), device), y(device, DType::f32, {32});
  CommandEncoder encoder(device);
  if (!properties(device).unified) {
    EXPECT_NE(error_of([&] { x.host_view<float>(); }).find("the memory is the device's own"),
              std::string::npos);
    return;
  }
  const Statistics before = statistics();
  {
    const HostView<float> view = x.host_view<float>();
    EXPECT_EQ(view[31], 32);
    for (float& value : view) value *= 10;
  }
  encoder.dispatch(scale, {1}, {32}, {x, y, constant(Params{2, 32})});
  encoder.commit();
  EXPECT_EQ(y.host_view<const float>()[31], 640);
  EXPECT_EQ(statistics().bytes_to_device, before.bytes_to_device);
  EXPECT_EQ(statistics().bytes_to_host, before.bytes_to_host);
}

TEST_F(RuntimeApi, WorkWaitsUntilTheHostHasSeenIt) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(64), device), y = Buffer::zeros(device, DType::f32, {64});
  CommandEncoder encoder(device);
  const auto encode = [&](const Buffer& from, const Buffer& to) {
    encoder.dispatch(scale, {1}, {32}, {from, to, constant(Params{2, 32})});
  };
  encode(x, y);
  Capture capture = encoder.capture();
  {
    const HostView<const float> seen = y.view(0, {32}).host_view<const float>();
    encode(x, y);  // not queued yet
    const std::string text = error_of([&] { encoder.commit(); });
    EXPECT_NE(text.find("scale_float: the host has a view"), std::string::npos) << text;
    EXPECT_NE(error_of([&] { capture.replay(); }).find("the host has a view"), std::string::npos);
    const std::vector<float> zeros(64);
    EXPECT_THROW(y.write(std::as_bytes(std::span(zeros))), Error);
    EXPECT_THROW(y.copy_from(x), Error);
    // Others read what the host reads, and write beside it.
    const HostView<const float> again = y.host_view<const float>();
    x.copy_from(y);
    EXPECT_EQ(y.to_vector<float>(), copied(again));
    EXPECT_EQ(seen[0], 0);
  }
  const std::vector<float> values = ramp(64);
  x.write(std::as_bytes(std::span(values)));
  encoder.wait();  // what could not be queued
  EXPECT_EQ(y.to_vector<float>()[31], 64);
  {
    const HostView<const float> seen = y.view(0, {32}).host_view<const float>();
    y.view(32, {32}).copy_from(x.view(0, {32}));
    EXPECT_EQ(y.view(32, {32}).to_vector<float>()[0], 1);
  }
  if (properties(device).unified) {
    const HostView<float> writes = x.host_view<float>();
    encode(x, y);
    EXPECT_NE(error_of([&] { encoder.commit(); }).find("reads what the host may write"),
              std::string::npos);
  }
  capture.replay();
}

TEST_F(RuntimeApi, AViewKeepsItsMemory) {
  HostView<const float> view;
  {
    const Buffer x = Buffer::from_data(ramp(64), device);
    view = x.host_view<const float>();
  }
  for (int i = 0; i < 4; ++i) Buffer::from_data(std::vector<float>(64), device);
  EXPECT_EQ(view[63], 64);
  const Buffer ints = Buffer::from_data(std::vector<std::int32_t>(4), device);
  EXPECT_NE(error_of([&] { ints.host_view<const float>(); }).find("got f32, expected i32"),
            std::string::npos);
  EXPECT_THROW(Buffer().host_view<const float>(), Error);
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

TEST_F(RuntimeApi, CapturesListTheirCommands) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(64), device);
  const Buffer y(device, DType::f32, {64}), z(device, DType::f32, {32});
  CommandEncoder encoder(device);
  EXPECT_TRUE(Capture().list().empty());
  encoder.dispatch(scale, {1}, {32}, {x.view(0, {32}), y.view(0, {32}), constant(Params{2, 32})});
  encoder.dispatch(scale, {1}, {32}, {x.view(32, {32}), y.view(32, {32}), constant(Params{3, 32})});
  encoder.dispatch(scale, {2}, {64}, {y.view(32, {32}), z, constant(Params{1, 32})});
  Capture capture = encoder.capture();
  const std::vector<CapturedCommand> all = capture.list();
  ASSERT_EQ(all.size(), 3u);
  for (const CapturedCommand& one : all) {
    EXPECT_EQ(one.kernel, "scale_float");
    ASSERT_EQ(one.accesses.size(), 2u);
    EXPECT_EQ(one.accesses[0].parameter, "x");
    EXPECT_TRUE(one.accesses[0].reads && !one.accesses[0].writes);
    EXPECT_EQ(one.accesses[1].parameter, "y");
    EXPECT_TRUE(!one.accesses[1].reads && one.accesses[1].writes);
    EXPECT_EQ(one.accesses[0].bytes, 128);
  }
  EXPECT_EQ(all[2].groups, (Size3{2}));
  EXPECT_EQ(all[2].threads, (Size3{64}));
  // The first two touch other bytes; the third reads what the second has written.
  EXPECT_EQ(all[0].group, 0);
  EXPECT_EQ(all[1].group, 0);
  EXPECT_EQ(all[2].group, 1);
  EXPECT_TRUE(all[1].after.empty());
  EXPECT_EQ(all[2].after, std::vector<int>{1});
  EXPECT_EQ(all[2].accesses[0].begin, all[1].accesses[1].begin);
  EXPECT_EQ(all[1].accesses[0].begin - all[0].accesses[0].begin, 128u);

  const Buffer other = Buffer::from_data(ramp(32), device);
  capture.rebind(z, other);
  EXPECT_EQ(capture.list()[2].accesses[1].begin, reinterpret_cast<std::uintptr_t>(other.address()));
  capture.replay();
  EXPECT_EQ(other.to_vector<float>()[0], 99);
}

TEST_F(RuntimeApi, CommitsHaveLabelsAndTimes) {
  const Kernel scale(device, scale_source("float"));
  const Buffer x = Buffer::from_data(ramp(32), device), y(device, DType::f32, {32});
  CommandEncoder encoder(device);
  const auto add = [&](float factor) {
    encoder.dispatch(scale, {1}, {32}, {x, y, constant(Params{factor, 32})});
    encoder.dispatch(scale, {1}, {32}, {y, x, constant(Params{1, 32})});
  };
  EXPECT_FALSE(encoder.commit_and_time().has_value());  // of nothing
  add(2);
  const Statistics before = statistics();
  const std::optional<double> seconds = encoder.commit_and_time("timed");
  const Statistics after = statistics();
  EXPECT_EQ(after.launches - before.launches, 2);
  EXPECT_EQ(after.batches - before.batches, 1);
  EXPECT_EQ(after.barriers - before.barriers, 1);
  EXPECT_TRUE(!seconds || *seconds > 0);
  EXPECT_EQ(x.to_vector<float>()[3], 8);

  const Profile profile;
  for (const float factor : {2.0f, 0.5f}) {
    add(factor);
    encoder.commit("pair");
  }
  add(1);
  encoder.commit();  // without one
  add(1);
  EXPECT_EQ(encoder.commit_and_time("one").has_value(), seconds.has_value());
  EXPECT_EQ(x.to_vector<float>()[3], 8);
  if (!seconds) return;
  double kernels = 0, pairs = 0, batches = 0;
  ASSERT_EQ(profile.kernels().size(), 1u);
  EXPECT_EQ(profile.kernels()[0].launches, 8);
  kernels = profile.kernels()[0].seconds;
  ASSERT_EQ(profile.batches().size(), 2u);
  for (const KernelTime& batch : profile.batches()) {
    EXPECT_EQ(batch.launches, batch.name == "pair" ? 2 : 1) << batch.name;
    batches += batch.seconds;
    if (batch.name == "pair") pairs = batch.seconds;
  }
  EXPECT_GT(pairs, 0);
  EXPECT_LT(batches, kernels);  // one batch has no label
}

TEST_F(RuntimeApi, KernelsAreCompiledBefore) {
  std::vector<KernelSource> sources;
  for (const char* const name : {"warm_a", "warm_b"}) {
    sources.push_back(scale_source("float"));
    sources.back().name = name;
  }
  const auto compiled = [&] {
    const KernelRegistry::Statistics count = device.impl().registry()->statistics();
    return count.compiled + count.from_disk;
  };
  const std::int64_t before = compiled();
  prewarm(device, sources);
  EXPECT_EQ(compiled() - before, 2);
  const Kernel kernel(device, sources[1]);
  EXPECT_EQ(compiled() - before, 2);
  prewarm(device, {});
  sources[0].name = "warm_c";
  sources[1] = scale_source("no_type");
  EXPECT_NE(error_of([&] { prewarm(device, sources); }).find("no_type"), std::string::npos);
  EXPECT_EQ(Kernel(device, sources[0]).name(), "warm_c");
  EXPECT_THROW(prewarm(Device::cpu(), sources), Error);
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
  EXPECT_EQ(after.batches - before.batches, 2);
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
  const auto message = [](const auto& body) { return error_of(body); };
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
