// Rows of a GPU about language models: products with packed weights and attention over pages, each
// against reading as many bytes.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "hearth/random.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/gpu/random_blocks.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kPackedOut = 14336, kPackedIn = 4096;
// What is read in one replay is more than a card's cache holds.
constexpr double kMuchMemory = 256e6;

int copies_of(double bytes) {
  return static_cast<int>(std::clamp(kMuchMemory / bytes + 1, 2.0, 64.0));
}

// Calls as one plan, whose results are held until it is queued.
Contestant replayed(Device device, int calls, std::function<Array(int)> call) {
  const auto queue = [calls, call = std::move(call)] {
    std::vector<Array> results;
    for (int i = 0; i < calls; ++i) results.push_back(call(i));
    submit();
  };
  return streamed(device, queue, calls);
}

void bench_few_rows(Bench& bench, MemoryLimits& limits, DType format, std::int64_t rows) {
  const double bytes = static_cast<double>(bytes_of(format, kPackedOut * kPackedIn));
  std::string row = "gpu/packed/";
  row.append(name(format)).append("_").append(std::to_string(rows)).append("_rows");
  RowSpec spec = bandwidth_row(row, bytes);
  spec.timing = "replay";
  spec.ratio = rows == 1 ? 0.75 : 0.6;
  if (!bench.wants(spec.row)) return;
  const int copies = copies_of(bytes);
  std::vector<Array> weights;
  for (int i = 0; i < copies; ++i) {
    weights.push_back(random_blocks(format, {kPackedOut, kPackedIn}, bench.device()).eval());
  }
  const Array x = random_normal({rows, kPackedIn}, 0, 1, DType::bf16, bench.device()).eval();
  const auto product = [&](int i) { return linear(x, weights[static_cast<std::size_t>(i)]); };
  bench.measure(spec, replayed(bench.device(), copies, product), {limits.read(bytes)});
}

void bench_many_rows(Bench& bench, DType format, std::int64_t rows) {
  std::string row = "gpu/packed/";
  row.append(name(format)).append("_").append(std::to_string(rows)).append("_rows");
  RowSpec spec = throughput_row(row, 2.0 * static_cast<double>(rows * kPackedOut * kPackedIn));
  spec.ratio = 0.45;
  if (!bench.wants(spec.row)) return;
  const Array weight = random_blocks(format, {kPackedOut, kPackedIn}, bench.device()).eval();
  const Array plain = dequantize(weight, DType::bf16).eval();
  const Array x = random_normal({rows, kPackedIn}, 0, 1, DType::bf16, bench.device()).eval();
  Contestant peer = streamed(bench.device(), queued([=] { return linear(x, plain); }));
  peer.name = "bf16 weights";
  bench.measure(spec, streamed(bench.device(), queued([=] { return linear(x, weight); })), {peer});
}

// Sequences of `length` keys each in shuffled pages, one row of each.
void bench_paged_decode(Bench& bench, MemoryLimits& limits, std::int64_t sequences,
                        std::int64_t length) {
  constexpr std::int64_t kHeads = 32, kKvHeads = 8, kDim = 128, kPage = 32;
  const std::int64_t slots = sequences * length;
  const double bytes = 2.0 * 2 * static_cast<double>(slots * kKvHeads * kDim);
  RowSpec spec = bandwidth_row("gpu/paged/decode_f16_gqa32_8_d128_" + std::to_string(sequences) +
                                   "x" + std::to_string(length / 1024) + "k",
                               bytes);
  spec.timing = "replay";
  spec.ratio = 0.7;
  if (!bench.wants(spec.row)) return;
  const Device device = bench.device();
  const int copies = copies_of(bytes);
  std::vector<std::int32_t> order(static_cast<std::size_t>(slots / kPage));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int32_t> starts(static_cast<std::size_t>(sequences + 1));
  std::iota(starts.begin(), starts.end(), 0);
  const std::vector<std::int32_t> lengths(static_cast<std::size_t>(sequences),
                                          static_cast<std::int32_t>(length));
  const Array pages = Array::from_data(order, {sequences, length / kPage}, device);
  const Array first = Array::from_data(starts, {sequences + 1}, device);
  const Array counts = Array::from_data(lengths, {sequences}, device);
  std::vector<Array> keys, values;
  const auto fresh = [&](const Shape& shape, DType dtype) {
    return random_normal(shape, 0, 1, dtype, device).eval();
  };
  for (int i = 0; i < copies; ++i) {
    keys.push_back(fresh({slots, kKvHeads, kDim}, DType::f16));
    values.push_back(fresh({slots, kKvHeads, kDim}, DType::f16));
  }
  const Array q = fresh({sequences, kHeads, kDim}, DType::bf16);
  const auto call = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    return paged_attention(q, keys[at], values[at], pages, first, counts, kPage);
  };
  bench.measure(spec, replayed(device, copies, call), {limits.read(bytes)});
}

}  // namespace

void bench_gpu_packed(Bench& bench, MemoryLimits& limits) {
  for (const DType format :
       {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k, DType::q3_k,
        DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs, DType::mxfp4,
        DType::nvfp4, DType::iq2_xs, DType::iq3_s, DType::affine6, DType::affine8}) {
    for (const std::int64_t rows : {1, 2, 4, 8, 16}) bench_few_rows(bench, limits, format, rows);
    for (const std::int64_t rows : {512, 4096}) bench_many_rows(bench, format, rows);
  }
  for (const std::int64_t length : {1024, 32768}) {
    bench_paged_decode(bench, limits, 1, length);
    bench_paged_decode(bench, limits, 64, length);
  }
}

}  // namespace hearth::tools
