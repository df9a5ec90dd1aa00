// What a token of a language model costs in calls of Metal: a step of decoding of Llama's shape,
// narrow and of few layers, since counts follow from blocks alone.
#include <cmath>
#include <cstdio>

#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/metal/metal_fixture.h"
#include "devices/metal/watched_driver.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/language/model/sequences.h"

namespace hearth::metal {
namespace {

constexpr std::int64_t kNarrowDim = 64, kNarrowHidden = 128, kNarrowVocabulary = 96;
constexpr std::int64_t kNarrowHeads = 2, kNarrowHeadDim = 32;

models::LanguageConfig narrow_llama(std::int64_t layers) {
  models::LanguageConfig config;
  config.architecture = "llama";
  config.dim = kNarrowDim;
  config.context = 64;
  models::LayerConfig layer;
  layer.attention.heads = kNarrowHeads;
  layer.attention.kv_heads = 1;
  layer.attention.key_dim = layer.attention.value_dim = kNarrowHeadDim;
  layer.attention.scale = 1 / std::sqrt(static_cast<double>(kNarrowHeadDim));
  layer.attention.rope.pairs = models::RopePairs::neighbours;
  layer.attention.rope.dims = kNarrowHeadDim;
  layer.hidden = kNarrowHidden;
  config.layers.assign(static_cast<std::size_t>(layers), layer);
  return config;
}

models::Weights narrow_weights(std::int64_t layers, DType format, Device device) {
  NamedArrays arrays;
  std::uint32_t state = 1;
  const auto values = [&](const Shape& shape) {
    std::vector<float> drawn(static_cast<std::size_t>(element_count(shape)));
    for (float& value : drawn) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
    return Array::from_data(drawn, shape, Device::cpu());
  };
  const auto matrix = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    const Array weight = values({out, in}) * 0.1;
    const Array stored = is_packed(format) ? quantize(weight, format) : cast(weight, format);
    arrays.push_back({name + ".weight", to_device(stored, device).eval()});
  };
  const auto vector = [&](const std::string& name) {
    arrays.push_back({name + ".weight", to_device(values({kNarrowDim}), device).eval()});
  };
  matrix("token_embd", kNarrowVocabulary, kNarrowDim);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    vector(prefix + "attn_norm");
    matrix(prefix + "attn_q", kNarrowHeads * kNarrowHeadDim, kNarrowDim);
    matrix(prefix + "attn_k", kNarrowHeadDim, kNarrowDim);
    matrix(prefix + "attn_v", kNarrowHeadDim, kNarrowDim);
    matrix(prefix + "attn_output", kNarrowDim, kNarrowHeads * kNarrowHeadDim);
    vector(prefix + "ffn_norm");
    matrix(prefix + "ffn_gate", kNarrowHidden, kNarrowDim);
    matrix(prefix + "ffn_up", kNarrowHidden, kNarrowDim);
    matrix(prefix + "ffn_down", kNarrowDim, kNarrowHidden);
  }
  vector("output_norm");
  matrix("output", kNarrowVocabulary, kNarrowDim);
  return models::Weights(arrays, DType::f32, device);
}

struct StepCounts {
  int command_buffers, dispatches, barriers, needed_barriers, encoders;
};

class MetalLanguageStep : public MetalDoubleTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    static auto* const quick = new SimulatedGpu(false);  // the device stays, with memory of it
    judging_ = std::exchange(double_->gpu, quick);
    double_->keeps_released = false;
    static const std::pair<WatchedDriver*, gpu::GpuDevice*> made = make();
    std::tie(watched_, gpu_) = made;
    ASSERT_NE(gpu_, nullptr);
  }
  void TearDown() override {
    if (gpu_ != nullptr) gpu_->synchronize();
    double_->gpu = judging_;
    EXPECT_EQ(double_->faults, Lines());
    double_->reset();
  }

  // Of a token behind a prompt and some others, whose plan is there.
  StepCounts step(std::int64_t layers, DType format, models::CacheType cache) {
    const NoGrad no_grad;
    const Device device(gpu_);
    const models::LanguageModel model(narrow_llama(layers), narrow_weights(layers, format, device),
                                      device);
    models::Sequences sequences(model, {.pages = 2, .keys = cache, .values = cache});
    models::Sequence sequence = sequences.begin();
    std::int32_t next = 0;
    const auto run = [&](const std::vector<std::int32_t>& tokens) {
      const models::SequenceRows rows{&sequence, tokens, 1};
      const Array best = argmax(sequences.step({&rows, 1}), 1);
      next = static_cast<std::int32_t>(best.item());
    };
    run({1, 2});
    for (int i = 0; i < 2; ++i) run({next});
    gpu_->synchronize();
    double_->calls.clear();
    double_->continued = 0;
    watched_->forget();
    run({next});
    const auto calls = [&](const char* selector) { return double_->calls[selector]; };
    StepCounts counts;
    counts.command_buffers = calls("commandBuffer") + double_->continued;
    counts.encoders = calls("computeCommandEncoderWithDispatchType:");
    counts.dispatches = calls("dispatchThreadgroups:threadsPerThreadgroup:") +
                        calls("dispatchThreads:threadsPerThreadgroup:");
    counts.barriers = calls("memoryBarrierWithScope:") + calls("memoryBarrierWithResources:count:");
    counts.needed_barriers = watched_->needed_barriers();
    std::printf(
        "%lld layers, %s, cache %s: %d command buffers, %d dispatches, %d barriers "
        "(needed: %d), calls of Metal: %d\n",
        static_cast<long long>(layers), std::string(name(format)).c_str(),
        models::name(cache).c_str(), counts.command_buffers, counts.dispatches, counts.barriers,
        counts.needed_barriers, all_calls());
    return counts;
  }

  int all_calls() const {
    int all = 0;
    for (const auto& [selector, count] : double_->calls) all += count;
    return all;
  }

  WatchedDriver* watched_ = nullptr;
  gpu::GpuDevice* gpu_ = nullptr;

 private:
  fake::Gpu* judging_ = nullptr;

  static std::pair<WatchedDriver*, gpu::GpuDevice*> make() {
    gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE, "", MpsUse::off);
    if (found.drivers.empty()) return {};
    auto watched = std::make_unique<WatchedDriver>(std::move(found.drivers[0]));
    WatchedDriver* const driver = watched.get();
    gpu::GpuOptions options;
    options.tunes = false;
    return {driver,
            kept_device(new gpu::GpuDevice("metal_language", 4, std::move(watched), options))};
  }
};

TEST_F(MetalLanguageStep, ATokenIsOneCommandBuffer) {
  const StepCounts one = step(1, DType::q4_0, DType::f16), two = step(2, DType::q4_0, DType::f16);
  for (const StepCounts& counts : {one, two}) {
    EXPECT_EQ(counts.command_buffers, 1);
    EXPECT_EQ(counts.encoders, 1);
    EXPECT_LE(counts.barriers, counts.needed_barriers);
  }
  // Of a layer.
  EXPECT_GT(two.dispatches, one.dispatches);
  EXPECT_LE(two.dispatches - one.dispatches, 20);
  EXPECT_LE(two.barriers - one.barriers, two.dispatches - one.dispatches);
}

TEST_F(MetalLanguageStep, CachesOfCodesTakeAFewMoreLaunches) {
  const StepCounts floats = step(1, DType::q4_0, DType::f16);
  const StepCounts codes = step(1, DType::q4_0, models::CacheType::turbo(4));
  EXPECT_EQ(codes.command_buffers, 1);
  // Queries, keys, values and what comes out are rotated, keys and values coded.
  EXPECT_LE(codes.dispatches - floats.dispatches, 10);
  EXPECT_LE(codes.barriers, codes.needed_barriers);
}

}  // namespace
}  // namespace hearth::metal
