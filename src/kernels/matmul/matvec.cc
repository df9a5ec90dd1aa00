// Products of a matrix and a vector: kernels/matmul/matvec.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kHold = 4;
constexpr std::int64_t kSimdgroups = 4;
// Simdgroups that keep the memory of a large GPU busy.
constexpr std::int64_t kBusy = 4096;
constexpr std::int64_t kLongRow = 8;  // turns of a simdgroup
// Positions in a row are ints.
constexpr std::int64_t kLongest = std::int64_t{1} << 30;
// Longer rows have too few threads where there are few of them.
constexpr std::int64_t kFewRows = 256;
constexpr std::int64_t kLongOfFew = 65536;
constexpr std::int64_t kMostLayers = 65535;

// The matrix and the vector of the product; `matrix` is 0 where it is the left operand.
struct Operands {
  int matrix = -1;
  std::int64_t rows = 0, length = 0;
  std::int64_t row_step = 0;
};

Operands operands_of(const Signature& signature) {
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
  return operands.matrix >= 0 && packed && operands.row_step >= 0 && operands.length < kLongest &&
         (operands.rows >= kFewRows || operands.length < kLongOfFew);
}

// Simdgroups that share a row, so that there are enough of them with enough to do, and a long row
// does not keep one of them from memory for long.
std::int64_t split_of(std::int64_t rows, std::int64_t length, DType dtype) {
  const std::int64_t turn = kHold * 32 * kPacketBytes / size_of(dtype);
  std::int64_t split = 1;
  const auto is_shared = [&](std::int64_t turns) {
    return turns >= kLongRow || (turns >= 2 && rows * split < kBusy);
  };
  while (split < kSimdgroups && is_shared(length / (split * turn))) split *= 2;
  return split;
}

}  // namespace

std::optional<Prepared> matvec(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  if (!is_float(dtype) || element_count(signature.output.shape) == 0) return std::nullopt;
  const Operands operands = operands_of(signature);
  if (!is_worth_it(operands, dtype)) return std::nullopt;
  const int rank = signature.output.shape.rank() - 2;
  Shape batch = signature.output.shape;
  batch.resize(rank);
  const int vector = 1 - operands.matrix;
  Strides w = batch_strides(signature.inputs[static_cast<std::size_t>(operands.matrix)], rank);
  Strides x = batch_strides(signature.inputs[static_cast<std::size_t>(vector)], rank);
  const std::int64_t batches = element_count(batch);
  merge_kernel_axes(&batch, {&w, &x});
  if (batch.rank() > 1 || w[0] < 0 || x[0] < 0) return std::nullopt;

  auto plan = std::make_shared<StepPlan>();
  const char* const type = dialect_type(dtype);
  const char* const sum = sum_type(dtype);
  Step step;
  step.kernel = &plan->add_kernel(library_kernel("matmul/matvec.metal", "matvec",
                                                 {dtype_struct(dtype), std::to_string(kHold)},
                                                 {{Kind::read, type, "w"},
                                                  {Kind::read, type, "x"},
                                                  {Kind::write, type, "y"},
                                                  {Kind::constant, "MatvecParams", "p"},
                                                  {Kind::threadgroup, sum, "shared", kSimdgroups}},
                                                 kSimdgroups * 32));
  const std::int64_t split = split_of(operands.rows * batches, operands.length, dtype);
  const std::int64_t in_group = kSimdgroups / split;
  step.groups = {static_cast<std::uint32_t>(parts(operands.rows, in_group)),
                 static_cast<std::uint32_t>(std::min(batches, kMostLayers))};
  step.threads = {static_cast<std::uint32_t>(kSimdgroups * 32)};
  step.constants = {batches, operands.rows,           operands.length,        operands.row_step,
                    split,   batches == 1 ? 0 : w[0], batches == 1 ? 0 : x[0]};
  step.arguments = {
      strided_operand(signature.inputs[static_cast<std::size_t>(operands.matrix)], operands.matrix)
          .argument,
      strided_operand(signature.inputs[static_cast<std::size_t>(vector)], vector).argument,
      strided_operand(signature.output, static_cast<int>(signature.inputs.size())).argument,
      kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
