// Steps and caches whose evaluation failed: what is lost says why, and they can begin anew.
#include <cstdint>
#include <memory>
#include <vector>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "devices/sim/sim_driver.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/nn/attention.h"
#include "hearth/optim.h"
#include "hearth/random.h"
#include "hearth/runtime.h"
#include "runtime/device/device_spec.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

// Leaves `bytes` of memory free while it lives.
class ShortOfMemory {
 public:
  explicit ShortOfMemory(Device device, std::int64_t bytes = 1 << 20) : device_(device) {
    device.trim();
    const MemoryStatistics memory = device.memory();
    const std::int64_t arena = device.impl().driver() != nullptr ? memory.arena : 0;
    device.set_memory_limit(memory.in_use + arena + bytes);
  }
  ~ShortOfMemory() { device_.set_memory_limit(std::int64_t{4} << 30); }
  ShortOfMemory(const ShortOfMemory&) = delete;
  ShortOfMemory& operator=(const ShortOfMemory&) = delete;

 private:
  Device device_;
};

struct Pair {
  Array a, b;
  static void members(auto& self, auto&& visitor) {
    visitor("a", self.a);
    visitor("b", self.b);
  }
};

Pair pair_on(Device device) {
  return {to_device(array({1, 2, 3}, {3}, DType::f32), device).require_grad(),
          to_device(array({4, 5, 6}, {3}, DType::f32), device).require_grad()};
}

// The gradient of b needs `rows` times 12 bytes; a's does not depend on it.
Array loss_of(const Pair& pair, std::int64_t rows) {
  const Array noise = random_uniform({rows, 3}, 0, 1, DType::f32, pair.b.device());
  return sum(square(pair.a)) + mean(cumsum(noise * pair.b, 0));
}
constexpr std::int64_t kTooMany = 1 << 20;

// The parameters are lost, and all that is made of them says why.
TEST(FailedStep, OfWhatIsLostSaysWhy) {
  for (const Device device : devices_under_test()) {
    Pair pair = pair_on(device);
    optim::Adam adam;
    {
      const ShortOfMemory limit(device);
      adam.step(pair, backward(loss_of(pair, kTooMany)), 0.1);
      expect_error(ErrorCode::out_of_memory, [&] { pair.b.eval(); });
    }
    expect_error(ErrorCode::out_of_memory, [&] { (void)backward(loss_of(pair, 4)); });
    expect_error(ErrorCode::out_of_memory, [&] { (void)backward(loss_of(pair, 4) * 2.0); });
    pair = pair_on(device);
    adam.step(pair, backward(loss_of(pair, 4)), 0.1);
    EXPECT_NEAR(pair.a.to_doubles()[0], 0.9, 1e-4);
  }
}

TEST(FailedStep, GradientsFailFirstThatAreEvaluatedFirst) {
  for (const Device device : devices_under_test()) {
    Pair pair = pair_on(device);
    optim::Adam adam;
    adam.step(pair, backward(loss_of(pair, 4)), 0.1);
    const Values a = pair.a.to_doubles(), b = pair.b.to_doubles();
    {
      const ShortOfMemory limit(device);
      const Gradients gradients = backward(loss_of(pair, kTooMany));
      std::vector<Array> all;
      for (const auto& [id, gradient] : gradients) all.push_back(gradient);
      expect_error(ErrorCode::out_of_memory, [&] { eval(all); });
    }
    EXPECT_EQ(pair.a.to_doubles(), a);
    EXPECT_EQ(pair.b.to_doubles(), b);
    EXPECT_EQ(adam.steps(), 1);
    adam.step(pair, backward(loss_of(pair, 4)), 0.1);
    EXPECT_LT(pair.a.to_doubles()[0], a[0]);
  }
}

TEST(FailedStep, BackwardPassesTheErrorOn) {
  for (const Device device : devices_under_test()) {
    const Pair pair = pair_on(device);
    const ShortOfMemory limit(device);
    const Array loss = loss_of(pair, kTooMany);
    expect_error(ErrorCode::out_of_memory, [&] { (void)loss.item(); });
    expect_error(ErrorCode::out_of_memory, [&] { (void)backward(loss); });
    expect_error(ErrorCode::out_of_memory, [&] { (void)backward(loss * 2.0); });
  }
}

TEST(FailedCache, ClearBeginsAnew) {
  for (const Device device : devices_under_test()) {
    const auto rows = [&](double value, std::int64_t count) {
      return Tensor<4>(full({1, 1, count, 2}, value, DType::f32, device));
    };
    const auto big = [&] {  // one row, made of what there is no room for
      const Array noise = random_uniform({kTooMany, 2}, 0, 1, DType::f32, device);
      return Tensor<4>(reshape(mean(cumsum(noise, 0), {0}), {1, 1, 1, 2}));
    };
    nn::KvCache cache(1, 1, 8, 2, DType::f32, device);
    cache.append(rows(1, 2), rows(-1, 2));
    eval(std::vector<Array>{cache.keys.array(), cache.values.array()});
    {
      const ShortOfMemory limit(device);
      cache.append(big(), big());
      expect_error(ErrorCode::out_of_memory, [&] { cache.keys.array().eval(); });
    }
    cache.append(rows(7, 1), rows(7, 1));
    expect_error(ErrorCode::out_of_memory, [&] { cache.values.array().eval(); });
    cache.clear();
    EXPECT_EQ(cache.length, 0);
    cache.append(rows(5, 1), rows(-5, 1));
    EXPECT_EQ(narrow(cache.values.array(), 2, 0, 1).to_doubles(), (Values{-5, -5}));
    cache.clear();
    EXPECT_EQ(cache.length, 0);
    EXPECT_EQ(narrow(cache.values.array(), 2, 0, 1).to_doubles(), (Values{-5, -5})) << "kept";
    {
      const ShortOfMemory limit(device);
      cache.append(big(), big());
      cache.clear();  // before anything says that there is no room
    }
    cache.append(rows(3, 1), rows(-3, 1));
    EXPECT_EQ(narrow(cache.keys.array(), 2, 0, 1).to_doubles(), (Values{3, 3}));
  }
}

class CountsWaits final : public sim::SimDriver {
 public:
  void wait() override {
    ++waits;
    sim::SimDriver::wait();
  }
  int waits = 0;
};

TEST(FailedCache, ClearWaitsForNothing) {
  auto owned = std::make_unique<CountsWaits>();
  CountsWaits& driver = *owned;
  const Device device(new gpu::GpuDevice("sim", 7, std::move(owned)));  // as long as the process
  const auto row = [&](double value) {
    return Tensor<4>(full({1, 1, 1, 2}, value, DType::f32, device));
  };
  nn::KvCache cache(1, 1, 8, 2, DType::f32, device);
  cache.append(row(1), row(-1));
  eval(std::vector<Array>{cache.keys.array(), cache.values.array()});
  const void* const keys = cache.keys.array().identity();
  int waits = driver.waits;
  cache.clear();
  EXPECT_EQ(driver.waits, waits);
  EXPECT_EQ(cache.keys.array().identity(), keys);
  // Nor for what is still to be computed.
  cache.append(row(2), row(-2));
  waits = driver.waits;
  cache.clear();
  EXPECT_EQ(driver.waits, waits);
  cache.append(row(3), row(-3));
  EXPECT_EQ(narrow(cache.values.array(), 2, 0, 1).to_doubles(), (Values{-3, -3}));
  nn::KvCache().clear();
}

}  // namespace
}  // namespace hearth
