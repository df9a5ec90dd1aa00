// A kernel in the dialect, for tests of the CUDA driver with and without a card.
#pragma once

#include <cstdint>

#include "hearth/runtime.h"

namespace hearth::cuda {

// y = a * x + b, one element a thread.
inline runtime::KernelSource affine() {
  using Kind = runtime::KernelParameter::Kind;
  runtime::KernelSource source;
  source.name = "affine_f32";
  source.text = R"(
struct AffineParams { uint count; float a; float b; };
template <typename T>
void affine(device const T* x, device T* y, constant AffineParams& p, Ctx ctx) {
  const uint i = ctx.tg.x * ctx.ntid.x + ctx.tid.x;
  if (i < p.count) { y[i] = p.a * x[i] + p.b; }
}
)";
  source.function = "affine<float>";
  source.parameters = {{Kind::read, "float", "x", 0},
                       {Kind::write, "float", "y", 0},
                       {Kind::constant, "AffineParams", "p", 0}};
  return source;
}

struct AffineParams {
  std::uint32_t count;
  float a;
  float b;
};

}  // namespace hearth::cuda
