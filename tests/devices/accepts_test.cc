// Kernels are found by dtypes, extents and static parameters, when an op is recorded and again when
// its plan is made: strides, which only the plan knows, must not change which one it is.
#include <gtest/gtest.h>

#include <vector>

#include "graph/kernel.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "ops/defs.h"

namespace hearth {
namespace {

// A valid sample of `op` as a kernel sees it, of dense arrays.
Signature signature_of(const OpDef& op, const SampleCase& sample, DType dtype) {
  std::vector<Array> arrays;
  for (const SampleInput& input : sample.inputs) {
    arrays.push_back(
        zeros(input.shape, input.dtype >= 0 ? static_cast<DType>(input.dtype) : dtype));
  }
  std::vector<const Array*> inputs;
  for (const Array& array : arrays) inputs.push_back(&array);
  Inference inference{op, inputs, sample.params, Shape(), DType::f32, DType::f32};
  std::vector<OutputType> more(static_cast<std::size_t>(op.outputs - 1));
  inference.more_outputs = more;
  op.infer(inference);
  Signature signature;
  signature.op = &op;
  signature.statics = sample.params.statics().span();
  for (const Array& array : arrays) {
    signature.inputs.push_back(
        {array.dtype(), array.shape(), contiguous_strides(array.shape()), false});
  }
  signature.output = {inference.dtype, inference.shape, contiguous_strides(inference.shape), false};
  for (const OutputType& type : more) {
    signature.more_outputs.push_back(
        {type.dtype, type.shape, contiguous_strides(type.shape), false});
  }
  return signature;
}

// The same with inputs whose rows begin `gap` elements after the end of the one before, whose
// elements lie `step` apart, or whose axes lie the other way round.
Signature with_rows(Signature signature, std::int64_t gap, std::int64_t step) {
  for (TensorSpec& input : signature.inputs) {
    std::int64_t next = step;
    for (int axis = input.shape.rank() - 1; axis >= 0; --axis) {
      input.strides[axis] = next;
      next = next * input.shape[axis] + gap;
    }
  }
  return signature;
}

Signature transposed(Signature signature) {
  for (TensorSpec& input : signature.inputs) {
    std::int64_t next = 1;
    for (int axis = 0; axis < input.shape.rank(); ++axis) {
      input.strides[axis] = next;
      next *= input.shape[axis];
    }
  }
  return signature;
}

TEST(Accepts, NeverDependsOnStrides) {
  int compared = 0;
  for (const Device& device : Device::all()) {
    const KernelTable& table = device.impl().kernels();
    for (const OpDef* op : all_ops()) {
      if (!table.has(op) || op->samples == nullptr) continue;
      for (const SampleCase& sample : op->samples()) {
        if (sample.error != SampleCase::kValid) continue;
        for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::bool_}) {
          if (op->accepts_dtype != nullptr && !op->accepts_dtype(dtype)) continue;
          const Signature dense = signature_of(*op, sample, dtype);
          const Kernel* const kernel = table.find(dense);
          for (const Signature& other : {with_rows(dense, 1, 1), with_rows(dense, 0, 2),
                                         with_rows(dense, 3, -1), transposed(dense)}) {
            ASSERT_EQ(table.find(other), kernel)
                << op->name.text << " " << name(dtype) << " on " << device.name() << ", output "
                << to_string(dense.output.shape);
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace hearth
