#include "ops/conv/conv_shapes.h"

#include "ops/definition/defs.h"

namespace hearth {

ConvShapes conv_shapes(const Signature& signature) {
  const Shape& first = signature.inputs[0].shape;
  const Shape& second = signature.inputs[1].shape;
  const Shape& out = signature.output.shape;
  if (signature.op == &defs::conv_input_gradient_op) return {out, second, first};
  if (signature.op == &defs::conv_weight_gradient_op) return {first, out, second};
  return {first, second, out};
}

}  // namespace hearth
