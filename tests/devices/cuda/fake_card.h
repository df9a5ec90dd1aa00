// A CudaDriver on the fake driver library, and kernels for it.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/cuda/driver/cuda_driver.h"
#include "error_text.h"
#include "hearth/error.h"
#include "machines/cuda_fake/fake_cuda.h"

namespace hearth::cuda {

// Where tests/cmake/CudaTests.cmake builds the fake libraries.
inline const std::string kFakeFolder = HEARTH_FAKE_CUDA "/current";
inline const std::string kOldFakeFolder = HEARTH_FAKE_CUDA "/old";

// Nothing but these folders.
inline Places only(const std::string& folders) {
  Places places;
  places.hearth_path = folders;
  places.system = false;
  return places;
}

// The environment that the tests install into, where NVRTC is one of the packages.
inline std::string test_environment() {
  const char* source = std::getenv("HEARTH_SOURCE_DIR");
  return source == nullptr ? HEARTH_SOURCE "/.venv" : std::string(source) + "/.venv";
}

using check::contains;
using check::error_of;

inline bool any_contains(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (contains(line, part)) return true;
  }
  return false;
}

inline fake::FakeCuda* open_fake(const std::string& folder) {
  void* library = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<fake::Access>(dlsym(library, fake::kAccess))();
}

class FakeCard : public testing::Test {
 protected:
  void SetUp() override {
    fake_ = open_fake(kFakeFolder);
    ASSERT_NE(fake_, nullptr) << dlerror();
    fake_->reset();
    std::vector<std::string> notes;
    api_ = open_driver_api(only(kFakeFolder), notes);
    ASSERT_NE(api_, nullptr) << notes.back();
    driver_ = std::make_unique<CudaDriver>(api_, 0, nullptr);
  }
  // Whatever a test did, all is given back; tests of lost cards say otherwise.
  void TearDown() override {
    if (fake_ == nullptr) return;
    kernels_.clear();
    driver_.reset();
    EXPECT_EQ(fake_->misuse, std::vector<std::string>{});
    if (!is_lost_) {
      EXPECT_EQ(fake_->live(), 0);
    }
    fake_->reset();
  }

  // A kernel of `buffers` arrays and a constant of `constant_bytes` bytes, if any.
  const runtime::Function& kernel(const std::string& kernel_name, int buffers,
                                  int constant_bytes = 0) {
    runtime::KernelSource source;
    source.name = kernel_name;
    std::vector<int> bytes;
    for (int i = 0; i < buffers; ++i) {
      source.parameters.push_back(
          {runtime::KernelParameter::Kind::read_write, "float", "x" + std::to_string(i), 0});
      bytes.push_back(8);
    }
    // One in the middle of the list, which takes no argument.
    source.parameters.push_back({runtime::KernelParameter::Kind::threadgroup, "float", "t", 32});
    if (constant_bytes > 0) {
      source.parameters.push_back({runtime::KernelParameter::Kind::constant, "P", "p", 0});
      bytes.push_back(constant_bytes);
    }
    const std::string text = fake::image_text(kernel_name, bytes);
    kernels_.push_back(
        driver_->load(source, {reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1}));
    return *kernels_.back();
  }

  std::uint32_t word(Address address) {
    std::uint32_t value = 0;
    driver_->copy_to_host(&value, address, sizeof value);
    return value;
  }

  fake::FakeCuda* fake_ = nullptr;
  std::shared_ptr<const DriverApi> api_;
  std::unique_ptr<CudaDriver> driver_;
  std::vector<std::unique_ptr<runtime::Function>> kernels_;
  bool is_lost_ = false;
};

}  // namespace hearth::cuda
