// Windows, stft and istft against plain sums: signals.txt.
#include <gtest/gtest.h>

#include "hearth/ops.h"
#include "ops/golden_rows.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;

StftOptions options_of(const GoldenRow& row) {
  StftOptions options;
  options.n_fft = row.whole("n_fft");
  if (row.has("hop")) options.hop_length = row.whole("hop");
  if (row.has("win")) options.win_length = row.whole("win");
  options.center = row.whole("center") != 0;
  options.onesided = row.whole("onesided") != 0;
  return options;
}

Arrays transformed(const GoldenRow& row, const Arrays& in) {
  return {stft(in[0], in.size() > 1 ? in[1] : Array(), options_of(row))};
}

Arrays restored(const GoldenRow& row, const Arrays& in) {
  const std::vector<double> values = row.numbers("window");
  const Array window = build_array({{static_cast<std::int64_t>(values.size())}, values},
                                   in[0].dtype(), MemoryLayout::contiguous, in[0].device());
  std::optional<std::int64_t> length;
  if (row.has("cut")) length = row.whole("cut");
  return {istft(in[0], window, options_of(row), length)};
}

// In f64, which rows without inputs are compared as.
template <class F>
GoldenFunction window_of(F f) {
  return [f](const GoldenRow& row, const Arrays&) -> Arrays {
    return {f(row, row.whole("size"), row.whole("periodic") != 0)};
  };
}

TEST(SignalGolden, AgreesWithPlainSums) {
  expect_golden(
      "signals",
      {{"stft", transformed},
       {"istft", restored},
       {"hann_window", window_of([](const GoldenRow&, std::int64_t size, bool periodic) {
          return hann_window(size, periodic, DType::f64);
        })},
       {"hamming_window", window_of([](const GoldenRow& row, std::int64_t size, bool periodic) {
          return hamming_window(size, periodic, row.number("alpha", 0.54), DType::f64);
        })},
       {"blackman_window", window_of([](const GoldenRow&, std::int64_t size, bool periodic) {
          return blackman_window(size, periodic, DType::f64);
        })}});
}

}  // namespace
}  // namespace hearth::testing
