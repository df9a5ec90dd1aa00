// The CUDA driver against a driver library that is stricter than any card: memory, copies, launches
// and timing.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "devices/cuda/madd_card.h"

namespace hearth::cuda {
namespace {

using runtime::Argument;
using runtime::Command;

class CudaDriverLogic : public MaddCard {};

TEST_F(CudaDriverLogic, TakesTheCardWhenItIsFirstUsed) {
  EXPECT_EQ(fake_->calls["cuDevicePrimaryCtxRetain"], 0);
  driver_->free(driver_->allocate(1));
  driver_->wait();
  EXPECT_EQ(fake_->calls["cuDevicePrimaryCtxRetain"], 1);
  EXPECT_EQ(fake_->calls["cuStreamCreate"], 1);
}

// CUDA C++ Programming Guide, throughput of native arithmetic instructions, for every capability
// since Maxwell.
TEST_F(CudaDriverLogic, MultiplyAddsFollowTheCard) {
  for (const auto& [major, minor, lanes] : {std::array{5, 0, 128},
                                            {5, 2, 128},
                                            {5, 3, 128},
                                            {6, 0, 64},
                                            {6, 1, 128},
                                            {6, 2, 128},
                                            {7, 0, 64},
                                            {7, 2, 64},
                                            {7, 5, 64},
                                            {8, 0, 64},
                                            {8, 6, 128},
                                            {8, 7, 128},
                                            {8, 9, 128},
                                            {9, 0, 128},
                                            {10, 0, 128},
                                            {12, 0, 128}}) {
    fake_->major = major;
    fake_->minor = minor;
    const runtime::Properties properties = card_properties(*api_, 0);
    EXPECT_EQ(properties.per_clock.multiply_adds, lanes) << properties.architecture;
    EXPECT_EQ(properties.has_tile_products, major >= 8) << properties.architecture;
  }
}

TEST_F(CudaDriverLogic, LeavesTheCurrentContextAsItWas) {
  driver_->free(driver_->allocate(1));
  EXPECT_EQ(fake_->calls["cuCtxPushCurrent_v2"], fake_->calls["cuCtxPopCurrent_v2"]);
  error_of(ErrorCode::out_of_memory, [&] { driver_->allocate(std::int64_t{1} << 40); });
  EXPECT_EQ(fake_->calls["cuCtxPushCurrent_v2"], fake_->calls["cuCtxPopCurrent_v2"]);
}

TEST_F(CudaDriverLogic, ContextThatCannotBeMadeIsTriedAgain) {
  fake_->fail["cuDevicePrimaryCtxRetain"] = Result::out_of_memory;
  error_of(ErrorCode::out_of_memory, [&] { driver_->allocate(1); });
  fake_->fail["cuStreamCreate"] = Result::invalid_value;
  const std::string message = error_of(ErrorCode::device, [&] { driver_->allocate(1); });
  EXPECT_TRUE(contains(message, "cuda: Fake 0 cannot be used; got CUDA_ERROR_INVALID_VALUE"))
      << message;
  driver_->free(driver_->allocate(1));
}

TEST_F(CudaDriverLogic, OutOfMemorySaysHowMuchThereIs) {
  const Address held = driver_->allocate(100 << 20);
  const std::string message =
      error_of(ErrorCode::out_of_memory, [&] { driver_->allocate(200 << 20); });
  EXPECT_EQ(message,
            "cuda: Fake 0 is out of memory; got a request of 209715200 bytes, expected at most "
            "163577856 free of 268435456");
  driver_->free(held);
  driver_->free(driver_->allocate(200 << 20));
  error_of(ErrorCode::invalid_argument, [&] { driver_->allocate(-1); });
  driver_->free(nullptr);
}

TEST_F(CudaDriverLogic, UploadsReturnBeforeTheyRunAndTheirSourceMayChange) {
  const Address address = driver_->allocate(3000);
  for (std::uint8_t round = 0; round < 3; ++round) {
    std::vector<std::uint8_t> source(1000, round);
    driver_->copy_to_device(address + 1000 * round, source.data(), 1000);
    source.assign(1000, 99);
  }
  EXPECT_EQ(fake_->queued(), 3);
  std::vector<std::uint8_t> got(3000);
  driver_->copy_to_host(got.data(), address, 3000);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i / 1000) << i;
  EXPECT_EQ(fake_->calls["cuEventRecord"], 2);  // small uploads share one
  driver_->free(address);
}

TEST_F(CudaDriverLogic, CopiesLargerThanTheRing) {
  // 37 MiB and a bit, through 16 MiB of pinned memory, at odd addresses.
  const std::int64_t bytes = (37 << 20) + 12345;
  const Address address = driver_->allocate(bytes + 1);
  std::vector<std::uint32_t> source(static_cast<std::size_t>(bytes) / 4 + 1);
  std::iota(source.begin(), source.end(), 7u);
  driver_->copy_to_device(address + 1, source.data(), bytes);
  std::vector<std::uint32_t> got(source.size());
  driver_->copy_to_host(got.data(), address + 1, bytes);
  EXPECT_EQ(std::memcmp(got.data(), source.data(), static_cast<std::size_t>(bytes)), 0);
  driver_->free(address);
}

TEST_F(CudaDriverLogic, ManySmallUploadsGoAroundTheRing) {
  const Address address = driver_->allocate(1 << 20);
  std::vector<std::uint8_t> source(1 << 18);
  for (int round = 0; round < 200; ++round) {
    std::fill(source.begin(), source.end(), static_cast<std::uint8_t>(round));
    driver_->copy_to_device(address + (round % 4) * (1 << 18), source.data(), 1 << 18);
    EXPECT_LE(fake_->queued(), 64);
  }
  std::vector<std::uint8_t> got(1 << 20);
  driver_->copy_to_host(got.data(), address, 1 << 20);
  for (int part = 0; part < 4; ++part) {
    EXPECT_EQ(got[static_cast<std::size_t>(part) << 18], 196 + part);
  }
  driver_->free(address);
}

TEST_F(CudaDriverLogic, FillAndCopyOnTheDevice) {
  const Address a = driver_->allocate(64);
  const Address b = driver_->allocate(64);
  driver_->fill(a, 0x5a, 64);
  driver_->copy_on_device(b + 4, a, 4);
  driver_->fill(a, 0, 64);
  EXPECT_EQ(word(b + 4), 0x5a5a5a5au);
  EXPECT_EQ(word(a), 0u);
  EXPECT_EQ(word(b), 0xcdcdcdcdu);
  driver_->free(a);
  driver_->free(b);
}

TEST_F(CudaDriverLogic, NothingIsQueuedForNothing) {
  const Address address = driver_->allocate(0);
  driver_->copy_to_device(address, nullptr, 0);
  driver_->copy_to_host(nullptr, address, 0);
  driver_->copy_on_device(address, address, 0);
  driver_->fill(address, 1, 0);
  driver_->submit({});
  EXPECT_EQ(fake_->queued(), 0);
  driver_->free(address);
}

TEST_F(CudaDriverLogic, FreeWaitsForWorkThatIsQueued) {
  const Address address = driver_->allocate(64);
  driver_->fill(address, 1, 64);
  EXPECT_EQ(fake_->queued(), 1);
  driver_->free(address);  // the fake notes it if work is left
  EXPECT_EQ(fake_->queued(), 0);
  // And does not where none can be.
  const int waits = fake_->calls["cuStreamSynchronize"];
  driver_->free(driver_->allocate(64));
  EXPECT_EQ(fake_->calls["cuStreamSynchronize"], waits);
}

TEST_F(CudaDriverLogic, WaitsForTheEndOfTheQueueWithoutACall) {
  fake_->runs_at_once = true;
  const Address address = driver_->allocate(64);
  const int waits = fake_->calls["cuStreamSynchronize"];
  for (int i = 0; i < 3; ++i) {
    driver_->fill(address, 1, 64);
    driver_->wait();
    EXPECT_EQ(fake_->queued(), 0);
  }
  EXPECT_EQ(fake_->calls["cuStreamSynchronize"], waits);
  driver_->free(address);
}

TEST_F(CudaDriverLogic, LaunchesInOrderWithTheirArguments) {
  const runtime::Function& madd = kernel("madd", 2, sizeof(Constant));
  EXPECT_EQ(madd.name(), "madd");
  const Address a = allocate_word(5);
  const Address b = driver_->allocate(4);
  {
    const Constant first{1, 10};
    const Constant second{2, 3};
    const Argument one[] = {buffer(a), buffer(b), constant(first)};
    const Argument two[] = {buffer(b), buffer(a), constant(second)};
    const Command commands[] = {{&madd, {7, 2, 1}, {64, 2, 1}, one, 0, {}},
                                {&madd, {1, 1, 3}, {32, 1, 1}, two, 1, {}}};
    driver_->submit(commands);
  }
  EXPECT_EQ(fake_->runs.size(), 0u);
  EXPECT_EQ(word(a), (5u * 10 + 1) * 3 + 2);
  ASSERT_EQ(fake_->runs.size(), 2u);
  EXPECT_EQ(fake_->runs[0].groups[0], 7u);
  EXPECT_EQ(fake_->runs[0].groups[1], 2u);
  EXPECT_EQ(fake_->runs[0].threads[0], 64u);
  EXPECT_EQ(fake_->runs[0].threads[1], 2u);
  EXPECT_EQ(fake_->runs[1].groups[2], 3u);
  driver_->free(a);
  driver_->free(b);
}

TEST_F(CudaDriverLogic, RefusesWhatTheApiRefuses) {
  const runtime::Function& madd = kernel("madd", 2, sizeof(Constant));
  const Constant value{0, 1};
  const Argument arguments[] = {buffer(nullptr), buffer(nullptr), constant(value)};
  const Command too_wide[] = {{&madd, {1, 1, 1}, {2048, 1, 1}, arguments, 0, {}}};
  EXPECT_TRUE(contains(error_of(ErrorCode::device, [&] { driver_->submit(too_wide); }),
                       "CUDA_ERROR_INVALID_VALUE (?) from cuLaunchKernel"));
  const Command too_deep[] = {{&madd, {1, 2, 65536}, {32, 1, 1}, arguments, 0, {}}};
  EXPECT_EQ(error_of(ErrorCode::unsupported, [&] { driver_->submit(too_deep); }),
            "madd: too many threadgroups for CUDA; got 2 along y and 65536 along z, expected at "
            "most 65535 along each");
  const Command too_few[] = {{&madd, {1, 1, 1}, {32, 1, 1}, std::span(arguments).first(2), 0, {}}};
  EXPECT_EQ(error_of(ErrorCode::internal, [&] { driver_->submit(too_few); }),
            "cuda: arguments of kernel madd do not fit; got 2, expected 3");
  driver_->wait();  // the card is as good as before
}

TEST_F(CudaDriverLogic, LargeThreadgroupArraysAreAskedFor) {
  fake_->kernel = nullptr;
  const auto load = [&](const char* type, std::int64_t count) {
    runtime::KernelSource source;
    source.name = "large";
    source.parameters = {{runtime::KernelParameter::Kind::threadgroup, type, "a", count},
                         {runtime::KernelParameter::Kind::threadgroup, "half", "b", 5}};
    const std::string text = fake::image_text(source.name, {});
    kernels_.push_back(
        driver_->load(source, {reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1}));
    return kernels_.back().get();
  };
  const auto shared_bytes = [&](const runtime::Function* function) {
    const Command commands[] = {{function, {1, 1, 1}, {32, 1, 1}, {}, 0, {}}};
    driver_->submit(commands);
    driver_->wait();
    return fake_->runs.back().shared_bytes;
  };
  EXPECT_EQ(driver_->properties().large_threadgroup_memory, 232448);
  EXPECT_EQ(shared_bytes(load("float4", 3000)), 0u);  // 48,016 bytes are static
  EXPECT_EQ(fake_->calls["cuFuncSetAttribute"], 0);
  EXPECT_EQ(shared_bytes(load("float", 20000)), 80016u);
  EXPECT_EQ(fake_->calls["cuFuncSetAttribute"], 1);
  const Command commands[] = {{kernels_.back().get(), {1, 1, 1}, {32, 1, 1}, {}, 0, {}}};
  const auto graph = driver_->instantiate(commands);
  driver_->launch(*graph);
  driver_->wait();
  EXPECT_EQ(fake_->runs.back().shared_bytes, 80016u);
  EXPECT_EQ(shared_bytes(load("uchar", 232448 - 16)), 232448u);
  EXPECT_EQ(error_of(ErrorCode::unsupported, [&] { load("uchar", 232448); }),
            "large: too much threadgroup memory for Fake 0; got 232464 bytes, expected at most "
            "232448");
  EXPECT_EQ(shared_bytes(load("Struct", 1 << 20)), 0u);  // only the compiler knows
}

TEST_F(CudaDriverLogic, LoadRefusesImagesThatAreNone) {
  runtime::KernelSource source;
  source.name = "k";
  const auto load = [&](const std::string& text) {
    return error_of(ErrorCode::corrupt_file, [&] {
      driver_->load(source, {reinterpret_cast<const std::byte*>(text.data()), text.size()});
    });
  };
  load("");
  EXPECT_TRUE(contains(load("no zero at its end"), "18 bytes that are not whole"));
  EXPECT_TRUE(contains(load(std::string("a zero\0within\0", 14)), "not whole"));
  EXPECT_TRUE(contains(load(std::string("\x7f"
                                        "ELF\2",
                                        5)),
                       "not whole"));
  EXPECT_TRUE(contains(load(std::string("nonsense\0", 9)), "line 1: not fake"));
  EXPECT_TRUE(contains(load(fake::image_text("other", {}) + std::string(1, '\0')),
                       "from cuModuleGetFunction"));
  const std::string compile = error_of(ErrorCode::unsupported, [&] { driver_->compile(source); });
  EXPECT_TRUE(contains(compile, "no NVRTC"));
}

TEST_F(CudaDriverLogic, KernelsWaitForWorkBeforeTheyGo) {
  const Address a = allocate_word(5);
  const Constant value{1, 1};
  const Argument arguments[] = {buffer(a), buffer(a), constant(value)};
  const Command commands[] = {
      {&kernel("madd", 2, sizeof(Constant)), {1, 1, 1}, {32, 1, 1}, arguments, 0, {}}};
  driver_->submit(commands);
  kernels_.clear();  // the fake refuses to run a kernel whose module is gone
  EXPECT_EQ(word(a), 6u);
  driver_->free(a);
}

TEST_F(CudaDriverLogic, TimesEachCommand) {
  const runtime::Function& madd = kernel("madd", 2, sizeof(Constant));
  const Address a = allocate_word(1);
  const Constant value{0, 2};
  const Argument arguments[] = {buffer(a), buffer(a), constant(value)};
  const std::vector<Command> commands(3, {&madd, {1, 1, 1}, {32, 1, 1}, arguments, 0, {}});
  const std::vector<double> seconds = driver_->time(commands);
  ASSERT_EQ(seconds.size(), 3u);
  for (const double each : seconds) EXPECT_FLOAT_EQ(static_cast<float>(each), 1e-3f);
  EXPECT_EQ(word(a), 8u);
  EXPECT_TRUE(driver_->time({}).empty());
  driver_->free(a);
}

TEST_F(CudaDriverLogic, SeveralThreadsMayAllocateAndLoad) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      runtime::KernelSource source;
      source.name = "k" + std::to_string(i);
      const std::string text = fake::image_text(source.name, {});
      for (int round = 0; round < 50; ++round) {
        const Address address = driver_->allocate(1000);
        const auto function = driver_->load(
            source, {reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1});
        EXPECT_EQ(function->name(), source.name);
        driver_->free(address);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hearth::cuda
