// Products of a matrix and a vector: kernels/matmul/matvec.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/matmul/matmul.h"

namespace hearth::gpu {

#include "kernels/matmul/params.h"

namespace {

constexpr std::int64_t kHold = 4;
constexpr std::int64_t kMatvecSimdgroups = 4;
// Rows keep the memory busy with 1 / kBusyRows of the threads that a device runs at the same time:
// each has kHold packets on the way.
constexpr std::int64_t kBusyRows = 16;
constexpr std::int64_t kLongRow = 8;  // iterations of a simdgroup
// Longer rows have too few threads where there are few of them.
constexpr std::int64_t kFewRows = 256;
constexpr std::int64_t kLongOfFew = 65536;

// The matrix and the vector of the product; `matrix` is 0 where it is the left operand.
struct Operands {
  int matrix = -1;
  std::int64_t rows = 0, length = 0;
  std::int64_t row_step = 0;
};

Operands matvec_operands(const Signature& signature) {
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const int a_last = a.shape.rank() - 1, b_last = b.shape.rank() - 1;
  const std::int64_t k = a.shape[a_last];
  const bool a_dense = k == 1 || a.strides[a_last] == 1;
  const bool b_dense = k == 1 || b.strides[b_last - 1] == 1;
  if (!a_dense || !b_dense) return {};
  if (a.shape[a_last - 1] == 1) return {1, b.shape[b_last], k, b.strides[b_last]};
  if (b.shape[b_last] == 1) return {0, a.shape[a_last - 1], k, a.strides[a_last - 1]};
  return {};
}

bool is_worth_it(const Operands& operands, DType dtype) {
  const bool packed = operands.rows == 1 || operands.row_step * size_of(dtype) % kPacketBytes == 0;
  return operands.matrix >= 0 && packed && operands.row_step >= 0 &&
         operands.length < kMaxRowLength &&
         (operands.rows >= kFewRows || operands.length < kLongOfFew);
}

// Simdgroups that share a row, so that there are enough of them with enough to do, and a long row
// does not keep one of them from memory for long.
std::int64_t matvec_split(const runtime::DeviceTraits& device, std::int64_t rows,
                          std::int64_t length, DType dtype) {
  const std::int64_t busy = resident_groups(device, kSimdWidth) / kBusyRows;
  const std::int64_t turn = kHold * kSimdWidth * kPacketBytes / size_of(dtype);
  std::int64_t split = 1;
  const auto is_shared = [&](std::int64_t turns) {
    return turns >= kLongRow || (turns >= 2 && rows * split < busy);
  };
  while (split < kMatvecSimdgroups && is_shared(length / (split * turn))) split *= 2;
  return split;
}

// The batch axes, merged, and the steps of the matrix and the vector over them.
struct MatvecBatch {
  MatvecBatch(const Signature& signature, const Operands& operands)
      : shape(signature.output.shape) {
    const int rank = shape.rank() - 2;
    shape.resize(rank);
    const auto matrix = static_cast<std::size_t>(operands.matrix);
    w = batch_strides(signature.inputs[matrix], rank);
    x = batch_strides(signature.inputs[1 - matrix], rank);
    count = element_count(shape);
    merge_kernel_axes(&shape, {&w, &x});
  }
  Shape shape;
  Strides w, x;
  std::int64_t count = 1;
};

}  // namespace

bool fits_matvec(const Signature& signature) {
  const Operands operands = matvec_operands(signature);
  if (!is_worth_it(operands, signature.output.dtype)) return false;
  const MatvecBatch batch(signature, operands);
  return batch.shape.rank() == 1 && batch.w[0] >= 0 && batch.x[0] >= 0;
}

Prepared prepare_matvec(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  const Operands operands = matvec_operands(signature);
  const MatvecBatch batch(signature, operands);
  const std::int64_t batches = batch.count;
  const int added = signature.epilogue.empty() ? -1 : signature.epilogue[0].input;

  auto plan = std::make_shared<StepPlan>();
  const char* const type = dialect_type(dtype);
  const char* const sum = sum_type(dtype);
  const std::int64_t split =
      matvec_split(*signature.device, operands.rows * batches, operands.length, dtype);
  const std::int64_t in_group = kMatvecSimdgroups / split;
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(operands.rows, in_group)),
                        static_cast<std::uint32_t>(std::min(batches, kMaxLayers))};
  plan->add_step(
      KernelCall("matmul/matvec.metal", "matvec",
                 {dtype_struct(dtype), std::to_string(kHold), truth(added >= 0)})
          .read(type, "w", input_argument(signature, operands.matrix))
          .read(type, "x", input_argument(signature, 1 - operands.matrix))
          .read(type, "added", input_argument(signature, added >= 0 ? added : 1 - operands.matrix))
          .write(type, "y", output_argument(signature))
          .constants(MatvecParams{.batches = batches,
                                  .rows = operands.rows,
                                  .length = operands.length,
                                  .row_step = operands.row_step,
                                  .split = split,
                                  .w_step = batches == 1 ? 0 : batch.w[0],
                                  .x_step = batches == 1 ? 0 : batch.x[0]})
          .threadgroup(sum, "shared", kMatvecSimdgroups)
          .step(*plan, groups, {kMatvecSimdgroups * kSimdWidth}, kMatvecSimdgroups * kSimdWidth));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
