// Devices, memory and what the engine did: everything a server would watch.
#include <cstdio>

#include "hearth/device.h"
#include "hearth/ops.h"

using hearth::Array;

int main() {
  for (const hearth::Device& device : hearth::Device::all()) {
    std::printf("%s: %s\n", device.name().c_str(), device.description().c_str());
  }

  // The same structure twice: the second evaluation is served by the plan cache, and x = f(x)
  // writes into the storage it read from.
  Array x = hearth::ones({1024, 1024});
  x.eval();
  const hearth::Statistics before = hearth::statistics();
  for (int step = 0; step < 10; ++step) {
    x = hearth::add(hearth::mul(x, 0.5), static_cast<double>(step));
    x.eval();
  }
  const hearth::Statistics after = hearth::statistics();
  std::printf("plans: %lld hits, %lld misses; kernels: %lld; donated: %lld\n",
              static_cast<long long>(after.plan_hits - before.plan_hits),
              static_cast<long long>(after.plan_misses - before.plan_misses),
              static_cast<long long>(after.dispatches - before.dispatches),
              static_cast<long long>(after.donations - before.donations));

  const hearth::Device device = x.device();
  const hearth::MemoryStatistics memory = device.memory();
  std::printf("memory: %lld bytes in use, %lld cached, %lld peak\n",
              static_cast<long long>(memory.in_use), static_cast<long long>(memory.cached),
              static_cast<long long>(memory.peak));

  // A limit turns a request that cannot be met into an Error; nothing is lost.
  try {
    const Array huge = hearth::ones({1 << 20, 1 << 20});
    hearth::add(huge, 1.0).eval();
    return 1;
  } catch (const hearth::Error& error) {
    std::printf("as it should: %s\n", error.what());
  }
  device.trim();
  return x.shape(0) == 1024 ? 0 : 1;
}
