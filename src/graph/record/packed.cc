#include "graph/record/packed.h"

#include <string>

#include "graph/record/node.h"

namespace hearth {

Bytes bytes_of_blocks(DType dtype, const Shape& shape, const Strides& strides) {
  Bytes bytes{shape, strides};
  const int last = shape.rank() - 1;
  bytes.shape[last] = bytes_of(dtype, shape[last]);
  for (int axis = 0; axis < last; ++axis) bytes.strides[axis] = bytes_of(dtype, strides[axis]);
  return bytes;
}

void require_whole_blocks(const char* op, DType dtype, const Shape& shape) {
  if (!is_packed(dtype)) return;
  const int rank = shape.rank();
  if (rank > 0 && shape[rank - 1] % block_of(dtype) == 0) return;
  throw Error(ErrorCode::shape, std::string(op) + ": no whole blocks; got " +
                                    std::string(name(dtype)) + " " + to_string(shape) +
                                    ", expected a last extent that is a multiple of " +
                                    std::to_string(block_of(dtype)));
}

void check_packed_inputs(const OpDef& op, std::span<const Array* const> inputs) {
  if (op.takes_packed) return;
  for (const Array* input : inputs) {
    if (input == nullptr || !input->defined() || !is_packed(input->dtype())) continue;
    throw Error(ErrorCode::dtype, std::string(op.name.text) + ": packed elements; got " +
                                      std::string(name(input->dtype())) +
                                      ", expected a plain dtype: dequantize() gives one, linear() "
                                      "and embedding() read packed weights as they are");
  }
}

void check_packed_result(const Inference& inference) {
  const OpDef& op = inference.op;
  if (!op.takes_packed || inference.input(0).is_scalar()) {
    inference.fail(ErrorCode::dtype, "no result of this op; got " +
                                         std::string(name(inference.dtype)) +
                                         ", expected a plain dtype: quantize() packs elements");
  }
  require_whole_blocks(op.name.text, inference.dtype, inference.shape);
  const Array& x = inference.input(0);
  if (!is_packed(x.dtype())) return;  // it packs bytes, which it has checked
  Layout in, out;
  in.strides = contiguous_strides(x.shape());
  const int last = inference.shape.rank() - 1;
  if (!op.view(inference.params.statics().span(), x.shape(), in, inference.shape, &out) ||
      (inference.shape[last] > 1 && out.strides[last] != 1)) {
    inference.fail(ErrorCode::shape, "takes blocks apart; got " + std::string(name(x.dtype())) +
                                         " " + to_string(x.shape()) + " for a result of " +
                                         to_string(inference.shape) +
                                         ", expected the last axis to stay the last");
  }
}

}  // namespace hearth
