#include "kernels/experts/operands.h"

#include <algorithm>
#include <numeric>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

constexpr std::int64_t kMostExpertSimdgroups = 8;

}  // namespace

ExpertOperands::ExpertOperands(const Signature& signature)
    : x(strided_operand(signature.inputs[0], 0)),
      weight(strided_operand(signature.inputs[1], 1)),
      bias(x),
      weight_expert(signature.inputs[1].strides[0]),
      weight_row(signature.inputs[1].strides[1]),
      weight_column(signature.inputs[1].strides[2]) {
  if (signature.inputs.size() <= 3 || signature.inputs[3].absent) return;
  bias = strided_operand(signature.inputs[3], 3);
  bias_expert = signature.inputs[3].strides[0];
  bias_column = signature.inputs[3].strides[1];
}

ExpertTileParams expert_tile_params(const ExpertPairs& of, const ExpertOperands& operands,
                                    std::int64_t slots) {
  return {.used = of.used,
          .experts = of.experts,
          .slots = slots,
          .in = of.in,
          .out = of.out,
          .x_base = operands.x.base,
          .x_row = of.x_row,
          .x_step = of.x_step,
          .x_column = of.x_column,
          .w_base = operands.weight.base,
          .w_expert = operands.weight_expert,
          .w_row = operands.weight_row,
          .w_column = operands.weight_column,
          .b_base = operands.bias.base,
          .b_expert = operands.bias_expert,
          .b_column = operands.bias_column};
}

PackedExperts::PackedExperts(const Signature& signature, const ExpertPairs& of)
    : operands(signature) {
  ParamReader statics(signature.statics);
  format = read_format(statics);
  const std::int64_t staged = staged_vectors(format), book = book_vectors(format);
  const std::int64_t left =
      (runtime::common_traits().threadgroup_memory / kPacketBytes - book) / staged;
  simdgroups = kMostExpertSimdgroups;
  while (simdgroups > left) simdgroups /= 2;
  vectors = staged * simdgroups + book;
  // Strides of what has one element only may be anything.
  const std::int64_t row_bytes = signature.inputs[1].shape.back();
  const std::int64_t stride = of.out == 1 ? row_bytes : operands.weight_row;
  const std::int64_t expert_stride = of.experts == 1 ? 0 : operands.weight_expert;
  step = std::gcd(std::gcd(std::gcd(size_of(format), stride), expert_stride), kPacketBytes);
  const std::int64_t last_row = std::max<std::int64_t>(0, (of.out - 1) * stride);
  const std::int64_t last_expert = std::max<std::int64_t>(0, (of.experts - 1) * expert_stride);
  params = {.pairs = of.pairs,
            .used = of.used,
            .experts = of.experts,
            .first = 0,
            .row = 0,
            .step = 0,
            .lines = 1,
            .rows = 1,
            .outputs = of.out,
            .units = of.in / kUnit,
            .base = operands.weight.base,
            .w_expert = expert_stride,
            .stride = stride,
            .end = operands.weight.base + last_row + last_expert + row_bytes,
            .b_base = operands.bias.base,
            .b_expert = operands.bias_expert,
            .slots = 0};
}

void add_packed_expert_call(StepPlan& plan, const Signature& signature, const ExpertPairs& of,
                            const PackedExperts& packed, const CodedRows& coded,
                            const PackedExpertKernel& kernel) {
  const runtime::DeviceTraits& device = *signature.device;
  const DType dtype = signature.inputs[0].dtype;
  const char* const type = dialect_type(dtype);
  const std::int64_t threads = packed.simdgroups * kSimdWidth;
  const std::int64_t across = std::min(ceil_div(of.out, packed.simdgroups),
                                       ceil_div(resident_groups(device, threads), kernel.layers));
  const StepArgument& weight = packed.operands.weight.argument;
  plan.add_step(true, [&](bool whole, bool rare) {
    std::vector<std::string> arguments = {format_struct(packed.format), dtype_struct(dtype)};
    arguments.insert(arguments.end(), kernel.sizes.begin(), kernel.sizes.end());
    arguments.push_back(truth(of.has_bias));
    arguments.push_back(truth(whole));
    arguments.push_back(std::to_string(whole ? packed.step : 1));
    KernelCall call(kernel.file, kernel.function, arguments);
    call.read("uint4", "codes", coded.codes)
        .read("uint2", "scales", coded.scales)
        .read("uchar", "weight", whole ? aligned(weight, kPacketBytes) : weight);
    for (const auto& [name, argument] : kernel.places) call.read("int", name, argument);
    return call.read(type, "bias", packed.operands.bias.argument)
        .write(type, "y", output_argument(signature))
        .constants(kernel.params)
        .threadgroup("uint4", "staged", packed.vectors)
        .work(product_work(1, of.pairs, of.out, of.in))
        .step(plan, {u32(across), u32(std::min(kernel.layers, kMaxLayers))}, {u32(threads)},
              register_threads(device, kernel.registers, threads), rare);
  });
}

}  // namespace hearth::gpu
