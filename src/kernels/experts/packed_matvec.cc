// Products of few rows with the packed weights of their experts:
// kernels/experts/packed_matvec.metal.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/experts/experts.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/experts/params.h"
#include "kernels/packed/params.h"

namespace {

// Units of a row are counted in 32 bits, with room for what they are multiplied by.
constexpr std::int64_t kMostExpertUnits = std::int64_t{1} << 24;
constexpr std::int64_t kMostExpertSimdgroups = 8;
constexpr std::int64_t kExpertVectorBytes = 16;
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
  ParamReader statics(signature.statics);
  const DType format = read_format(statics);
  const TensorSpec &x = signature.inputs[0], &weight = signature.inputs[1],
                   &chosen = signature.inputs[2];
  const StridedOperand weights = strided_operand(weight, 1), experts = strided_operand(chosen, 2);
  const CodedRows coded = add_coded_rows(*plan, x, format);

  // What every GPU has: more of it would keep threadgroups from running at the same time.
  const std::int64_t staged = staged_vectors(format);
  const std::int64_t book = book_vectors(format);
  const std::int64_t left =
      (runtime::common_traits().threadgroup_memory / kExpertVectorBytes - book) / staged;
  std::int64_t simdgroups = kMostExpertSimdgroups;
  while (simdgroups > left) simdgroups /= 2;
  const std::int64_t threads = simdgroups * kSimdWidth;
  const std::int64_t resident = resident_groups(*signature.device, threads);
  const std::int64_t across = std::min(ceil_div(of.out, simdgroups), ceil_div(resident, of.pairs));

  // Strides of what has one element only may be anything.
  const std::int64_t row_bytes = weight.shape.back();
  const std::int64_t stride = of.out == 1 ? row_bytes : weight.strides[1];
  const std::int64_t expert_stride = of.experts == 1 ? 0 : weight.strides[0];
  const std::int64_t step =
      std::gcd(std::gcd(std::gcd(size_of(format), stride), expert_stride), kExpertVectorBytes);
  const std::int64_t last_row = std::max<std::int64_t>(0, (of.out - 1) * stride);
  const std::int64_t last_expert = std::max<std::int64_t>(0, (of.experts - 1) * expert_stride);
  const char* const type = dialect_type(x.dtype);
  StridedOperand bias = strided_operand(x, 0);
  if (of.has_bias) bias = strided_operand(signature.inputs[3], 3);
  const ExpertPackedParams params{.pairs = of.pairs,
                                  .used = of.used,
                                  .experts = of.experts,
                                  .first = experts.base,
                                  .row = chosen.strides[0],
                                  .step = chosen.strides[1],
                                  .lines = of.given_rows == of.pairs ? 1 : of.used,
                                  .rows = 1,
                                  .outputs = of.out,
                                  .units = of.in / kUnit,
                                  .base = weights.base,
                                  .w_expert = expert_stride,
                                  .stride = stride,
                                  .end = weights.base + last_row + last_expert + row_bytes,
                                  .b_base = bias.base,
                                  .b_expert = of.has_bias ? signature.inputs[3].strides[0] : 0,
                                  .slots = 0};
  plan->add_step(true, [&](bool whole, bool rare) {
    return KernelCall("experts/packed_matvec.metal", "expert_matvec_packed",
                      {format_struct(format), dtype_struct(x.dtype), truth(of.has_bias),
                       truth(whole), std::to_string(whole ? step : 1)})
        .read("uint4", "codes", coded.codes)
        .read("uint2", "scales", coded.scales)
        .read("uchar", "weight",
              whole ? aligned(weights.argument, kExpertVectorBytes) : weights.argument)
        .read("int", "experts", experts.argument)
        .read(type, "bias", bias.argument)
        .write(type, "y", output_argument(signature))
        .constants(params)
        .threadgroup("uint4", "staged", staged * simdgroups + book)
        .work(product_work(1, of.pairs, of.out, of.in))
        .step(*plan,
              {static_cast<std::uint32_t>(across),
               static_cast<std::uint32_t>(std::min(of.pairs, kMaxLayers))},
              {static_cast<std::uint32_t>(threads)}, std::max(threads, kExpertThreads), rare);
  });
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
