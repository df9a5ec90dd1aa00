// matmul by the vendor's library, where the driver has one that does it: gpu/matmul_problem.h.
#include <algorithm>
#include <memory>
#include <optional>

#include "devices/gpu/matmul_epilogue.h"
#include "devices/gpu/matmul_problem.h"
#include "devices/gpu/op_kernels.h"
#include "devices/gpu/step_plan.h"
#include "graph/switches.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

using Matrix = MatmulProblem::Matrix;

// Products that are one each because their batch axes are no axis of even steps.
constexpr std::int64_t kMostCalls = 64;
constexpr std::int64_t kMostWorkspace = std::int64_t{32} << 20;
constexpr std::int64_t kLeastWorkspace = std::int64_t{64} << 10;
// Parts of k that a library may sum side by side, at most.
constexpr std::int64_t kSplits = 16;

Matrix matrix_of(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  const std::int64_t rows = spec.shape[rank - 2], cols = spec.shape[rank - 1];
  const std::int64_t row_step = spec.strides[rank - 2], col_step = spec.strides[rank - 1];
  // The stride of an axis of one element says nothing.
  if ((cols == 1 || col_step == 1) && (rows == 1 || row_step >= cols)) {
    return {0, rows == 1 ? cols : row_step, 0};
  }
  return {1, cols == 1 ? rows : col_step, 0};
}

// The batch axes of the result, the longest last: that one is the library's, the others are calls
// of their own.
struct Batch {
  Shape shape;
  Strides a, b, c;
};

Batch batch_of(const Signature& signature) {
  const TensorSpec& c = signature.output;
  const int rank = c.shape.rank() - 2;
  Batch batch{c.shape, batch_strides(signature.inputs[0], rank),
              batch_strides(signature.inputs[1], rank), batch_strides(c, rank)};
  batch.shape.resize(rank);
  merge_axes(&batch.shape, {&batch.a, &batch.b, &batch.c});
  const int last = batch.shape.rank() - 1;
  const auto longest = std::max_element(batch.shape.begin(), batch.shape.end());
  const int at = static_cast<int>(longest - batch.shape.begin());
  std::swap(batch.shape[at], batch.shape[last]);
  for (Strides* strides : {&batch.a, &batch.b, &batch.c}) {
    std::swap((*strides)[at], (*strides)[last]);
  }
  return batch;
}

bool is_for_library(const Batch& batch) {
  const auto is_negative = [](std::int64_t stride) { return stride < 0; };
  return element_count(batch.shape) / batch.shape.back() <= kMostCalls &&
         std::none_of(batch.a.begin(), batch.a.end(), is_negative) &&
         std::none_of(batch.b.begin(), batch.b.end(), is_negative);
}

// The operand of one call, whose first element lies `first` elements behind the operand's own.
StepArgument argument_of(int operand, const TensorSpec& spec, const Matrix& matrix,
                         std::int64_t batches, std::int64_t first) {
  const int rank = spec.shape.rank();
  std::int64_t lines = spec.shape[rank - 2], length = spec.shape[rank - 1];
  if (matrix.transposed != 0) std::swap(lines, length);
  const std::int64_t item = size_of(spec.dtype);
  const std::int64_t span =
      (batches - 1) * matrix.batch_stride + (lines - 1) * matrix.stride + length;
  return {StepArgument::From::operand, operand, first * item, span * item};
}

bool accepts(const Signature& signature) {
  const TensorSpec& c = signature.output;
  const Shape& a = signature.inputs[0].shape;
  return is_float(c.dtype) && element_count(c.shape) > 0 && a.back() > 0;
}

// What the library's own epilogues take: rows of whole packets. Only where it is asked for, until it
// is measured to be faster than a region behind the product.
bool fuses(const Signature& signature) {
  if (!switches().library_epilogues) return false;
  const TensorSpec& c = signature.output;
  constexpr std::int64_t kPacketBytes = 16;
  if (c.dtype == DType::f64 ||
      element_count(c.shape) != c.shape.back() * c.shape[c.shape.rank() - 2] ||
      c.shape.back() * size_of(c.dtype) % kPacketBytes != 0) {
    return false;
  }
  return fuses_matmul(signature);
}

Prepared prepare(const Signature& signature) {
  if (auto vector = matvec(signature)) return std::move(*vector);
  Batch batch = batch_of(signature);
  if (!is_for_library(batch)) return portable_matmul(signature);
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  MatmulProblem problem;
  problem.dtype = static_cast<std::int64_t>(c.dtype);
  problem.tf32 = c.dtype == DType::f32 && switches().tf32 ? 1 : 0;
  problem.m = c.shape[c.shape.rank() - 2];
  problem.n = c.shape.back();
  problem.k = a.shape.back();
  problem.batches = batch.shape.back();
  problem.a = matrix_of(a);
  problem.b = matrix_of(b);
  problem.c = matrix_of(c);
  problem.a.batch_stride = batch.a.back();
  problem.b.batch_stride = batch.b.back();
  problem.c.batch_stride = batch.c.back();
  const MatmulEpilogue epilogue = matmul_epilogue(signature).value_or(MatmulEpilogue{});
  problem.has_bias = epilogue.bias >= 0 ? 1 : 0;
  problem.has_residual = epilogue.residual >= 0 ? 1 : 0;
  problem.activation = static_cast<std::int64_t>(epilogue.activation);
  const std::int64_t sums = problem.batches * problem.m * problem.n * size_of(DType::f64);
  problem.workspace_bytes = std::clamp(kSplits * sums, kLeastWorkspace, kMostWorkspace);

  auto plan = std::make_shared<StepPlan>();
  const runtime::LazyKernel& kernel = plan->add_library_call(matmul_call(problem));
  const std::int64_t workspace = plan->add_workspace(problem.workspace_bytes);
  const std::int64_t calls = element_count(batch.shape) / problem.batches;
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t first[3] = {0, 0, 0};
    std::int64_t rest = call;
    for (int axis = batch.shape.rank() - 2; axis >= 0; --axis) {
      const std::int64_t at = rest % batch.shape[axis];
      rest /= batch.shape[axis];
      first[0] += at * batch.a[axis];
      first[1] += at * batch.b[axis];
      first[2] += at * batch.c[axis];
    }
    Step step;
    step.kernel = &kernel;
    step.arguments = {argument_of(0, a, problem.a, problem.batches, first[0]),
                      argument_of(1, b, problem.b, problem.batches, first[1])};
    for (const int input : {epilogue.bias, epilogue.residual}) {
      if (input < 0) continue;
      step.arguments.push_back(
          strided_operand(signature.inputs[static_cast<std::size_t>(input)], input).argument);
    }
    const auto output = static_cast<int>(signature.inputs.size());
    step.arguments.push_back(argument_of(output, c, problem.c, problem.batches, first[2]));
    step.arguments.push_back(
        {StepArgument::From::workspace, 0, workspace, problem.workspace_bytes});
    plan->add_step(std::move(step));
  }
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_library_matmul(KernelTable& table) {
  table.add({.op = &defs::matmul_op,
             .accepts = accepts,
             .layout = LayoutNeed::matrices,
             .priority = 1,
             .fuses = fuses,
             .prepare = prepare,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
