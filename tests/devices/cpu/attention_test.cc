#include <optional>

#include "devices/kernel_case.h"

namespace hearth::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct AttentionCase {
  std::int64_t batch, heads, kv_heads, rows, keys, d, dv;
  std::int64_t kv_length;
  double scale = 0.3, softcap = 0;
  bool causal = false;
  Shape mask = {}, bias = {};  // rank 0: absent
};

struct Reference {
  Values out, dq, dk, dv;
};

// Index into a tensor that broadcasts to [batch, heads, rows, keys].
double score_operand(const TestTensor& x, const std::int64_t (&at)[4]) {
  const Shape& shape = x.spec.shape;
  std::int64_t i = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    i = i * shape[axis] + (shape[axis] == 1 ? 0 : at[4 - shape.rank() + axis]);
  }
  return x[i];
}

Reference reference(const AttentionCase& c, const TestTensor& q, const TestTensor& k,
                    const TestTensor& v, const TestTensor& mask, const TestTensor& bias,
                    const TestTensor* grad) {
  Reference r;
  r.out.resize(static_cast<std::size_t>(c.batch * c.heads * c.rows * c.dv));
  r.dq.resize(static_cast<std::size_t>(q.count()));
  r.dk.resize(static_cast<std::size_t>(k.count()));
  r.dv.resize(static_cast<std::size_t>(v.count()));
  const auto cast = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      const std::int64_t kh = b * c.kv_heads + h / (c.heads / c.kv_heads);
      for (std::int64_t i = 0; i < c.rows; ++i) {
        const std::int64_t row = (b * c.heads + h) * c.rows + i;
        Values p(cast(c.kv_length)), slope(p.size(), 1.0);
        double max = -kInf, sum = 0;
        for (std::int64_t j = 0; j < c.kv_length; ++j) {
          double s = 0;
          for (std::int64_t x = 0; x < c.d; ++x)
            s += q[row * c.d + x] * k[(kh * c.keys + j) * c.d + x];
          s *= c.scale;
          if (c.softcap > 0) {
            const double t = std::tanh(s / c.softcap);
            s = c.softcap * t;
            slope[cast(j)] = 1 - t * t;
          }
          const std::int64_t at[4] = {b, h, i, j};
          if (!bias.spec.absent) s += score_operand(bias, at);
          if (!mask.spec.absent && score_operand(mask, at) != 0) s = -kInf;
          if (c.causal && j > i + c.kv_length - c.rows) s = -kInf;
          p[cast(j)] = s;
          max = std::max(max, s);
        }
        for (double& value : p) sum += value = max == -kInf ? 0 : std::exp(value - max);
        for (double& value : p) value = sum == 0 ? 0 : value / sum;
        for (std::int64_t j = 0; j < c.kv_length; ++j) {
          for (std::int64_t x = 0; x < c.dv; ++x) {
            r.out[cast(row * c.dv + x)] += p[cast(j)] * v[(kh * c.keys + j) * c.dv + x];
          }
        }
        if (grad == nullptr) continue;
        double dot = 0;
        for (std::int64_t x = 0; x < c.dv; ++x)
          dot += (*grad)[row * c.dv + x] * r.out[cast(row * c.dv + x)];
        for (std::int64_t j = 0; j < c.kv_length; ++j) {
          double dp = 0;
          for (std::int64_t x = 0; x < c.dv; ++x) {
            dp += (*grad)[row * c.dv + x] * v[(kh * c.keys + j) * c.dv + x];
            r.dv[cast((kh * c.keys + j) * c.dv + x)] += p[cast(j)] * (*grad)[row * c.dv + x];
          }
          const double ds = p[cast(j)] * (dp - dot) * slope[cast(j)] * c.scale;
          for (std::int64_t x = 0; x < c.d; ++x) {
            r.dq[cast(row * c.d + x)] += ds * k[(kh * c.keys + j) * c.d + x];
            r.dk[cast((kh * c.keys + j) * c.d + x)] += ds * q[row * c.d + x];
          }
        }
      }
    }
  }
  return r;
}

void check(const AttentionCase& c, DType dtype) {
  const Shape qs = {c.batch, c.heads, c.rows, c.d}, ks = {c.batch, c.kv_heads, c.keys, c.d};
  const Shape vs = {c.batch, c.kv_heads, c.keys, c.dv}, os = {c.batch, c.heads, c.rows, c.dv};
  SCOPED_TRACE(std::string(name(dtype)) + " q " + to_string(qs) + " k " + to_string(ks));
  const Layout layout = pick(0, 1) ? Layout::shuffled : Layout::dense;
  const auto made = [&](const Shape& shape) {
    return TestTensor(dtype, shape, normal_values(element_count(shape)), layout);
  };
  // Keys that do not exist hold what must not be read.
  const auto made_keys = [&](const Shape& shape) {
    Values values = normal_values(element_count(shape));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto key = static_cast<std::int64_t>(i) / shape[3] % shape[2];
      if (key >= c.kv_length) values[i] = std::numeric_limits<double>::quiet_NaN();
    }
    return TestTensor(dtype, shape, values, layout);
  };
  const TestTensor q = made(qs), k = made_keys(ks), v = made_keys(vs), grad = made(os);
  TestTensor mask, bias;
  if (!c.mask.empty()) {
    Values values;
    for (std::int64_t i = 0; i < element_count(c.mask); ++i) values.push_back(pick(0, 2) == 0);
    if (element_count(c.mask) > c.keys && c.mask.back() > 1) {
      std::fill_n(values.begin(), c.mask.back(), 1.0);  // one row sees nothing
    }
    mask = TestTensor(DType::bool_, c.mask, values, layout);
  }
  if (!c.bias.empty()) bias = made(c.bias);
  const Params params =
      Params().f64(c.scale).f64(c.softcap).boolean(c.causal).boolean(true).i64(0).dynamic_i64(
          c.kv_length);
  const Reference r = reference(c, q, k, v, mask, bias, &grad);
  const double factor = dtype == DType::f64 ? 20 : 3;
  expect_close(run_kernel(defs::attention_op, {q, k, v, mask, bias}, params, dtype, os), r.out,
               dtype, factor);
  const TestTensor out(dtype, os, r.out);
  const std::vector<Values> gradients =
      run_kernel(defs::attention_backward_op, {grad, out, q, k, v, mask, bias}, params,
                 {{dtype, qs}, {dtype, ks}, {dtype, vs}});
  expect_close(gradients[0], r.dq, dtype, 10 * factor);
  expect_close(gradients[1], r.dk, dtype, 10 * factor);
  expect_close(gradients[2], r.dv, dtype, 10 * factor);
}

TEST(CpuAttention, EveryForm) {
  for (const DType dtype : kFloats) {
    check({1, 1, 1, 1, 1, 4, 4, 1}, dtype);
    check({2, 3, 3, 17, 17, 8, 8, 17, 0.3, 0, true}, dtype);
    check({1, 4, 2, 70, 90, 16, 12, 81, 0.2, 0, true}, dtype);
    check({2, 2, 1, 9, 33, 5, 7, 33, 0.4, 5.0, false, {2, 1, 9, 33}}, dtype);
    check({1, 2, 2, 20, 30, 8, 8, 30, 0.4, 3.0, true, {20, 30}, {2, 1, 30}}, dtype);
    check({1, 2, 2, 30, 10, 8, 8, 10, 0.4, 0, true, {}, {1, 2, 30, 10}},
          dtype);  // rows see nothing
    check({1, 2, 1, 12, 40, 8, 8, 0}, dtype);
    check({2, 6, 2, 1, 300, 16, 16, 290, 0.25, 0, true}, dtype);
    check({1, 4, 1, 3, 700, 8, 10, 700, 0.25, 20.0, true, {1, 1, 3, 700}, {4, 1, 1}}, dtype);
    check({1, 2, 2, 0, 5, 4, 4, 5}, dtype);
    check({1, 2, 2, 5, 0, 4, 4, 0}, dtype);
    check({0, 2, 2, 5, 5, 4, 4, 5}, dtype);
  }
}

TEST(CpuAttention, ManyBlocks) {
  check({1, 1, 1, 600, 1300, 16, 16, 1290, 0.25, 0, true}, DType::f32);
  check({2, 9, 3, 130, 130, 32, 32, 130, 0.2, 0, true}, DType::f32);
  check({1, 2, 1, 300, 600, 8, 8, 600, 0.3, 0, false, {300, 600}}, DType::bf16);
}

TEST(CpuAttention, NanStaysInItsRow) {
  const Shape shape = {1, 1, 8, 4};
  Values values = normal_values(32);
  values[2 * 4] = std::numeric_limits<double>::quiet_NaN();
  const TestTensor q(DType::f32, shape, values), k(DType::f32, shape, normal_values(32));
  const TestTensor v(DType::f32, shape, normal_values(32));
  const Params params = Params().f64(1).f64(0).boolean(false).boolean(true).i64(0).dynamic_i64(8);
  const Values out = run_kernel(defs::attention_op, {q, k, v}, params, DType::f32, shape);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 4 == 2) << i;
}

}  // namespace
}  // namespace hearth::cpu
