#include "ops/definition/sample_signature.h"

#include <vector>

#include "hearth/ops.h"

namespace hearth {

Signature sample_signature(const OpDef& op, const SampleCase& sample, DType dtype) {
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

}  // namespace hearth
