// Arrays of C in tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hearth/c_api.h"

namespace hearth::c_api::testing {

// Releases what it names.
struct Held {
  hearth_array handle = {0};
  Held() = default;
  explicit Held(hearth_array array) : handle(array) {}
  Held(Held&& other) noexcept : handle(other.handle) { other.handle = {0}; }
  Held& operator=(Held&& other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Held() { EXPECT_EQ(hearth_array_release(handle), HEARTH_OK) << hearth_error_message(); }
};

// The CPU is the default device while one lives: for what drivers of GPUs decide by themselves.
class OnCpu {
 public:
  OnCpu() {
    hearth_device cpu = -1;
    EXPECT_EQ(hearth_device_default(&before_), HEARTH_OK) << hearth_error_message();
    EXPECT_EQ(hearth_device_named("cpu", &cpu), HEARTH_OK) << hearth_error_message();
    EXPECT_EQ(hearth_device_set_default(cpu), HEARTH_OK) << hearth_error_message();
  }
  ~OnCpu() { EXPECT_EQ(hearth_device_set_default(before_), HEARTH_OK); }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  hearth_device before_ = -1;
};

inline Held floats(const std::vector<float>& values, const std::vector<std::int64_t>& shape) {
  hearth_array array = {0};
  EXPECT_EQ(hearth_array_from_bytes(values.data(), values.size() * sizeof(float), HEARTH_F32,
                                    shape.data(), shape.size(), HEARTH_DEFAULT_DEVICE, &array),
            HEARTH_OK)
      << hearth_error_message();
  return Held(array);
}

inline std::vector<float> values_of(const Held& array) {
  hearth_array_info info = {};
  EXPECT_EQ(hearth_array_describe(array.handle, &info), HEARTH_OK) << hearth_error_message();
  std::size_t count = 1;
  for (int i = 0; i < info.rank; ++i) count *= static_cast<std::size_t>(info.shape[i]);
  std::vector<float> values(count, -12345);
  EXPECT_EQ(hearth_array_read(array.handle, values.data(), count * sizeof(float)), HEARTH_OK)
      << hearth_error_message();
  return values;
}

inline hearth_device device_of(const Held& array) {
  hearth_array_info info = {};
  EXPECT_EQ(hearth_array_describe(array.handle, &info), HEARTH_OK) << hearth_error_message();
  return info.device;
}

inline std::int64_t statistic(const char* name, hearth_device device = HEARTH_DEFAULT_DEVICE) {
  std::int64_t value = -1;
  EXPECT_EQ(hearth_statistic(device, name, &value), HEARTH_OK) << hearth_error_message();
  return value;
}

// A function of one result.
inline Held apply(const char* name, const std::vector<hearth_value>& inputs,
                  const std::vector<hearth_parameter>& parameters = {}) {
  hearth_array result = {0};
  EXPECT_EQ(hearth_apply(hearth_function_named(name), inputs.data(), inputs.size(),
                         parameters.data(), parameters.size(), &result, nullptr, 1, nullptr),
            HEARTH_OK)
      << hearth_error_message();
  return Held(result);
}

// The call fails with `status` and a message that contains `part`.
inline void expect_refused(hearth_status got, hearth_status status, const std::string& part) {
  EXPECT_EQ(got, status) << hearth_error_message();
  EXPECT_NE(std::string(hearth_error_message()).find(part), std::string::npos)
      << hearth_error_message();
}

}  // namespace hearth::c_api::testing
