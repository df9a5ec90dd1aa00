// A kernel of one's own, without tensors: y = a x + y on the first GPU there is.
#include <cstdio>
#include <vector>

#include "hearth/runtime.h"

namespace rt = hearth::runtime;
using Kind = rt::KernelParameter::Kind;

// The kernel: Metal's language, without attributes. The same text runs on every GPU.
constexpr char kText[] = R"(
struct AxpyParams {
  float a;
  uint count;
};

template <typename T>
void axpy(device const T* x, device T* y, constant AxpyParams& p, Ctx ctx) {
  uint i = ctx.gid.x;
  if (i < p.count) y[i] = T(p.a * float(x[i]) + float(y[i]));
}
)";

struct AxpyParams {
  float a;
  std::uint32_t count;
};

int main() {
  for (const hearth::Device device : hearth::Device::all()) {
    if (device == hearth::Device::cpu()) continue;
    const std::uint32_t count = 1 << 20;
    const auto x = rt::Buffer::from_data(std::vector<float>(count, 2.0f), device);
    const auto y = rt::Buffer::from_data(std::vector<float>(count, 1.0f), device);
    const rt::Kernel axpy(device, {.name = "axpy_float",
                                   .text = kText,
                                   .function = "axpy<float>",
                                   .parameters = {{Kind::read, "float", "x"},
                                                  {Kind::read_write, "float", "y"},
                                                  {Kind::constant, "AxpyParams", "p"}}});
    rt::CommandEncoder encoder(device);
    // Ten launches that each need the one before: the runtime sees it from what they read and
    // write.
    for (int i = 0; i < 10; ++i) {
      encoder.dispatch(axpy, {count / 256}, {256}, {x, y, rt::constant(AxpyParams{0.5f, count})});
    }
    encoder.wait();
    const float first = y.to_vector<float>()[0];
    std::printf("%s: y[0] = %g, expected 11\n", rt::properties(device).name.c_str(),
                static_cast<double>(first));
    return first == 11.0f ? 0 : 1;
  }
  std::printf("no GPU here: nothing to run\n");
  return 0;
}
