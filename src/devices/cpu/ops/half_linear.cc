// half_linear: products of f32 with weights in halves. A weight of f16 meets x as it is: by kernels
// that convert it in registers where there are few rows, and converted as it is packed where there
// are many. For one of bf16 x is rounded; sums are f32 for both.
#include <algorithm>
#include <memory>

#include "core/integer_math.h"
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "graph/switches.h"
#include "ops/definition/defs.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

// A piece of a weight or of x that a thread takes; columns of y that are whole vectors everywhere.
constexpr std::int64_t kPieceBytes = 64 * 1024;
constexpr std::int64_t kColumns = 64;

struct HalfProduct {
  explicit HalfProduct(const Signature& signature)
      : is_f16(signature.inputs[1].dtype == DType::f16),
        k(signature.inputs[0].shape.back()),
        n(signature.output.shape.back()) {
    const Shape& x = signature.inputs[0].shape;
    for (int axis = 0; axis + 1 < x.rank(); ++axis) m *= x[axis];
  }

  // Whether a weight of f16 is multiplied where it lies.
  bool has_few() const { return m <= cpu_skinny().dot_rows; }
  std::int64_t workspace_bytes() const { return is_f16 ? 0 : m * k * size_of(DType::bf16); }
  // Rows of a matrix of k columns that are worth a thread's while.
  std::int64_t piece(DType dtype) const {
    return std::max<std::int64_t>(kPieceBytes / (std::max<std::int64_t>(k, 1) * size_of(dtype)), 1);
  }

  bool is_f16;
  bool by_row = switches().batch_invariant;
  std::int64_t k, n, m = 1;
};

struct BiasRow {
  const float* values;

  static void add(void* context, void* tile, std::int64_t stride, std::int64_t, std::int64_t,
                  std::int64_t col, std::int64_t rows, std::int64_t cols) {
    const float* const bias = static_cast<const BiasRow*>(context)->values + col;
    auto* const sums = static_cast<float*>(tile);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) sums[i * stride + j] += bias[j];
    }
  }
};

// y = x weight^T + bias; all are dense.
struct HalfOperands {
  const float* x;
  const void* weight;
  const float* bias;  // or null
  float* y;
  void* workspace;
};

GemmArgs args_of(const HalfProduct& p, const HalfOperands& o, DType dtype, BiasRow& bias) {
  GemmArgs args;
  args.m = p.m;
  args.k = p.k;
  args.n = p.n;
  args.a = o.x;
  args.a_row_stride = p.k;
  args.b = o.weight;
  args.b_row_stride = 1;
  args.b_col_stride = p.k;
  args.c = o.y;
  args.c_row_stride = p.n;
  args.dtype = dtype;
  args.by_row = p.by_row;
  if (bias.values != nullptr) args.epilogue = {BiasRow::add, &bias};
  return args;
}

void multiply_in_place(const HalfProduct& p, const HalfOperands& o) {
  const auto* const weight = static_cast<const float16*>(o.weight);
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < p.m; ++i) std::fill_n(o.y + i * p.n + begin, end - begin, -0.0f);
    cpu_skinny().f16.cols(p.m, end - begin, p.k, o.x, p.k, weight + begin * p.k, p.k, o.y + begin,
                          p.n);
    if (o.bias == nullptr) return;
    BiasRow bias{o.bias};
    BiasRow::add(&bias, o.y + begin, p.n, 0, 0, begin, p.m, end - begin);
  };
  const std::int64_t grain = round_up(p.piece(DType::f16), kColumns);
  if (grain >= p.n) return body(0, p.n);
  WorkerPool::global().parallel_for_range(p.n, grain, body);
}

void multiply_packed(const HalfProduct& p, const HalfOperands& o) {
  BiasRow bias{o.bias};
  gemm_f16_weights(args_of(p, o, DType::f32, bias));
}

void multiply_rounded(const HalfProduct& p, const HalfOperands& o) {
  auto* const rounded = static_cast<bfloat16*>(o.workspace);
  WorkerPool::global().parallel_for_range(
      p.m, p.piece(DType::f32), [&](std::int64_t begin, std::int64_t end) {
        cpu_gemm().to_bf16(o.x + begin * p.k, p.k, 1, end - begin, p.k, rounded + begin * p.k, p.k);
      });
  BiasRow bias{o.bias};
  GemmArgs args = args_of(p, o, DType::bf16, bias);
  args.a = rounded;
  is_skinny(args) ? gemm_skinny(args) : gemm(args);
}

Prepared prepare_half_linear(const Signature& signature) {
  const auto product = std::make_shared<const HalfProduct>(signature);
  return {product, product->workspace_bytes()};
}

void launch_half_linear(const Launch& launch) {
  const auto& product = *static_cast<const HalfProduct*>(launch.state);
  if (product.m == 0 || product.n == 0) return;
  const bool has_bias = has_input(launch, 2);
  const HalfOperands operands{
      reinterpret_cast<const float*>(input_of(launch, 0).data), input_of(launch, 1).data,
      has_bias ? reinterpret_cast<const float*>(input_of(launch, 2).data) : nullptr,
      reinterpret_cast<float*>(output_of(launch).data), launch.workspace};
  if (!product.is_f16) return multiply_rounded(product, operands);
  product.has_few() ? multiply_in_place(product, operands) : multiply_packed(product, operands);
}

constexpr Implementation kHalfLinearFamily[] = {
    {.name = "half",
     .op = &defs::half_linear_op,
     .accepts = [](const Signature& signature) { return signature.output.dtype == DType::f32; },
     .layout = LayoutNeed::dense,
     .prepare = prepare_half_linear,
     .launch = launch_half_linear},
};

}  // namespace

Family half_linear_family() { return kHalfLinearFamily; }

}  // namespace hearth::cpu
