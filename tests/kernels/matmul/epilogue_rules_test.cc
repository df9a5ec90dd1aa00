// A user's rule for a class with an epilogue, where the implementation that is taken without it
// applies none.
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/sim/sim_driver.h"
#include "hearth/hearth.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

class EpilogueRules : public ::testing::Test {
 protected:
  // What `make` gives on a simulator with these rules, and how many kernels that took.
  static std::pair<std::int64_t, Values> run(const std::string& rules,
                                             const std::function<Array(Device)>& make) {
    static int devices = 60;
    const std::string path = ::testing::TempDir() + "/epilogue_rules.json";
    std::ofstream(path) << rules;
    gpu::GpuOptions options;
    options.rules = path;
    const Device device(kept_device(
        new gpu::GpuDevice("sim", devices++, std::make_unique<sim::SimDriver>(), options)));
    Array result = make(device);
    const std::int64_t before = statistics().dispatches;
    result.eval();
    const std::int64_t launches = statistics().dispatches - before;
    std::remove(path.c_str());
    return {launches, result.to_doubles()};
  }

  static Array on(const Device& device, Shape shape, std::uint64_t seed) {
    return to_device(random_array(shape, DType::f32, -1, 1, seed), device).eval();
  }
};

std::string rule(const std::string& problem, const std::string& name) {
  return R"([{"op": "matmul", "class": ")" + problem + R"(", "choose": ")" + name + "\"}]";
}

// One vector: matvec, which is taken without a rule, leaves epilogues to kernels of their own.
TEST_F(EpilogueRules, ReachKernelsThatApplyNone) {
  const std::function<Array(Device)> plain = [](const Device& device) {
    return relu(linear(on(device, {1, 256}, 1), on(device, {512, 256}, 2)));
  };
  const std::function<Array(Device)> biased = [](const Device& device) {
    return linear(on(device, {1, 256}, 1), on(device, {512, 256}, 2), on(device, {512}, 3));
  };
  const std::function<Array(Device)> both = [&](const Device& device) {
    return relu(biased(device));
  };
  const std::string none = rule("* gelu", "tiles");
  for (const auto& make : {plain, both}) {
    const auto [apart, expected] = run(none, make);
    const auto [together, values] = run(rule("* relu", "tiles"), make);
    EXPECT_EQ(apart - together, 1);
    expect_within(values, expected, 1e-4);
  }
  // A class with all steps, one that ends before the last of them, and one for other products.
  EXPECT_EQ(run(rule("* bias relu", "tiles"), both).first, 1);
  EXPECT_EQ(run(rule("* bias", "tiles"), biased).first, 1);
  EXPECT_EQ(run(rule("* bias relu", "tiles"), biased).first, run(none, biased).first);
  EXPECT_EQ(run(rule("* bias relu", "tiles"), plain).first, run(none, plain).first);
  // A class whose last step cannot join: it makes more results, or reads a column.
  const std::function<Array(Device)> repeated = [&](const Device& device) {
    return biased(device) + on(device, {4, 1, 512}, 4);
  };
  const std::function<Array(Device)> strided = [&](const Device& device) {
    const Array column = transpose(narrow(on(device, {512, 2}, 4), 1, 0, 1));
    return biased(device) + column;
  };
  for (const auto& make : {repeated, strided}) {
    testing::expect_ran("matvec", [&] { run(rule("* residual", "tiles"), make); });
  }
  const std::function<Array(Device)> dense = [&](const Device& device) {
    return biased(device) + on(device, {1, 512}, 4);
  };
  EXPECT_EQ(run(rule("* bias residual", "tiles"), dense).first, 1);
  // What takes no epilogue is left out, as one that does not take a signature is.
  EXPECT_EQ(run(rule("* relu", "skinny"), plain).first, run(none, plain).first);
}

}  // namespace
}  // namespace hearth
