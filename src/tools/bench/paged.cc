// Attention over pages: one row of a long sequence against reading its keys and values, the same of
// caches of codes against caches of f16, and a prompt against attention() of the same sizes.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kHeads = 32, kKvHeads = 8, kHeadDim = 128, kPageSize = 16;

// A sequence of `length` keys in shuffled pages, whose last `rows` are those of q.
struct PagedProblem {
  Array q, keys, values, pages, starts, lengths;
  PagedAttentionOptions options;

  // `bits`: of codes of turbo_quantize(), in place of the dtype.
  PagedProblem(std::int64_t rows, std::int64_t length, DType cache, std::int64_t bits = 0) {
    const Floats some(rows * kHeads * kHeadDim, -1, 1);
    const Floats row_values(length * kKvHeads * kHeadDim, -1, 1);
    std::vector<std::int32_t> order(static_cast<std::size_t>(length / kPageSize));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(1);
    std::shuffle(order.begin(), order.end(), random);
    const auto numbers = [](const std::vector<std::int32_t>& data, const Shape& shape) {
      return Array::from_data(data, shape, Device::cpu());
    };
    q = to_array(some, {rows, kHeads, kHeadDim});
    const Array drawn = to_array(row_values, {length, kKvHeads, kHeadDim});
    const auto stored = [&](const Array& x) {
      if (bits != 0) return turbo_quantize(x, bits).eval();
      return (is_packed(cache) ? quantize(x, cache) : cast(x, cache)).eval();
    };
    keys = stored(drawn);
    values = stored(add(drawn, 1.0));
    options.key_bits = options.value_bits = bits;
    pages = numbers(order, {1, length / kPageSize});
    starts = numbers({0, static_cast<std::int32_t>(rows)}, {2});
    lengths = numbers({static_cast<std::int32_t>(length)}, {1});
  }

  void run() const {
    paged_attention(q, keys, values, pages, starts, lengths, kPageSize, options).eval();
  }
};

// Decoding with caches of codes against caches of f16.
struct CodedCache {
  const char* name;
  DType dtype;
  std::int64_t bits = 0;
  double ratio;  // of the time of f16
};
constexpr CodedCache kCodedCaches[] = {{"q8_0", DType::q8_0, 0, 1.0},
                                       {"q4_0", DType::q4_0, 0, 1.1},
                                       {"tq4", DType::u8, 4, 1.1},
                                       {"tq3", DType::u8, 3, 1.3},
                                       {"tq2", DType::u8, 2, 1.2}};

void bench_coded(Bench& bench, const RowSpec& spec, std::int64_t length, const CodedCache& cache) {
  const WithThreads with(spec.threads);
  const PagedProblem coded(1, length, cache.dtype, cache.bits);
  const PagedProblem plain(1, length, DType::f16);
  bench.measure(spec, timed("hearth", [&] { coded.run(); }), {timed("f16", [&] { plain.run(); })});
}

void bench_decode(Bench& bench, const RowSpec& spec, std::int64_t length, std::int64_t bytes) {
  const WithThreads with(spec.threads);
  const PagedProblem problem(1, length, DType::f16);
  const Floats as_much(bytes / 4, -1, 1);
  bench.measure(spec, timed("hearth", [&] { problem.run(); }), both_readings(as_much));
}

void bench_prompt(Bench& bench, const RowSpec& spec, std::int64_t rows) {
  const WithThreads with(spec.threads);
  const PagedProblem problem(rows, rows, DType::f32);
  const auto dense = [](const Array& x) {
    return contiguous(unsqueeze(permute(x, {1, 0, 2}), {0})).eval();
  };
  const Array q = dense(problem.q), k = dense(problem.keys), v = dense(problem.values);
  bench.measure(spec, timed("hearth", [&] { problem.run(); }),
                {timed("attention", [&] { attention(q, k, v, {.causal = true}).eval(); })});
}

}  // namespace

void bench_paged(Bench& bench) {
  constexpr std::int64_t kLength = 4096, kPrompt = 512;
  constexpr std::int64_t kBytes = kLength * kKvHeads * kHeadDim * 2 * 2;
  for (int threads = 1; threads <= bench.threads(); threads += bench.threads() - 1) {
    const std::string ending = "_" + std::to_string(threads) + "t";
    const RowSpec decode{.row = "paged/decode_4096_f16" + ending,
                         .unit = "GB/s",
                         .scale = 1e-9 * static_cast<double>(kBytes),
                         .rate = true,
                         .ratio = 0.5,
                         .threads = threads,
                         .recording_included = true};
    if (bench.wants(decode.row)) bench_decode(bench, decode, kLength, kBytes);
    for (const std::int64_t length : {1536, 8192}) {
      for (const CodedCache& cache : kCodedCaches) {
        const RowSpec coded{
            .row = "paged/decode_" + std::to_string(length) + "_" + cache.name + ending,
            .unit = "us",
            .scale = 1e6,
            .ratio = cache.ratio,
            .threads = threads,
            .recording_included = true};
        if (bench.wants(coded.row)) bench_coded(bench, coded, length, cache);
      }
    }
    const RowSpec prompt{.row = "paged/prompt_512" + ending,
                         .unit = "ms",
                         .scale = 1e3,
                         .ratio = 1.2,
                         .threads = threads,
                         .recording_included = true};
    if (bench.wants(prompt.row)) bench_prompt(bench, prompt, kPrompt);
    if (bench.threads() == 1) break;
  }
}

}  // namespace hearth::tools
