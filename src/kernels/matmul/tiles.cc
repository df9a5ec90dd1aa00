// matmul for every dtype: kernels/matmul/tiles.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/matmul.h"

namespace hearth::gpu {

#include "kernels/matmul/params.h"

namespace {

constexpr std::int64_t kTile = 64;
constexpr std::int64_t kDepth = 16;

}  // namespace

std::shared_ptr<StepPlan> tile_steps(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  if (element_count(c.shape) == 0) return plan;
  const int rank = c.shape.rank(), a_rank = a.shape.rank(), b_rank = b.shape.rank();
  const std::int64_t m = c.shape[rank - 2], n = c.shape[rank - 1], k = a.shape[a_rank - 1];
  const StridedOperand left = strided_operand(a, 0), right = strided_operand(b, 1);
  Shape batch = c.shape;
  batch.resize(rank - 2);
  Strides a_batch = batch_strides(a, rank - 2), b_batch = batch_strides(b, rank - 2);
  const std::int64_t batches = element_count(batch);
  merge_kernel_axes(&batch, {&a_batch, &b_batch});

  const std::string type = is_float(c.dtype) ? dialect_type(c.dtype) : storage_type(c.dtype);
  // Narrow integers are cut to their width at the end: registers are 32 bits wide.
  const std::string sum = sum_type(c.dtype);
  const MatmulEpilogue epilogue = matmul_epilogue(signature).value_or(MatmulEpilogue{});
  const std::vector<std::string> arguments = {
      type,
      sum,
      std::to_string(batch.rank()),
      truth(epilogue.bias >= 0),
      truth(epilogue.residual >= 0),
      std::to_string(static_cast<int>(epilogue.activation))};
  // What is not there is not read.
  const auto extra = [&](int input) {
    return input < 0 ? left.argument : input_argument(signature, input);
  };
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(n, kTile)),
                        static_cast<std::uint32_t>(ceil_div(m, kTile)),
                        static_cast<std::uint32_t>(std::min(batches, kMaxLayers))};
  plan->add_step(KernelCall("matmul/tiles.metal", "matmul", arguments)
                     .read(type, "a", left.argument)
                     .read(type, "b", right.argument)
                     .read(type, "bias", extra(epilogue.bias))
                     .read(type, "residual", extra(epilogue.residual))
                     .write(type, "c", output_argument(signature))
                     .constants(MatmulParams<kRuntimeRank>{.batches = batches,
                                                           .m = m,
                                                           .n = n,
                                                           .k = k,
                                                           .a_row = a.strides[a_rank - 2],
                                                           .a_col = a.strides[a_rank - 1],
                                                           .b_row = b.strides[b_rank - 2],
                                                           .b_col = b.strides[b_rank - 1],
                                                           .c_row = c.strides[rank - 2],
                                                           .a = {left.base, &batch, &a_batch},
                                                           .b = {right.base, &batch, &b_batch}})
                     .threadgroup(sum, "a_tile", kTile * kDepth)
                     .threadgroup(sum, "b_tile", kTile * kDepth)
                     .work(product_work(batches, m, n, k))
                     .step(*plan, groups, {kThreads}, kThreads));
  return plan;
}

Prepared prepare_tiles(const Signature& signature) { return prepared_steps(tile_steps(signature)); }

}  // namespace hearth::gpu
