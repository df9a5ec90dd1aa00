// hadamard: kernels/hadamard/hadamard.metal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/hadamard/params.h"

namespace {

constexpr std::int64_t kMostHadamardBlock = 1024;  // of 32 elements a lane
constexpr std::int64_t kHadamardThreads = 128;

std::int64_t hadamard_block(const TensorSpec& x) {
  return std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(x.shape.back()));
}

bool accepts_hadamard(const Signature& signature) {
  const TensorSpec& x = signature.inputs[0];
  const std::int64_t count = element_count(x.shape);
  return count == 0 || (hadamard_block(x) <= kMostHadamardBlock &&
                        count <= std::numeric_limits<std::int32_t>::max());
}

Prepared prepare_hadamard(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const std::int64_t count = element_count(x.shape), n = x.shape.back();
  if (count == 0) return prepared_steps(std::move(plan));
  const std::int64_t block = hadamard_block(x), lanes = std::min<std::int64_t>(block, 32);
  const StridedOperand from = strided_operand(x, 0);
  Shape lines = x.shape;
  Strides steps = x.strides;
  const std::int64_t step = steps[steps.rank() - 1];
  lines.erase(lines.rank() - 1);
  steps.erase(steps.rank() - 1);
  merge_kernel_axes(&lines, {&steps});
  const double factor = 1 / std::sqrt(static_cast<double>(block));
  const HadamardParams<kRuntimeRank> params{.row_blocks = n / block,
                                            .blocks = count / block,
                                            .factor = std::bit_cast<std::int64_t>(factor),
                                            .step = step,
                                            .x = {from.base, &lines, &steps}};
  const std::int64_t groups = ceil_div(params.blocks * lanes, kHadamardThreads);
  const char* const type = dialect_type(x.dtype);
  plan->add_step(KernelCall("hadamard/hadamard.metal", "hadamard",
                            {dtype_struct(x.dtype), std::to_string(lanes),
                             std::to_string(block / lanes), std::to_string(lines.rank())})
                     .read(type, "x", from.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(params)
                     .step(*plan, {static_cast<std::uint32_t>(groups)},
                           {static_cast<std::uint32_t>(kHadamardThreads)}, kHadamardThreads));
  return prepared_steps(std::move(plan));
}

constexpr Implementation kHadamardFamily[] = {
    {.name = "simdgroups",
     .op = &defs::hadamard_op,
     .accepts = accepts_hadamard,
     .prepare = prepare_hadamard,
     .launch = launch_steps},
};

}  // namespace

Family hadamard_family() { return kHadamardFamily; }

}  // namespace hearth::gpu
