// matmul for every dtype: kernels/matmul/tiles.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/epilogue.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kTile = 64;
constexpr std::int64_t kDepth = 16;
// Threadgroups along z: what every API allows.
constexpr std::int64_t kMostLayers = 65535;

}  // namespace

bool fuses_matmul(const Signature& signature) {
  return is_float(signature.output.dtype) && !matvec(signature) && !is_matvec_few(signature) &&
         matmul_epilogue(signature).has_value();
}

Prepared portable_matmul(const Signature& signature) {
  if (auto vector = matvec(signature)) return std::move(*vector);
  if (is_matvec_few(signature)) return matvec_few(signature);
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  if (element_count(c.shape) == 0) return prepared_steps(std::move(plan));
  const int rank = c.shape.rank(), a_rank = a.shape.rank(), b_rank = b.shape.rank();
  const std::int64_t m = c.shape[rank - 2], n = c.shape[rank - 1], k = a.shape[a_rank - 1];
  const StridedOperand left = strided_operand(a, 0), right = strided_operand(b, 1);
  Shape batch = c.shape;
  batch.resize(rank - 2);
  Strides a_batch = batch_strides(a, rank - 2), b_batch = batch_strides(b, rank - 2);
  const std::int64_t batches = element_count(batch);
  merge_axes(&batch, {&a_batch, &b_batch});

  const std::string type = is_float(c.dtype) ? dialect_type(c.dtype) : storage_type(c.dtype);
  // Narrow integers are cut to their width at the end: registers are 32 bits wide.
  const std::string sum = is_float(c.dtype)       ? sum_type(c.dtype)
                          : size_of(c.dtype) == 8 ? "ulong"
                                                  : "uint";
  const MatmulEpilogue epilogue = matmul_epilogue(signature).value_or(MatmulEpilogue{});
  const std::vector<std::string> arguments = {
      type,
      sum,
      std::to_string(batch.rank()),
      truth(epilogue.bias >= 0),
      truth(epilogue.residual >= 0),
      std::to_string(static_cast<int>(epilogue.activation))};
  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("matmul/tiles.metal", "matmul", arguments,
                     {{Kind::read, type, "a"},
                      {Kind::read, type, "b"},
                      {Kind::read, type, "bias"},
                      {Kind::read, type, "residual"},
                      {Kind::write, type, "c"},
                      {Kind::constant, "MatmulParams<" + std::to_string(batch.rank()) + ">", "p"},
                      {Kind::threadgroup, sum, "a_tile", kTile * kDepth},
                      {Kind::threadgroup, sum, "b_tile", kTile * kDepth}},
                     kThreads));
  step.groups = {static_cast<std::uint32_t>(parts(n, kTile)),
                 static_cast<std::uint32_t>(parts(m, kTile)),
                 static_cast<std::uint32_t>(std::min(batches, kMostLayers))};
  step.threads = {kThreads};
  step.constants = {batches,
                    m,
                    n,
                    k,
                    a.strides[a_rank - 2],
                    a.strides[a_rank - 1],
                    b.strides[b_rank - 2],
                    b.strides[b_rank - 1],
                    c.strides[rank - 2]};
  append_axes(batch, a_batch, left.base, &step.constants);
  append_axes(batch, b_batch, right.base, &step.constants);
  // What is not there is not read.
  const auto extra = [&](int input) {
    if (input < 0) return left.argument;
    return strided_operand(signature.inputs[static_cast<std::size_t>(input)], input).argument;
  };
  const auto output = static_cast<int>(signature.inputs.size());
  step.arguments = {left.argument,
                    right.argument,
                    extra(epilogue.bias),
                    extra(epilogue.residual),
                    strided_operand(c, output).argument,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

void add_matmul_kernels(KernelTable& table) {
  table.add({.op = &defs::matmul_op,
             .fuses = fuses_matmul,
             .prepare = portable_matmul,
             .launch = launch_steps,
             .writes_padded = true});
}

}  // namespace hearth::gpu
