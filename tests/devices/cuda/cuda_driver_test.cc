// The CUDA driver on each card that this machine has. Machines without one have no such cases.
#include "devices/cuda/driver/cuda_driver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "devices/cuda/affine_kernel.h"
#include "devices/cuda/fake_card.h"
#include "devices/cuda/register.h"

namespace hearth::cuda {
namespace {

using runtime::Argument;
using runtime::Command;
using runtime::KernelSource;

constexpr std::uint32_t kCount = 100003;
constexpr std::int64_t kBytes = std::int64_t{kCount} * 4;

class CudaCards : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto drivers = open_drivers();
    ASSERT_LT(static_cast<std::size_t>(GetParam()), drivers.size());
    driver_ = std::move(drivers[static_cast<std::size_t>(GetParam())]);
    function_ = driver_->load(affine(), driver_->compile(affine()));
    for (Address& address : memory_) address = driver_->allocate(kBytes);
    x_.resize(kCount);
    std::iota(x_.begin(), x_.end(), 1.0f);
    driver_->copy_to_device(memory_[0], x_.data(), kBytes);
  }
  void TearDown() override {
    for (const Address address : memory_) driver_->free(address);
    function_.reset();
  }

  // Commands that run memory_[from] through the kernel into memory_[from + 1], and so on.
  std::vector<Command> chain(int length, float a, float b, Address first = nullptr) {
    params_ = {kCount, a, b};
    arguments_.clear();
    std::vector<Command> commands;
    for (int i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Address from = i == 0 && first != nullptr ? first : memory_[at];
      arguments_.push_back({Argument{from, kBytes, nullptr},
                            Argument{memory_[at + 1], kBytes, nullptr},
                            Argument{nullptr, sizeof params_, &params_}});
      after_[at] = i - 1;
    }
    for (int i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto after = std::span<const int>(after_).subspan(at, i == 0 ? 0 : 1);
      commands.push_back(
          {function_.get(), {(kCount + 255) / 256, 1, 1}, {256, 1, 1}, arguments_[at], i, after});
    }
    return commands;
  }

  void expect_affine(Address address, float a, float b) {
    std::vector<float> got(kCount);
    driver_->copy_to_host(got.data(), address, kBytes);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], a * x_[i] + b) << i;
  }

  std::unique_ptr<runtime::Driver> driver_;
  std::unique_ptr<runtime::Function> function_;
  std::array<Address, 4> memory_{};
  std::vector<float> x_;
  AffineParams params_{};
  std::vector<std::array<Argument, 3>> arguments_;
  std::array<int, 3> after_{};
};

TEST_P(CudaCards, RunKernels) {
  driver_->submit(chain(1, 2, 1));
  expect_affine(memory_[1], 2, 1);
  driver_->submit(chain(3, 2, 1));
  expect_affine(memory_[3], 8, 7);
}

TEST_P(CudaCards, Copy) {
  std::vector<float> got(kCount);
  driver_->copy_on_device(memory_[1], memory_[0], kBytes);
  driver_->copy_to_host(got.data(), memory_[1], kBytes);
  EXPECT_EQ(got, x_);
  driver_->fill(memory_[1] + 4, 0, kBytes - 8);
  driver_->copy_to_host(got.data(), memory_[1], kBytes);
  EXPECT_EQ(got.front(), x_.front());
  EXPECT_EQ(got.back(), x_.back());
  EXPECT_EQ(std::accumulate(got.begin() + 1, got.end() - 1, 0.0f), 0.0f);
}

TEST_P(CudaCards, CopyMoreThanTheRingHolds) {
  std::vector<std::uint32_t> source((70 << 20) / 4 + 3);
  std::iota(source.begin(), source.end(), 1u);
  const auto bytes = static_cast<std::int64_t>(source.size() * 4);
  const Address address = driver_->allocate(bytes);
  driver_->copy_to_device(address, source.data(), bytes);
  const std::vector<std::uint32_t> expected = source;
  std::fill(source.begin(), source.end(), 0u);
  driver_->copy_to_host(source.data(), address, bytes);
  EXPECT_TRUE(source == expected);
  driver_->free(address);
}

TEST_P(CudaCards, ReplayGraphs) {
  const auto executable = driver_->instantiate(chain(3, 2, 1));
  ASSERT_NE(executable, nullptr);
  driver_->launch(*executable);
  expect_affine(memory_[3], 8, 7);

  // Another constant, then another input.
  ASSERT_TRUE(driver_->update(*executable, chain(3, 3, 0)));
  driver_->launch(*executable);
  expect_affine(memory_[3], 27, 0);
  const Address other = driver_->allocate(kBytes);
  driver_->fill(other, 0, kBytes);
  ASSERT_TRUE(driver_->update(*executable, chain(3, 3, 1, other)));
  driver_->launch(*executable);
  std::vector<float> got(kCount);
  driver_->copy_to_host(got.data(), memory_[3], kBytes);
  EXPECT_EQ(got, std::vector<float>(kCount, 13));
  EXPECT_FALSE(driver_->update(*executable, chain(2, 3, 1)));
  driver_->free(other);
}

TEST_P(CudaCards, TimeCommands) {
  const std::vector<double> seconds = driver_->time(chain(3, 2, 1));
  ASSERT_EQ(seconds.size(), 3u);
  for (const double each : seconds) EXPECT_GT(each, 0);
}

TEST_P(CudaCards, OutOfMemoryIsAnErrorAndNoMore) {
  const std::string message = error_of(
      ErrorCode::out_of_memory, [&] { driver_->allocate(driver_->properties().memory * 2); });
  EXPECT_TRUE(contains(message, "is out of memory; got a request of")) << message;
  driver_->submit(chain(1, 2, 1));
  expect_affine(memory_[1], 2, 1);
}

TEST_P(CudaCards, RefuseDamagedImages) {
  auto image = driver_->compile(affine());
  error_of(ErrorCode::corrupt_file,
           [&] { driver_->load(affine(), std::span(image).first(image.size() / 2)); });
  KernelSource other = affine();
  other.name = "no_such_kernel";
  error_of(ErrorCode::corrupt_file, [&] { driver_->load(other, image); });
  driver_->submit(chain(1, 2, 1));
  expect_affine(memory_[1], 2, 1);
}

TEST_P(CudaCards, GiveThreadgroupsMoreMemoryThanIsStatic) {
  constexpr std::uint32_t kElements = 25000;
  KernelSource source;
  source.name = "reversed";
  source.text = R"(
void reversed(device const float* x, device float* y, threadgroup float* all,
              threadgroup half* more, Ctx ctx) {
  more[ctx.tid.x] = half(1.0f);
  for (uint i = ctx.tid.x; i < 25000u; i += ctx.ntid.x) all[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = ctx.tid.x; i < 25000u; i += ctx.ntid.x) {
    y[i] = all[24999u - i] * float(more[ctx.ntid.x - 1u - ctx.tid.x]);
  }
}
)";
  source.function = "reversed";
  using Kind = runtime::KernelParameter::Kind;
  source.parameters = {{Kind::read, "float", "x"},
                       {Kind::write, "float", "y"},
                       {Kind::threadgroup, "float", "all", kElements},
                       {Kind::threadgroup, "half", "more", 256}};
  ASSERT_GE(driver_->properties().large_threadgroup_memory, 4 * kElements + 512);
  const auto reversed = driver_->load(source, driver_->compile(source));
  const Argument arguments[] = {{memory_[0], kBytes, nullptr}, {memory_[1], kBytes, nullptr}};
  const Command commands[] = {{reversed.get(), {1, 1, 1}, {256, 1, 1}, arguments, 0, {}}};
  const auto graph = driver_->instantiate(commands);
  for (const bool replayed : {false, true}) {
    driver_->fill(memory_[1], 0, kBytes);
    if (replayed) {
      driver_->launch(*graph);
    } else {
      driver_->submit(commands);
    }
    std::vector<float> got(kElements);
    driver_->copy_to_host(got.data(), memory_[1], 4 * kElements);
    for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(got[i], x_[kElements - 1 - i]) << i;
  }
  source.parameters[2].count = driver_->properties().large_threadgroup_memory;
  error_of(ErrorCode::unsupported, [&] { driver_->load(source, driver_->compile(source)); });
}

// In a process of its own, which starts anew: a card that is lost stays lost.
TEST_P(CudaCards, LostAfterAnIllegalAccess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fault = [&] {
    auto commands = chain(1, 2, 1);
    arguments_[0][0].address = reinterpret_cast<Address>(std::uintptr_t{1} << 45);
    driver_->submit(commands);
    std::string first;
    try {
      driver_->wait();
      std::_Exit(1);
    } catch (const Error& error) {
      first = error.what();
    }
    std::fprintf(stderr, "%s\n", first.c_str());
    if (!contains(first, "is lost until the process ends") || !contains(first, "affine_f32")) {
      std::_Exit(2);
    }
    try {
      driver_->allocate(1);
      std::_Exit(3);
    } catch (const Error& error) {
      if (first != error.what()) std::_Exit(4);
    }
    driver_->free(memory_[0]);
    function_.reset();
    driver_.reset();  // quietly
    std::_Exit(0);
  };
  EXPECT_EXIT(fault(), testing::ExitedWithCode(0), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

std::vector<int> card_numbers() {
  std::vector<int> numbers(open_drivers().size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(All, CudaCards, testing::ValuesIn(card_numbers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaCards);

}  // namespace
}  // namespace hearth::cuda
