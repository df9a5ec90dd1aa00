// Rows that read a large matrix once: row-wise functions, reductions, a transposing copy, against
// the memory traffic that they cannot avoid.
#include "hearth/ops.h"
#include "tools/bench/limits.h"

namespace hearth::tools {

void bench_rows(Bench& bench) {
  constexpr std::int64_t kSide = 4096;
  struct Row {
    const char* name;
    bool writes;  // a matrix, else a vector
    std::function<Array(const Array&)> run;
  };
  const Row rows[] = {
      {"softmax", true, [](const Array& x) { return softmax(x, -1); }},
      {"rms_norm", true, [](const Array& x) { return rms_norm(x); }},
      {"layer_norm", true, [](const Array& x) { return layer_norm(x); }},
      {"sum_axis0", false, [](const Array& x) { return sum(x, {0}); }},
      {"sum_axis1", false, [](const Array& x) { return sum(x, {1}); }},
      {"argmax_axis0", false, [](const Array& x) { return argmax(x, 0); }},
      {"argmax_axis1", false, [](const Array& x) { return argmax(x, 1); }},
      {"cumsum_axis0", true, [](const Array& x) { return cumsum(x, 0); }},
      {"cumsum_axis1", true, [](const Array& x) { return cumsum(x, 1); }},
      {"transpose_copy", true, [](const Array& x) { return contiguous(transpose(x)); }},
  };
  const auto name = [](const Row& row) { return std::string("rows/") + row.name; };
  bool any = false;
  for (const Row& row : rows) any |= bench.wants(name(row));
  if (!any) return;

  const WithThreads with(bench.threads());
  const Floats values(kSide * kSide, -3, 3);
  Floats out(kSide * kSide, 0, 1);
  const Array x = to_array(values, {kSide, kSide});
  for (const Row& row : rows) {
    const RowSpec spec{.row = name(row),
                       .unit = "us",
                       .scale = 1e6,
                       .ratio = 1.4,
                       .threads = bench.threads(),
                       .recording_included = true};
    if (!bench.wants(spec.row)) continue;
    std::vector<Contestant> limits;
    if (row.writes) {
      limits = both_stores("copy", [&](Store store) { copy_memory(out, values, store); });
    } else {
      limits = both_readings(values);
    }
    bench.measure(spec, timed("hearth", [&] { row.run(x).eval(); }), limits);
  }
}

}  // namespace hearth::tools
