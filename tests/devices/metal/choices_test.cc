// Choices on the Metal device: the times of command buffers decide, as the Metal double says them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/metal/metal_fixture.h"
#include "hearth/ops.h"
#include "runtime/tune/cache.h"

namespace hearth::metal {
namespace {

constexpr std::int64_t kSide = 72;

class MetalChoices : public MetalDoubleTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    folder_ = (std::filesystem::temp_directory_path() /
               ("hearth_metal_choices_" + std::to_string(getpid())))
                  .string();
    options_.cache_folder = folder_;
    options_.tuner.min_work = 1000;
    options_.tuner.system = "macOS 15.0";
  }
  void TearDown() override {
    for (const auto& device : devices_) device->synchronize();
    EXPECT_EQ(double_->faults, Lines());
    double_->reset();
    std::filesystem::remove_all(folder_);
  }
  // Devices stay as long as the process, since plans that they ran are kept.
  gpu::GpuDevice* make_gpu(MpsUse mpsgraph = MpsUse::off) {
    gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE, "", mpsgraph);
    EXPECT_EQ(found.drivers.size(), 1u);
    devices_.push_back(
        kept_device(new gpu::GpuDevice("metal", 3, std::move(found.drivers[0]), options_)));
    double_->ran.clear();
    return devices_.back();
  }
  // Multiplies and compares; returns the kernel that ran last.
  std::string product(gpu::GpuDevice* gpu, std::int64_t m = kSide) {
    std::mt19937 bits(std::random_device{}());
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> a(static_cast<std::size_t>(m * kSide)), b(kSide * kSide);
    for (float& value : a) value = uniform(bits);
    for (float& value : b) value = uniform(bits);
    const Device device(gpu);
    const std::vector<float> c =
        matmul(Array::from_data(a, {m, kSide}, device), Array::from_data(b, {kSide, kSide}, device))
            .to_vector<float>();
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < kSide; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < kSide; ++l) {
          sum += double{a[static_cast<std::size_t>(i * kSide + l)]} *
                 double{b[static_cast<std::size_t>(l * kSide + j)]};
        }
        EXPECT_NEAR(c[static_cast<std::size_t>(i * kSide + j)], sum, 1e-4);
      }
    }
    return double_->ran.back();
  }

  // Causal attention of 20 rows, of the same numbers every time.
  static std::vector<float> attended(gpu::GpuDevice* gpu) {
    std::mt19937 bits(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto draw = [&] {
      std::vector<float> values(2 * 20 * 16);
      for (float& value : values) value = uniform(bits);
      return Array::from_data(values, {1, 2, 20, 16}, Device(gpu));
    };
    const Array q = draw(), k = draw(), v = draw();
    return attention(q, k, v, {.causal = true}).to_vector<float>();
  }

  std::string folder_;
  gpu::GpuOptions options_;
  std::vector<gpu::GpuDevice*> devices_;
};

TEST_F(MetalChoices, ProductsRunWhatCommandBuffersSayIsFastest) {
  double_->seconds = {{"matmul_", 1e-3}, {"_64_32_32_", -0.5e-3}};
  gpu::GpuDevice* const gpu = make_gpu();
  EXPECT_TRUE(contains(product(gpu), "_64_32_32_"));
  const std::vector<runtime::KeptSelection> kept = gpu->tuning_file().read();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].problem, "f32 nn m128 n128 k128 b1");
  EXPECT_EQ(kept[0].chosen, "simdgroup/64x32x32");
  // Nothing is measured for another of the class, nor by another process.
  EXPECT_GT(double_->ran.size(), 8u);
  double_->ran.clear();
  EXPECT_TRUE(contains(product(gpu, kSide + 1), "_64_32_32_"));
  EXPECT_EQ(double_->ran.size(), 1u);
  gpu::GpuDevice* const again = make_gpu();
  EXPECT_TRUE(contains(product(again), "_64_32_32_"));
  EXPECT_EQ(double_->ran.size(), 1u);
}

TEST_F(MetalChoices, TilesTooIfTheyAreFastest) {
  double_->seconds = {{"matmul_", 1e-3}, {"matmul_float", -0.9e-3}};
  EXPECT_TRUE(contains(product(make_gpu()), "matmul_float"));
}

TEST_F(MetalChoices, AttentionRunsWhatIsFastestToo) {
  double_->seconds = {{"attention_", 1e-3}, {"attention_tiles", -0.9e-3}};
  gpu::GpuDevice* const gpu = make_gpu();
  const std::vector<float> tiles = attended(gpu);
  EXPECT_TRUE(contains(double_->ran.back(), "attention_tiles"));
  ASSERT_EQ(gpu->tuning_file().read().size(), 1u);
  EXPECT_EQ(gpu->tuning_file().read()[0].problem, "f32 q32 k32 h2 g2 b1 d16 v16 causal");
  options_.rules = "attention=simdgroup";
  gpu::GpuDevice* const other = make_gpu();
  const std::vector<float> matrices = attended(other);
  EXPECT_TRUE(contains(double_->ran.back(), "attention_simdgroup"));
  for (std::size_t i = 0; i < tiles.size(); ++i) EXPECT_NEAR(tiles[i], matrices[i], 1e-5);
}

// Misuse of MPSGraph ends the process: nobody meets it who did not ask for it.
TEST_F(MetalChoices, MpsGraphIsAskedForNotTried) {
  double_->seconds = {{"matmul_", 1e-3}, {"MPSGraph", 1e-6}};
  gpu::GpuDevice* const gpu = make_gpu(MpsUse::on_request);
  EXPECT_TRUE(contains(product(gpu), "matmul_"));
  EXPECT_EQ(std::count(double_->ran.begin(), double_->ran.end(), "MPSGraph"), 0);
  const std::vector<runtime::KeptSelection> kept = gpu->tuning_file().read();
  ASSERT_EQ(kept.size(), 1u);
  for (const runtime::CandidateTime& time : kept[0].times) {
    EXPECT_NE(time.name, "library");
  }
  // Nor where nothing is measured and it is the only other one.
  options_.rules = "matmul=library";
  EXPECT_EQ(product(make_gpu(MpsUse::on_request)), "MPSGraph");
  EXPECT_EQ(double_->graphs_compiled, 1);
  // What MPSGraph does not take goes on elsewhere.
  double_->tells_feeds = false;
  EXPECT_TRUE(contains(product(make_gpu(MpsUse::on_request), kSide + 1), "matmul_"));
  // On request it is measured beside the others, and what was kept without it is no answer.
  double_->tells_feeds = true;
  options_.rules = "";
  EXPECT_EQ(product(make_gpu(MpsUse::measured)), "MPSGraph");
  EXPECT_GT(std::count(double_->ran.begin(), double_->ran.end(), "MPSGraph"), 1);
}

TEST_F(MetalChoices, TheUserDecides) {
  const Device cpu = Device::cpu();  // whose implementations a rule may name as well
  EXPECT_EQ(cpu.name(), "cpu:0");
  options_.rules = "matmul=tiles";
  EXPECT_TRUE(contains(product(make_gpu()), "matmul_float"));
  EXPECT_EQ(double_->ran.size(), 1u);
  options_.rules = "matmul=simdgroup/32x32x16";
  EXPECT_TRUE(contains(product(make_gpu()), "_32_32_16_"));
  options_.rules = "matmul=tensor_cores";
  gpu::GpuDevice* const gpu = make_gpu();
  const std::string refused = error_of(ErrorCode::invalid_argument, [&] { product(gpu); });
  EXPECT_TRUE(contains(refused,
                       "no implementation of matmul; got 'tensor_cores', expected one of gemm, "
                       "library, matvec, row_lanes, "))
      << refused;
  EXPECT_TRUE(contains(refused, ", simdgroup, simdgroup/")) << refused;
}

}  // namespace
}  // namespace hearth::metal
