// Long runs: flat memory, deep graphs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "graph/counted.h"
#include "graph/effort.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "sanitizers.h"

namespace hearth::testing {
namespace {

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Parameters, momentum, a gradient by backward(), a loss that is read now and then.
void train(Device device, std::int64_t steps) {
  Array weight = mul(iota({8, 4}, device), 0.01).eval();
  Array momentum = zeros({8, 4}, DType::f32, device).eval();
  const Array batch = mul(iota({16, 8}, device), 0.02).eval();
  Array target = zeros({16, 4}, DType::f32, device).eval();
  std::int64_t in_use = 0;
  std::int64_t resident = 0;
  std::int64_t misses = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == steps / 10) {
      device.synchronize();
      in_use = device.memory().in_use;
      resident = resident_bytes();
      misses = statistics().plan_misses;
    }
    const Array leaf = weight.require_grad();
    const Array loss = mean(square(sub(tanh(matmul(batch, leaf)), target)));
    const Array gradient = backward(loss).get(leaf);
    const double rate = 0.1 / (1.0 + 0.001 * static_cast<double>(step));
    momentum = add(mul(momentum, 0.9), gradient);
    weight = sub(weight, mul(momentum, rate));
    if (step % 7 == 0) {
      EXPECT_LT(loss.item(), 10);
    } else {
      eval(std::vector<Array>{weight, momentum});
    }
  }
  device.synchronize();
  EXPECT_LE(device.memory().in_use, in_use + 4096) << device.name();
  EXPECT_LE(statistics().plan_misses - misses, 4) << device.name();
#if !HEARTH_KEEPS_FREED_MEMORY
  EXPECT_LE(resident_bytes(), resident + (std::int64_t{8} << 20)) << device.name();
#else
  static_cast<void>(resident);
#endif
}

TEST(Endurance, TrainingOnTheCpu) { train(Device::cpu(), scaled(100000)); }
TEST(Endurance, TrainingOnHostile) { train(Device::named("hostile"), scaled(5000)); }

TEST(Endurance, DeepChains) {
  const auto depth = 100000;
  Array x = iota({4});
  for (int i = 0; i < depth; ++i) x = add(x, 1.0);
  EXPECT_EQ(x.to_vector<float>()[1], depth + 1);
  for (int i = 0; i < depth; ++i) x = neg(x);
  x = Array();  // never run
}

TEST(Endurance, DeepDifferentiableChains) {
  const auto depth = 50000;
  {
    Array x = iota({4}).require_grad();
    for (int i = 0; i < depth; ++i) x = tanh(x);
    // Released without backward().
  }
  const Array leaf = full({4}, 0.5).eval().require_grad();
  Array x = leaf;
  for (int i = 0; i < depth; ++i) x = mul(x, 1.0);
  EXPECT_EQ(backward(sum(x)).get(leaf).to_vector<float>()[2], 1);
}

TEST(Endurance, ManyLiveArrays) {
  for (const Device device : devices_under_test()) {
    std::vector<Array> arrays;
    for (int i = 0; i < 20000; ++i)
      arrays.push_back(add(full({3}, 1.0, DType::f32, device), static_cast<double>(i)));
    for (std::size_t i = 0; i < arrays.size(); i += 997) {
      EXPECT_EQ(arrays[i].to_vector<float>()[2], static_cast<float>(i) + 1);
    }
  }
}

}  // namespace
}  // namespace hearth::testing
