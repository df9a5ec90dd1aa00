// Linear algebra, signals and statistics, in f32.
#include "hearth/ops.h"
#include "tools/bench/functions/functions.h"

namespace hearth::tools {
namespace {

Shape square(const BenchInputs& in) { return {in.order(), in.order()}; }
// Lines of a signal.
Shape signals(const BenchInputs& in) { return {in.matrix()[0] / 4, 4096}; }

}  // namespace

std::vector<BenchFunction> matrix_functions() {
  std::vector<BenchFunction> out;
  const auto row = [&](const char* name, auto argument, Array (*function)(const Array& x)) {
    out.push_back({name,
                   [argument, function](const BenchInputs& in) {
                     return [x = argument(in), function] { return function(x); };
                   },
                   true});
  };
  const auto matrix = [](const BenchInputs& in) { return in.normal(square(in)); };
  const auto definite = [](const BenchInputs& in) { return in.positive_definite(); };
  row("linalg/cholesky", definite, [](const Array& x) { return cholesky(x); });
  row("linalg/eigvalsh", definite, [](const Array& x) { return eigvalsh(x); });
  row("linalg/qr", matrix, [](const Array& x) { return qr(x).first; });
  row("linalg/svdvals", matrix, [](const Array& x) { return svdvals(x); });
  row("linalg/inverse", matrix, [](const Array& x) { return inverse(x); });
  row("linalg/det", matrix, [](const Array& x) { return det(x); });
  for (const bool triangular : {false, true}) {
    out.push_back({triangular ? "linalg/triangular_solve" : "linalg/solve",
                   [triangular](const BenchInputs& in) {
                     return
                         [a = in.positive_definite(), b = in.normal({in.order(), 8}), triangular] {
                           return triangular ? triangular_solve(a, b) : solve(a, b);
                         };
                   },
                   true});
  }

  const auto lines = [](const BenchInputs& in) { return in.normal(signals(in)); };
  row("signal/rfft", lines, [](const Array& x) { return rfft(x).first; });
  row(
      "signal/irfft", [](const BenchInputs& in) { return in.normal({signals(in)[0], 2049}); },
      [](const Array& x) { return irfft(x, x); });
  row("signal/fft", lines, [](const Array& x) { return fft(x, x).first; });
  row(
      "signal/rfft_prime", [](const BenchInputs& in) { return in.normal({signals(in)[0], 4093}); },
      [](const Array& x) { return rfft(x).first; });
  row("signal/stft_512", lines,
      [](const Array& x) { return stft(x, Array(), {.n_fft = 512, .hop_length = 128}); });

  const auto numbers = [](const BenchInputs& in) {
    return in.indices({1024 * in.matrix()[0]}, 1000);
  };
  row("statistics/unique", numbers, [](const Array& x) { return unique(x); });
  row("statistics/bincount", numbers, [](const Array& x) { return bincount(x); });
  const auto flat = [](const BenchInputs& in) { return in.normal({1024 * in.matrix()[0]}); };
  row("statistics/histogram", flat,
      [](const Array& x) { return histogram(x, 100, Bounds{-4, 4}).first; });
  row(
      "statistics/quantile", [](const BenchInputs& in) { return in.normal(in.lines()); },
      [](const Array& x) { return quantile(x, {0.1, 0.5}, 1); });
  out.push_back({"statistics/searchsorted",
                 [](const BenchInputs& in) {
                   return [edges = sort(in.normal({1024})).eval(), x = in.normal(in.lines())] {
                     return searchsorted(edges, x);
                   };
                 },
                 true});
  return out;
}

}  // namespace hearth::tools
