// Convolutions of ResNet-50 and a depthwise one, beside the processor's product of the same work.
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

struct Layer {
  std::int64_t batch, in, size, out, kernel, stride, groups;

  // All that makes the problem: bench/torch_conv.py reads it.
  std::string name() const {
    std::string text = std::to_string(batch) + "x" + std::to_string(in) + "x" +
                       std::to_string(size) + "_" + std::to_string(out) + "k" +
                       std::to_string(kernel) + "s" + std::to_string(stride);
    return groups == 1 ? text : text + "g" + std::to_string(groups);
  }
  std::int64_t positions() const { return (size + 2 * (kernel / 2) - kernel) / stride + 1; }
  double flops() const {
    return 2.0 * static_cast<double>(batch * out * positions() * positions()) *
           static_cast<double>(in / groups * kernel * kernel);
  }
};

constexpr Layer kLayers[] = {
    {8, 3, 224, 64, 7, 2, 1},    {8, 64, 56, 64, 3, 1, 1},   {8, 64, 56, 256, 1, 1, 1},
    {8, 128, 28, 128, 3, 1, 1},  {8, 256, 28, 256, 3, 2, 1}, {8, 256, 14, 256, 3, 1, 1},
    {8, 1024, 14, 256, 1, 1, 1}, {8, 512, 7, 512, 3, 1, 1},  {8, 128, 56, 128, 3, 1, 128},
};

}  // namespace

void bench_conv(Bench& bench) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Layer& layer : kLayers) {
      for (const char* part : {"forward", "input", "weight"}) {
        const std::string which = part;
        const RowSpec spec{
            .row = "conv/" + std::string(name(dtype)) + "_" + which + "_" + layer.name(),
            .unit = "GFLOP/s",
            .scale = 1e-9 * layer.flops(),
            .rate = true,
            .threads = bench.threads(),
            .recording_included = true};
        if (!bench.wants(spec.row)) continue;
        const WithThreads with(bench.threads());
        const auto random = [&](const Shape& shape) {
          const Array value = cast(random_normal(shape, 0, 1), dtype);
          value.eval();
          return value;
        };
        const std::int64_t p = layer.positions();
        Array x = random({layer.batch, layer.in, layer.size, layer.size});
        Array weight = random({layer.out, layer.in / layer.groups, layer.kernel, layer.kernel});
        const Array grad = random({layer.batch, layer.out, p, p});
        const ConvOptions options{
            .stride = {layer.stride}, .padding = {layer.kernel / 2}, .groups = layer.groups};
        if (which == "forward") {
          bench.measure(spec, timed("hearth", [&] { conv(x, weight, Array(), options).eval(); }));
          continue;
        }
        const Array leaf = (which == "input" ? x : weight).require_grad();
        (which == "input" ? x : weight) = leaf;
        // Nobody holds the result, so what is measured is the gradient alone.
        const auto gradient = [&] {
          return backward(sum(conv(x, weight, Array(), options) * grad)).at(leaf);
        };
        bench.measure(spec, timed("hearth", [&] { gradient().eval(); }));
      }
    }
  }
}

}  // namespace hearth::tools
