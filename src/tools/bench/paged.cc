// Attention over pages: one row of a long sequence against reading its keys and values, and a
// prompt against attention() of the same sizes.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kHeads = 32, kKvHeads = 8, kHeadDim = 128, kPageSize = 16;

// A sequence of `length` keys in shuffled pages, whose last `rows` are those of q.
struct PagedProblem {
  Array q, keys, values, pages, starts, lengths;

  PagedProblem(std::int64_t rows, std::int64_t length, DType cache) {
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
    keys = cast(to_array(row_values, {length, kKvHeads, kHeadDim}), cache).eval();
    values = add(keys, 1.0).eval();
    pages = numbers(order, {1, length / kPageSize});
    starts = numbers({0, static_cast<std::int32_t>(rows)}, {2});
    lengths = numbers({static_cast<std::int32_t>(length)}, {1});
  }

  void run() const { paged_attention(q, keys, values, pages, starts, lengths, kPageSize).eval(); }
};

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
