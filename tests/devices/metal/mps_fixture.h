// Calls of MPSGraph on the Metal double: operands within one buffer, at any offset.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include "devices/element.h"
#include "devices/metal/metal_fixture.h"
#include "runtime/compile/kernel_cache.h"
#include "runtime/tune/autotuner.h"

namespace hearth::metal {

class MpsTest : public MetalDriverTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    MetalDriverTest::open("", MpsUse::measured);
    ASSERT_TRUE(driver_->libraries().matmul.exists);
    memory_ = driver_->allocate(kBytes);
  }
  void TearDown() override {
    calls_.clear();
    driver_->free(memory_);
    MetalDriverTest::TearDown();
  }

  // Numbers of a call's parameter, `first` elements after where the others end.
  struct Numbers {
    DType dtype;
    std::int64_t offset;  // bytes, in the buffer
    std::int64_t count;
  };
  Numbers add(DType dtype, std::int64_t count, std::int64_t first = 0) {
    const Numbers made{dtype, end_ + first * size_of(dtype), count};
    end_ = (made.offset + count * size_of(dtype) + 15) / 16 * 16;
    EXPECT_LE(end_, kBytes);
    return made;
  }
  // Random ones, as the host sees them afterwards.
  std::vector<double> fill(const Numbers& numbers) {
    std::uniform_real_distribution<double> spread(-1, 1);
    std::vector<double> values;
    for (std::int64_t i = 0; i < numbers.count; ++i) {
      cpu::set_element(memory_ + numbers.offset, i, numbers.dtype, spread(random_));
      values.push_back(at(numbers, i));
    }
    return values;
  }
  void poison(const Numbers& numbers) {
    for (std::int64_t i = 0; i < numbers.count; ++i) {
      cpu::set_element(memory_ + numbers.offset, i, numbers.dtype,
                       std::numeric_limits<double>::quiet_NaN());
    }
  }
  double at(const Numbers& numbers, std::int64_t i) const {
    return cpu::get_element(memory_ + numbers.offset, i, numbers.dtype);
  }
  runtime::Argument argument(const Numbers& numbers) const {
    return {memory_ + numbers.offset, numbers.count * size_of(numbers.dtype)};
  }

  const runtime::Function& function(const runtime::LibraryCall& call) {
    static runtime::Autotuner tuner([] { return runtime::TuningFile("", "", ""); }, false);
    calls_.push_back(driver_->library_function(call, tuner));
    return *calls_.back();
  }
  void run(const runtime::LibraryCall& call, const std::vector<runtime::Argument>& arguments) {
    const runtime::Command command{&function(call), {1}, {32}, arguments, 0, {}};
    driver_->submit({&command, 1});
    driver_->wait();
  }
  int calls(const char* selector) { return double_->calls[selector]; }

  // How far a result may be off that sums `terms` products below 1 in f32.
  static double tolerance(DType dtype, std::int64_t terms, double value) {
    const double unit = dtype == DType::f32   ? 0
                        : dtype == DType::f16 ? std::ldexp(1, -11)
                                              : std::ldexp(1, -8);
    return 1e-6 * static_cast<double>(terms + 1) + 1.01 * unit * std::fabs(value) +
           (dtype == DType::f16 ? 1e-7 : 0);
  }

  static constexpr std::int64_t kBytes = std::int64_t{1} << 20;
  std::mt19937 random_{std::random_device()()};
  Address memory_ = nullptr;
  std::int64_t end_ = 0;
  std::vector<std::unique_ptr<runtime::Function>> calls_;
};

}  // namespace hearth::metal
