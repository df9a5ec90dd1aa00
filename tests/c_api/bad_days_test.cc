// Devices that fault and memory that runs out: each call says so, nothing waits for ever, and what
// comes later works.
#include <atomic>
#include <thread>

#include "c_api/c_arrays.h"
#include "c_api/objects.h"
#include "hearth/custom_op.h"

namespace hearth::c_api::testing {
namespace {

// An op whose kernel fails on the device, after the call that submits it.
Held faulty(const Held& x) {
  static const CustomOp op({
      .name = "test.faulty",
      .infer = [](std::span<const Array> in) { return TensorType{DType::f32, in[0].shape()}; },
      .compute = [](std::span<const HostTensor>,
                    HostTensor) { throw Error(ErrorCode::device, "faulty: got a fault"); },
      .kernel = "kernel void faulty(device const float* x, device float* y,"
                "  uint i [[thread_position_in_grid]]) {"
                "  if (x[i] > 0.5f) __builtin_trap(); y[i] = x[i]; }",
  });
  return Held(give(op({plain(x.handle, "faulty", "x")})));
}

Held on(hearth_device device, const std::vector<float>& values) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  hearth_array array = {0};
  EXPECT_EQ(hearth_array_from_bytes(values.data(), values.size() * sizeof(float), HEARTH_F32, shape,
                                    1, device, &array),
            HEARTH_OK)
      << hearth_error_message();
  return Held(array);
}

hearth_device named(const char* name) {
  hearth_device device = -1;
  EXPECT_EQ(hearth_device_named(name, &device), HEARTH_OK) << hearth_error_message();
  return device;
}

class CFaults : public ::testing::TestWithParam<const char*> {};

// Whichever way the caller waits, the fault is what it is told.
TEST_P(CFaults, AreToldToWhoeverWaits) {
  const hearth_device device = named(GetParam());
  const Held x = on(device, {1, 2, 3});
  float target[3];

  const Held now = faulty(x);
  expect_refused(hearth_array_read(now.handle, target, sizeof target), HEARTH_ERROR_DEVICE,
                 "fault");

  const Held later = faulty(x);
  hearth_read read = {0};
  ASSERT_EQ(hearth_read_start(later.handle, &read), HEARTH_OK);
  for (std::int32_t ready = 0; ready == 0;) {
    ASSERT_EQ(hearth_read_poll(read, &ready), HEARTH_OK);
  }
  expect_refused(hearth_read_finish(read, target, sizeof target), HEARTH_ERROR_DEVICE, "fault");

  const Held called = faulty(x);
  std::atomic<int> calls{0};
  const auto count = [](void* context) { ++*static_cast<std::atomic<int>*>(context); };
  ASSERT_EQ(hearth_read_start_notify(called.handle, count, &calls, &read), HEARTH_OK);
  while (calls == 0) std::this_thread::yield();
  expect_refused(hearth_read_finish(read, target, sizeof target), HEARTH_ERROR_DEVICE, "fault");
  EXPECT_EQ(calls, 1);

  const Held evaluated = faulty(x);
  const hearth_array arrays[] = {evaluated.handle};
  expect_refused(hearth_eval(arrays, 1), HEARTH_ERROR_DEVICE, "fault");
  EXPECT_EQ(hearth_device_synchronize(device), HEARTH_OK) << "it was told";

  const Held waited = faulty(x);
  expect_refused(hearth_device_synchronize(device), HEARTH_ERROR_DEVICE, "fault");
  EXPECT_EQ(hearth_device_synchronize(device), HEARTH_OK) << "it is told once";

  EXPECT_EQ(values_of(apply("add", {hearth_of_array(x.handle), hearth_of_int(1)})),
            (std::vector<float>{2, 3, 4}))
      << "the next works";
}

INSTANTIATE_TEST_SUITE_P(Devices, CFaults, ::testing::Values("cpu", "hostile", "sim"),
                         [](const auto& device) { return std::string(device.param); });

class CMemory : public ::testing::TestWithParam<const char*> {};

// y = exp(x) * 2 of a megabyte, which finds no room, and then does.
TEST_P(CMemory, RunsOutInTheMiddleOfAStep) {
  const hearth_device device = named(GetParam());
  const std::vector<float> ones(std::size_t{1} << 18, 0.0f);
  const std::size_t bytes = ones.size() * sizeof(float);
  const Held x = on(device, ones);
  ASSERT_EQ(hearth_device_synchronize(device), HEARTH_OK);
  ASSERT_EQ(hearth_device_trim(device), HEARTH_OK);
  const std::int64_t limit = statistic("memory.in_use", device) + (1 << 10);
  ASSERT_EQ(hearth_device_set_memory_limit(device, limit), HEARTH_OK);

  const auto step = [&] {
    const Held y = apply("exp", {hearth_of_array(x.handle)});
    return apply("mul", {hearth_of_array(y.handle), hearth_of_int(2)});
  };
  std::vector<float> target(ones.size());
  const Held failed = step();
  expect_refused(hearth_array_read(failed.handle, target.data(), bytes), HEARTH_ERROR_OUT_OF_MEMORY,
                 "memory");
  expect_refused(hearth_array_read(failed.handle, target.data(), bytes), HEARTH_ERROR_OUT_OF_MEMORY,
                 "memory");
  hearth_read read = {0};
  ASSERT_EQ(hearth_read_start(step().handle, &read), HEARTH_OK);
  expect_refused(hearth_read_finish(read, target.data(), bytes), HEARTH_ERROR_OUT_OF_MEMORY,
                 "memory");

  EXPECT_EQ(hearth_device_synchronize(device), HEARTH_OK) << "it was told";
  const Held untold = step();
  expect_refused(hearth_device_synchronize(device), HEARTH_ERROR_OUT_OF_MEMORY, "memory");
  EXPECT_EQ(hearth_device_synchronize(device), HEARTH_OK) << "it is told once";

  ASSERT_EQ(hearth_device_set_memory_limit(device, std::int64_t{4} << 30), HEARTH_OK);
  const std::vector<float> computed = values_of(step());
  EXPECT_EQ(computed, std::vector<float>(ones.size(), 2));
}

INSTANTIATE_TEST_SUITE_P(Devices, CMemory, ::testing::Values("cpu", "hostile", "sim"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace hearth::c_api::testing
