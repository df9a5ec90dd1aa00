// Products of few rows with the packed weights of their experts:
// kernels/experts/packed_matvec.metal.
#include <algorithm>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/experts/operands.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

// Units of a row are counted in 32 bits, with room for what they are multiplied by.
constexpr std::int64_t kMostExpertUnits = std::int64_t{1} << 24;
// Threads that a processor shall have registers for; compilers left alone take fewer, and spill.
constexpr std::int64_t kExpertThreads = 768;

}  // namespace

bool fits_packed_expert_row_lanes(const Signature& signature) {
  const std::int64_t units = signature.inputs[0].shape.back() / kUnit;
  return signature.inputs[0].dtype != DType::f64 && units > 0 && units < kMostExpertUnits &&
         fits_expert_tiles(signature);
}

bool fits_packed_expert_matvec(const Signature& signature) {
  return fits_packed_expert_row_lanes(signature) && fits_expert_matvec(signature);
}

Prepared prepare_packed_expert_matvec(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.inputs[1].shape[0]);
  const TensorSpec &x = signature.inputs[0], &chosen = signature.inputs[2];
  const StridedOperand experts = strided_operand(chosen, 2);
  const PackedExperts packed(signature, of);
  const CodedRows coded = add_coded_rows(*plan, x, packed.format);
  const std::int64_t threads = packed.simdgroups * kSimdWidth;
  const std::int64_t resident = resident_groups(*signature.device, threads);
  const std::int64_t across =
      std::min(ceil_div(of.out, packed.simdgroups), ceil_div(resident, of.pairs));
  const char* const type = dialect_type(x.dtype);
  ExpertPackedParams params = packed.params;
  params.first = experts.base;
  params.row = chosen.strides[0];
  params.step = chosen.strides[1];
  if (of.given_rows != of.pairs) params.lines = of.used;
  plan->add_step(true, [&](bool whole, bool rare) {
    return KernelCall("experts/packed_matvec.metal", "expert_matvec_packed",
                      {format_struct(packed.format), dtype_struct(x.dtype), truth(of.has_bias),
                       truth(whole), std::to_string(whole ? packed.step : 1)})
        .read("uint4", "codes", coded.codes)
        .read("uint2", "scales", coded.scales)
        .read("uchar", "weight",
              whole ? aligned(packed.operands.weight.argument, kPacketBytes)
                    : packed.operands.weight.argument)
        .read("int", "experts", experts.argument)
        .read(type, "bias", packed.operands.bias.argument)
        .write(type, "y", output_argument(signature))
        .constants(params)
        .threadgroup("uint4", "staged", packed.vectors)
        .work(product_work(1, of.pairs, of.out, of.in))
        .step(*plan,
              {static_cast<std::uint32_t>(across),
               static_cast<std::uint32_t>(std::min(of.pairs, kMaxLayers))},
              {static_cast<std::uint32_t>(threads)}, std::max(threads, kExpertThreads), rare);
  });
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
