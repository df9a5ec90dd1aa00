// Rows of a GPU about attention over pages of codes, one row of each sequence: its time beside that
// of caches of f16.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "hearth/random.h"
#include "tools/bench/gpu/gpu.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kDecodedHeads = 32, kDecodedKvHeads = 8, kDecodedDim = 128;
constexpr std::int64_t kDecodedPage = 32;

// Sequences of `length` keys in shuffled pages.
struct DecodedRows {
  Array q, keys, values, pages, starts, lengths;
  PagedAttentionOptions options;

  // `bits`: of codes of turbo_quantize(), in place of `cache`.
  DecodedRows(std::int64_t sequences, std::int64_t length, DType cache, std::int64_t bits,
              Device device) {
    const std::int64_t slots = sequences * length, page_count = slots / kDecodedPage;
    const auto rows = [&] {
      const Array drawn =
          random_normal({slots, kDecodedKvHeads, kDecodedDim}, 0, 1, DType::f16, device);
      if (bits != 0) return turbo_quantize(drawn, bits).eval();
      return (is_packed(cache) ? quantize(drawn, cache) : drawn).eval();
    };
    q = random_normal({sequences, kDecodedHeads, kDecodedDim}, 0, 1, DType::f16, device).eval();
    keys = rows();
    values = rows();
    options.key_bits = options.value_bits = bits;
    std::vector<std::int32_t> order(static_cast<std::size_t>(page_count));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(1);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int32_t> first(static_cast<std::size_t>(sequences + 1));
    std::iota(first.begin(), first.end(), 0);
    const std::vector<std::int32_t> all(static_cast<std::size_t>(sequences),
                                        static_cast<std::int32_t>(length));
    pages = Array::from_data(order, {sequences, length / kDecodedPage}, device);
    starts = Array::from_data(first, {sequences + 1}, device);
    lengths = Array::from_data(all, {sequences}, device);
  }

  Array run() const {
    return paged_attention(q, keys, values, pages, starts, lengths, kDecodedPage, options);
  }
};

}  // namespace

void bench_gpu_paged(Bench& bench) {
  const Device device = bench.device();
  struct Codes {
    const char* name;
    DType dtype;
    std::int64_t bits;
    double ratio;  // of the time of f16
  };
  for (const auto& [name, dtype, bits, ratio] :
       {Codes{"q8_0", DType::q8_0, 0, 1}, Codes{"tq4", DType::u8, 4, 1 / 1.3}}) {
    for (const std::int64_t sequences : {1, 16}) {
      constexpr std::int64_t kLength = 32768;
      RowSpec spec = latency_row("gpu/paged/decode_" + std::string(name) + "_gqa32_8_d128_" +
                                     std::to_string(sequences) + "x32k",
                                 "stream");
      spec.ratio = ratio;
      if (!bench.wants(spec.row)) continue;
      const DecodedRows coded(sequences, kLength, dtype, bits, device);
      const DecodedRows plain(sequences, kLength, DType::f16, 0, device);
      Contestant f16 = streamed(device, queued([&] { return plain.run(); }));
      f16.name = "f16";
      bench.measure(spec, streamed(device, queued([&] { return coded.run(); })), {f16});
    }
  }
}

}  // namespace hearth::tools
