// What a step of training and a step of generation cost in calls.
#include <cstdio>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/metal/metal_fixture.h"
#include "devices/metal/watched_driver.h"
#include "devices/sim/sim_driver.h"
#include "graph/effort.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "hearth/random.h"
#include "models/language/model/sequences.h"
#include "models/sampling/draw_tokens.h"
#include "models/sampling/sampling_state.h"
#include "models/trained_language_model.h"
#include "models/transformer.h"

namespace hearth::metal {
namespace {

constexpr char kBuffers[] = "commandBuffer";
constexpr char kEncoders[] = "computeCommandEncoderWithDispatchType:";
constexpr char kEnds[] = "endEncoding";
constexpr char kWaits[] = "waitUntilCompleted";
constexpr char kGraphs[] = "encodeToCommandBuffer:inputsArray:resultsArray:executionDescriptor:";

// The demo's is four layers deep, and wider.
models::TransformerConfig demo_model(std::int64_t layers) {
  models::TransformerConfig config;
  config.vocabulary = 256;
  config.dim = 48;
  config.layers = layers;
  config.heads = 3;
  config.kv_heads = 3;
  config.context = 32;
  return config;
}

models::Transformer make_model(Device device, std::int64_t layers = 4) {
  Generator generator{1, 0};
  return models::Transformer(demo_model(layers), DType::f32, device, &generator);
}

// As `hearth train` does it.
class Training {
 public:
  explicit Training(Device device, std::int64_t layers = 4)
      : model_(make_model(device, layers)),
        tokens_(tokens(1, device)),
        targets_(tokens(2, device)) {
    submit();
  }
  void step() {
    loss_ = model_.loss(tokens_, targets_);
    Gradients gradients = backward(loss_);
    optim::clip_by_norm(gradients, 1.0);
    optimizer_.step(model_, std::move(gradients), 1e-3);
  }
  double read_loss() const { return loss_.item(); }

 private:
  static Array tokens(std::int32_t seed, Device device) {
    std::vector<std::int32_t> values(2 * 16);
    for (std::int32_t& value : values) value = seed = (seed * 37 + 11) % 256;
    return Array::from_data(values, {2, 16}, device);
  }

  models::Transformer model_;
  optim::AdamW optimizer_{{.weight_decay = 0.1, .decay_vectors = false}};
  Array tokens_, targets_, loss_;
};

// A text that grows by a token a step.
class Writing {
 public:
  explicit Writing(Device device)
      : model_(testing::language_model_of(make_model(device), DType::f32, device)) {
    step({1, 2, 3});
  }
  void step() { step({last_}); }

 private:
  void step(const std::vector<std::int32_t>& tokens) {
    const models::SequenceRows rows{&sequence_, tokens, 1};
    const Array scores = sequences_.step({&rows, 1});
    models::SamplingState* const sampling = &sampling_;
    last_ = models::draw_tokens(scores, {&sampling, 1}).front().token;
    sampling_.accept(last_);
  }

  models::LanguageModel model_;
  models::Sequences sequences_{model_, {.pages = 8, .page_size = 4}};
  models::Sequence sequence_ = sequences_.begin();
  models::SamplingState sampling_{{}, 256};
  std::int32_t last_ = 0;
};

// Devices stay as long as the process, since plans that they ran are kept.
struct WatchedGpu {
  WatchedDriver* driver = nullptr;
  gpu::GpuDevice* device = nullptr;
};
WatchedGpu make_gpu(bool mpsgraph) {
  gpu::FoundDevices found =
      find_devices(HEARTH_METAL_DOUBLE, "", mpsgraph ? MpsUse::measured : MpsUse::off);
  if (found.drivers.empty()) return {};
  auto watched = std::make_unique<WatchedDriver>(std::move(found.drivers[0]));
  WatchedGpu made{watched.get(), nullptr};
  gpu::GpuOptions options;
  options.rules = mpsgraph ? "matmul=library,attention=library" : "";
  options.tunes = false;
  made.device = kept_device(new gpu::GpuDevice(mpsgraph ? "metal_mps" : "metal", mpsgraph ? 2 : 1,
                                               std::move(watched), options));
  return made;
}
// It has the same kernels, and launches take as many arguments as on CUDA.
gpu::GpuDevice* simulator() {
  static auto* const device = [] {
    auto driver =
        std::make_unique<sim::SimDriver>(sim::SimOptions{.check = false, .argument_bytes = 32764});
    return new gpu::GpuDevice("sim", 3, std::move(driver));
  }();
  return device;
}

// By kernels alone, or with MPSGraph as a library.
class MetalSteps : public MetalDoubleTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    static const WatchedGpu both[] = {make_gpu(false), make_gpu(true)};
    const WatchedGpu& watched = both[GetParam() ? 1 : 0];
    ASSERT_NE(watched.device, nullptr);
    gpu_ = watched.device;
    watched_ = watched.driver;
  }
  void TearDown() override {
    gpu_->synchronize();
    EXPECT_EQ(double_->faults, Lines());
    double_->reset();
  }

  void forget() {
    gpu_->synchronize();
    double_->calls.clear();
    double_->continued = 0;
    watched_->forget();
  }
  int calls(const char* selector) { return double_->calls[selector]; }
  int dispatches() {
    return calls("dispatchThreadgroups:threadsPerThreadgroup:") +
           calls("dispatchThreads:threadsPerThreadgroup:");
  }
  int command_buffers_used() { return calls(kBuffers) + double_->continued; }
  int barriers() {
    return calls("memoryBarrierWithScope:") + calls("memoryBarrierWithResources:count:");
  }
  // Since forget().
  void expect_counts(const char* step, int command_buffers, std::int64_t dispatches_elsewhere) {
    int merged = 0;
    for (const auto& [name, batch] : watched_->batches()) {
      std::printf("  %s: %d launches as %d\n", name.c_str(), batch.second, batch.first);
      merged += batch.second - batch.first;
    }
    RecordProperty("merged", merged);
    std::printf(
        "%s: %d command buffers, %d dispatches and %d graphs (simulator: %d, none merged: %d), %d "
        "barriers (needed: %d)\n",
        step, command_buffers_used(), dispatches(), calls(kGraphs),
        static_cast<int>(dispatches_elsewhere), dispatches() + merged, barriers(),
        watched_->needed_barriers());
    RecordProperty("command_buffers", command_buffers_used());
    RecordProperty("graphs", calls(kGraphs));
    RecordProperty("dispatches", dispatches());
    RecordProperty("barriers", barriers());
    RecordProperty("needed_barriers", watched_->needed_barriers());
    EXPECT_GT(command_buffers_used(), 0);
    EXPECT_LE(command_buffers_used(), command_buffers);
    // A graph ends an encoder, and what follows it begins one.
    EXPECT_LE(calls(kEncoders), calls(kBuffers) + calls(kGraphs));
    EXPECT_EQ(calls(kEnds), calls(kEncoders));
    EXPECT_EQ(dispatches() + calls(kGraphs), watched_->commands()) << "copies in between";
    // Batches of two axes are several graphs.
    if (!GetParam()) {
      EXPECT_LE(dispatches(), dispatches_elsewhere);
    }
    EXPECT_LE(barriers(), watched_->needed_barriers());
    // Each of the command buffers, by the final read.
    EXPECT_LE(calls(kWaits), calls(kBuffers));
  }

  WatchedDriver* watched_ = nullptr;
  gpu::GpuDevice* gpu_ = nullptr;
};

TEST_P(MetalSteps, ATrainingStepIsTwoCommandBuffersAtMost) {
  const auto launches = [](Training& training) {
    const std::int64_t before = statistics().launches;
    training.step();
    submit();
    const std::int64_t after = statistics().launches;
    training.read_loss();
    return after - before;
  };
  std::int64_t elsewhere = 0;
  {
    Training training{Device(simulator())};
    for (int i = 0; i < 4; ++i) elsewhere = launches(training);
  }
  Training training{Device(gpu_)};
  for (int i = 0; i < 3; ++i) launches(training);
  forget();
  training.step();
  submit();
  EXPECT_EQ(calls(kWaits), 0) << "before the read";
  training.read_loss();
  expect_counts("training step", 2, elsewhere);
  EXPECT_FALSE(watched_->batches().empty());
  EXPECT_EQ(calls(kGraphs) > 0, GetParam());
}

TEST_P(MetalSteps, AStepOfGenerationIsOneCommandBuffer) {
  std::int64_t elsewhere = 0;
  {
    Writing writing{Device(simulator())};
    for (int i = 0; i < 5; ++i) {
      const std::int64_t before = statistics().launches;
      writing.step();
      elsewhere = statistics().launches - before;
    }
  }
  Writing writing{Device(gpu_)};
  for (int i = 0; i < 4; ++i) writing.step();
  forget();
  writing.step();
  expect_counts("step of generation", 1, elsewhere);
}

TEST_P(MetalSteps, StepsLeaveNothingBehind) {
  Training training(Device(gpu_), 1);
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      training.step();
      training.read_loss();
    }
  };
  run(5);
  const Live before = double_->live();
  run(10);
  EXPECT_EQ(double_->live(), before);
}

INSTANTIATE_TEST_SUITE_P(Libraries, MetalSteps, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& each) {
                           return std::string(each.param ? "MpsGraph" : "None");
                         });

// Memory of the process that is in use, where the system can tell.
std::int64_t host_bytes() {
#if defined(__GLIBC__)
  return static_cast<std::int64_t>(mallinfo2().uordblks);
#else
  return 0;
#endif
}

// Checking every access of that many launches would take minutes.
class MetalLongRun : public MetalDoubleTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    static auto* const quick = new SimulatedGpu(false);  // devices that stay have memory of it
    judging_ = std::exchange(double_->gpu, quick);
    double_->keeps_released = false;
  }
  void TearDown() override {
    double_->gpu = judging_;
    EXPECT_EQ(double_->faults, Lines());
    double_->reset();
  }

 private:
  fake::Gpu* judging_ = nullptr;
};

TEST_F(MetalLongRun, TenThousandStepsLeaveNothingBehind) {
  const WatchedGpu quick = make_gpu(false);
  ASSERT_NE(quick.device, nullptr);
  const Device device(quick.device);
  const Array x = Array::from_data(std::vector<float>(32, 0.5f), {32}, device);
  Array w = Array::from_data(std::vector<float>(32, 1.0f), {32}, device).require_grad();
  double loss = 0;
  const auto run = [&](int steps) {
    for (int i = 1; i <= steps; ++i) {
      const Array error = w * x - 2.0;
      const Array mean_error = mean(error * error);
      const Gradients gradients = backward(mean_error);
      w.assign(w.detach() - gradients.get(w) * 0.5);
      // Values are read at different times, as programs do.
      if (i % 10 == 0) loss = mean_error.item();
      submit();
      if (i % 100 != 0) continue;
      device.synchronize();
      double_->ran = {};
      double_->calls.clear();
      quick.driver->forget();
    }
  };
  run(static_cast<int>(testing::scaled(1000)));
  const Live live = double_->live();
  const MemoryStatistics memory = device.memory();
  const std::int64_t host = host_bytes();
  run(static_cast<int>(testing::scaled(9000)));
  EXPECT_EQ(double_->live(), live);
  EXPECT_EQ(device.memory().in_use, memory.in_use);
  EXPECT_EQ(device.memory().cached, memory.cached);
  EXPECT_EQ(device.memory().arena, memory.arena);
  EXPECT_EQ(device.memory().fresh, memory.fresh);
  EXPECT_LE(host_bytes() - host, 4096);
  EXPECT_LT(loss, 1e-6);
  device.synchronize();
}

// A batch as a small plan has it, launched again and again.
TEST_F(MetalDriverTest, TenThousandLaunchesLeaveNothingBehind) {
  const runtime::Function& axpy = kernel(axpy_source());
  const Address x = upload(std::vector<float>(32, 1.0f)), y = upload(std::vector<float>(32, 0.0f));
  runtime::CommandBatch batch;
  const AxpyParams p{1, 32};
  const runtime::Argument arguments[] = {{x, 128}, {y, 128}, {nullptr, sizeof p, &p}};
  batch.add(axpy, {1}, {32}, arguments, driver_->properties());
  const auto executable = driver_->instantiate(batch.commands());
  const auto run = [&](int steps) {
    for (int i = 1; i <= steps; ++i) {
      driver_->launch(*executable);
      if (i % 100 == 0) driver_->copy_to_device(x, &p.factor, 4);  // after work
      if (i % 1000 == 0) driver_->wait();
    }
  };
  run(1000);
  const Live before = double_->live();
  run(10000);
  EXPECT_EQ(double_->live(), before);
  EXPECT_EQ(download<float>(y, 32)[31], 11000);
  driver_->free(x);
  driver_->free(y);
}

}  // namespace
}  // namespace hearth::metal
