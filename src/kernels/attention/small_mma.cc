// attention of few rows and few keys: kernels/attention/small_mma.metal.
#include <memory>

#include "codegen/dialect_types.h"
#include "core/integer_math.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxSmallRows = 64, kMaxSmallKeys = 64;

}  // namespace

// A library's tiles of 128 rows and keys are mostly empty then.
bool accepts_small_mma(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  const auto fits = [](std::int64_t columns) {
    return columns > 0 && columns <= kShortColumns && columns % 8 == 0;
  };
  return (a.dtype() == DType::f16 || a.dtype() == DType::bf16) && !a.has_softcap && !a.has_mask &&
         !a.has_bias && !a.bounded && !a.has_range && !a.has_sinks && a.rows > kFewAttentionRows &&
         a.rows <= kMaxSmallRows && a.keys > 0 && a.keys <= kMaxSmallKeys && fits(a.d) &&
         fits(a.dv) && element_count(signature.output.shape) > 0;
}

Prepared prepare_small_mma(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const AttentionInputs a(signature, kQ);
  const char* const type = a.memory_type();
  const Size3 threads = {
      static_cast<std::uint32_t>(ceil_div<std::int64_t>(a.rows, kShortRows) * kSimdWidth)};
  plan->add_step(
      KernelCall("attention/small_mma.metal", "attention_small_mma", {dtype_struct(a.dtype())})
          .read(type, "q", a.arguments[kQ])
          .read(type, "k", a.arguments[kK])
          .read(type, "v", a.arguments[kV])
          .dynamics()
          .write(type, "out", output_argument(signature))
          .constants(a.params)
          .step(*plan, {static_cast<std::uint32_t>(a.batch * a.heads)}, threads,
                kMaxSmallRows / kShortRows * kSimdWidth));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
