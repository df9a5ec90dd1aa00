#include <algorithm>
#include <map>
#include <numeric>

#include "core/philox.h"
#include "devices/kernel_case.h"
#include "hearth/ops/indexing.h"
#include "ops/attention/rope_settings.h"

namespace hearth::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Calls visit(positions of the line in a dense tensor) for every line along the axis.
void for_lines(const Shape& shape, int axis,
               const std::function<void(const std::vector<std::size_t>&)>& visit) {
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < inner; ++c) {
      std::vector<std::size_t> line;
      for (std::int64_t a = 0; a < shape[axis]; ++a) {
        line.push_back(static_cast<std::size_t>((o * shape[axis] + a) * inner + c));
      }
      visit(line);
    }
  }
}

Values pick_line(const Values& all, const std::vector<std::size_t>& line) {
  Values values;
  for (const std::size_t at : line) values.push_back(all[at]);
  return values;
}

double log_sum_exp(const Values& x) {
  double max = -kInf, sum = 0;
  for (const double v : x) max = std::max(max, v);
  if (!std::isfinite(max)) max = 0;
  for (const double v : x) sum += std::exp(v - max);
  return max + std::log(sum);
}

const std::vector<Shape> kShapes = {{5, 7},         {3, 200},  {2, 3, 40},   {40, 33},
                                    {2, 17, 20, 3}, {4, 5, 1}, {1},          {300, 70},
                                    {3, 0},         {0, 4},    {2, 130, 50}, {9, 4099}};

TEST(CpuKernels, SoftmaxFamily) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : kShapes) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        Values raw = normal_values(element_count(shape), 3);
        if (raw.size() > 8) {
          raw[3] = -kInf;
          raw[5] = pick(0, 1) ? kInf : kNan;
        }
        const TestTensor x(dtype, shape, raw);
        const Values v = x.values();
        Values softmax(v.size()), log_softmax(v.size()), lse;
        Values dsoftmax(v.size()), dlog(v.size());
        const TestTensor g(dtype, shape, normal_values(x.count()));
        for_lines(shape, axis, [&](const std::vector<std::size_t>& line) {
          const double total = log_sum_exp(pick_line(v, line));
          lse.push_back(total);
          for (const std::size_t at : line) {
            softmax[at] = std::isfinite(total) ? std::exp(v[at] - total) : kNan;
            log_softmax[at] = std::isfinite(total) ? v[at] - total : kNan;
            if (v[at] == -kInf && total == kInf) {  // exp(-inf - inf) is 0, times 1 / NaN
              softmax[at] = log_softmax[at] = kNan;
            }
          }
        });
        const Params params = Params().i64(axis);
        expect_close(run_kernel(defs::softmax_op, {x}, params, dtype, shape), softmax, dtype);
        if (dtype == DType::f64 || dtype == DType::f32) {
          expect_close(run_kernel(defs::log_softmax_op, {x}, params, dtype, shape), log_softmax,
                       dtype, 2);
        }
        Shape reduced = shape;
        reduced.erase(axis);
        expect_close(
            run_kernel(defs::logsumexp_op, {x}, Params().i64(axis).boolean(false), dtype, reduced),
            lse, dtype);

        const TestTensor y(dtype, shape, softmax), ly(dtype, shape, log_softmax);
        const Values sv = y.values(), lv = ly.values();
        for_lines(shape, axis, [&](const std::vector<std::size_t>& line) {
          double dot = 0, sum = 0;
          for (const std::size_t at : line) {
            dot += g[static_cast<std::int64_t>(at)] * sv[at];
            sum += g[static_cast<std::int64_t>(at)];
          }
          for (const std::size_t at : line) {
            dsoftmax[at] = sv[at] * (g[static_cast<std::int64_t>(at)] - dot);
            dlog[at] = g[static_cast<std::int64_t>(at)] - std::exp(lv[at]) * sum;
          }
        });
        expect_close(run_kernel(defs::softmax_backward_op, {g, y}, params, dtype, shape), dsoftmax,
                     dtype, 4);
        expect_close(run_kernel(defs::log_softmax_backward_op, {g, ly}, params, dtype, shape), dlog,
                     dtype, 4);
      }
    }
  }
}

TEST(CpuKernels, SoftmaxOfInfinities) {
  const TestTensor x(DType::f32, {1, 20}, Values(20, -kInf));
  for (const double y : run_kernel(defs::softmax_op, {x}, Params().i64(1), DType::f32, {1, 20})) {
    EXPECT_TRUE(std::isnan(y));
  }
  for (const int axis : {0, 1}) {
    const Shape shape = axis == 1 ? Shape{1, 20} : Shape{20, 1};
    const TestTensor line(DType::f32, shape, Values(20, -kInf));
    EXPECT_EQ(run_kernel(defs::logsumexp_op, {line}, Params().i64(axis).boolean(false), DType::f32,
                         {1})[0],
              -kInf);
  }
}

TEST(CpuKernels, SoftmaxPastTheCaches) {
  const Shape shape = {3001, 1500};  // large enough to be streamed
  const TestTensor x(DType::f32, shape, normal_values(element_count(shape)), Layout::dense);
  const Values v = x.values();
  for (const int axis : {0, 1}) {
    const Values y = run_kernel(defs::softmax_op, {x}, Params().i64(axis), DType::f32, shape);
    const std::int64_t n = shape[axis], step = axis == 0 ? shape[1] : 1;
    for (const std::int64_t start : {std::int64_t{0}, axis == 0 ? std::int64_t{777} : 1500 * 777}) {
      Values line, got;
      for (std::int64_t i = 0; i < n; ++i) {
        line.push_back(v[static_cast<std::size_t>(start + i * step)]);
        got.push_back(y[static_cast<std::size_t>(start + i * step)]);
      }
      const double total = log_sum_exp(line);
      for (double& value : line) value = std::exp(value - total);
      expect_close(got, line, DType::f32);
    }
  }
}

void check_norms(DType dtype, const Shape& shape, bool with_weight, bool with_bias) {
  const std::int64_t n = shape.back(), rows = n == 0 ? 0 : element_count(shape) / n;
  const double eps = 1e-5;
  const TestTensor x(dtype, shape, normal_values(rows * n)),
      g(dtype, shape, normal_values(rows * n));
  const TestTensor w = with_weight ? TestTensor(dtype, {n}, normal_values(n)) : TestTensor();
  const TestTensor b = with_bias ? TestTensor(dtype, {n}, normal_values(n)) : TestTensor();
  const Params params = Params().f64(eps);
  const auto size = static_cast<std::size_t>(rows * n), width = static_cast<std::size_t>(n);
  for (const bool centred : {true, false}) {
    Values y(size), dx(size), dweight(width), dbias(width);
    for (std::int64_t row = 0; row < rows; ++row) {
      double mean = 0, variance = 0, a = 0, c = 0;
      for (std::int64_t i = 0; i < n; ++i) mean += x[row * n + i] / static_cast<double>(n);
      if (!centred) mean = 0;
      for (std::int64_t i = 0; i < n; ++i)
        variance += std::pow(x[row * n + i] - mean, 2) / static_cast<double>(n);
      const double r = 1 / std::sqrt(variance + eps);
      const auto h = [&](std::int64_t i) { return (x[row * n + i] - mean) * r; };
      const auto weight = [&](std::int64_t i) { return with_weight ? w[i] : 1.0; };
      for (std::int64_t i = 0; i < n; ++i) {
        y[static_cast<std::size_t>(row * n + i)] =
            h(i) * weight(i) + (with_bias && centred ? b[i] : 0.0);
        const double gi = g[row * n + i];
        a += gi * weight(i) / static_cast<double>(n);
        c += gi * weight(i) * h(i) / static_cast<double>(n);
        dweight[static_cast<std::size_t>(i)] += gi * h(i);
        dbias[static_cast<std::size_t>(i)] += gi;
      }
      if (!centred) a = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        dx[static_cast<std::size_t>(row * n + i)] = r * (g[row * n + i] * weight(i) - a - h(i) * c);
      }
    }
    const OpDef& forward = centred ? defs::layer_norm_op : defs::rms_norm_op;
    const OpDef& backward = centred ? defs::layer_norm_backward_op : defs::rms_norm_backward_op;
    std::vector<TestTensor> inputs = {x, w};
    if (centred) inputs.push_back(b);
    expect_close(run_kernel(forward, inputs, params, dtype, shape), y, dtype, 4);
    std::vector<OutputSpec> outputs = {{dtype, shape}, {dtype, {n}}};
    if (centred) outputs.push_back({dtype, {n}});
    const std::vector<Values> gradients = run_kernel(backward, {g, x, w}, params, outputs);
    expect_close(gradients[0], dx, dtype, 40);
    expect_close(gradients[1], dweight, dtype, 40);
    if (centred) expect_close(gradients[2], dbias, dtype, 40);
  }
}

TEST(CpuKernels, Norms) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{4, 6}, Shape{2, 3, 200}, Shape{7}, Shape{0, 3}, Shape{3, 0},
                               Shape{500, 129}, Shape{5, 2, 64}}) {
      check_norms(dtype, shape, true, true);
      check_norms(dtype, shape, true, false);
      check_norms(dtype, shape, false, pick(0, 1) != 0);
    }
  }
}

TEST(CpuKernels, Rope) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{5, 4}, Shape{2, 3, 70, 64}, Shape{1, 2}, Shape{2, 0, 8}}) {
      for (const std::int64_t offset : {0, 3, 100000}) {
        for (const bool interleaved : {false, true}) {
          for (const bool inverse : {false, true}) {
            const TestTensor x(dtype, shape, normal_values(element_count(shape)));
            const std::int64_t n = shape.back(), seq = shape[shape.rank() - 2], pairs = n / 2;
            Values expected(static_cast<std::size_t>(x.count()));
            for (std::int64_t row = 0; row * n < x.count(); ++row) {
              for (std::int64_t i = 0; i < pairs; ++i) {
                const double angle =
                    static_cast<double>(offset + row % seq) *
                    std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(n));
                const double c = std::cos(angle), s = inverse ? -std::sin(angle) : std::sin(angle);
                const std::int64_t p = row * n + (interleaved ? 2 * i : i);
                const std::int64_t q = row * n + (interleaved ? 2 * i + 1 : i + pairs);
                expected[static_cast<std::size_t>(p)] = x[p] * c - x[q] * s;
                expected[static_cast<std::size_t>(q)] = x[q] * c + x[p] * s;
              }
            }
            const Params params =
                RopeSettings{.interleaved = interleaved, .inverse = inverse, .offset = offset}
                    .params();
            expect_close(run_kernel(defs::rope_op, {x}, params, dtype, shape), expected, dtype,
                         dtype == DType::f64 ? 1e3 : 1);
          }
        }
      }
    }
  }
}

TEST(CpuKernels, CrossEntropy) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t n : {1, 7, 400}) {
      const std::int64_t c = 97;
      const DType out = dtype == DType::f64 ? DType::f64 : DType::f32;
      const TestTensor x(dtype, {n, c}, normal_values(n * c, 4));
      const TestTensor g(out, {n}, normal_values(n));
      Values targets, loss, grad;
      for (std::int64_t i = 0; i < n; ++i) targets.push_back(static_cast<double>(pick(0, c - 1)));
      if (n > 4) {
        targets[1] = 3, targets[2] = -1, targets[4] = static_cast<double>(c);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        const double target = targets[static_cast<std::size_t>(i)];
        Values row;
        for (std::int64_t j = 0; j < c; ++j) row.push_back(x[i * c + j]);
        const double total = log_sum_exp(row);
        const bool ignored = target == 3, bad = target < 0 || target >= static_cast<double>(c);
        loss.push_back(ignored ? 0 : bad ? kNan : total - row[static_cast<std::size_t>(target)]);
        for (std::int64_t j = 0; j < c; ++j) {
          const double p = std::exp(row[static_cast<std::size_t>(j)] - total);
          grad.push_back(ignored ? 0
                         : bad   ? kNan
                                 : g[i] * (p - (static_cast<double>(j) == target)));
        }
      }
      for (const DType index : {DType::i64, DType::i32}) {
        const TestTensor t(index, {n}, targets);
        const Params params = Params().i64(3);
        expect_close(run_kernel(defs::cross_entropy_op, {x, t}, params, out, {n}), loss, out, 2);
        expect_close(run_kernel(defs::cross_entropy_backward_op, {g, x, t}, params, dtype, {n, c}),
                     grad, dtype);
      }
    }
  }
}

TEST(CpuKernels, ArgReduce) {
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : kShapes) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 0) continue;
        Values raw;
        for (std::int64_t i = 0; i < element_count(shape); ++i) {
          raw.push_back(static_cast<double>(is_bool(dtype) ? pick(0, 1) : pick(0, 100)));
          if (info(dtype).is_signed) raw.back() -= 50;
        }
        if (is_float(dtype) && raw.size() > 20) {
          raw[7] = kNan, raw[11] = kNan, raw[13] = kInf, raw[14] = -kInf, raw[15] = kInf;
        }
        const TestTensor x(dtype, shape, raw);
        Shape reduced = shape;
        reduced.erase(axis);
        for (const bool smallest : {false, true}) {
          Values expected;
          for_lines(shape, axis, [&](const std::vector<std::size_t>& line) {
            std::size_t best = 0;
            for (std::size_t i = 1; i < line.size(); ++i) {
              const double a = raw[line[i]], b = raw[line[best]];
              if (std::isnan(b)) continue;
              if (std::isnan(a) || (smallest ? a < b : a > b)) best = i;
            }
            expected.push_back(static_cast<double>(best));
          });
          for (const DType out : {DType::i64, DType::i32}) {
            const Params params = Params().i64(axis).boolean(false).dtype(out);
            EXPECT_EQ(
                run_kernel(smallest ? defs::argmin_op : defs::argmax_op, {x}, params, out, reduced),
                expected)
                << name(dtype) << to_string(shape) << axis;
          }
          Values extremes;
          std::size_t at = 0;
          for_lines(shape, axis, [&](const std::vector<std::size_t>& line) {
            extremes.push_back(
                x[static_cast<std::int64_t>(line[static_cast<std::size_t>(expected[at++])])]);
          });
          const std::vector<Values> both = run_kernel(
              smallest ? defs::min_with_indices_op : defs::max_with_indices_op, {x},
              Params().i64(axis).boolean(false), {{dtype, reduced}, {DType::i64, reduced}});
          expect_close(both[0], extremes, dtype, 0);
          EXPECT_EQ(both[1], expected) << name(dtype) << to_string(shape) << axis;
        }
      }
    }
  }
}

Values int_values(std::int64_t count, DType dtype) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(is_bool(dtype) ? pick(0, 1) : pick(0, 9)));
  return values;
}

TEST(CpuKernels, Sort) {
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : kShapes) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        Values raw = int_values(element_count(shape), dtype);
        if (is_float(dtype) && raw.size() > 8) raw[3] = raw[6] = kNan;
        const TestTensor x(dtype, shape, raw);
        const bool descending = pick(0, 1) != 0;
        Values values(raw.size()), indices(raw.size());
        for_lines(shape, axis, [&](const std::vector<std::size_t>& line) {
          std::vector<std::size_t> order(line.size());
          std::iota(order.begin(), order.end(), std::size_t{0});
          const auto precedes = [](double a, double b) {
            return std::isnan(b) ? !std::isnan(a) : a < b;
          };
          std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
            const double a = raw[line[i]], b = raw[line[j]];
            if (precedes(a, b) || precedes(b, a)) return precedes(a, b) != descending;
            return i < j;
          });
          for (std::size_t i = 0; i < line.size(); ++i) {
            values[line[i]] = raw[line[order[i]]];
            indices[line[i]] = static_cast<double>(order[i]);
          }
        });
        const DType index = shape[axis] > 127 || pick(0, 1) != 0 ? DType::i64 : DType::i8;
        const std::vector<Values> both = run_kernel(
            defs::sort_with_indices_op, {x}, Params().i64(axis).boolean(descending).dtype(index),
            {{dtype, shape}, {index, shape}});
        expect_close(both[0], values, dtype, 0);
        EXPECT_EQ(both[1], indices) << name(dtype) << to_string(shape) << axis;
      }
    }
  }
}

TEST(CpuKernels, Cat) {
  for (const DType dtype : kAllDTypes) {
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<TestTensor> parts;
      Shape shape = {3, 5, 4};
      std::vector<Values> lines;
      shape[axis] = 0;
      for (const std::int64_t extent : {2, 0, 7}) {
        Shape part = shape;
        part[axis] = extent;
        parts.emplace_back(dtype, part, int_values(element_count(part), dtype));
      }
      for (const TestTensor& part : parts) shape[axis] += part.spec.shape[axis];
      Values expected(static_cast<std::size_t>(element_count(shape)));
      const Strides strides = contiguous_strides(shape);
      std::int64_t start = 0;
      for (const TestTensor& part : parts) {
        const Shape& own = part.spec.shape;
        for (std::int64_t i = 0; i < part.count(); ++i) {
          const std::int64_t at[3] = {i / (own[1] * own[2]), i / own[2] % own[1], i % own[2]};
          std::int64_t to = start * strides[axis];
          for (int k = 0; k < 3; ++k) to += at[k] * strides[k];
          expected[static_cast<std::size_t>(to)] = part[i];
        }
        start += own[axis];
      }
      EXPECT_EQ(run_kernel(defs::cat_op, parts, Params().i64(axis), dtype, shape), expected);
    }
  }
}

TEST(CpuKernels, SliceAssign) {
  for (const DType dtype : kAllDTypes) {
    const Shape shape = {6, 40, 9}, part = {2, 13, 9};
    const std::int64_t starts[3] = {5, 1, 8}, steps[3] = {-3, 3, -1};
    const TestTensor x(dtype, shape, int_values(element_count(shape), dtype));
    const TestTensor value(dtype, part, int_values(element_count(part), dtype));
    Values expected = x.values();
    for (std::int64_t i = 0; i < value.count(); ++i) {
      const std::int64_t at[3] = {i / (13 * 9), i / 9 % 13, i % 9};
      std::int64_t to = 0;
      for (int k = 0; k < 3; ++k) to = to * shape[k] + starts[k] + at[k] * steps[k];
      expected[static_cast<std::size_t>(to)] = value[i];
    }
    Params params = Params().list(Dims(steps, 3));
    for (const std::int64_t start : starts) params.dynamic_i64(start);
    EXPECT_EQ(run_kernel(defs::slice_assign_op, {x, value}, params, dtype, shape, true), expected);
    const TestTensor nothing(dtype, {2, 0, 9}, {});
    EXPECT_EQ(run_kernel(defs::slice_assign_op, {x, nothing}, params, dtype, shape, true),
              x.values());
  }
}

// The sum of two elements as the dtype stores it; halves are not rounded here.
double add_as(DType dtype, double a, double b) {
  if (is_bool(dtype)) return a != 0 || b != 0;
  return a + b;
}

TEST(CpuKernels, GatherAndScatterAdd) {
  for (const DType dtype : kAllDTypes) {
    for (int axis = 0; axis < 3; ++axis) {
      const Shape shape = {3, 30, 20};
      Shape picked = shape;
      picked[axis] = 25;
      const TestTensor x(dtype, shape, int_values(element_count(shape), dtype));
      const TestTensor v(dtype, picked, int_values(element_count(picked), dtype));
      for (const DType index : {DType::i64, DType::i32, DType::u8}) {
        Values places;
        for (std::int64_t i = 0; i < element_count(picked); ++i) {
          places.push_back(static_cast<double>(pick(0, shape[axis] - 1)));
        }
        places[5] = 200;  // outside
        const TestTensor indices(index, picked, places);
        const Strides strides = contiguous_strides(shape);
        Values gathered, scattered = x.values();
        for (std::int64_t i = 0; i < v.count(); ++i) {
          std::int64_t at[3] = {i / (picked[1] * picked[2]), i / picked[2] % picked[1],
                                i % picked[2]};
          at[axis] = static_cast<std::int64_t>(places[static_cast<std::size_t>(i)]);
          const bool outside = at[axis] >= shape[axis];
          const std::int64_t from = at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
          gathered.push_back(outside ? 0 : x[from]);
          if (outside) continue;
          double& sum = scattered[static_cast<std::size_t>(from)];
          sum = add_as(dtype, sum, v[i]);
        }
        EXPECT_EQ(run_kernel(defs::gather_op, {x, indices}, Params().i64(axis), dtype, picked),
                  gathered);
        expect_close(run_kernel(defs::scatter_add_op, {x, indices, v}, Params().i64(axis), dtype,
                                shape, true),
                     scattered, dtype);
      }
    }
  }
}

TEST(CpuKernels, SelectAndSelectAdd) {
  for (const DType dtype : kAllDTypes) {
    for (int axis = 0; axis < 3; ++axis) {
      for (const std::int64_t n : {0, 1, 70}) {
        const Shape shape = {4, 30, 37};
        Shape picked = shape;
        picked[axis] = n;
        const TestTensor x(dtype, shape, int_values(element_count(shape), dtype));
        const TestTensor v(dtype, picked, int_values(element_count(picked), dtype));
        Values places;
        for (std::int64_t i = 0; i < n; ++i) places.push_back(static_cast<double>(pick(0, 2)));
        if (n > 5) places[5] = 120;
        const TestTensor indices(pick(0, 1) ? DType::i64 : DType::i32, {n}, places);
        const Strides strides = contiguous_strides(shape);
        Values selected, sum = x.values();
        for (std::int64_t i = 0; i < v.count(); ++i) {
          std::int64_t at[3] = {i / (picked[1] * picked[2]), i / picked[2] % picked[1],
                                i % picked[2]};
          at[axis] = static_cast<std::int64_t>(places[static_cast<std::size_t>(at[axis])]);
          const bool outside = at[axis] >= shape[axis];
          const std::int64_t from = at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
          selected.push_back(outside ? 0 : x[from]);
          if (!outside)
            sum[static_cast<std::size_t>(from)] =
                add_as(dtype, sum[static_cast<std::size_t>(from)], v[i]);
        }
        if (dtype == DType::i8 || dtype == DType::u8) {
          for (double& value : sum) {
            value = dtype == DType::i8
                        ? static_cast<std::int8_t>(static_cast<std::int64_t>(value))
                        : static_cast<std::uint8_t>(static_cast<std::int64_t>(value));
          }
        }
        EXPECT_EQ(run_kernel(defs::select_op, {x, indices}, Params().i64(axis), dtype, picked),
                  selected);
        expect_close(run_kernel(defs::select_add_op, {x, indices, v}, Params().i64(axis), dtype,
                                shape, true),
                     sum, dtype);
      }
    }
  }
}

double updated(double sum, double value, IndexingUpdateOp update, DType dtype) {
  switch (update) {
    case IndexingUpdateOp::assign:
      return value;
    case IndexingUpdateOp::add:
      return add_as(dtype, sum, value);
    case IndexingUpdateOp::mul:
      return sum * value;
    case IndexingUpdateOp::min:
      return std::min(sum, value);
    case IndexingUpdateOp::max:
      break;
  }
  return std::max(sum, value);
}

TEST(CpuKernels, ScatterAndSelectAssign) {
  const auto factors = [](std::int64_t count, DType dtype) {
    constexpr double kFactors[] = {1, -1, 2, -1};
    Values values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(is_bool(dtype) ? static_cast<double>(pick(0, 1)) : kFactors[pick(0, 3)]);
    }
    return values;
  };
  for (const DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::i64, DType::i16, DType::bool_}) {
    for (int axis = 0; axis < 3; ++axis) {
      for (const auto update :
           {IndexingUpdateOp::assign, IndexingUpdateOp::add, IndexingUpdateOp::mul,
            IndexingUpdateOp::min, IndexingUpdateOp::max}) {
        const Shape shape = {6, 20, 9};
        Shape picked = shape;
        picked[axis] = 25;
        const TestTensor x(dtype, shape, factors(element_count(shape), dtype));
        const TestTensor v(dtype, picked, factors(element_count(picked), dtype));
        Values places, list;
        for (std::int64_t i = 0; i < v.count(); ++i) {
          places.push_back(static_cast<double>(pick(0, shape[axis])));  // the last one is outside
        }
        for (int i = 0; i < 25; ++i) list.push_back(static_cast<double>(pick(0, shape[axis])));
        const Strides strides = contiguous_strides(shape);
        Values scattered = x.values(), selected = scattered;
        for (std::int64_t i = 0; i < v.count(); ++i) {
          std::int64_t at[3] = {i / (picked[1] * picked[2]), i / picked[2] % picked[1],
                                i % picked[2]};
          const auto to = [&](Values& out, double place) {
            const auto target = static_cast<std::int64_t>(place);
            if (target == shape[axis]) return;
            const std::int64_t from = at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] +
                                      (target - at[axis]) * strides[axis];
            double& sum = out[static_cast<std::size_t>(from)];
            sum = updated(sum, v[i], update, dtype);
          };
          to(scattered, places[static_cast<std::size_t>(i)]);
          to(selected, list[static_cast<std::size_t>(at[axis])]);
        }
        const Params params = Params().i64(axis).i64(static_cast<int>(update));
        const TestTensor each(DType::i32, picked, places), listed(DType::i64, {25}, list);
        expect_close(run_kernel(defs::scatter_op, {x, each, v}, params, dtype, shape, true),
                     scattered, dtype);
        expect_close(run_kernel(defs::select_assign_op, {x, listed, v}, params, dtype, shape, true),
                     selected, dtype);
      }
    }
  }
}

TEST(CpuKernels, Matmul) {
  struct Case {
    Shape a, b, out;
  };
  const Case cases[] = {{{5, 7}, {7, 3}, {5, 3}},
                        {{2, 4, 5, 7}, {7, 3}, {2, 4, 5, 3}},
                        {{2, 1, 5, 7}, {4, 7, 3}, {2, 4, 5, 3}},
                        {{4, 1, 7}, {4, 7, 3}, {4, 1, 3}},
                        {{6, 1, 7}, {7, 3}, {6, 1, 3}},
                        {{3, 2, 5, 7}, {1, 2, 7, 3}, {3, 2, 5, 3}},
                        {{3, 5, 0}, {0, 4}, {3, 5, 4}},
                        {{0, 5, 2}, {2, 4}, {0, 5, 4}}};
  for (const DType dtype : kAllDTypes) {
    if (is_bool(dtype)) continue;
    for (const Case& c : cases) {
      const auto values = [&](const Shape& shape) {
        return is_float(dtype) ? normal_values(element_count(shape))
                               : int_values(element_count(shape), dtype);
      };
      const Layout layout = pick(0, 1) ? Layout::shuffled : Layout::dense;
      const TestTensor a(dtype, c.a, values(c.a), layout), b(dtype, c.b, values(c.b), layout);
      const int rank = c.out.rank();
      const std::int64_t m = c.out[rank - 2], n = c.out[rank - 1], k = c.a.back();
      Values expected;
      const auto item = [&](std::int64_t batch, const Shape& shape) {
        std::int64_t at = 0, step = 1;
        for (int i = rank - 3; i >= 0; --i) {
          const int own = i - (rank - shape.rank());
          if (own >= 0 && shape[own] != 1) at += batch % c.out[i] * step;
          if (own >= 0) step *= shape[own];
          batch /= c.out[i];
        }
        return at;
      };
      for (std::int64_t i = 0; i < element_count(c.out); ++i) {
        const std::int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum +=
              a[(item(batch, c.a) * m + row) * k + p] * b[(item(batch, c.b) * k + p) * n + column];
        }
        if (dtype == DType::i8) sum = static_cast<std::int8_t>(static_cast<std::int64_t>(sum));
        if (dtype == DType::u8) sum = static_cast<std::uint8_t>(static_cast<std::int64_t>(sum));
        expected.push_back(sum);
      }
      expect_close(run_kernel(defs::matmul_op, {a, b}, Params(), dtype, c.out), expected, dtype, 2);
    }
  }
}

TEST(CpuKernels, PhiloxIsPhilox) {
  // Known answers of the published generator: all zero, and all ones.
  EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(philox(kOnes, kOnes, kOnes),
            (PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

TEST(CpuKernels, Random) {
  const std::uint64_t seed = 0x123456789abcdefu, counter = 77;
  const Shape shape = {3, 3001};
  const std::int64_t n = element_count(shape);
  const auto drawn = [&](DType dtype) {
    return Params()
        .list(shape)
        .dtype(dtype)
        .dynamic_i64(static_cast<std::int64_t>(seed))
        .dynamic_i64(static_cast<std::int64_t>(counter));
  };
  const auto word = [&](std::int64_t i) {
    return philox(seed, static_cast<std::uint64_t>(i / 4),
                  counter)[static_cast<std::size_t>(i % 4)];
  };
  const auto pair = [&](std::int64_t i) { return philox_pair(word(2 * i), word(2 * i + 1)); };
  Values bits, wide, uniform, uniform64, ones, integers, normal, normal64;
  for (std::int64_t i = 0; i < n; ++i) {
    bits.push_back(word(i));
    wide.push_back(static_cast<double>(pair(i)));
    uniform.push_back(philox_uniform(philox_unit(word(i)), -2.0f, 3.0f));
    uniform64.push_back(philox_uniform(philox_unit(pair(i)), -2.0, 3.0));
    ones.push_back(philox_bernoulli(word(i), 0, 0.3));
    integers.push_back(static_cast<double>(philox_integer(pair(i), -5, 12)));
    float z[2];
    philox_normal(word(i / 2 * 2), word(i / 2 * 2 + 1), z);
    normal.push_back(1.0f + 2.0f * z[i % 2]);
    double w[2];
    philox_normal(pair(i / 2 * 2), pair(i / 2 * 2 + 1), w);
    normal64.push_back(1 + 2 * w[i % 2]);
  }
  EXPECT_EQ(run_kernel(defs::random_bits_op, {}, drawn(DType::u32), DType::u32, shape), bits);
  EXPECT_EQ(run_kernel(defs::random_bits_op, {}, drawn(DType::u64), DType::u64, shape), wide);
  const auto range = [&](DType dtype) { return drawn(dtype).dynamic_f64(-2).dynamic_f64(3); };
  EXPECT_EQ(run_kernel(defs::random_uniform_op, {}, range(DType::f32), DType::f32, shape), uniform);
  EXPECT_EQ(run_kernel(defs::random_uniform_op, {}, range(DType::f64), DType::f64, shape),
            uniform64);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Values half = run_kernel(defs::random_uniform_op, {}, range(dtype), dtype, shape);
    expect_close(half, uniform, dtype);
    for (const double value : half) EXPECT_TRUE(value >= -2 && value < 3);
  }
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(
        run_kernel(defs::random_bernoulli_op, {}, drawn(dtype).dynamic_f64(0.3), dtype, shape),
        ones);
    if (!is_int(dtype) || !info(dtype).is_signed) continue;
    EXPECT_EQ(run_kernel(defs::random_integers_op, {}, drawn(dtype).dynamic_i64(-5).dynamic_i64(12),
                         dtype, shape),
              integers);
  }
  const auto spread = [&](DType dtype) { return drawn(dtype).dynamic_f64(1).dynamic_f64(2); };
  expect_close(run_kernel(defs::random_normal_op, {}, spread(DType::f32), DType::f32, shape),
               normal, DType::f32);
  expect_close(run_kernel(defs::random_normal_op, {}, spread(DType::f64), DType::f64, shape),
               normal64, DType::f64);
  expect_close(run_kernel(defs::random_normal_op, {}, spread(DType::bf16), DType::bf16, shape),
               normal, DType::bf16);
  double mean = 0, square = 0;
  for (const double value : normal64) mean += value / static_cast<double>(n);
  for (const double value : normal64)
    square += (value - mean) * (value - mean) / static_cast<double>(n);
  EXPECT_NEAR(mean, 1, 0.1);
  EXPECT_NEAR(std::sqrt(square), 2, 0.1);
}

TEST(CpuKernels, Arange) {
  for (const DType dtype : kAllDTypes) {
    if (is_bool(dtype)) continue;
    const std::int64_t n = 100;
    Params params = Params().i64(n).dtype(dtype);
    Values expected;
    for (std::int64_t i = 0; i < n; ++i) {
      expected.push_back(is_float(dtype) ? -1.5 + 0.25 * static_cast<double>(i)
                                         : static_cast<double>(3 + i));
    }
    if (is_float(dtype)) {
      params.dynamic_f64(-1.5).dynamic_f64(0.25);
    } else {
      params.dynamic_i64(3).dynamic_i64(1);
    }
    EXPECT_EQ(run_kernel(defs::arange_op, {}, params, dtype, {n}), expected) << name(dtype);
  }
}

}  // namespace
}  // namespace hearth::cpu
