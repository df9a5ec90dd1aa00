// Several cards in one process: what is told apart by card, and what threads see of it.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "devices/cuda/affine_kernel.h"
#include "devices/cuda/madd_card.h"
#include "devices/cuda/register.h"
#include "hearth/ops.h"
#include "hearth/runtime.h"
#include "runtime/compile/kernel_registry.h"
#include "runtime/device/device_spec.h"

namespace hearth::cuda {
namespace {

using runtime::Argument;
using runtime::Command;

class SeveralCards : public MaddCard {
 protected:
  void SetUp() override {
    MaddCard::SetUp();
    fake_->cards = 2;
    second_ = std::make_unique<CudaDriver>(api_, 1, nullptr);
  }
  void TearDown() override {
    second_.reset();
    MaddCard::TearDown();
  }
  std::unique_ptr<CudaDriver> second_;
};

// x = x * 2 + 1, `times` times.
std::uint32_t run_chain(runtime::Driver& driver, int length) {
  runtime::KernelSource source;
  source.name = "madd";
  for (const char* name : {"x", "y"}) {
    source.parameters.push_back({runtime::KernelParameter::Kind::read_write, "float", name});
  }
  source.parameters.push_back({runtime::KernelParameter::Kind::constant, "P", "p"});
  const std::string text = fake::image_text("madd", {8, 8, sizeof(Constant)});
  const auto madd =
      driver.load(source, {reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1});
  const Address address = driver.allocate(4);
  std::uint32_t value = 1;
  driver.copy_to_device(address, &value, 4);
  const Constant constants{1, 2};
  const Argument arguments[] = {buffer(address), buffer(address), constant(constants)};
  const Command commands[] = {{madd.get(), {1, 1, 1}, {32, 1, 1}, arguments, 0, {}}};
  for (int i = 0; i < length; ++i) driver.submit(commands);
  driver.copy_to_host(&value, address, 4);
  driver.free(address);
  return value;
}

TEST_F(SeveralCards, HaveAContextAndAQueueEach) {
  EXPECT_EQ(driver_->properties().name, "Fake 0");
  EXPECT_EQ(second_->properties().name, "Fake 1");
  EXPECT_EQ(run_chain(*driver_, 3), 15u);
  EXPECT_EQ(fake_->calls["cuDevicePrimaryCtxRetain"], 1);
  EXPECT_EQ(run_chain(*second_, 4), 31u);
  EXPECT_EQ(fake_->calls["cuDevicePrimaryCtxRetain"], 2);
  EXPECT_EQ(fake_->calls["cuStreamCreate"], 2);
  EXPECT_EQ(fake_->calls["cuCtxPushCurrent_v2"], fake_->calls["cuCtxPopCurrent_v2"]);
}

// The fake notes memory, queues and modules that are used under the other card's context.
TEST_F(SeveralCards, CanBeUsedByTurns) {
  const Address a = allocate_word(5);
  const Address b = second_->allocate(4);
  const std::uint32_t seven = 7;
  second_->copy_to_device(b, &seven, 4);
  driver_->fill(a, 1, 1);
  std::uint32_t value = 0;
  second_->copy_to_host(&value, b, 4);
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(word(a), 1u);
  driver_->free(a);
  second_->free(b);
  EXPECT_EQ(fake_->misuse, std::vector<std::string>{});
  // What it is for: the wrong card.
  const Address c = driver_->allocate(4);
  EXPECT_THROW(second_->copy_to_device(c, &seven, 4), Error);
  EXPECT_FALSE(fake_->misuse.empty());
  fake_->misuse.clear();
  driver_->free(c);
}

// Of the machine: one case for each card after the first, none where there is one.
class SeveralCudaCards : public testing::TestWithParam<int> {
 protected:
  Device first = Device::named("cuda:0");
  Device second = Device::named("cuda:" + std::to_string(GetParam()));
};

std::vector<float> ramp(std::size_t count, float begin) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), begin);
  return values;
}

std::vector<float> roots(const std::vector<float>& values) {
  std::vector<float> made;
  for (const float value : values) made.push_back(std::sqrt(value * value + 1));
  return made;
}

std::vector<float> computed(const std::vector<float>& values, Device device) {
  const Array x = Array::from_data(values, {static_cast<std::int64_t>(values.size())}, device);
  const Array y = sqrt(add(mul(x, x), 1.0));
  EXPECT_EQ(y.device(), device);
  return y.to_vector<float>();
}

TEST_P(SeveralCudaCards, ComputeSideBySide) {
  EXPECT_NE(first, second);
  const std::vector<float> a = ramp(100003, 1), b = ramp(100003, 5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Device device = i % 2 == 0 ? first : second;
      const std::vector<float>& values = i < 2 ? a : b;
      for (int round = 0; round < 5; ++round) {
        const std::vector<float> got = computed(values, device), want = roots(values);
        for (std::size_t k = 0; k < got.size(); ++k) {
          ASSERT_NEAR(got[k], want[k], 1e-6f * want[k]) << device.name() << " " << k;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // And by turns on one thread, with both pending.
  const Array x = Array::from_data(a, {100003}, first), y = Array::from_data(b, {100003}, second);
  const Array u = mul(x, 2.0), v = mul(y, 3.0);
  EXPECT_EQ(v.to_vector<float>()[9], 3 * b[9]);
  EXPECT_EQ(u.to_vector<float>()[9], 2 * a[9]);
}

TEST_P(SeveralCudaCards, MultiplyMatrices) {
  for (const Device device : {first, second, first}) {
    const Array a = ones({64, 128}, DType::f32, device), b = ones({128, 32}, DType::f32, device);
    for (const float value : matmul(a, b).to_vector<float>()) ASSERT_EQ(value, 128.0f);
  }
}

TEST_P(SeveralCudaCards, DoNotMix) {
  const Array a = ones({8}, DType::f32, first), b = ones({8}, DType::f32, second);
  const std::string message = error_of(ErrorCode::device, [&] { add(a, b).eval(); });
  EXPECT_TRUE(contains(message, second.name())) << message;
  const auto x = runtime::Buffer::zeros(first, DType::f32, {32});
  const auto y = runtime::Buffer::zeros(second, DType::f32, {32});
  error_of(ErrorCode::device, [&] { x.copy_from(y); });
  runtime::CommandEncoder encoder(first);
  const runtime::Kernel kernel(first, affine());
  const AffineParams p{32, 1, 0};
  error_of(ErrorCode::device,
           [&] { encoder.dispatch(kernel, {1}, {32}, {x, y, runtime::constant(p)}); });
  error_of(ErrorCode::device, [&] {
    encoder.dispatch(runtime::Kernel(second, affine()), {1}, {32}, {x, x, runtime::constant(p)});
  });
}

TEST_P(SeveralCudaCards, KeepKernelsEach) {
  const runtime::Kernel one(first, affine()), other(second, affine());
  EXPECT_NE(&one.function(), &other.function());
  EXPECT_EQ(&one.function(), &runtime::Kernel(first, affine()).function());
  for (const auto& [device, kernel] : {std::pair(first, one), std::pair(second, other)}) {
    const auto x = runtime::Buffer::from_data(ramp(32, 0), device);
    const runtime::Buffer y(device, DType::f32, {32});
    runtime::CommandEncoder encoder(device);
    const AffineParams p{32, 2, 1};
    encoder.dispatch(kernel, {1}, {32}, {x, y, runtime::constant(p)});
    encoder.wait();
    EXPECT_EQ(y.to_vector<float>()[31], 63.0f);
  }
}

std::vector<int> cards_behind_the_first() {
  std::vector<int> numbers(std::max<std::size_t>(open_drivers().size(), 1) - 1);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(All, SeveralCudaCards, testing::ValuesIn(cards_behind_the_first()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SeveralCudaCards);

}  // namespace
}  // namespace hearth::cuda
