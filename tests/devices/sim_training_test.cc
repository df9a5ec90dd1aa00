// Training steps on the simulator.
#include <gtest/gtest.h>

#include <cmath>

#include "devices/gpu/gpu_device.h"
#include "devices/gpu/op_kernels.h"
#include "devices/sim/sim_driver.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "models/gpt2.h"

namespace hearth {
namespace {

template <class T>
Array moved(const Array& x, Device device) {
  return Array::from_data(x.to_vector<T>(), x.shape(), device);
}

class Training {
 public:
  Training(Device device, DType compute) : device_(device), tokens_(draw(4)), targets_(draw(5)) {
    models::Gpt2Config config;
    config.vocabulary = 13;
    config.dim = 16;
    config.layers = 2;
    config.heads = 2;
    config.context = 8;
    Generator generator{9, 0};
    model_ = models::Gpt2(config, compute, Device::cpu(), &generator);
    visit(model_, [&](const std::string&, Array& parameter) {
      parameter = moved<float>(parameter, device).require_grad();
    });
  }
  double step() {
    const Array loss = model_.loss(tokens_, targets_);
    optimizer_.step(model_, backward(loss), 1e-2);
    return loss.item();
  }

 private:
  Array draw(std::uint64_t seed) const {
    Generator source{seed, 0};
    return moved<std::int32_t>(random_integers({2, 8}, 0, 13, DType::i32, Device::cpu(), &source),
                               device_);
  }

  Device device_;
  Array tokens_;
  Array targets_;
  models::Gpt2 model_;
  optim::AdamW optimizer_{{.weight_decay = 0.01}};
};

// Memory that is freed is handed out again, as on a card.
gpu::GpuDevice& recycling_device() {
  static auto* const device = [] {
    sim::SimOptions options;
    options.check = false;
    return new gpu::GpuDevice("sim", 1, std::make_unique<sim::SimDriver>(options),
                              gpu::gpu_kernel_table());
  }();
  return *device;
}

TEST(SimTraining, UpdatesInPlaceAndIsReplayed) {
  gpu::GpuDevice& sim = recycling_device();
  Training training(Device(&sim), DType::f32);
  for (int i = 0; i < 6; ++i) training.step();
  const gpu::ReplayStatistics before = sim.replays();
  for (int i = 0; i < 3; ++i) training.step();
  EXPECT_EQ(sim.replays().encoded, before.encoded);
  EXPECT_EQ(sim.replays().updated, before.updated);
  EXPECT_EQ(sim.replays().instantiated, before.instantiated);
}

}  // namespace
}  // namespace hearth
