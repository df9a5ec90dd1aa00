// Kernels over rows on the simulator, against plain loops in f64: rows of one element to rows that
// no threadgroup holds, whole packets and odd lengths, views that begin between two packets,
// infinities.
#include <algorithm>
#include <functional>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;
using Row = std::function<Values(const Values&)>;

constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16, DType::f64};
constexpr std::int64_t kLengths[] = {1, 2, 5, 8, 33, 64, 100, 256, 768, 1000, 2049, 4096};
// More than the registers of a threadgroup hold of any dtype.
constexpr std::int64_t kLongRow = 16500;

// Makes the device under test the default one.
class RowKernels : public ::testing::Test {
 protected:
  void SetUp() override { Device::set_default(hearth::testing::kernel_device_under_test()); }
  void TearDown() override { Device::set_default(before_); }

 private:
  Device before_ = Device();
};

// The rows of `x` as a view that begins `skip` elements into its memory and whose rows are as many
// elements apart. Between them is NaN.
Array spread(const Array& x, std::int64_t skip) {
  if (skip == 0) return x;
  const Shape& shape = x.shape();
  const Values all = x.to_doubles();
  const auto n = static_cast<std::ptrdiff_t>(shape.back());
  Values wide;
  for (auto at = all.begin(); at != all.end(); at += n) {
    wide.insert(wide.end(), static_cast<std::size_t>(skip), kNan);
    wide.insert(wide.end(), at, at + n);
  }
  return narrow(array(wide, {shape[0], shape[1] + skip}, x.dtype()), 1, skip, n);
}

Values by_row(const Array& x, const Row& row) {
  const Values all = x.to_doubles();
  const auto n = static_cast<std::ptrdiff_t>(x.shape().back());
  Values out;
  for (auto at = all.begin(); at != all.end(); at += n) {
    const Values result = row(Values(at, at + n));
    out.insert(out.end(), result.begin(), result.end());
  }
  return out;
}

double logsumexp_of(const Values& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double total = 0;
  for (const double value : x) total += std::exp(value - top);
  return top + std::log(total);
}
Values softmax_of(const Values& x) {
  const double whole = logsumexp_of(x);
  Values out;
  for (const double value : x) out.push_back(std::exp(value - whole));
  return out;
}
Values log_softmax_of(const Values& x) {
  const double whole = logsumexp_of(x);
  Values out;
  for (const double value : x) out.push_back(value - whole);
  return out;
}

// Largest difference, as a share of the largest value.
void expect_rows(const Array& got, const Values& expected, const std::string& what) {
  double magnitude = 0;
  for (const double value : expected) {
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
  }
  if (magnitude == 0) magnitude = 1;
  Values scaled = got.to_doubles(), wanted = expected;
  for (double& value : scaled) value /= magnitude;
  for (double& value : wanted) value /= magnitude;
  expect_close(scaled, wanted, tolerance(got.dtype()), what);
}

std::string said(const char* op, const Array& x, std::int64_t skip) {
  return std::string(op) + " " + std::string(name(x.dtype())) + " " + to_string(x.shape()) +
         " skipping " + std::to_string(skip);
}

// Every dtype, length and alignment; long rows once.
void for_rows(const std::function<void(const Array& x, std::int64_t skip)>& check) {
  std::uint64_t seed = 1;
  for (const DType dtype : kFloats) {
    for (const std::int64_t n : kLengths) {
      const std::int64_t rows = n <= 100 ? 37 : 3;
      for (const std::int64_t skip : {0, 1, 3}) {
        if (skip == 3 && n > 300) continue;
        check(random_array({rows, n}, dtype, -6, 6, ++seed), skip);
      }
    }
    check(random_array({2, kLongRow}, dtype, -6, 6, ++seed), 0);
    check(random_array({2, kLongRow + 1}, dtype, -6, 6, ++seed), 1);
  }
}

// Of matrices of `rows` rows; `own` is the row's place in its matrix.
Values attention_weights_of(const Values& x, std::int64_t own, std::int64_t rows, double scale,
                            bool causal) {
  const auto keys = static_cast<std::int64_t>(x.size());
  const std::int64_t seen =
      causal ? std::clamp<std::int64_t>(own + 1 + keys - rows, 0, keys) : keys;
  Values scores(x.begin(), x.begin() + seen);
  for (double& score : scores) score *= scale;
  Values out = scores.empty() ? scores : softmax_of(scores);
  out.resize(x.size(), 0.0);
  return out;
}

// Keys that a row does not see are NaN.
TEST_F(RowKernels, AttentionWeights) {
  for_rows([](const Array& x, std::int64_t skip) {
    const std::int64_t rows = x.shape()[0];
    for (const double scale : {0.3, -1.2}) {
      for (const bool causal : {false, true}) {
        std::int64_t own = 0;
        const Values expected = by_row(x, [&](const Values& row) {
          return attention_weights_of(row, own++, rows, scale, causal);
        });
        Values given = x.to_doubles();
        for (std::size_t i = 0; i < given.size(); ++i) {
          if (causal && expected[i] == 0 && scale > 0) given[i] = kNan;
        }
        const Array from = spread(array(given, x.shape(), x.dtype()), skip);
        const Array got =
            call(defs::causal_softmax_op, Params().f64(scale).boolean(causal), {&from});
        expect_rows(got, expected, said("causal_softmax", x, skip));
      }
    }
  });
}

// Rows count anew in each matrix.
TEST_F(RowKernels, AttentionWeightsOfSeveralMatrices) {
  const std::int64_t rows = 5, keys = 7;
  const Array x = random_array({2, 3, rows, keys}, DType::f32, -6, 6, 3);
  std::int64_t own = 0;
  const Values expected = by_row(x, [&](const Values& row) {
    return attention_weights_of(row, own++ % rows, rows, 0.5, true);
  });
  hearth::testing::expect_ran("causal_softmax_F32", [&] {
    const Array got = call(defs::causal_softmax_op, Params().f64(0.5).boolean(true), {&x});
    expect_rows(got, expected, "causal_softmax of matrices");
  });
}

TEST_F(RowKernels, Softmax) {
  for_rows([](const Array& x, std::int64_t skip) {
    const Array view = spread(x, skip);
    expect_rows(softmax(view, 1), by_row(x, softmax_of), said("softmax", x, skip));
    expect_rows(log_softmax(view, 1), by_row(x, log_softmax_of), said("log_softmax", x, skip));
    expect_rows(logsumexp(view, 1),
                by_row(x, [](const Values& row) { return Values{logsumexp_of(row)}; }),
                said("logsumexp", x, skip));
  });
}

// Each kernel for the rows that it is for.
TEST_F(RowKernels, EverySoftmaxHasItsRows) {
  Device::set_default(Device::named("sim"));
  const auto expect_runs = [](std::string_view kernel, const Shape& shape,
                              const std::function<Array(const Array&)>& f, const Row& expected) {
    const Array x = random_array(shape, DType::f32, -6, 6);
    hearth::testing::expect_ran(
        kernel, [&] { expect_rows(f(x), by_row(x, expected), std::string(kernel)); });
  };
  const auto along_rows = [](const Array& x) { return softmax(x, 1); };
  // Over columns as rows of a transposed array.
  const auto along_columns = [](const Array& x) {
    return contiguous(transpose(softmax(contiguous(transpose(x)).eval(), 0)));
  };
  const auto sums = [](const Array& x) { return logsumexp(x, 1); };
  const Row sum_of = [](const Values& row) { return Values{logsumexp_of(row)}; };
  expect_runs("softmax_rows", {3, 256}, along_rows, softmax_of);
  expect_runs("softmax_long_rows", {2, kLongRow}, along_rows, softmax_of);
  expect_runs("logsumexp_rows", {3, 256}, sums, sum_of);
  expect_runs("softmax_columns", {3, 256}, along_columns, softmax_of);
  const auto gradient = [](const Array& x) {
    const Array leaf = x.detach().require_grad();
    return backward(sum(square(softmax(leaf, 1)))).get(leaf);
  };
  const Row slopes = [](const Values& row) {
    Values y = softmax_of(row);
    double total = 0;
    for (const double value : y) total += 2 * value * value;
    for (double& value : y) value *= 2 * value - total;
    return y;
  };
  expect_runs("softmax_backward_rows", {3, 256}, gradient, slopes);
}

TEST_F(RowKernels, SoftmaxGradients) {
  for_rows([](const Array& x, std::int64_t skip) {
    const Array g = random_array(x.shape(), x.dtype(), -1, 1, 77);
    for (const bool log : {false, true}) {
      const Array leaf = spread(x, skip).detach().require_grad();
      const Array y = log ? log_softmax(leaf, 1) : softmax(leaf, 1);
      const Array dx = backward(sum(mul(y, g))).get(leaf);
      // From the rounded result, as the kernel sees it.
      const Values results = y.to_doubles(), grads = g.to_doubles();
      const auto n = static_cast<std::size_t>(x.shape().back());
      Values expected;
      for (std::size_t row = 0; row < results.size(); row += n) {
        double total = 0;
        for (std::size_t i = row; i < row + n; ++i) {
          total += log ? grads[i] : grads[i] * results[i];
        }
        for (std::size_t i = row; i < row + n; ++i) {
          expected.push_back(log ? grads[i] - std::exp(results[i]) * total
                                 : results[i] * (grads[i] - total));
        }
      }
      if (n == 1) {  // nothing but rounding
        expect_close(dx, Values(expected.size(), 0), tolerance(x.dtype()));
        continue;
      }
      expect_rows(dx, expected, said(log ? "log_softmax_backward" : "softmax_backward", x, skip));
    }
  });
}

TEST_F(RowKernels, SoftmaxAlongOtherAxes) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape :
         {Shape{3, 5, 7}, Shape{2, 300, 40}, Shape{1, 1100, 5}, Shape{40, 9, 3}, Shape{2, 1, 33}}) {
      const Array x = random_array(shape, dtype, -6, 6);
      const Array last = contiguous(transpose(x));  // [0, 2, 1]
      const auto turned = [&](const Row& row) {
        return transpose(reshape(array(by_row(last, row), last.shape()), last.shape()))
            .to_doubles();
      };
      const std::string what = to_string(shape) + std::string(name(dtype));
      expect_rows(softmax(x, 1), turned(softmax_of), "softmax" + what);
      expect_rows(log_softmax(x, 1), turned(log_softmax_of), "log_softmax" + what);
      expect_rows(logsumexp(x, 1),
                  by_row(last, [](const Values& row) { return Values{logsumexp_of(row)}; }),
                  "logsumexp" + what);
    }
  }
}

TEST_F(RowKernels, SoftmaxOfInfinities) {
  for (const std::int64_t n : {3, 200, 9000}) {
    Values x(static_cast<std::size_t>(5 * n), 0.5);
    const auto at = [&](std::int64_t row) { return x.begin() + row * n; };
    std::fill(at(0), at(1), -kInf);
    std::fill(at(1), at(2) - 1, -kInf);
    *at(2) = kInf;
    *at(3) = kNan;
    *(at(5) - 1) = -kInf;
    const Array there = array(x, {5, n}, DType::f32);
    const Values p = softmax(there, 1).to_doubles(), l = log_softmax(there, 1).to_doubles();
    const auto width = static_cast<std::size_t>(n);
    for (const std::size_t row : {0u, 2u, 3u}) {
      for (std::size_t i = 0; i < width; ++i) {
        ASSERT_TRUE(std::isnan(p[row * width + i]) && std::isnan(l[row * width + i])) << row;
      }
    }
    EXPECT_EQ(p[width], 0);
    EXPECT_EQ(p[2 * width - 1], 1);
    EXPECT_EQ(l[width], -kInf);
    EXPECT_EQ(l[2 * width - 1], 0);
    EXPECT_EQ(p[5 * width - 1], 0);
    EXPECT_NEAR(p[4 * width], 1 / static_cast<double>(n - 1), 1e-6);
    expect_close(logsumexp(there, 1), {-kInf, 0.5, kInf, kNan, 0.5 + std::log(n - 1)}, 1e-5);
  }
}

// A row's (x - mean) / deviation, and 1 / deviation.
struct Normalized {
  Values h;
  double factor = 0;
};
Normalized normalized(const Values& row, bool centred, double epsilon) {
  const auto n = static_cast<double>(row.size());
  double mean = 0, squares = 0;
  if (centred) {
    for (const double value : row) mean += (value - row[0]) / n;
    mean += row[0];
  }
  for (const double value : row) squares += (value - mean) * (value - mean) / n;
  Normalized out;
  out.factor = 1 / std::sqrt(squares + epsilon);
  for (const double value : row) out.h.push_back((value - mean) * out.factor);
  return out;
}

constexpr double kEpsilon = 1e-3;

TEST_F(RowKernels, Norms) {
  for_rows([](const Array& x, std::int64_t skip) {
    const std::int64_t n = x.shape()[1];
    const Array view = spread(add(x, 20.0), skip);
    const Array weight = random_array({n}, x.dtype(), -2, 2, 5);
    const Array bias = random_array({n}, x.dtype(), -2, 2, 6);
    const Values w = weight.to_doubles(), b = bias.to_doubles();
    for (const bool with : {true, false}) {
      const auto expected = [&](bool centred) {
        return by_row(contiguous(view), [&](const Values& row) {
          Values out = normalized(row, centred, kEpsilon).h;
          for (std::size_t i = 0; with && i < out.size(); ++i) {
            out[i] = out[i] * w[i] + (centred ? b[i] : 0);
          }
          return out;
        });
      };
      const Array none;
      expect_rows(layer_norm(view, with ? weight : none, with ? bias : none, kEpsilon),
                  expected(true), said("layer_norm", x, skip));
      expect_rows(rms_norm(view, with ? weight : none, kEpsilon), expected(false),
                  said("rms_norm", x, skip));
    }
  });
}

TEST_F(RowKernels, LengthsOfRows) {
  for_rows([](const Array& x, std::int64_t skip) {
    const Array view = spread(x, skip);
    const Values expected = by_row(contiguous(view), [](Values row) {
      double squares = kEpsilon;
      for (const double value : row) squares += value * value;
      for (double& value : row) value /= std::sqrt(squares);
      return row;
    });
    expect_rows(l2_norm(view, kEpsilon), expected, said("l2_norm", x, skip));
  });
}

TEST_F(RowKernels, RowsOfEqualElementsHaveNoDeviation) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t n : {7, 1001, 16501}) {
      const Array x = full({3, n}, 0.1, dtype);
      const Array y = layer_norm(x, Array(), full({n}, 0.25, dtype), 1e-12);
      expect_close(y, Values(static_cast<std::size_t>(3 * n), 0.25), 0);
    }
  }
}

TEST_F(RowKernels, NormGradients) {
  for_rows([](const Array& x, std::int64_t skip) {
    const auto n = static_cast<std::size_t>(x.shape()[1]);
    const Array g = random_array(x.shape(), x.dtype(), -1, 1, 77);
    const Array weight = random_array({x.shape()[1]}, x.dtype(), -2, 2, 5);
    const Array bias = zeros({x.shape()[1]}, x.dtype());
    const Values xs = x.to_doubles(), gs = g.to_doubles(), w = weight.to_doubles();
    for (const bool centred : {true, false}) {
      const Array leaf = spread(x, skip).detach().require_grad();
      const Array w_leaf = weight.detach().require_grad(), b_leaf = bias.detach().require_grad();
      const Array y =
          centred ? layer_norm(leaf, w_leaf, b_leaf, kEpsilon) : rms_norm(leaf, w_leaf, kEpsilon);
      const Gradients gradients = backward(sum(mul(y, g)));
      Values dx, dw(n, 0), db(n, 0);
      for (std::size_t row = 0; row < xs.size(); row += n) {
        const auto at = static_cast<std::ptrdiff_t>(row), to = static_cast<std::ptrdiff_t>(row + n);
        const Normalized norm =
            normalized(Values(xs.begin() + at, xs.begin() + to), centred, kEpsilon);
        double a = 0, b = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double gw = gs[row + i] * w[i];
          if (centred) a += gw / static_cast<double>(n);
          b += gw * norm.h[i] / static_cast<double>(n);
          dw[i] += gs[row + i] * norm.h[i];
          db[i] += gs[row + i];
        }
        for (std::size_t i = 0; i < n; ++i) {
          dx.push_back(norm.factor * (gs[row + i] * w[i] - a - norm.h[i] * b));
        }
      }
      if (n <= 2) continue;  // nothing but rounding
      const char* const op = centred ? "layer_norm_backward" : "rms_norm_backward";
      expect_rows(gradients.get(leaf), dx, said(op, x, skip));
      expect_rows(gradients.get(w_leaf), dw, said(op, x, skip) + " weight");
      if (centred) expect_rows(gradients.get(b_leaf), db, said(op, x, skip) + " bias");
    }
  });
}

// Rows of whole packets whose memory begins between two of them.
TEST_F(RowKernels, NormsOfWholePacketsAtAnyAddress) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t n : {24, 768}) {
      const auto moved = [&](const Shape& shape, std::uint64_t seed) {
        const std::int64_t count = element_count(shape);
        const Array wide = random_array({count + 1}, dtype, -1, 1, seed).eval();
        return reshape(narrow(wide, 0, 1, count), shape);
      };
      const Array x = moved({5, n}, 3), weight = moved({n}, 4), bias = moved({n}, 5);
      const auto results = [&](bool dense) {
        const auto leaf = [&](const Array& a) {
          return (dense ? array(a.to_doubles(), a.shape(), dtype) : a).detach().require_grad();
        };
        const Array leaves[] = {leaf(x), leaf(weight), leaf(bias)};
        const Array y = layer_norm(leaves[0], leaves[1], leaves[2], kEpsilon);
        const Gradients gradients = backward(sum(mul(y, x.detach())));
        std::vector<Values> out = {y.to_doubles()};
        for (const Array& each : leaves) out.push_back(gradients.get(each).to_doubles());
        return out;
      };
      const std::vector<Values> there = results(false), expected = results(true);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expect_close(there[i], expected[i], tolerance(dtype));
      }
    }
  }
}

// What nobody wants is left out, and changes nothing else.
TEST_F(RowKernels, NormGradientsOfSome) {
  const Array g = random_array({70, 33}, DType::f32, -1, 1, 3);
  const Array x = random_array({70, 33}, DType::f32, -1, 1, 4);
  for (const OpDef* op : {&defs::layer_norm_backward_op, &defs::rms_norm_backward_op}) {
    const auto gradients = [&] {
      const Array* const inputs[] = {&g, &x};
      return record_outputs(*op, inputs, Params().f64(kEpsilon));
    };
    const std::vector<Array> all = gradients();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Array one = gradients()[i];
      EXPECT_EQ(one.to_doubles(), all[i].to_doubles()) << op->name.text << " " << i;
    }
  }
}

TEST_F(RowKernels, NormGradientsOfManyRows) {
  const Shape shape = {1500, 40};
  const Array x = random_array(shape, DType::f32, -1, 1, 3).require_grad();
  const Array weight = ones({40}).require_grad(), bias = zeros({40}).require_grad();
  const auto gradients = [&] {
    return backward(sum(mul(layer_norm(x, weight, bias, kEpsilon), x.detach())));
  };
  const Gradients once = gradients();
  Values column(40, 0);
  const Values all = x.to_doubles();
  for (std::size_t i = 0; i < all.size(); ++i) column[i % 40] += all[i];
  expect_rows(once.get(bias), column, "bias");
  EXPECT_EQ(once.get(weight).to_doubles(), gradients().get(weight).to_doubles());
}

// Row 0 is ignored, row 1 has no such class; row 2 has a loss far above the others.
TEST_F(RowKernels, CrossEntropy) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t n : {2, 5, 64, 100, 257, 1000, 4097, 20001}) {
      for (const std::int64_t skip : {0, 1}) {
        Values values = random_values(6 * n, -6, 6, static_cast<std::uint64_t>(n));
        values[static_cast<std::size_t>(2 * n + 1)] = -40;
        const Array x = array(values, {6, n}, dtype);
        const std::vector<std::int64_t> targets = {-100, n, 1, 0, n - 1, n / 2};
        const Array g = random_array({6}, dtype == DType::f64 ? dtype : DType::f32, 0.5, 1, 9);
        const Array leaf = spread(x, skip).detach().require_grad();
        const Array loss = cross_entropy(leaf, ints(targets, {6}), Reduction::none);
        const Array dx = backward(sum(mul(loss, g))).get(leaf);
        const Values all = x.to_doubles(), grads = g.to_doubles();
        Values losses, expected;
        for (std::size_t row = 0; row < 6; ++row) {
          const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * n;
          const Values logits(begin, begin + n);
          const double whole = logsumexp_of(logits);
          const auto hit = static_cast<std::size_t>(targets[row]);
          losses.push_back(row == 0 ? 0 : row == 1 ? kNan : whole - logits[hit]);
          for (std::size_t i = 0; i < logits.size(); ++i) {
            const double p = std::exp(logits[i] - whole) - (i == hit ? 1 : 0);
            expected.push_back(row == 0 ? 0 : row == 1 ? kNan : grads[row] * p);
          }
        }
        expect_rows(loss, losses, said("cross_entropy", x, skip));
        expect_rows(dx, expected, said("cross_entropy_backward", x, skip));
      }
    }
  }
}

TEST_F(RowKernels, Rope) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t dim : {2, 6, 16, 34, 128}) {
      for (const std::int64_t offset : {0, 1'000'000, -3}) {
        for (const bool interleaved : {false, true}) {
          const Array x = random_array({2, 5, 3, dim}, dtype);
          const double base = 500000;
          // Heads after positions in memory, as attention has them.
          const Array y = rope(swap_axes(x, 1, 2),
                               {.base = base, .interleaved = interleaved, .offset = offset});
          const Values in = contiguous(swap_axes(x, 1, 2)).to_doubles();
          Values expected(in.size());
          const auto n = static_cast<std::size_t>(dim), pairs = n / 2;
          for (std::size_t row = 0; row < in.size() / n; ++row) {
            for (std::size_t i = 0; i < pairs; ++i) {
              const double angle =
                  (static_cast<double>(offset) + static_cast<double>(row % 5)) *
                  std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
              const std::size_t a = row * n + (interleaved ? 2 * i : i);
              const std::size_t b = a + (interleaved ? 1 : pairs);
              expected[a] = in[a] * std::cos(angle) - in[b] * std::sin(angle);
              expected[b] = in[b] * std::cos(angle) + in[a] * std::sin(angle);
            }
          }
          const double allowed = dtype == DType::f64 ? 1e-9 : tolerance(dtype);
          expect_close(y, expected, allowed, said("rope", x, offset));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
