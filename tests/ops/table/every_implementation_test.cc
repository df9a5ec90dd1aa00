// Each implementation that a GPU, or the CPU, has of an op, by a user's rule that names it: what it
// makes of the op's samples is compared with the host's own arithmetic. Of as many samples as
// HEARTH_TEST_EFFORT says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "devices/cpu/device.h"
#include "devices/cpu/families.h"
#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/sim/sim_driver.h"
#include "graph/effort.h"
#include "kernels/families.h"
#include "ops/definition/sample_signature.h"
#include "ops/table/difference.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

// A kind of device, any number of which can be made, each with rules of its own.
struct Machine {
  const char* name;
  std::vector<Family> (*families)();
  runtime::DeviceTraits (*traits)();
  std::vector<DType> dtypes;
  DeviceImpl* (*make)(int index, const std::string& rules);
};

runtime::DeviceTraits simulated_traits() {
  static sim::SimDriver driver;
  return {driver.properties(), driver.libraries()};
}

DeviceImpl* make_simulated(int index, const std::string& rules) {
  gpu::GpuOptions options;
  options.rules = rules;
  return new gpu::GpuDevice("sim", index, std::make_unique<sim::SimDriver>(), options);
}

const Machine& gpu_machine() {
  static const Machine machine = {"gpu",
                                  [] { return gpu::families(); },
                                  simulated_traits,
                                  {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32},
                                  make_simulated};
  return machine;
}

const Machine& cpu_machine() {
  static const Machine machine = {
      "cpu",
      [] { return cpu::families(); },
      [] { return runtime::common_traits(); },
      {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8,
       DType::u32, DType::bool_},
      [](int index, const std::string& rules) { return cpu::make_device(index, rules).release(); }};
  return machine;
}

// A sample in a dtype that the machine runs by the implementation, asked for by name.
struct ReachedSample {
  std::size_t sample;
  DType dtype;
};

std::string rule_for(const Implementation& implementation) {
  return std::string(implementation.op->name.text) + "=" + implementation.name;
}

std::vector<ReachedSample> reached_samples(const Machine& machine,
                                           const Implementation& implementation) {
  const OpDef& op = *implementation.op;
  const Selector selector({.traits = machine.traits(),
                           .families = machine.families(),
                           .rules = rule_for(implementation)});
  const std::vector<SampleCase> samples = op.samples();
  std::vector<ReachedSample> reached;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error != SampleCase::kValid) continue;
    for (const DType dtype : machine.dtypes) {
      if (op.accepts_dtype != nullptr && !op.accepts_dtype(dtype)) continue;
      Signature signature = sample_signature(op, samples[s], dtype);
      signature.device = &selector.traits();
      if (selector.find(signature) == &implementation) reached.push_back({s, dtype});
    }
  }
  return reached;
}

struct Way {
  const Machine* machine;
  const Implementation* implementation;
};

// Those that some sample reaches. Others of GPUs need a vendor's library or millions of elements,
// and have tests of their own that name them.
std::vector<Way> reached_ways(const Machine& machine) {
  std::vector<Way> reached;
  for (const Family& family : machine.families()) {
    for (const Implementation& each : family) {
      if (each.launch == nullptr || each.op->samples == nullptr) continue;
      if (!reached_samples(machine, each).empty()) reached.push_back({&machine, &each});
    }
  }
  return reached;
}

class EveryImplementation : public ::testing::TestWithParam<Way> {};

TEST_P(EveryImplementation, ComputesItsOp) {
  const auto [machine, implementation] = GetParam();
  static int devices = 40;
  const Device device(kept_device(machine->make(devices++, rule_for(*implementation))));
  const std::vector<ReachedSample> reached = reached_samples(*machine, *implementation);
  const std::size_t step = reached.size() / static_cast<std::size_t>(scaled(std::ssize(reached)));
  for (std::size_t i = 0; i < reached.size(); i += step) {
    const ReachedSample& each = reached[i];
    const OpCase one = make_case(*implementation->op, each.sample, each.dtype, false);
    const std::vector<Array> results =
        record_case(one, build_inputs(one, MemoryLayout::contiguous, device), device);
    ASSERT_EQ(difference(one, results, expected_results(one)), "") << one.text();
  }
}

std::string name_of(const ::testing::TestParamInfo<Way>& each) {
  const Implementation& implementation = *each.param.implementation;
  return std::string(implementation.op->name.text) + "_" + implementation.name + "_" +
         std::to_string(each.index);
}

INSTANTIATE_TEST_SUITE_P(Gpu, EveryImplementation, ::testing::ValuesIn(reached_ways(gpu_machine())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Cpu, EveryImplementation, ::testing::ValuesIn(reached_ways(cpu_machine())),
                         name_of);

// The CPU's need nothing that samples cannot have, but for instructions of some: those that this
// processor lacks are named, and not reached.
TEST(EveryImplementationOfTheCpu, IsReached) {
  for (const Family& family : cpu::families()) {
    for (const Implementation& each : family) {
      if (each.op->samples == nullptr) continue;
      if (each.needs != nullptr && !each.needs(cpu_machine().traits())) {
        std::cout << "not on this processor: " << rule_for(each) << "\n";
        continue;
      }
      EXPECT_FALSE(reached_samples(cpu_machine(), each).empty()) << rule_for(each);
    }
  }
}

}  // namespace
}  // namespace hearth::testing
