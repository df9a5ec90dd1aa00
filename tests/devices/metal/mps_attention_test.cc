// Attention by MPSGraph against attention in f64.
#include "devices/metal/mps_fixture.h"
#include "kernels/attention/library/problem.h"

namespace hearth::metal {
namespace {

using gpu::AttentionProblem;
using Steps = AttentionProblem::Steps;

class MpsAttention : public MpsTest {
 protected:
  static AttentionProblem problem(DType dtype = DType::f32) {
    AttentionProblem p;
    p.dtype = static_cast<std::int64_t>(dtype);
    p.batch = 2;
    p.heads = p.kv_heads = 3;
    p.rows = 5;
    p.keys = 7;
    p.d = 8;
    p.dv = 6;
    p.scale = 0.35;
    return dense(p);
  }
  static AttentionProblem dense(AttentionProblem p) {
    p.q = gpu::dense_steps({p.batch, p.heads, p.rows, p.d});
    p.k = gpu::dense_steps({p.batch, p.kv_heads, p.keys, p.d});
    p.v = gpu::dense_steps({p.batch, p.kv_heads, p.keys, p.dv});
    p.out = gpu::dense_steps({p.batch, p.heads, p.rows, p.dv});
    return p;
  }

  static std::int64_t place(const Steps& steps, std::int64_t item, std::int64_t head,
                            std::int64_t row, std::int64_t column) {
    return item * steps.item + head * steps.head + row * steps.row + column;
  }

  void check(const AttentionProblem& p) {
    const auto dtype = static_cast<DType>(p.dtype);
    end_ = 0;
    const auto operand = [&](const Steps& steps, std::int64_t heads, std::int64_t rows,
                             std::int64_t columns, std::int64_t first) {
      return add(dtype, place(steps, p.batch - 1, heads - 1, rows - 1, columns - 1) + 1, first);
    };
    const Numbers q = operand(p.q, p.heads, p.rows, p.d, 5);
    const Numbers k = operand(p.k, p.kv_heads, p.keys, p.d, 1);
    const Numbers v = operand(p.v, p.kv_heads, p.keys, p.dv, 3);
    const Numbers out = operand(p.out, p.heads, p.rows, p.dv, 2);
    const auto in_q = fill(q), in_k = fill(k), in_v = fill(v);
    poison(out);
    run(gpu::attention_call(p), {argument(q), argument(k), argument(v), argument(out), {}, {}});
    const auto number = [](const std::vector<double>& all, std::int64_t at) {
      return all[static_cast<std::size_t>(at)];
    };
    for (std::int64_t line = 0; line < p.batch * p.heads * p.rows; ++line) {
      const std::int64_t row = line % p.rows, head = line / p.rows % p.heads;
      const std::int64_t item = line / p.rows / p.heads, kv = head / (p.heads / p.kv_heads);
      const std::int64_t seen = p.causal != 0 ? row + 1 + p.keys - p.rows : p.keys;
      std::vector<double> weights;
      double total = 0;
      for (std::int64_t key = 0; key < seen; ++key) {
        double score = 0;
        for (std::int64_t i = 0; i < p.d; ++i) {
          score += number(in_q, place(p.q, item, head, row, i)) *
                   number(in_k, place(p.k, item, kv, key, i));
        }
        weights.push_back(std::exp(score * p.scale));
        total += weights.back();
      }
      for (std::int64_t column = 0; column < p.dv; ++column) {
        double expected = 0;
        for (std::int64_t key = 0; key < seen; ++key) {
          expected += weights[static_cast<std::size_t>(key)] / total *
                      number(in_v, place(p.v, item, kv, key, column));
        }
        ASSERT_NEAR(at(out, place(p.out, item, head, row, column)), expected,
                    tolerance(dtype, p.d + p.keys, expected))
            << item << " " << head << " " << row << " " << column;
      }
    }
  }
};

TEST_F(MpsAttention, Dtypes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    AttentionProblem p = problem(dtype);
    check(p);
    p.causal = 1;
    check(p);
  }
}

TEST_F(MpsAttention, CausalRowsBesideMoreKeys) {
  AttentionProblem p = problem();
  p.causal = 1;
  for (const std::int64_t keys : {5, 6, 40}) {
    p.keys = keys;
    check(dense(p));
  }
}

TEST_F(MpsAttention, HeadsThatShareKeys) {
  AttentionProblem p = problem();
  p.heads = 6;
  for (const std::int64_t kv_heads : {1, 2, 3}) {
    p.kv_heads = kv_heads;
    p.causal = kv_heads % 2;
    check(dense(p));
  }
}

// As heads lie in [batch, rows, heads, columns], with or without others beside them.
TEST_F(MpsAttention, HeadsBetweenEachOthersRows) {
  AttentionProblem p = problem();
  for (const std::int64_t beside : {0, 16}) {
    const std::int64_t q = p.heads * p.d + beside, v = p.kv_heads * p.dv + beside;
    p.q = {p.rows * q, p.d, q};
    p.k = {p.keys * q, p.d, q};
    p.v = {p.keys * v, p.dv, v};
    check(p);
  }
}

TEST_F(MpsAttention, TheSameForAllItemsAndHeads) {
  AttentionProblem p = problem();
  p.k.item = p.v.item = 0;
  check(p);
  p.k.head = p.v.head = p.q.head = 0;
  check(p);
  p = problem();
  p.q.row = 0;
  check(p);
}

TEST_F(MpsAttention, AxesOfOneElement) {
  for (int bits = 0; bits < 32; ++bits) {
    AttentionProblem p = problem();
    if ((bits & 1) != 0) p.batch = 1;
    if ((bits & 2) != 0) p.heads = p.kv_heads = 1;
    if ((bits & 4) != 0) p.rows = 1;
    if ((bits & 8) != 0) p.keys = p.rows;
    if ((bits & 16) != 0) p.d = p.dv = 1;
    check(dense(p));
  }
}

TEST_F(MpsAttention, WhatMpsGraphIsNotAskedFor) {
  const auto refused = [&](const AttentionProblem& p) {
    return error_of(ErrorCode::unsupported, [&] { function(gpu::attention_call(p)); });
  };
  AttentionProblem p = problem();
  p.bias_items = p.bias_heads = 1;
  EXPECT_TRUE(contains(refused(p), "got a bias"));
  p = problem();
  p.bounded = 1;
  EXPECT_TRUE(contains(refused(p), "got bounds"));
  p = problem();
  p.backward = 1;
  refused(p);
  p = problem();
  p.causal = 1;
  p.keys = 4;
  EXPECT_TRUE(contains(refused(p), "rows that see no key"));
}

// The Metal double faults where the real one ends the process.
TEST_F(MpsAttention, NothingNear4GiB) {
  const auto refused = [&](const AttentionProblem& p) {
    return error_of(ErrorCode::unsupported, [&] { function(gpu::attention_call(dense(p))); });
  };
  for (const DType dtype : {DType::f32, DType::f16}) {
    AttentionProblem p = problem(dtype);
    p.batch = 1;
    p.heads = p.kv_heads = 8;
    p.rows = p.keys = 8192;
    p.d = p.dv = 64;
    p.causal = 1;
    function(gpu::attention_call(dense(p)));  // 2 GiB of scores
    p.keys = 8193;
    EXPECT_TRUE(contains(refused(p), "too large an array for the scores; got 536936448 elements"));
    p.rows = p.keys = 29640;
    p.heads = p.kv_heads = 12;
    EXPECT_TRUE(contains(refused(p), "too large an array for the scores"));
    // Heads that share keys.
    p.causal = 0;
    p.rows = 2;
    p.heads = 64;
    p.kv_heads = 1;
    p.keys = std::int64_t{1} << 18;
    EXPECT_TRUE(contains(refused(p), "too large an array for k of all heads"));
  }
}

}  // namespace
}  // namespace hearth::metal
