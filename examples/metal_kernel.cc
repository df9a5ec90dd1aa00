// A kernel in Metal's own form on the first GPU there is, NVIDIA's included: y = a x + y.
#include <cstdio>
#include <vector>

#include "hearth/runtime.h"

namespace rt = hearth::runtime;

constexpr char kText[] = R"(
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float* x [[buffer(0)]],
                  device float* y [[buffer(1)]],
                  constant float& a [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  y[i] = a * x[i] + y[i];
}
)";

int main() {
  for (const hearth::Device device : hearth::Device::all()) {
    if (device == hearth::Device::cpu()) continue;
    const std::uint32_t count = 1000003;
    const auto x = rt::Buffer::from_data(std::vector<float>(count, 2.0f), device);
    const auto y = rt::Buffer::from_data(std::vector<float>(count, 1.0f), device);
    const rt::Kernel saxpy(device, rt::metal_kernel(kText, "saxpy"));
    rt::CommandEncoder encoder(device);
    // So many threads in all: the last threadgroup is not whole.
    encoder.dispatch_threads(saxpy, {count}, {256}, {x, y, rt::constant(0.5f)});
    encoder.wait();
    const float last = y.to_vector<float>().back();
    std::printf("%s: y = %g, expected 2\n", rt::properties(device).name.c_str(),
                static_cast<double>(last));
    return last == 2.0f ? 0 : 1;
  }
  std::printf("no GPU here: nothing to run\n");
  return 0;
}
