// Training steps on the simulator.
#include <gtest/gtest.h>

#include <deque>

#include <cmath>

#include "devices/gpu/gpu_device.h"
#include "devices/sim/sim_driver.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "models/transformer.h"

namespace hearth {
namespace {

template <class T>
Array moved(const Array& x, Device device) {
  return Array::from_data(x.to_vector<T>(), x.shape(), device);
}

class Training {
 public:
  explicit Training(Device device) : device_(device), tokens_(draw(4)), targets_(draw(5)) {
    models::TransformerConfig config;
    config.vocabulary = 13;
    config.dim = 16;
    config.layers = 2;
    config.heads = 2;
    config.context = 8;
    Generator generator{9, 0};
    model_ = models::Transformer(config, DType::f32, Device::cpu(), &generator);
    visit(model_, [&](const std::string&, Array& parameter) {
      parameter = moved<float>(parameter, device).require_grad();
    });
  }
  double step() {
    loss_ = model_.loss(tokens_, targets_);
    optimizer_.step(model_, backward(loss_), 1e-2);
    return loss_.item();
  }
  // Another batch, as a loop over a text has it: the old one goes when the new one is there.
  void next_batch(std::uint64_t seed) {
    tokens_ = draw(2 * seed);
    targets_ = draw(2 * seed + 1);
  }
  double held_out_loss(std::uint64_t seed) const {
    const NoGrad no_grad;
    return model_.loss(draw(2 * seed), draw(2 * seed + 1)).item();
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    visit(model_, [&](const std::string&, const Array& parameter) {
      all.push_back(parameter.to_vector<float>());
    });
    return all;
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
  Array loss_;  // held until the next step, as a training loop holds it
  models::Transformer model_;
  optim::AdamW optimizer_{{.weight_decay = 0.01}};
};

// Memory that is freed is handed out again, as on a card.
std::unique_ptr<gpu::GpuDevice> recycling_device(const sim::SimOptions& options) {
  return std::make_unique<gpu::GpuDevice>("sim", 1, std::make_unique<sim::SimDriver>(options));
}

// Values of the parameters after some steps.
std::vector<std::vector<float>> trained(Device device, int steps) {
  Training training(device);
  for (int i = 0; i < steps; ++i) training.step();
  return training.values();
}

TEST(SimTraining, UpdatesInPlaceAndIsReplayed) {
  static gpu::GpuDevice* const sim = recycling_device({.check = false}).release();
  Training training{Device(sim)};
  for (int i = 0; i < 6; ++i) training.step();
  const gpu::ReplayStatistics before = sim->replays();
  for (int i = 0; i < 3; ++i) training.step();
  EXPECT_EQ(sim->replays().encoded, before.encoded);
  EXPECT_EQ(sim->replays().updated, before.updated);
  EXPECT_EQ(sim->replays().instantiated, before.instantiated);
}

// New batches lie where old ones lay, so that steps are replayed whatever is computed in between.
TEST(SimTraining, FreshBatchesAreReplayed) {
  static gpu::GpuDevice* const sim = recycling_device({.check = false}).release();
  Training training{Device(sim)};
  const auto epoch = [&](std::uint64_t first) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      training.next_batch(first + i);
      training.step();
    }
    training.held_out_loss(first);
    training.held_out_loss(first + 1);
  };
  // Until then each address that comes round has its executable, at most four a plan.
  for (const std::uint64_t first : {10, 20, 30, 40}) epoch(first);
  const gpu::ReplayStatistics before = sim->replays();
  epoch(50);
  epoch(60);
  EXPECT_EQ(sim->replays().encoded, before.encoded);
  EXPECT_EQ(sim->replays().updated, before.updated);
  EXPECT_EQ(sim->replays().instantiated, before.instantiated);
}

TEST(SimTraining, MergedLaunchesDoTheSame) {
  static gpu::GpuDevice* const merging = recycling_device({.check = false}).release();
  static gpu::GpuDevice* const plain =
      recycling_device({.check = false, .argument_bytes = 0}).release();
  EXPECT_EQ(trained(Device(merging), 5), trained(Device(plain), 5));
  EXPECT_GT(merging->replays().merged, 20);
  EXPECT_EQ(plain->replays().merged, 0);
}

TEST(SimTraining, MergedLaunchesDoNotRace) {
  static gpu::GpuDevice* const checked = recycling_device({.check = true}).release();
  Training training{Device(checked)};
  for (int i = 0; i < 4; ++i) EXPECT_NO_THROW(training.step());
  EXPECT_GT(checked->replays().merged, 20);
}

// Arrays of many sizes, so that members differ in threads, threadgroups and tails.
TEST(SimTraining, MergedUpdatesDoNotRace) {
  static gpu::GpuDevice* const checked =
      recycling_device({.schedule = {sim::Order::shuffled, 7}, .check = true}).release();
  const Device device(checked);
  Generator source{3, 0};
  std::deque<Array> values;
  std::vector<Parameter> parameters;
  Gradients gradients;
  for (const std::int64_t size : {2, 3, 64, 70000, 1023, 40001, 256, 5, 9000}) {
    const Array value = random_normal({size}, 0, 1, DType::f32, Device::cpu(), &source);
    values.push_back(moved<float>(value, device).require_grad());
    parameters.push_back({"array" + std::to_string(size), &values.back()});
    gradients.set(values.back(), moved<float>(value, device));
  }
  optim::AdamW optimizer({.weight_decay = 0.01});
  for (int i = 0; i < 5; ++i) {
    optimizer.step(parameters, gradients, 1e-2);
    EXPECT_NO_THROW(device.synchronize());
  }
  EXPECT_GT(checked->replays().instantiated, 0);
  EXPECT_EQ(checked->replays().merged, 8 * checked->replays().instantiated) << "one launch each";
}

}  // namespace
}  // namespace hearth
