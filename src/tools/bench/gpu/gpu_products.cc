// Rows of a GPU that multiply: matrices, attention, and matrices by a vector.
#include <algorithm>
#include <vector>

#include "hearth/numerics.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "tools/bench/gpu/gpu.h"

namespace hearth::tools {
namespace {

// What is read in one replay is more than a card's cache holds.
constexpr double kBeyondCache = 256e6;
// Between samples of what brings a card to its limit of power.
constexpr double kRestSeconds = 20e-3;

int copies_beyond_cache(double bytes) {
  return static_cast<int>(std::clamp(kBeyondCache / bytes + 1, 2.0, 64.0));
}

// All calls as one plan, the results held until it is queued.
std::function<void()> as_one_plan(int calls, std::function<Array(int)> call) {
  return [calls, call = std::move(call)] {
    std::vector<Array> results;
    for (int i = 0; i < calls; ++i) results.push_back(call(i));
    submit();
  };
}

void bench_squares(Bench& bench) {
  const Device device = bench.device();
  struct Kind {
    const char* name;
    DType dtype;
    bool tf32;
  };
  for (const auto [kind, dtype, tf32] :
       {Kind{"f32", DType::f32, false}, Kind{"tf32", DType::f32, true},
        Kind{"bf16", DType::bf16, false}, Kind{"f16", DType::f16, false}}) {
    const WithNumerics with({.tf32 = tf32, .deterministic = numerics().deterministic});
    for (const std::int64_t n : {64, 128, 256, 512, 1024, 2048, 4096, 8192}) {
      std::string row = "gpu/matmul/";
      row.append(kind).append("_").append(std::to_string(n));
      if (!bench.wants(row)) continue;
      const Array a = random_normal({n, n}, 0, 1, dtype, device).eval();
      const Array b = random_normal({n, n}, 0, 1, dtype, device).eval();
      const auto queue = queued([=] { return matmul(a, b); });
      if (n < 1024) {
        RowSpec spec = latency_row(row, "sync");
        spec.peer = 1.0;
        bench.measure(spec, synchronized(device, queue));
      } else {
        RowSpec spec = throughput_row(row, 2.0 * static_cast<double>(n * n * n));
        spec.peer = 0.98;
        spec.pause = kRestSeconds;
        bench.measure(spec, streamed(device, queue));
      }
    }
  }
}

void bench_prefill(Bench& bench) {
  constexpr std::int64_t kHeads = 32, kDim = 128;
  struct Shape4 {
    std::int64_t batch, length;
  };
  for (const auto [batch, length] : {Shape4{1, 4096}, Shape4{4, 2048}}) {
    for (const bool causal : {false, true}) {
      const double flops =
          4.0 * static_cast<double>(batch * kHeads * length * length * kDim) * (causal ? 0.5 : 1.0);
      RowSpec spec =
          throughput_row("gpu/attention/prefill_bf16_b" + std::to_string(batch) + "_h32_s" +
                             std::to_string(length) + "_d128" + (causal ? "_causal" : ""),
                         flops);
      spec.peer = 1.0;
      spec.pause = kRestSeconds;
      if (!bench.wants(spec.row)) continue;
      const Shape shape = {batch, kHeads, length, kDim};
      const auto fresh = [&] {
        return random_normal(shape, 0, 1, DType::bf16, bench.device()).eval();
      };
      const Array q = fresh(), k = fresh(), v = fresh();
      bench.measure(spec, streamed(bench.device(),
                                   queued([=] { return attention(q, k, v, {.causal = causal}); })));
    }
  }
}

void bench_decode(Bench& bench, MemoryLimits& limits) {
  constexpr std::int64_t kHeads = 32, kKeyHeads = 8, kDim = 128;
  for (const std::int64_t thousands : {1, 8, 32}) {
    const std::int64_t length = thousands * 1024;
    const double bytes = 2.0 * 2 * static_cast<double>(kKeyHeads * length * kDim);
    RowSpec spec = bandwidth_row(
        "gpu/attention/decode_bf16_gqa32_8_s" + std::to_string(thousands) + "k_d128", bytes);
    spec.timing = "replay";
    spec.peer = 1.0;
    if (!bench.wants(spec.row)) continue;
    const int copies = copies_beyond_cache(bytes);
    spec.note = std::to_string(copies) + " caches in turn, beyond the card's";
    std::vector<Array> q, k, v;
    const auto fresh = [&](std::int64_t heads, std::int64_t rows) {
      return random_normal({1, heads, rows, kDim}, 0, 1, DType::bf16, bench.device()).eval();
    };
    for (int i = 0; i < copies; ++i) {
      q.push_back(fresh(kHeads, 1));
      k.push_back(fresh(kKeyHeads, length));
      v.push_back(fresh(kKeyHeads, length));
    }
    const Contestant ours = streamed(bench.device(),
                                     as_one_plan(copies,
                                                 [&](int i) {
                                                   const auto at = static_cast<std::size_t>(i);
                                                   return attention(q[at], k[at], v[at]);
                                                 }),
                                     copies);
    if (thousands == 32) {
      spec.ratio = 0.85;
      bench.measure(spec, ours, {limits.read(bytes)});
    } else {
      bench.measure(spec, ours);
    }
  }
}

void bench_matvec(Bench& bench, MemoryLimits& limits) {
  struct Matrix {
    std::int64_t rows, columns;
    bool large;
  };
  for (const auto [rows, columns, large] :
       {Matrix{4096, 4096, false}, Matrix{14336, 4096, true}, Matrix{4096, 14336, true},
        Matrix{128256, 4096, true}}) {
    const double bytes = 2.0 * static_cast<double>(rows * columns);
    RowSpec spec = bandwidth_row(
        "gpu/matvec/bf16_" + std::to_string(rows) + "x" + std::to_string(columns), bytes);
    spec.timing = "replay";
    if (!bench.wants(spec.row)) continue;
    const int copies = copies_beyond_cache(bytes);
    spec.note = std::to_string(copies) + " matrices in turn, beyond the card's cache";
    std::vector<Array> weights;
    for (int i = 0; i < copies; ++i) {
      weights.push_back(random_normal({rows, columns}, 0, 1, DType::bf16, bench.device()).eval());
    }
    const Array x = random_normal({1, columns}, 0, 1, DType::bf16, bench.device()).eval();
    const Contestant ours = streamed(
        bench.device(),
        as_one_plan(copies, [&](int i) { return linear(x, weights[static_cast<std::size_t>(i)]); }),
        copies);
    if (large) spec.ratio = 0.9;
    bench.measure(spec, ours, {limits.read(bytes)});
  }
}

}  // namespace

void bench_gpu_products(Bench& bench, MemoryLimits& limits) {
  bench_squares(bench);
  bench_prefill(bench);
  bench_decode(bench, limits);
  bench_matvec(bench, limits);
}

}  // namespace hearth::tools
