// Sorting one long line, on one thread.
#include <string>

#include "hearth/ops.h"
#include "tools/bench/limits.h"

namespace hearth::tools {

void bench_sort(Bench& bench) {
  struct Row {
    const char* name;
    double most;  // ms
    Array (*run)(const Array& x);
  };
  const Row rows[] = {
      {"sort_f32_1m", 5, [](const Array& x) { return sort(x); }},
      {"argsort_f32_1m", 12, [](const Array& x) { return argsort(x); }},
      {"sort_f32_4096x256", 8, [](const Array& x) { return sort(reshape(x, {4096, 256})); }},
  };
  const WithThreads with(1);
  for (const Row& row : rows) {
    const RowSpec spec{.row = std::string("sort/") + row.name,
                       .unit = "ms",
                       .scale = 1e3,
                       .most = row.most,
                       .recording_included = true};
    if (!bench.wants(spec.row)) continue;
    const Floats values(kMillion, -3, 3);
    const Array x = to_array(values, {kMillion});
    bench.measure(spec, timed("hearth", [&] { row.run(x).eval(); }));
  }
}

}  // namespace hearth::tools
