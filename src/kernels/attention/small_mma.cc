// attention of rows and keys that are few both: kernels/attention/small_mma.metal.
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/regions/region_values.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostRows = 64, kMostKeys = 64, kMostColumns = 64;
constexpr std::int64_t kRowsOfSimdgroup = 16;

// A library's tiles of 128 rows and keys are mostly empty then.
bool accepts_short(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  const auto fits = [](std::int64_t columns) {
    return columns > 0 && columns <= kMostColumns && columns % 8 == 0;
  };
  return (a.dtype() == DType::f16 || a.dtype() == DType::bf16) && !a.has_softcap && !a.has_mask &&
         !a.has_bias && !a.bounded && a.rows > kFewAttentionRows && a.rows <= kMostRows &&
         a.keys > 0 && a.keys <= kMostKeys && fits(a.d) && fits(a.dv) &&
         element_count(signature.output.shape) > 0;
}

Prepared prepare_short(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const AttentionInputs a(signature, kQ);
  const char* const type = a.memory_type();
  Step step;
  step.kernel = &plan->add_kernel(library_kernel("attention/small_mma.metal", "attention_short",
                                                 {dtype_struct(a.dtype())},
                                                 {{Kind::read, type, "q"},
                                                  {Kind::read, type, "k"},
                                                  {Kind::read, type, "v"},
                                                  {Kind::read, "ulong", "dynamics"},
                                                  {Kind::write, type, "out"},
                                                  {Kind::constant, "AttentionParams", "p"}},
                                                 kMostRows / kRowsOfSimdgroup * 32));
  step.groups = {static_cast<std::uint32_t>(a.batch * a.heads)};
  step.threads = {
      static_cast<std::uint32_t>((a.rows + kRowsOfSimdgroup - 1) / kRowsOfSimdgroup * 32)};
  step.arguments = {
      a.arguments[kQ],
      a.arguments[kK],
      a.arguments[kV],
      kDynamics,
      strided_operand(signature.output, static_cast<int>(signature.inputs.size())).argument,
      kConstants};
  step.constants = a.constants;
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_short_attention(KernelTable& table) {
  table.add({.op = &defs::attention_op,
             .accepts = accepts_short,
             .layout = LayoutNeed::aligned_rows,
             .priority = 3,
             .prepare = prepare_short,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
