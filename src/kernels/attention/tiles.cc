// attention of many rows: kernels/attention/tiles.metal.
#include <memory>

#include "kernels/attention/inputs.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/regions/region_values.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostColumns = 256;  // of a row of v

// Tiles of f64 would be more threadgroup memory than every GPU has.
bool accepts_tiles(const Signature& signature) {
  return signature.output.dtype != DType::f64 && signature.inputs[kV].shape[3] <= kMostColumns;
}

// Two products by a library and a softmax between them are faster than tiles, at the price of the
// scores in memory, twice for a moment: up to so many of them are worth it.
constexpr std::int64_t kMostComposed = std::int64_t{1} << 27;

bool accepts_composed(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  return a.rows > kFewAttentionRows && a.batch * a.heads * a.rows * a.keys <= kMostComposed;
}

}  // namespace

Prepared portable_attention(const Signature& signature) {
  constexpr std::int64_t kTile = 64;
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const AttentionInputs a(signature, kQ);
  const std::int64_t columns = a.dv <= 64 ? 64 : a.dv <= 128 ? 128 : 256;
  const std::string memory = a.memory_type(), value = a.value_type();
  const std::vector<std::string> arguments = {dtype_struct(a.dtype()), std::to_string(columns),
                                              truth(a.has_softcap), truth(a.has_mask),
                                              truth(a.has_bias)};
  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("attention/tiles.metal", "attention_tiles", arguments,
                     a.parameters({{Kind::write, memory, "out"},
                                   {Kind::constant, "AttentionParams", "p"},
                                   {Kind::threadgroup, value, "slices", 2048},
                                   {Kind::threadgroup, value, "weights", kTile * kTile}}),
                     kThreads));
  step.groups = {static_cast<std::uint32_t>(parts(a.rows, kTile)),
                 static_cast<std::uint32_t>(a.heads), static_cast<std::uint32_t>(a.batch)};
  step.threads = {kThreads};
  step.arguments.assign(a.arguments, a.arguments + kInputs);
  step.arguments.insert(
      step.arguments.end(),
      {kDynamics,
       strided_operand(signature.output, static_cast<int>(signature.inputs.size())).argument,
       kConstants});
  step.constants = a.constants;
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

void add_attention_kernels(KernelTable& table) {
  table.add({.op = &defs::attention_op,
             .accepts = accepts_tiles,
             .prepare = portable_attention,
             .launch = launch_steps});
}

void add_composed_attention(KernelTable& table) {
  table.add({.op = &defs::attention_op, .accepts = accepts_composed, .priority = 1});
}

}  // namespace hearth::gpu
