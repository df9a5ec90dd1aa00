// What happens when a kernel faults: the card is lost, the process is not, and whoever asks is told
// which kernels ran.
#include <gtest/gtest.h>

#include "devices/cuda/fake_card.h"

namespace hearth::cuda {
namespace {

using runtime::Command;

class CudaFault : public FakeCard {
 protected:
  void SetUp() override {
    FakeCard::SetUp();
    for (const char* kernel_name : {"scale", "norm", "add"}) kernel(kernel_name, 0);
    for (const auto& function : kernels_) {
      commands_.push_back({function.get(), {1, 1, 1}, {32, 1, 1}, {}, 0, {}});
    }
    is_lost_ = true;
  }

  static constexpr const char* kLost =
      "cuda: Fake 0 is lost until the process ends; got CUDA_ERROR_ILLEGAL_ADDRESS (an illegal "
      "memory access was encountered) from ";

  // Every call answers with the same error from now on, and none reaches the card.
  void expect_lost(const std::string& message) {
    EXPECT_EQ(message.rfind(kLost, 0), 0u) << message;
    const auto same = [&](auto call) { EXPECT_EQ(error_of(ErrorCode::device, call), message); };
    std::uint32_t value = 0;
    const int launches = fake_->calls["cuLaunchKernel"];
    same([&] { driver_->wait(); });
    same([&] { driver_->allocate(1); });
    same([&] { driver_->submit(commands_); });
    same([&] { driver_->copy_to_device(nullptr, &value, 4); });
    same([&] { driver_->copy_to_host(&value, nullptr, 4); });
    same([&] { driver_->fill(nullptr, 0, 4); });
    same([&] { driver_->instantiate(commands_); });
    same([&] { driver_->time(commands_); });
    EXPECT_EQ(fake_->calls["cuLaunchKernel"], launches);
    EXPECT_EQ(driver_->properties().name, "Fake 0");
  }

  std::vector<Command> commands_;
};

TEST_F(CudaFault, IsThrownByWaitWithTheNamesOfTheKernels) {
  fake_->illegal_at_kernel = 2;
  driver_->submit(commands_);
  const std::string message = error_of(ErrorCode::device, [&] { driver_->wait(); });
  EXPECT_TRUE(contains(message,
                       "cuStreamSynchronize after 3 launches since the last wait, last scale, "
                       "norm, add, expected success"))
      << message;
  expect_lost(message);
}

TEST_F(CudaFault, NamesOnlyWhatRanSinceTheLastWait) {
  driver_->submit(commands_);
  driver_->wait();
  fake_->illegal_at_kernel = 4;
  driver_->submit(std::span(commands_).subspan(1, 1));
  const std::string message = error_of(ErrorCode::device, [&] { driver_->wait(); });
  EXPECT_TRUE(contains(message, "after 1 launch since the last wait, last norm,")) << message;
}

TEST_F(CudaFault, IsThrownByACopyToTheHost) {
  const Address address = driver_->allocate(4);
  fake_->illegal_at_kernel = 1;
  driver_->submit(commands_);
  std::uint32_t value = 0;
  const std::string message =
      error_of(ErrorCode::device, [&] { driver_->copy_to_host(&value, address, 4); });
  expect_lost(message);
  driver_->free(address);  // says nothing
}

TEST_F(CudaFault, InAGraph) {
  const auto executable = driver_->instantiate(commands_);
  fake_->illegal_at_kernel = 5;
  driver_->launch(*executable);
  driver_->launch(*executable);
  const std::string message = error_of(ErrorCode::device, [&] { driver_->wait(); });
  EXPECT_TRUE(contains(message, "after 6 launches since the last wait, last add, scale, norm, add"))
      << message;
  expect_lost(message);
  EXPECT_EQ(error_of(ErrorCode::device, [&] { driver_->launch(*executable); }), message);
  EXPECT_EQ(error_of(ErrorCode::device, [&] { driver_->update(*executable, commands_); }), message);
}

TEST_F(CudaFault, FoundByFreeIsThrownByTheNextCall) {
  const Address address = driver_->allocate(4);
  fake_->illegal_at_kernel = 1;
  driver_->submit(commands_);
  driver_->free(address);
  expect_lost(error_of(ErrorCode::device, [&] { driver_->wait(); }));
}

TEST_F(CudaFault, FoundByTheDestructorsIsQuiet) {
  fake_->illegal_at_kernel = 1;
  driver_->submit(commands_);
  kernels_.clear();
  driver_.reset();
}

TEST_F(CudaFault, OfMemoryThatWasFreed) {
  const Address address = driver_->allocate(64);
  driver_->free(address);
  driver_->fill(address, 1, 64);
  expect_lost(error_of(ErrorCode::device, [&] { driver_->wait(); }));
}

TEST_F(CudaFault, RefusedCallsAreNoFaults) {
  fake_->fail["cuMemsetD8Async"] = Result::invalid_value;
  const Address address = driver_->allocate(64);
  EXPECT_EQ(error_of(ErrorCode::device, [&] { driver_->fill(address, 1, 64); }),
            "cuda: Fake 0 refuses a call; got CUDA_ERROR_INVALID_VALUE (?) from cuMemsetD8Async, "
            "expected success");
  driver_->fill(address, 1, 64);
  driver_->wait();
  driver_->free(address);
  is_lost_ = false;
}

}  // namespace
}  // namespace hearth::cuda
