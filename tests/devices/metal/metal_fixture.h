// A MetalDriver on the Metal double, whose kernels run on the checking simulator.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/metal/objc/objc.h"
#include "devices/metal/register.h"
#include "error_text.h"
#include "hearth/error.h"
#include "machines/metal_host/simulated_gpu.h"
#include "runtime/commands/command_batch.h"

namespace hearth::metal {

using check::contains;
using check::error_of;

inline std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

class MetalDoubleTest : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;
  using Live = std::map<std::string, int>;

  void SetUp() override {
    double_ = open_double(HEARTH_METAL_DOUBLE, true);
    ASSERT_NE(double_, nullptr);
    double_->reset();
    before_ = double_->live();
  }
  // Whatever a test did, all is given back and nothing was wrong.
  void TearDown() override {
    EXPECT_EQ(double_->faults, Lines());
    EXPECT_EQ(double_->live(), before_);
    double_->reset();
  }
  // What was wrong, which is then forgotten.
  Lines take_faults() { return std::exchange(double_->faults, {}); }

  fake::MetalDouble* double_ = nullptr;
  Live before_;  // objects of devices that stay
};

class MetalDriverTest : public MetalDoubleTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    open();
  }
  void TearDown() override {
    kernels_.clear();
    driver_.reset();
    MetalDoubleTest::TearDown();
  }
  void open(const std::string& capture = "", MpsUse mpsgraph = MpsUse::off) {
    gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE, capture, mpsgraph);
    ASSERT_EQ(found.drivers.size(), 1u) << joined(found.notes);
    driver_ = std::move(found.drivers[0]);
    double_->calls.clear();
  }

  const runtime::Function& kernel(const runtime::KernelSource& source) {
    kernels_.push_back(driver_->load(source, driver_->compile(source)));
    return *kernels_.back();
  }
  template <class T>
  Address upload(const std::vector<T>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    const Address address = driver_->allocate(bytes);
    driver_->copy_to_device(address, values.data(), bytes);
    return address;
  }
  template <class T>
  std::vector<T> download(Address address, std::size_t count) {
    std::vector<T> values(count);
    driver_->copy_to_host(values.data(), address, static_cast<std::int64_t>(count * sizeof(T)));
    return values;
  }

  std::unique_ptr<runtime::Driver> driver_;
  std::vector<std::unique_ptr<runtime::Function>> kernels_;
};

using Kind = runtime::KernelParameter::Kind;

// y = x * factor + y of 32 elements, in one threadgroup.
struct AxpyParams {
  float factor;
  std::uint32_t count;
};
inline runtime::KernelSource axpy_source(const std::string& name = "axpy") {
  return {name,
          R"(
struct AxpyParams {
  float factor;
  uint count;
};
void add_scaled(device const float* x, device float* y, constant AxpyParams& p, Ctx ctx) {
  uint i = ctx.gid.x;
  if (i < p.count) y[i] = x[i] * p.factor + y[i];
}
)",
          "add_scaled",
          {{Kind::read, "float", "x"},
           {Kind::read_write, "float", "y"},
           {Kind::constant, "AxpyParams", "p"}}};
}

}  // namespace hearth::metal
