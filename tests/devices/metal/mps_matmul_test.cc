// Products by MPSGraph against products in f64: layouts, batches, epilogues, dtypes.
#include "devices/metal/mps_fixture.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/problem.h"

namespace hearth::metal {
namespace {

using gpu::MatmulProblem;
using Matrix = MatmulProblem::Matrix;
using Activation = gpu::MatmulEpilogue::Activation;

// Rows with `gap` elements after each, and matrices back to back.
Matrix matrix(bool transposed, std::int64_t rows, std::int64_t columns, std::int64_t gap = 0) {
  const std::int64_t stride = (transposed ? rows : columns) + gap;
  return {transposed ? 1 : 0, stride, (transposed ? columns : rows) * stride};
}

std::int64_t place(const Matrix& m, std::int64_t batch, std::int64_t row, std::int64_t column) {
  return batch * m.batch_stride +
         (m.transposed != 0 ? column * m.stride + row : row * m.stride + column);
}

std::int64_t reach(const Matrix& m, std::int64_t batches, std::int64_t rows, std::int64_t columns) {
  return place(m, batches - 1, rows - 1, columns - 1) + 1;
}

class MpsMatmul : public MpsTest {
 protected:
  static MatmulProblem problem(std::int64_t m, std::int64_t n, std::int64_t k,
                               std::int64_t batches = 1, DType dtype = DType::f32) {
    MatmulProblem p;
    p.dtype = static_cast<std::int64_t>(dtype);
    p.m = m;
    p.n = n;
    p.k = k;
    p.batches = batches;
    p.a = matrix(false, m, k);
    p.b = matrix(false, k, n);
    p.c = matrix(false, m, n);
    return p;
  }

  void check(const MatmulProblem& p) {
    SCOPED_TRACE(gpu::matmul_call(p).name + " " + std::to_string(p.m) + " x " +
                 std::to_string(p.n) + " x " + std::to_string(p.k));
    const auto dtype = static_cast<DType>(p.dtype);
    end_ = 0;
    const Numbers before = add(dtype, 5);
    const Numbers a = add(dtype, reach(p.a, p.batches, p.m, p.k), 3);
    const Numbers b = add(dtype, reach(p.b, p.batches, p.k, p.n), 1);
    const Numbers bias = add(dtype, p.n, 5), residual = add(dtype, p.batches * p.m * p.n, 7);
    const Numbers c = add(dtype, p.batches * p.m * p.n, 9), behind = add(dtype, 5);
    const auto in_a = fill(a), in_b = fill(b), in_bias = fill(bias), in_residual = fill(residual);
    for (const Numbers& each : {before, c, behind}) poison(each);
    std::vector<runtime::Argument> arguments = {argument(a), argument(b)};
    if (p.has_bias != 0) arguments.push_back(argument(bias));
    if (p.has_residual != 0) arguments.push_back(argument(residual));
    arguments.push_back(argument(c));
    arguments.push_back({});
    run(gpu::matmul_call(p), arguments);
    for (std::int64_t i = 0; i < p.batches * p.m * p.n; ++i) {
      const std::int64_t column = i % p.n, row = i / p.n % p.m, batch = i / p.n / p.m;
      double sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += in_a[static_cast<std::size_t>(place(p.a, batch, row, k))] *
               in_b[static_cast<std::size_t>(place(p.b, batch, k, column))];
      }
      if (p.has_bias != 0) sum += in_bias[static_cast<std::size_t>(column)];
      if (p.has_residual != 0) sum += in_residual[static_cast<std::size_t>(i)];
      if (p.activation == static_cast<std::int64_t>(Activation::relu)) sum = std::max(sum, 0.0);
      if (p.activation == static_cast<std::int64_t>(Activation::gelu_tanh)) {
        sum = sum / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
      }
      ASSERT_NEAR(at(c, i), sum, tolerance(dtype, p.k, sum))
          << batch << " " << row << " " << column;
    }
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(std::isnan(at(before, i)) && std::isnan(at(behind, i)));
    }
  }
};

constexpr DType kDtypes[] = {DType::f32, DType::f16, DType::bf16};

TEST_F(MpsMatmul, LayoutsOfBothFactors) {
  for (const DType dtype : kDtypes) {
    for (int bits = 0; bits < 4; ++bits) {
      for (const std::int64_t gap : {0, 3}) {
        MatmulProblem p = problem(7, 5, 9, 1, dtype);
        p.a = matrix((bits & 1) != 0, p.m, p.k, gap);
        p.b = matrix((bits & 2) != 0, p.k, p.n, gap * 2);
        check(p);
        p.batches = 3;
        check(p);
      }
    }
  }
}

TEST_F(MpsMatmul, LongSumsOf16BitsAreSumsInF32) {
  for (const DType dtype : {DType::f16, DType::bf16}) check(problem(3, 4, 700, 2, dtype));
}

TEST_F(MpsMatmul, OneMatrixForAWholeBatch) {
  for (int bits = 1; bits < 4; ++bits) {
    MatmulProblem p = problem(4, 6, 5, 3);
    if ((bits & 1) != 0) p.a.batch_stride = 0;
    if ((bits & 2) != 0) p.b.batch_stride = 0;
    check(p);
    p.b.transposed = 1;
    p.b.stride = p.k;
    check(p);
  }
}

// As heads lie in [rows, heads, columns].
TEST_F(MpsMatmul, MatricesBetweenEachOthersRows) {
  for (const std::int64_t gap : {0, 4}) {
    MatmulProblem p = problem(6, 5, 8, 3);
    p.a = {0, 3 * 8 + gap, 8};
    p.b = {1, 3 * 8 + gap, 8};
    check(p);
    p.b = {0, 3 * 5 + gap, 5};
    check(p);
  }
}

TEST_F(MpsMatmul, AxesOfOneElement) {
  for (const std::int64_t m : {1, 4}) {
    for (const std::int64_t n : {1, 4}) {
      for (const std::int64_t k : {1, 4}) {
        for (const std::int64_t batches : {1, 2}) {
          for (int bits = 0; bits < 4; ++bits) {
            MatmulProblem p = problem(m, n, k, batches);
            p.a = matrix((bits & 1) != 0, m, k, 2);
            p.b = matrix((bits & 2) != 0, k, n, 2);
            check(p);
          }
        }
      }
    }
  }
}

TEST_F(MpsMatmul, Epilogues) {
  for (const DType dtype : kDtypes) {
    for (int bits = 0; bits < 4; ++bits) {
      for (std::int64_t activation = 0; activation < 3; ++activation) {
        MatmulProblem p = problem(5, 16, 11, 1, dtype);
        p.has_bias = bits & 1;
        p.has_residual = bits >> 1;
        p.activation = activation;
        check(p);
      }
    }
  }
}

TEST_F(MpsMatmul, WhatMpsGraphIsNotAskedFor) {
  const auto refused = [&](const MatmulProblem& p) {
    return error_of(ErrorCode::unsupported, [&] { function(gpu::matmul_call(p)); });
  };
  EXPECT_TRUE(contains(refused(problem(4, 4, 4, 1, DType::f64)), "got f64, expected f32, f16 or"));
  MatmulProblem p = problem(4, 4, 4);
  p.c = matrix(false, 4, 4, 1);
  EXPECT_TRUE(contains(refused(p), "a result with gaps"));
  p = problem(4, 4, 4);
  p.c.transposed = 1;
  EXPECT_TRUE(contains(refused(p), "a result with gaps"));
}

// The Metal double faults where the real one ends the process.
TEST_F(MpsMatmul, NothingNear4GiB) {
  const auto refused = [&](const MatmulProblem& p) {
    return error_of(ErrorCode::unsupported, [&] { function(gpu::matmul_call(p)); });
  };
  const std::int64_t side = std::int64_t{1} << 15;
  // 2 GiB as f32, the last that is asked for, with 2 bytes an element as with 4.
  for (const DType dtype : {DType::f32, DType::f16}) {
    function(gpu::matmul_call(problem(side, 1, side / 2, 1, dtype)));
    EXPECT_TRUE(contains(refused(problem(side, 1, side, 1, dtype)),
                         "too large an array for a; got 1073741824 elements as f32, expected at "
                         "most 536870912"));
    EXPECT_TRUE(contains(refused(problem(side, side, 1, 1, dtype)), "too large an array for c;"));
  }
  // One matrix for the whole batch.
  MatmulProblem p = problem(1024, 1, 1024, 1024);
  p.a.batch_stride = 0;
  EXPECT_TRUE(contains(refused(p), "too large an array for a of the whole batch"));
  // Gaps count.
  p = problem(2, 2, 2);
  p.a.stride = std::int64_t{1} << 30;
  EXPECT_TRUE(contains(refused(p), "too large an array for a;"));
}

TEST_F(MpsMatmul, GraphsWithoutTheirInputsAreUnsupported) {
  double_->tells_feeds = false;
  EXPECT_TRUE(contains(
      error_of(ErrorCode::unsupported, [&] { function(gpu::matmul_call(problem(3, 3, 3))); }),
      "MPSGraph takes other inputs; got 0 of them, expected 2"));
}

TEST_F(MpsMatmul, ResultsOverFactorsAreFound) {
  const Numbers a = add(DType::f32, 16), b = add(DType::f32, 16);
  const std::vector<runtime::Argument> arguments = {argument(a), argument(b), argument(b), {}};
  EXPECT_TRUE(contains(
      error_of(ErrorCode::internal, [&] { run(gpu::matmul_call(problem(4, 4, 4)), arguments); }),
      "the result lies over b"));
}

TEST_F(MpsMatmul, EqualGraphsAreCompiledOnce) {
  check(problem(4, 6, 5));
  const int before = double_->graphs_compiled;
  MatmulProblem p = problem(4, 6, 5);
  p.a.stride = 9;  // other strides, the same shape
  check(p);
  EXPECT_EQ(double_->graphs_compiled, before);
  p.b = matrix(true, 5, 6);
  check(p);
  EXPECT_EQ(double_->graphs_compiled, before + 1);
}

TEST_F(MpsMatmul, GraphsAreKeptInBounds) {
  const runtime::Function& first = function(gpu::matmul_call(problem(1, 1, 1)));
  for (std::int64_t n = 1; n < 300; ++n) function(gpu::matmul_call(problem(2, n, 1)));
  const auto stayed = before_.find("MPSGraphExecutable");
  EXPECT_EQ(double_->live().at("MPSGraphExecutable"),
            256 + (stayed == before_.end() ? 0 : stayed->second));
  // One that went is compiled again.
  const int before = double_->graphs_compiled;
  const Numbers a = add(DType::f32, 1), b = add(DType::f32, 1), c = add(DType::f32, 1);
  fill(a);
  fill(b);
  const std::vector<runtime::Argument> arguments = {argument(a), argument(b), argument(c), {}};
  const runtime::Command command{&first, {1}, {32}, arguments, 0, {}};
  driver_->submit({&command, 1});
  driver_->wait();
  EXPECT_EQ(double_->graphs_compiled, before + 1);
  EXPECT_FLOAT_EQ(static_cast<float>(at(c, 0)), static_cast<float>(at(a, 0) * at(b, 0)));
}

}  // namespace
}  // namespace hearth::metal
