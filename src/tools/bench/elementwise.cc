// Elementwise rows: sums against the memory limits, fused expressions against loops fused by hand,
// functions against the vector math of the C library.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hearth/ops.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kTenThousand = 10000;
constexpr std::int64_t kSixteenMillion = std::int64_t{1} << 24;
constexpr double kMicroseconds = 1e6;

std::string size_name(std::int64_t count) {
  return count == kTenThousand ? "10k" : count == kMillion ? "1m" : "16m";
}

struct Size {
  std::int64_t count;
  bool threaded;
  std::optional<double> most;
  std::optional<double> ratio;
};

void bench_limit_rows(Bench& bench) {
  for (const int threads : {1, bench.threads()}) {
    const std::string end = "_" + std::to_string(threads) + "t";
    const std::vector<std::string> names = {"limit/read" + end, "limit/copy" + end,
                                            "limit/triad" + end};
    if (!std::any_of(names.begin(), names.end(), [&](const auto& n) { return bench.wants(n); })) {
      continue;
    }
    const WithThreads with(threads);
    const Floats a(kSixteenMillion, -1, 1);
    const Floats b(kSixteenMillion, -1, 1);
    Floats out(kSixteenMillion, 0, 1);
    const double bytes = static_cast<double>(a.bytes()) * 1e-9;
    RowSpec spec{.row = names[0],
                 .unit = "GB/s",
                 .scale = bytes,
                 .rate = true,
                 .threads = threads,
                 .note = "64 MiB arrays, " + loops_name()};
    if (bench.wants(spec.row))
      bench.measure(spec, timed("read", [&] { read_memory(a, Reading::forward); }),
                    {both_readings(a)[1]});
    spec.row = names[1];
    spec.scale = 2 * bytes;
    spec.note = "streaming stores, 64 MiB arrays, " + loops_name();
    if (bench.wants(spec.row)) {
      bench.measure(spec, timed("copy", [&] { copy_memory(out, a, Store::streaming); }));
    }
    spec.row = names[2];
    spec.scale = 3 * bytes;
    if (bench.wants(spec.row)) {
      bench.measure(spec, timed("triad", [&] { add_memory(out, a, b, Store::streaming); }));
    }
    if (bench.threads() == 1) break;
  }
}

void bench_add(Bench& bench) {
  for (const Size& size :
       {Size{kTenThousand, false, 1.7, std::nullopt}, Size{kMillion, true, 100, std::nullopt},
        Size{kSixteenMillion, true, std::nullopt, 1.2}}) {
    RowSpec spec{.row = "elementwise/add_" + size_name(size.count),
                 .unit = "us",
                 .scale = kMicroseconds,
                 .most = size.most,
                 .ratio = size.ratio,
                 .threads = size.threaded ? bench.threads() : 1,
                 .recording_included = true};
    if (!bench.wants(spec.row)) continue;
    const WithThreads with(spec.threads);
    const Floats a(size.count, -1, 1);
    const Floats b(size.count, -1, 1);
    Floats out(size.count, 0, 1);
    const Array x = to_array(a, {size.count});
    const Array y = to_array(b, {size.count});
    const Contestant ours = timed("hearth", [&] { add(x, y).eval(); });
    if (size.count == kSixteenMillion) {
      bench.measure(
          spec, ours,
          {timed("triad, streaming stores", [&] { add_memory(out, a, b, Store::streaming); })});
    } else {
      bench.measure(spec, ours,
                    {timed("loop by hand", [&] { add_memory(out, a, b, Store::ordinary); })});
    }
  }
}

void bench_expressions(Bench& bench) {
  for (const std::int64_t count : {kMillion, kSixteenMillion}) {
    RowSpec spec{.row = "elementwise/tanh_chain_" + size_name(count),
                 .unit = "us",
                 .scale = kMicroseconds,
                 .ratio = 1.15,
                 .recording_included = true,
                 .note = "tanh(a*b+1.5)*sigmoid(a-b)+exp(-a*a)*0.5"};
    const std::string polynomial = "elementwise/poly_chain_" + size_name(count);
    if (!bench.wants(spec.row) && !bench.wants(polynomial)) continue;
    const WithThreads with(1);
    const Floats fa(count, -2, 2);
    const Floats fb(count, -1, 3);
    const Floats fc(count, -1, 1);
    const Floats fd(count, 0, 1);
    Floats out(count, 0, 1);
    const Array a = to_array(fa, {count});
    const Array b = to_array(fb, {count});
    const Array c = to_array(fc, {count});
    const Array d = to_array(fd, {count});
    if (bench.wants(spec.row)) {
      const std::string name = has_vector_math("tanhf") ? "by hand with libmvec" : "by hand";
      bench.measure(
          spec,
          timed("hearth",
                [&] {
                  const Array y = tanh(a * b + 1.5) * sigmoid(a - b) + exp(neg(a) * a) * 0.5;
                  y.eval();
                }),
          both_stores(name, [&](Store store) { transcendental_loop(out, fa, fb, store); }));
    }
    spec.row = polynomial;
    spec.note = "(a*b+c)*d-a+0.5*c";
    spec.ratio = count == kMillion ? 1.3 : 1.1;
    if (bench.wants(spec.row)) {
      bench.measure(
          spec,
          timed("hearth",
                [&] {
                  const Array y = (a * b + c) * d - a + 0.5 * c;
                  y.eval();
                }),
          both_stores("by hand", [&](Store s) { polynomial_loop(out, fa, fb, fc, fd, s); }));
    }
  }
}

// The greatest distance to the exact value, in units of the last place of the exact value's float.
template <class Exact>
double worst_ulp(const float* got, const Floats& inputs, Exact exact) {
  double worst = 0;
  for (std::int64_t i = 0; i < inputs.size(); ++i) {
    const double wanted = exact(static_cast<double>(inputs.data()[i]));
    const auto rounded = std::fabs(static_cast<float>(wanted));
    const double unit =
        static_cast<double>(std::nextafter(rounded, INFINITY)) - static_cast<double>(rounded);
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - wanted) / unit);
  }
  return worst;
}

void bench_functions(Bench& bench) {
  struct Function {
    const char* name;
    const char* library;
    Array (*ours)(const Array&);
    double (*exact)(double);
    double low, high;
  };
  const Function functions[] = {
      {"exp", "expf", exp, std::exp, -20, 20},   {"log", "logf", log, std::log, 1e-6, 100},
      {"tanh", "tanhf", tanh, std::tanh, -5, 5}, {"erf", "erff", erf, std::erf, -4, 4},
      {"sin", "sinf", sin, std::sin, -100, 100},
  };
  for (const Function& function : functions) {
    RowSpec spec{.row = std::string("elementwise/") + function.name + "_1m",
                 .unit = "us",
                 .scale = kMicroseconds,
                 .ratio = 1.2,
                 .recording_included = true};
    if (!bench.wants(spec.row)) continue;
    const WithThreads with(1);
    const Floats in(kMillion, function.low, function.high);
    Floats out(kMillion, 0, 1);
    const Array x = to_array(in, {kMillion});
    char range[64];
    std::snprintf(range, sizeof range, "over [%g, %g): ", function.low, function.high);
    const std::vector<float> got = function.ours(x).to_vector<float>();
    char error[64];
    std::snprintf(error, sizeof error, "worst error %.2f ulp",
                  worst_ulp(got.data(), in, function.exact));
    spec.note = std::string(range) + error;
    std::vector<Contestant> references;
    if (has_vector_math(function.library)) {
      vector_math(function.library, out, in);
      std::snprintf(error, sizeof error, ", libmvec %.2f ulp",
                    worst_ulp(out.data(), in, function.exact));
      spec.note += error;
      references.push_back(timed("libmvec", [&] { vector_math(function.library, out, in); }));
    } else {
      spec.note += "; no libmvec here";
    }
    bench.measure(spec, timed("hearth", [&] { function.ours(x).eval(); }), references);
  }
}

}  // namespace

void bench_elementwise(Bench& bench) {
  bench_limit_rows(bench);
  bench_add(bench);
  bench_expressions(bench);
  bench_functions(bench);
}

}  // namespace hearth::tools
