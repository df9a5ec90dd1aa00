// attention against plain loops, with every option, and its gradients.
#include <optional>

#include "check.h"

namespace hearth {
namespace {

using namespace check;

class Attention : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, Attention, testing::Bool(), way_name);

struct Case {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, rows = 1, length = 1, d = 1, dv = 1;
  DType dtype = DType::f64;

  Array q() const { return random_array({batch, heads, rows, d}, dtype, -2, 2, 1); }
  Array k() const { return random_array({batch, kv_heads, length, d}, dtype, -2, 2, 2); }
  Array v() const { return random_array({batch, kv_heads, length, dv}, dtype, -2, 2, 3); }
};

Values expanded(const Array& x, const Shape& shape) {
  return x.defined() ? expand(x, shape).to_doubles() : Values();
}

// scale -> softcap -> mask -> causal -> + bias -> softmax -> . v
Values loops(const Case& c, const Array& q, const Array& k, const Array& v,
             const AttentionOptions& options) {
  const Values qs = q.to_doubles();
  const Values ks = k.to_doubles();
  const Values vs = v.to_doubles();
  const Shape scores = {c.batch, c.heads, c.rows, c.length};
  const Values mask = expanded(options.mask, scores);
  const Values bias = expanded(options.bias, scores);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(c.d)));
  const std::int64_t length = options.kv_length.value_or(c.length);
  Values out;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      const std::int64_t shared = b * c.kv_heads + h / (c.heads / c.kv_heads);
      for (std::int64_t row = 0; row < c.rows; ++row) {
        const std::int64_t query = (b * c.heads + h) * c.rows + row;
        Values s;
        for (std::int64_t col = 0; col < length; ++col) {
          double dot = 0;
          for (std::int64_t i = 0; i < c.d; ++i) {
            dot += qs[static_cast<std::size_t>(query * c.d + i)] *
                   ks[static_cast<std::size_t>((shared * c.length + col) * c.d + i)];
          }
          dot *= scale;
          if (options.softcap > 0) dot = options.softcap * std::tanh(dot / options.softcap);
          const auto at = static_cast<std::size_t>(query * c.length + col);
          if (!mask.empty() && mask[at] != 0) dot = -kInf;
          if (options.causal && col > row + length - c.rows) dot = -kInf;
          if (!bias.empty()) dot += bias[at];
          s.push_back(dot);
        }
        double top = -kInf;
        for (const double value : s) top = std::max(top, value);
        double total = 0;
        for (double& value : s) {
          value = top == -kInf ? 0 : std::exp(value - top);
          total += value;
        }
        for (std::int64_t j = 0; j < c.dv; ++j) {
          double sum = 0;
          for (std::int64_t col = 0; col < length; ++col) {
            sum += s[static_cast<std::size_t>(col)] *
                   vs[static_cast<std::size_t>((shared * c.length + col) * c.dv + j)];
          }
          out.push_back(total == 0 ? 0 : sum / total);
        }
      }
    }
  }
  return out;
}

void expect_matches(const Case& c, const AttentionOptions& options, const std::string& what) {
  const Array q = c.q();
  const Array k = c.k();
  const Array v = c.v();
  const Array out = attention(q, k, v, options);
  EXPECT_EQ(out.shape(), (Shape{c.batch, c.heads, c.rows, c.dv})) << what;
  EXPECT_EQ(out.dtype(), c.dtype) << what;
  expect_close(out, loops(c, q, k, v, options), 5 * tolerance(c.dtype), what);
}

Array random_mask(const Shape& shape, double share = 0.4) {
  Values values = random_values(element_count(shape), 0, 1, 9);
  for (double& value : values) value = value < share ? 1 : 0;
  return array(values, shape, DType::bool_);
}

TEST_P(Attention, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Case small{2, 3, 3, 4, 5, 8, 6, dtype};
    const Case square{1, 2, 2, 33, 33, 16, 16, dtype};
    const Case shared{2, 6, 2, 7, 19, 32, 32, dtype};
    const Case decode{1, 4, 1, 1, 70, 64, 64, dtype};
    for (const Case& c : {small, square, shared, decode}) {
      expect_matches(c, {}, "plain");
      expect_matches(c, {.scale = 0.1}, "scale");
      expect_matches(c, {.softcap = 1.5}, "softcap");
      expect_matches(c, {.causal = true}, "causal");
      expect_matches(c, {.causal = true, .kv_length = c.length - 2}, "causal, shorter");
      expect_matches(c, {.kv_length = c.length / 2}, "shorter");
      expect_matches(c, {.mask = random_mask({c.batch, 1, c.rows, c.length})}, "mask");
      expect_matches(c, {.mask = random_mask({c.length})}, "mask of keys");
      const Array bias = random_array({c.heads, c.rows, c.length}, dtype, -1, 1, 5);
      expect_matches(c, {.bias = bias}, "bias");
      expect_matches(c,
                     {.scale = 0.2,
                      .softcap = 2,
                      .causal = true,
                      .mask = random_mask({c.batch, 1, 1, c.length}),
                      .bias = bias,
                      .kv_length = c.length - 1},
                     "everything");
    }
  }
}

TEST_P(Attention, LongKeysCrossTiles) {
  expect_matches({1, 2, 1, 65, 530, 24, 40, DType::f32}, {.causal = true}, "long");
  expect_matches({1, 1, 1, 3, 1025, 8, 8, DType::f32}, {.kv_length = 1000}, "longer");
}

// So many that blocks of rows may have keys of their own; not all of one size.
TEST_P(Attention, ManyCausalRows) {
  expect_matches({2, 6, 6, 834, 851, 4, 3, DType::f32}, {.causal = true}, "many rows");
}

// Of sequences one behind the other, where most blocks of keys are hidden from all rows of a block;
// some rows see nothing.
TEST_P(Attention, MasksHideWholeBlocks) {
  constexpr std::int64_t kRows = 230, kKeys = 1300;
  Values mask;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t key = 0; key < kKeys; ++key) {
      mask.push_back(row / 100 != key / 600 || row % 100 < 7 ? 1 : 0);
    }
  }
  const Array hidden = array(mask, {kRows, kKeys}, DType::bool_);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Case c{1, 2, 1, kRows, kKeys, 8, 6, dtype};
    expect_matches(c, {.mask = hidden}, "rows of keys");
    expect_matches(c, {.mask = permute(contiguous(permute(hidden, {1, 0})), {1, 0})}, "columns");
  }
}

TEST_P(Attention, MaskedOutRowsGiveZero) {
  const Case c{1, 2, 1, 4, 5, 8, 3, DType::f32};
  Values mask(20, 0.0);
  for (std::size_t i = 5; i < 10; ++i) mask[i] = 1;  // row 1
  const Array out = attention(c.q(), c.k(), c.v(), {.mask = array(mask, {4, 5}, DType::bool_)});
  const Values got = out.to_doubles();
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(got[h * 12 + 3 + j], 0.0);
      EXPECT_NE(got[h * 12 + j], 0.0);
    }
  }
  // More rows than keys: the first rows see nothing.
  expect_matches({1, 1, 1, 6, 3, 4, 4}, {.causal = true}, "causal, more rows");
  // No keys at all.
  expect_values(attention(c.q(), c.k(), c.v(), {.kv_length = 0}), {1, 2, 4, 3}, Values(24, 0.0));
  const Case none{1, 2, 2, 4, 0, 8, 3};
  expect_values(attention(none.q(), none.k(), none.v()), {1, 2, 4, 3}, Values(24, 0.0));
}

TEST_P(Attention, MaskedOutRowsGiveZeroGradients) {
  const Case c{1, 1, 1, 3, 4, 4, 4};
  Values mask(12, 0.0);
  for (std::size_t i = 0; i < 4; ++i) mask[i] = 1;
  const Array masked = array(mask, {3, 4}, DType::bool_);
  check_gradients(
      [masked](std::span<const Array> x) { return attention(x[0], x[1], x[2], {.mask = masked}); },
      {c.q(), c.k(), c.v()});
}

// What lies after the last key is no number, as in a fresh cache.
TEST_P(Attention, KeysBehindTheLengthAreNeverRead) {
  const Case c{1, 2, 2, 3, 6, 8, 8, DType::f32};
  const auto spoiled = [](const Array& x) {
    return slice_assign(x, {{}, {}, {4, 6}}, array({kNan}, {1, 1, 1, 1}, DType::f32));
  };
  const AttentionOptions options{.causal = true, .kv_length = 4};
  const Array expected = attention(c.q(), c.k(), c.v(), options);
  const Array q = c.q().require_grad();
  const Array k = spoiled(c.k()).require_grad();
  const Array v = spoiled(c.v()).require_grad();
  const Array out = attention(q, k, v, options);
  expect_close(out, expected.to_doubles(), 1e-6);
  const Gradients gradients = backward(sum(out));
  for (const Array& leaf : {q, k, v}) {
    for (const double value : gradients.get(leaf).to_doubles()) EXPECT_TRUE(std::isfinite(value));
  }
  const Array behind = slice(gradients.get(k), {{}, {}, {4, 6}});
  expect_close(behind, Values(static_cast<std::size_t>(behind.size()), 0.0), 0);
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
  const Array q = array({1000, 1000}, {1, 1, 1, 2}, DType::f32);
  const Array k = array({1000, 1000, -1000, -1000}, {1, 1, 2, 2}, DType::f32);
  const Array v = array({3, 7}, {1, 1, 2, 1}, DType::f32);
  expect_close(attention(q, k, v), {3}, 1e-6);
}

TEST_P(Attention, PermutedHeads) {
  const Case c{2, 4, 2, 5, 6, 8, 8, DType::f32};
  const auto behind = [](const Array& x) {  // the same values kept as [batch, rows, heads, d]
    return permute(contiguous(permute(x, {0, 2, 1, 3})), {0, 2, 1, 3});
  };
  expect_close(attention(behind(c.q()), behind(c.k()), behind(c.v()), {.causal = true}),
               loops(c, c.q(), c.k(), c.v(), {.causal = true}), 1e-5);
}

TEST_P(Attention, Gradients) {
  const Case plain{2, 2, 2, 3, 4, 4, 3};
  const Case shared{1, 4, 2, 3, 4, 4, 4};
  for (const Case& c : {plain, shared}) {
    const Array mask = random_mask({c.batch, 1, c.rows, c.length}, 0.2);
    const auto bias = random_array({c.rows, c.length}, DType::f64, -1, 1, 5);
    for (const AttentionOptions& options :
         {AttentionOptions{}, AttentionOptions{.causal = true}, AttentionOptions{.softcap = 2},
          AttentionOptions{.mask = mask}, AttentionOptions{.bias = bias},
          AttentionOptions{
              .softcap = 3, .causal = true, .mask = mask, .bias = bias, .kv_length = 3}}) {
      check_gradients(
          [&options](std::span<const Array> x) { return attention(x[0], x[1], x[2], options); },
          {c.q(), c.k(), c.v()});
    }
  }
}

TEST_P(Attention, GradientOfTheBias) {
  const Case c{2, 2, 1, 3, 4, 4, 3};
  const auto f = [](std::span<const Array> x) {
    return attention(x[0], x[1], x[2], {.softcap = 2, .causal = true, .bias = x[3]});
  };
  for (const Shape& shape :
       {Shape{3, 4}, Shape{2, 2, 3, 4}, Shape{1, 2, 1, 4}, Shape{2, 1, 1, 1}}) {
    check_gradients(f, {c.q(), c.k(), c.v(), random_array(shape, DType::f64, -1, 1, 5)});
  }
}

TEST_P(Attention, SecondGradients) {
  const Case c{1, 2, 1, 2, 3, 2, 2};
  check_second_gradients(
      [](std::span<const Array> x) {
        return attention(x[0], x[1], x[2], {.softcap = 2, .causal = true});
      },
      {c.q(), c.k(), c.v()});
}

TEST_P(Attention, Errors) {
  const Case c{1, 4, 2, 3, 5, 8, 8};
  const Array q = c.q();
  const Array k = c.k();
  const Array v = c.v();
  expect_error(ErrorCode::shape, [&] { (void)attention(squeeze(q, {0}), k, v); });
  expect_error(ErrorCode::shape, [&] { (void)attention(slice(q, {{}, {0, 3}}), k, v); });
  expect_error(ErrorCode::shape, [&] { (void)attention(q, slice(k, {{}, {}, {0, 4}}), v); });
  expect_error(ErrorCode::shape, [&] { (void)attention(q, slice(k, {{}, {}, {}, {0, 4}}), v); });
  expect_error(ErrorCode::dtype, [&] { (void)attention(q, k, cast(v, DType::f32)); });
  expect_error(ErrorCode::dtype, [&] { (void)attention(q, k, v, {.mask = random_array({3, 5})}); });
  expect_error(ErrorCode::shape, [&] { (void)attention(q, k, v, {.mask = random_mask({3, 4})}); });
  expect_error(ErrorCode::shape,
               [&] { (void)attention(q, k, v, {.bias = random_array({2, 1, 1})}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)attention(q, k, v, {.kv_length = 6}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)attention(q, k, v, {.kv_length = -1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)attention(q, k, v, {.softcap = -1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)attention(q, k, v, {.scale = kNan}); });
}

}  // namespace
}  // namespace hearth
