#include "kernels/matmul/epilogue.h"

#include "graph/record/node.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

// One number for each column, side by side.
bool is_row(const TensorSpec& spec) {
  const int last = spec.shape.rank() - 1;
  for (int axis = 0; axis < last; ++axis) {
    if (spec.shape[axis] != 1 && spec.strides[axis] != 0) return false;
  }
  return last >= 0 && (spec.shape[last] == 1 || spec.strides[last] == 1);
}

}  // namespace

std::optional<MatmulEpilogue> matmul_epilogue(const Signature& signature) {
  using Activation = MatmulEpilogue::Activation;
  MatmulEpilogue epilogue;
  const Shape& shape = signature.output.shape;
  for (const Epilogue& step : signature.epilogue) {
    if (epilogue.activation != Activation::none) return std::nullopt;
    if (step.op == &defs::relu_op || step.op == &defs::gelu_tanh_op) {
      epilogue.activation = step.op == &defs::relu_op ? Activation::relu : Activation::gelu_tanh;
      continue;
    }
    if (step.op != &defs::add_op || epilogue.residual >= 0) return std::nullopt;
    const TensorSpec& other = signature.inputs[static_cast<std::size_t>(step.input)];
    const bool keeps_columns = other.shape.rank() > 0 && other.shape.back() == shape.back();
    if (keeps_columns && epilogue.bias < 0 && is_row(other)) {
      epilogue.bias = step.input;
    } else if (is_dense(other.shape, other.strides)) {
      epilogue.residual = step.input;
    } else {
      return std::nullopt;
    }
  }
  return epilogue;
}

bool fuses_dense_sum(const Signature& signature) {
  if (signature.epilogue.size() != 1 || signature.epilogue[0].op != &defs::add_op) return false;
  const TensorSpec& other = signature.inputs[static_cast<std::size_t>(signature.epilogue[0].input)];
  return other.dtype == signature.output.dtype && other.shape == signature.output.shape &&
         is_dense(other.shape, other.strides);
}

}  // namespace hearth::gpu
