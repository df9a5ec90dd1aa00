// Pools and resized images of ResNet's first layers. Bound by memory: rates count the elements that
// are read and written once.
#include <functional>
#include <string>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/ops/image.h"
#include "hearth/ops/pool.h"
#include "hearth/random.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kBatch = 16, kChannels = 64, kSize = 112;

// bench/torch_pool.py has the same.
struct PoolRow {
  const char* name;
  std::int64_t size;  // of x
  std::function<Array(const Array& x)> run;
};
const std::vector<PoolRow>& pool_rows() {
  const PoolOptions window = {.stride = {2}, .padding = {1}};
  static const std::vector<PoolRow> all = {
      {"max_3x3s2", kSize, [=](const Array& x) { return max_pool(x, {3}, window); }},
      {"max_2x2s2", kSize, [](const Array& x) { return max_pool(x, {2}); }},
      {"avg_3x3s2", kSize,
       [](const Array& x) { return avg_pool(x, {3}, {.stride = {2}, .padding = {1}}); }},
      {"avg_2x2s2", kSize, [](const Array& x) { return avg_pool(x, {2}); }},
      {"adaptive_7x7", kSize, [](const Array& x) { return adaptive_avg_pool(x, {7}); }},
      {"linear_x2", kSize / 2,
       [](const Array& x) {
         return interpolate(x, {kSize, kSize}, InterpolateMode::linear, false);
       }},
      {"nearest_x2", kSize / 2, [](const Array& x) { return interpolate(x, {kSize, kSize}); }},
  };
  return all;
}

}  // namespace

void bench_pool(Bench& bench) {
  for (const PoolRow& row : pool_rows()) {
    for (const bool gradient : {false, true}) {
      const std::string text =
          "pool/f32_" + std::string(gradient ? "gradient_" : "forward_") + row.name;
      if (!bench.wants(text)) continue;
      const WithThreads with(bench.threads());
      const Array x = random_normal({kBatch, kChannels, row.size, row.size}, 0, 1);
      const Array y = row.run(x);
      y.eval();
      const auto bytes = static_cast<double>((x.size() + y.size()) * size_of(x.dtype()));
      const RowSpec spec{.row = text,
                         .unit = "GB/s",
                         .scale = 1e-9 * bytes,
                         .rate = true,
                         .threads = bench.threads(),
                         .recording_included = true};
      if (!gradient) {
        bench.measure(spec, timed("hearth", [&] { row.run(x).eval(); }));
        continue;
      }
      const Array leaf = x.require_grad();
      const Array grad = random_normal(y.shape(), 0, 1);
      grad.eval();
      // Of a maximum with its result, which says where it came from.
      bench.measure(spec,
                    timed("hearth", [&] { backward(sum(row.run(leaf) * grad)).at(leaf).eval(); }));
    }
  }
}

}  // namespace hearth::tools
