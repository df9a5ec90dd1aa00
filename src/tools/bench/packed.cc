// Products with packed weights: one row against reading as many bytes, many rows against the same
// product in f32; the same of experts, whose many rows are beside a product of one weight.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kIn = 4096, kOut = 14336, kRows = 512;

// Experts of a layer, those of a row, and their weights [kExpertOut, kExpertIn].
constexpr std::int64_t kExperts = 128, kUsed = 8, kExpertOut = 768, kExpertIn = 2048;

// Weights [out, in], of which only some rows are worked out.
Array packed_weight(DType format, std::int64_t out = kOut, std::int64_t in = kIn) {
  constexpr std::int64_t kDistinct = 32;
  const Floats values(kDistinct * in, -1, 1);
  const Array some = quantize(to_array(values, {kDistinct, in}), format);
  const std::vector<std::uint8_t> bytes = block_bytes(some).to_vector<std::uint8_t>();
  std::vector<std::byte> all;
  for (std::int64_t i = 0; i < out / kDistinct; ++i) {
    const auto* const from = reinterpret_cast<const std::byte*>(bytes.data());
    all.insert(all.end(), from, from + bytes.size());
  }
  return Array::from_bytes(all, format, {out, in}, Device::cpu());
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

Array packed_experts(DType format) {
  return reshape(packed_weight(format, kExperts * kExpertOut, kExpertIn),
                 {kExperts, kExpertOut, kExpertIn});
}

// One row, each time by other experts than the last, so that weights come from memory.
void bench_expert_row(Bench& bench, const RowSpec& spec, DType format) {
  constexpr std::int64_t kSets = kExperts / kUsed;
  const WithThreads with(spec.threads);
  const Floats values(kExpertIn, -1, 1);
  const Array x = to_array(values, {1, kExpertIn}), weight = packed_experts(format);
  std::vector<Array> experts;
  std::vector<std::unique_ptr<Floats>> as_much;
  for (std::int64_t i = 0; i < kSets; ++i) {
    std::vector<std::int32_t> chosen;
    for (std::int64_t u = 0; u < kUsed; ++u) {
      chosen.push_back(static_cast<std::int32_t>(u * kSets + i));
    }
    experts.push_back(Array::from_data(chosen, {1, kUsed}, Device::cpu()));
    const std::int64_t bytes = bytes_of(format, kExpertIn * kExpertOut * kUsed);
    as_much.push_back(std::make_unique<Floats>(bytes / 4, -1, 1));
  }
  std::size_t turn = 0;
  const auto next = [&turn] { return turn = (turn + 1) % kSets; };
  bench.measure(
      spec, timed("hearth", [&] { expert_linear(x, weight, experts[next()]).eval(); }),
      {timed("read", [&] { read_memory(*as_much[next()], Reading::forward); }),
       timed("read, four streams", [&] { read_memory(*as_much[next()], Reading::four_streams); })});
}

// Rows whose experts are spread evenly, beside as many products with one weight.
void bench_expert_rows(Bench& bench, const RowSpec& spec, DType format) {
  const WithThreads with(spec.threads);
  const Floats values(kRows * kExpertIn, -1, 1);
  const Array x = to_array(values, {kRows, kExpertIn}), weight = packed_experts(format);
  const Array one = packed_weight(format, kUsed * kExpertOut, kExpertIn);
  std::vector<std::int32_t> chosen;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t u = 0; u < kUsed; ++u) {
      chosen.push_back(static_cast<std::int32_t>((row * 37 + u * 16 + row / 16) % kExperts));
    }
  }
  const Array experts = Array::from_data(chosen, {kRows, kUsed}, Device::cpu());
  bench.measure(spec, timed("hearth", [&] { expert_linear(x, weight, experts).eval(); }),
                {timed("one weight", [&] { linear(x, one).eval(); })});
}

void bench_packed_experts(Bench& bench, DType format) {
  for (int threads = 1; threads <= bench.threads(); threads += bench.threads() - 1) {
    const std::string ending = "_" + std::to_string(threads) + "t";
    const std::string start = "packed/" + std::string(name(format)) + "_experts_";
    const RowSpec one{
        .row = start + "1_row" + ending,
        .unit = "GB/s",
        .scale = 1e-9 * static_cast<double>(bytes_of(format, kUsed * kExpertIn * kExpertOut)),
        .rate = true,
        .ratio = 0.8,
        .threads = threads,
        .recording_included = true};
    if (bench.wants(one.row)) bench_expert_row(bench, one, format);
    const RowSpec many{.row = start + "512_rows" + ending,
                       .unit = "GFLOP/s",
                       .scale = 2e-9 * static_cast<double>(kRows * kUsed * kExpertIn * kExpertOut),
                       .rate = true,
                       .ratio = 0.6,
                       .threads = threads,
                       .recording_included = true};
    if (bench.wants(many.row)) bench_expert_rows(bench, many, format);
    if (bench.threads() == 1) break;
  }
}

}  // namespace

void bench_packed(Bench& bench) {
  bench_packed_experts(bench, DType::q4_k);
  for (const DType format : {DType::q4_0, DType::q4_k, DType::q8_0, DType::q6_k, DType::iq4_xs,
                             DType::mxfp4, DType::affine8}) {
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
