// Products with packed weights: one row against reading as many bytes, many rows against the same
// product in f32.
#include <cstddef>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kIn = 4096, kOut = 14336, kRows = 512;

// Weights [kOut, kIn], of which only some rows are worked out.
Array packed_weight(DType format) {
  constexpr std::int64_t kDistinct = 32;
  const Floats values(kDistinct * kIn, -1, 1);
  const Array some = quantize(to_array(values, {kDistinct, kIn}), format);
  const std::vector<std::uint8_t> bytes = block_bytes(some).to_vector<std::uint8_t>();
  std::vector<std::byte> all;
  for (std::int64_t i = 0; i < kOut / kDistinct; ++i) {
    const auto* const from = reinterpret_cast<const std::byte*>(bytes.data());
    all.insert(all.end(), from, from + bytes.size());
  }
  return Array::from_bytes(all, format, {kOut, kIn}, Device::cpu());
}

void bench_row(Bench& bench, const RowSpec& spec, DType format) {
  const WithThreads with(spec.threads);
  const Floats values(kIn, -1, 1);
  const Floats as_much(bytes_of(format, kIn * kOut) / 4, -1, 1);
  const Array x = to_array(values, {1, kIn}), weight = packed_weight(format);
  bench.measure(spec, timed("hearth", [&] { linear(x, weight).eval(); }), both_readings(as_much));
}

void bench_rows_of(Bench& bench, const RowSpec& spec, DType format) {
  const WithThreads with(spec.threads);
  const Floats values(kRows * kIn, -1, 1);
  const Array x = to_array(values, {kRows, kIn}), weight = packed_weight(format);
  const Array plain = dequantize(weight);
  plain.eval();
  bench.measure(spec, timed("hearth", [&] { linear(x, weight).eval(); }),
                {timed("f32 weights", [&] { linear(x, plain).eval(); })});
}

}  // namespace

void bench_packed(Bench& bench) {
  for (const DType format :
       {DType::q4_0, DType::q4_k, DType::q8_0, DType::q6_k, DType::iq4_xs, DType::mxfp4}) {
    for (int threads = 1; threads <= bench.threads(); threads += bench.threads() - 1) {
      const std::string ending = "_" + std::to_string(threads) + "t";
      const RowSpec one{.row = "packed/" + std::string(name(format)) + "_1_row" + ending,
                        .unit = "GB/s",
                        .scale = 1e-9 * static_cast<double>(bytes_of(format, kIn * kOut)),
                        .rate = true,
                        .ratio = 0.85,
                        .threads = threads,
                        .recording_included = true};
      if (bench.wants(one.row)) bench_row(bench, one, format);
      const RowSpec many{.row = "packed/" + std::string(name(format)) + "_512_rows" + ending,
                         .unit = "GFLOP/s",
                         .scale = 2e-9 * static_cast<double>(kRows * kIn * kOut),
                         .rate = true,
                         .most = 250.0 * threads,
                         .ratio = 2,
                         .threads = threads,
                         .recording_included = true};
      if (bench.wants(many.row)) bench_rows_of(bench, many, format);
      if (bench.threads() == 1) break;
    }
  }
}

}  // namespace hearth::tools
