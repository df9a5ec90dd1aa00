// Each implementation that a GPU has of an op, by a user's rule that names it: what it makes of the
// op's samples is compared with the host's own arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/sim/sim_driver.h"
#include "kernels/families.h"
#include "ops/table/difference.h"
#include "ops/table/op_case.h"
#include "sample_signature.h"

namespace hearth::testing {
namespace {

// A sample in a dtype that the simulator runs by the implementation, asked for by name.
struct ReachedSample {
  std::size_t sample;
  DType dtype;
};

std::string rule_for(const Implementation& implementation) {
  return std::string(implementation.op->name.text) + "=" + implementation.name;
}

std::vector<ReachedSample> reached_samples(const Implementation& implementation) {
  static sim::SimDriver driver;
  const OpDef& op = *implementation.op;
  const Selector selector({.traits = {driver.properties(), driver.libraries()},
                           .families = gpu::families(),
                           .rules = rule_for(implementation)});
  const std::vector<SampleCase> samples = op.samples();
  std::vector<ReachedSample> reached;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error != SampleCase::kValid) continue;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32}) {
      if (op.accepts_dtype != nullptr && !op.accepts_dtype(dtype)) continue;
      Signature signature = sample_signature(op, samples[s], dtype);
      signature.device = &selector.traits();
      if (selector.find(signature) == &implementation) reached.push_back({s, dtype});
    }
  }
  return reached;
}

// Those that some sample reaches. The others need a vendor's library or millions of elements, and
// have tests of their own that name them.
std::vector<const Implementation*> reached_implementations() {
  std::vector<const Implementation*> reached;
  for (const Family& family : gpu::families()) {
    for (const Implementation& each : family) {
      if (each.launch == nullptr || each.op->samples == nullptr) continue;
      if (!reached_samples(each).empty()) reached.push_back(&each);
    }
  }
  return reached;
}

class EveryImplementation : public ::testing::TestWithParam<const Implementation*> {};

TEST_P(EveryImplementation, ComputesItsOp) {
  const Implementation& implementation = *GetParam();
  gpu::GpuOptions options;
  options.rules = rule_for(implementation);
  static int devices = 40;
  const Device device(gpu::kept_device(
      new gpu::GpuDevice("sim", devices++, std::make_unique<sim::SimDriver>(), options)));
  for (const ReachedSample& each : reached_samples(implementation)) {
    const OpCase one = make_case(*implementation.op, each.sample, each.dtype, false);
    const std::vector<Array> results =
        record_case(one, build_inputs(one, MemoryLayout::contiguous, device), device);
    ASSERT_EQ(difference(one, results, expected_results(one)), "") << one.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, EveryImplementation, ::testing::ValuesIn(reached_implementations()),
                         [](const auto& each) {
                           return std::string(each.param->op->name.text) + "_" + each.param->name +
                                  "_" + std::to_string(each.index);
                         });

}  // namespace
}  // namespace hearth::testing
