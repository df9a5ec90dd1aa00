// Rows of a GPU that sort: one long line, and the largest of several.
#include "hearth/ops.h"
#include "hearth/random.h"
#include "tools/bench/gpu/gpu.h"

namespace hearth::tools {

void bench_gpu_sort(Bench& bench) {
  struct Row {
    const char* name;
    Shape shape;
    Array (*run)(const Array& x);
  };
  const Row rows[] = {
      {"gpu/sort/sort_f32_16m", {16 * kMillion}, [](const Array& x) { return sort(x); }},
      {"gpu/sort/argsort_f32_16m", {16 * kMillion}, [](const Array& x) { return argsort(x); }},
      {"gpu/sort/sort_f32_16384x1024", {16384, 1024}, [](const Array& x) { return sort(x); }},
      {"gpu/sort/topk_100_f32_32x1m",
       {32, kMillion},
       [](const Array& x) { return contiguous(topk(x, 100)); }},
  };
  for (const Row& row : rows) {
    const RowSpec spec = latency_row(row.name, "stream");
    if (!bench.wants(spec.row)) continue;
    const Array x = random_normal(row.shape, 0, 1, DType::f32, bench.device()).eval();
    bench.measure(spec, streamed(bench.device(), queued([x, run = row.run] { return run(x); })));
  }
}

}  // namespace hearth::tools
