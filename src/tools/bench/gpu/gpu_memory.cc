// Rows of a GPU that are bound by memory: elementwise ops, norms, reductions, copies, indexing.
#include <cmath>

#include "hearth/ops.h"
#include "hearth/random.h"
#include "tools/bench/gpu/gpu.h"

namespace hearth::tools {
namespace {

constexpr double kMegaElements = static_cast<double>(kMillion);

void bench_limit_rows(Bench& bench, MemoryLimits& limits) {
  constexpr double kBytes = 1e12;
  RowSpec spec = bandwidth_row("gpu/limit/copy", kBytes);
  spec.recording_included = false;
  spec.note = "2 GiB by the driver, bytes read and written";
  if (bench.wants(spec.row)) bench.measure(spec, limits.copy(kBytes));
  spec.row = "gpu/limit/read";
  spec.note = "2 GiB by a kernel that writes nothing";
  if (bench.wants(spec.row)) bench.measure(spec, limits.read(kBytes));
}

void bench_elements(Bench& bench, MemoryLimits& limits) {
  const Device device = bench.device();
  const auto uniform = [&](std::int64_t count, DType dtype) {
    return random_uniform({count}, -2, 2, dtype, device).eval();
  };
  const auto measure = [&](RowSpec spec, double bytes, std::function<Array()> call) {
    spec.ratio = 0.95;
    bench.measure(spec, streamed(device, queued(std::move(call))), {limits.copy(bytes)});
  };
  RowSpec spec = bandwidth_row("gpu/elementwise/tanh_chain_f32_64m", 3 * 4 * 64 * kMegaElements);
  spec.note = "tanh(a*b+1.5)*sigmoid(a-b)+exp(-a*a)*0.5";
  if (bench.wants(spec.row)) {
    const Array a = uniform(64 * kMillion, DType::f32), b = uniform(64 * kMillion, DType::f32);
    measure(spec, spec.scale * 1e12,
            [=] { return tanh(a * b + 1.5) * sigmoid(a - b) + exp(neg(a) * a) * 0.5; });
  }
  spec = bandwidth_row("gpu/elementwise/add_f32_256m", 3 * 4 * 256 * kMegaElements);
  if (bench.wants(spec.row)) {
    const Array a = uniform(256 * kMillion, DType::f32), b = uniform(256 * kMillion, DType::f32);
    measure(spec, spec.scale * 1e12, [=] { return a + b; });
  }
  for (const bool narrows : {true, false}) {
    spec = bandwidth_row(
        narrows ? "gpu/elementwise/cast_f32_to_bf16_128m" : "gpu/elementwise/cast_bf16_to_f32_128m",
        (4 + 2) * 128 * kMegaElements);
    if (!bench.wants(spec.row)) continue;
    const Array x = uniform(128 * kMillion, narrows ? DType::f32 : DType::bf16);
    const DType to = narrows ? DType::bf16 : DType::f32;
    measure(spec, spec.scale * 1e12, [=] { return cast(x, to); });
  }
}

void bench_norms(Bench& bench, MemoryLimits& limits) {
  constexpr std::int64_t kColumns = 4096;
  struct Row {
    const char* name;
    Array (*run)(const Array& x, const Array& weight);
  };
  const Row rows[] = {
      {"softmax", [](const Array& x, const Array&) { return softmax(x, -1); }},
      {"layer_norm", [](const Array& x, const Array& w) { return layer_norm(x, w, w); }},
      {"rms_norm", [](const Array& x, const Array& w) { return rms_norm(x, w); }},
  };
  for (const std::int64_t count : {std::int64_t{32768}, std::int64_t{4096}}) {
    for (const Row& row : rows) {
      const double bytes = 2.0 * 2 * static_cast<double>(count * kColumns);
      RowSpec spec = bandwidth_row(
          std::string("gpu/rows/") + row.name + "_bf16_" + std::to_string(count) + "x4096", bytes);
      spec.peer = 1.0;
      if (!bench.wants(spec.row)) continue;
      const Array x = random_normal({count, kColumns}, 0, 1, DType::bf16, bench.device()).eval();
      const Array w = random_normal({kColumns}, 1, 0.1, DType::bf16, bench.device()).eval();
      const Contestant ours =
          streamed(bench.device(), queued([x, w, run = row.run] { return run(x, w); }));
      if (count > kColumns) {
        spec.ratio = 0.9;
        bench.measure(spec, ours, {limits.copy(bytes)});
      } else {
        spec.note = "fits the card's cache";
        bench.measure(spec, ours);
      }
    }
  }
}

void bench_reductions(Bench& bench, MemoryLimits& limits) {
  constexpr std::int64_t kRows = 32768, kColumns = 4096;
  constexpr double kBytes = 4.0 * kRows * kColumns;
  struct Row {
    const char* name;
    bool writes;  // a matrix, else a vector
    Array (*run)(const Array& x);
  };
  const Row rows[] = {
      {"sum_dim0", false, [](const Array& x) { return sum(x, {0}); }},
      {"sum_dim1", false, [](const Array& x) { return sum(x, {1}); }},
      {"argmax_dim0", false, [](const Array& x) { return argmax(x, 0); }},
      {"argmax_dim1", false, [](const Array& x) { return argmax(x, 1); }},
      {"cumsum_dim0", true, [](const Array& x) { return cumsum(x, 0); }},
      {"cumsum_dim1", true, [](const Array& x) { return cumsum(x, 1); }},
      {"transpose", true, [](const Array& x) { return contiguous(transpose(x)); }},
  };
  for (const Row& row : rows) {
    const double bytes = row.writes ? 2 * kBytes : kBytes;
    RowSpec spec = bandwidth_row(std::string("gpu/rows/") + row.name + "_f32_32768x4096", bytes);
    spec.ratio = row.writes ? 0.85 : 0.92;
    if (!bench.wants(spec.row)) continue;
    const Array x = random_normal({kRows, kColumns}, 0, 1, DType::f32, bench.device()).eval();
    bench.measure(spec, streamed(bench.device(), queued([x, run = row.run] { return run(x); })),
                  {row.writes ? limits.copy(bytes) : limits.read(bytes)});
  }
}

void bench_indexing(Bench& bench) {
  constexpr std::int64_t kWidth = 128;
  constexpr double kBytes = 4.0 * kWidth * kMegaElements;
  const Device device = bench.device();
  RowSpec gathered = bandwidth_row("gpu/indexing/gather_rows_f32_1mx128", 2 * kBytes);
  gathered.peer = 1.0;
  RowSpec added = bandwidth_row("gpu/indexing/index_add_rows_f32_1mx128", 3 * kBytes);
  added.peer = 0.5;
  added.note = "in the order of the indices: the same bits every time";
  if (!bench.wants(gathered.row) && !bench.wants(added.row)) return;
  const Array rows = random_normal({kMillion, kWidth}, 0, 1, DType::f32, device).eval();
  const Array indices = random_integers({kMillion}, 0, kMillion, DType::i64, device).eval();
  if (bench.wants(gathered.row)) {
    bench.measure(gathered, streamed(device, queued([=] { return select(rows, indices, 0); })));
  }
  if (bench.wants(added.row)) {
    Array total = contiguous(zeros({kMillion, kWidth}, DType::f32, device)).eval();
    bench.measure(added, streamed(device, [&] {
                    total = select_add(std::exchange(total, Array()), indices, rows, 0);
                    submit();
                  }));
  }
}

}  // namespace

void bench_gpu_memory(Bench& bench, MemoryLimits& limits) {
  bench_limit_rows(bench, limits);
  bench_elements(bench, limits);
  bench_norms(bench, limits);
  bench_reductions(bench, limits);
  bench_indexing(bench);
}

}  // namespace hearth::tools
