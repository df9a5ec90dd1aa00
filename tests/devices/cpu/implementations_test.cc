// Which of the CPU's implementations serves, and that a rule names another.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "devices/cpu/families.h"
#include "devices/cpu/gemm/kernels.h"
#include "graph/params.h"
#include "graph/selector.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

TensorSpec dense(DType dtype, const Shape& shape) {
  return {dtype, shape, contiguous_strides(shape), false};
}

std::string serving(const OpDef& op, std::vector<TensorSpec> inputs, const TensorSpec& output,
                    const Params& params = {}, const std::string& rules = "") {
  const Selector selector({.families = families(), .rules = rules});
  Signature signature;
  signature.op = &op;
  signature.statics = params.statics().span();
  signature.inputs = std::move(inputs);
  signature.output = output;
  const Implementation* const chosen = selector.find(signature);
  return chosen == nullptr ? "none" : chosen->name;
}

TEST(CpuImplementations, Softmax) {
  for (const OpDef* op : {&defs::softmax_op, &defs::log_softmax_op, &defs::logsumexp_op,
                          &defs::softmax_backward_op, &defs::log_softmax_backward_op}) {
    const auto along = [&](const Shape& shape, std::int64_t axis, const std::string& rules = "") {
      const TensorSpec x = dense(DType::f32, shape);
      return serving(*op, {x, x}, x, Params().i64(axis).boolean(false), rules);
    };
    EXPECT_EQ(along({9, 300}, 1), "rows");
    EXPECT_EQ(along({300, 15}, 0), "rows");
    EXPECT_EQ(along({300, 16}, 0), "columns");
    EXPECT_EQ(along({300, 4, 4}, 0), "columns");
    const std::string name = op->name.text;
    EXPECT_EQ(along({300, 16}, 0, name + "=rows"), "rows");
    EXPECT_EQ(along({300, 15}, 0, name + "=columns"), "rows");
  }
}

TEST(CpuImplementations, ArgReductions) {
  for (const OpDef* op : {&defs::argmax_op, &defs::argmin_op, &defs::max_with_indices_op,
                          &defs::min_with_indices_op}) {
    const auto along = [&](DType dtype, const Shape& shape, std::int64_t axis) {
      return serving(*op, {dense(dtype, shape)}, dense(DType::i64, shape), Params().i64(axis));
    };
    EXPECT_EQ(along(DType::bf16, {300, 16}, 0), "columns");
    EXPECT_EQ(along(DType::bf16, {300, 15}, 0), "rows");
    EXPECT_EQ(along(DType::bf16, {300, 16}, 1), "rows");
    EXPECT_EQ(along(DType::i32, {300, 16}, 0), "rows");
    EXPECT_EQ(along(DType::f32, {std::int64_t{1} << 31, 16}, 0), "rows");
  }
}

TEST(CpuImplementations, Attention) {
  const Params params = Params().f64(1).f64(0).boolean(false).boolean(false).i64(0).dynamic_i64(70);
  const auto of_rows = [&](std::int64_t rows, const std::string& rules = "") {
    const TensorSpec q = dense(DType::f32, {1, 2, rows, 8}), k = dense(DType::f32, {1, 2, 70, 8});
    return serving(defs::attention_op, {q, k, k}, q, params, rules);
  };
  EXPECT_EQ(of_rows(1), "flash_decoding");
  EXPECT_EQ(of_rows(4), "flash_decoding");
  EXPECT_EQ(of_rows(5), "blocks");
  EXPECT_EQ(of_rows(1, "attention=blocks"), "blocks");
}

// By extents after the axes of a batch are rows, and by strides.
TEST(CpuImplementations, Matmul) {
  const auto product = [](const TensorSpec& a, const TensorSpec& b, const Shape& c,
                          const std::string& rules = "") {
    return serving(defs::matmul_op, {a, b}, dense(a.dtype, c), {}, rules);
  };
  const TensorSpec square = dense(DType::f32, {64, 64});
  const TensorSpec transposed = {DType::f32, {64, 64}, {1, 64}, false};
  const TensorSpec shared = {DType::f32, {9, 64, 64}, {0, 64, 1}, false};
  const TensorSpec shared_transposed = {DType::f32, {9, 64, 64}, {0, 1, 64}, false};
  EXPECT_EQ(product(dense(DType::f32, {1, 64}), square, {1, 64}), "skinny");
  EXPECT_EQ(product(dense(DType::f32, {1, 64}), square, {1, 64}, "matmul=gemm"), "gemm");
  EXPECT_EQ(product(dense(DType::i32, {1, 64}), dense(DType::i32, {64, 64}), {1, 64}), "gemm");
  EXPECT_EQ(product(dense(DType::f32, {9, 64}), square, {9, 64}), "gemm");
  EXPECT_EQ(product(dense(DType::f32, {9, 64}), square, {9, 64}, "matmul=skinny"), "gemm");
  EXPECT_EQ(product(dense(DType::f32, {9, 64}), transposed, {9, 64}), "skinny");
  EXPECT_EQ(product(dense(DType::f32, {49, 64}), transposed, {49, 64}), "gemm");
  // Nine products of one row each, and one of nine rows.
  EXPECT_EQ(product(dense(DType::f32, {9, 1, 64}), dense(DType::f32, {9, 64, 64}), {9, 1, 64}),
            "skinny");
  EXPECT_EQ(product(dense(DType::f32, {9, 1, 64}), shared, {9, 1, 64}), "gemm");
  EXPECT_EQ(product(dense(DType::f32, {9, 1, 64}), shared_transposed, {9, 1, 64}), "skinny");
  // Rows that do not follow one another are no rows of one matrix.
  const TensorSpec apart = {DType::f32, {9, 2, 64}, {999, 64, 1}, false};
  EXPECT_EQ(product(apart, shared_transposed, {9, 2, 64}), "skinny");
  EXPECT_EQ(product(dense(DType::f32, {25, 2, 64}), {DType::f32, {25, 64, 64}, {0, 1, 64}, false},
                    {25, 2, 64}),
            "gemm");
  // bf16 instructions do better from fewer rows on.
  const TensorSpec halves = {DType::bf16, {64, 64}, {1, 64}, false};
  EXPECT_EQ(product(dense(DType::bf16, {24, 64}), halves, {24, 64}),
            amx_gemm() != nullptr ? "gemm" : "skinny");
  if (bf16_gemm() != nullptr) {
    EXPECT_EQ(product(dense(DType::bf16, {25, 64}), halves, {25, 64}), "gemm");
  }
}

}  // namespace
}  // namespace hearth::cpu
