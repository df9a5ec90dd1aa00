// argmax and argmin: reductions that keep an index beside the value (kernels/reduce/arg_reduce.metal).
#include <utility>

#include "graph/params.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/regions/region_kernel.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

Prepared prepare_arg(const Signature& signature) {
  const TensorSpec& input = signature.inputs[0];
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  Shape kept = input.shape;
  kept[axis] = 1;
  Region region;
  region.shape = input.shape;
  region.inputs = {{input.dtype, input.strides}};
  region.reduction = {signature.op, 0, 1u << axis, signature.output.dtype,
                      contiguous_strides(kept)};
  region.reduction.strides[axis] = 0;
  return gpu_region_kernel().prepare(lower(std::move(region)));
}

}  // namespace

void add_arg_reduce_kernels(KernelTable& table) {
  for (const OpDef* op : {&defs::argmax_op, &defs::argmin_op}) {
    table.add({.op = op, .prepare = prepare_arg, .launch = gpu_region_kernel().launch});
  }
}

}  // namespace hearth::gpu
