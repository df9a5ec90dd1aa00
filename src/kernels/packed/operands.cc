#include "kernels/packed/operands.h"

#include <algorithm>
#include <numeric>

#include "codegen/dialect_types.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

PackedOperands::PackedOperands(const Signature& signature)
    : x(strided_operand(signature.inputs[0], 0)),
      lines(merged_lines(signature.inputs[0])),
      type(dialect_type(signature.inputs[0].dtype)),
      format(ParamReader(signature.statics).dtype()),
      rows(rows_of_x(signature)),
      outputs(signature.inputs[1].shape[0]),
      units(signature.inputs[0].shape.back() / kUnit),
      y(output_argument(signature)) {
  const int of_added = signature.epilogue.empty() ? -1 : signature.epilogue[0].input;
  has_added = of_added >= 0;
  has_bias = signature.inputs.size() > 2 && of_added != 2 && !signature.inputs[2].absent;
  bias = has_bias ? input_argument(signature, 2) : x.argument;
  added = has_added ? input_argument(signature, of_added) : x.argument;
  const TensorSpec& rows_of_blocks = signature.inputs[1];
  const StridedOperand bytes = strided_operand(rows_of_blocks, 1);
  weight = bytes.argument;
  const std::int64_t row_bytes = rows_of_blocks.shape.back();
  base = bytes.base;
  stride = outputs == 1 ? row_bytes : rows_of_blocks.strides[0];
  end = base + std::max<std::int64_t>(0, (outputs - 1) * stride) + row_bytes;
  step = std::gcd(std::gcd(size_of(format), stride), kPacketBytes);
}

void PackedOperands::add_to(KernelCall& call, bool whole) const {
  call.read("uchar", "weight", whole ? aligned(weight, kPacketBytes) : weight)
      .read(type, "bias", bias)
      .read(type, "added", added)
      .write(type, "y", y);
}

}  // namespace hearth::gpu
