// packed_expert_linear: rows of x are coded once, then each expert's go through the kernels of
// packed_linear. Which rows an expert has changes no bit of a result.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "devices/cpu/ops/experts/groups.h"
#include "devices/cpu/ops/experts/products.h"
#include "devices/cpu/packed/row_products.h"
#include "graph/params.h"
#include "ops/packed/blocks.h"

namespace hearth::cpu {
namespace {

DType format_of_experts(const Signature& signature) {
  ParamReader statics(signature.statics);
  return read_format(statics);
}

struct PackedExpertPlan {
  explicit PackedExpertPlan(const Signature& signature)
      : weight(format_of_experts(signature), signature.inputs[0].shape.back(),
               signature.output.shape.back()),
        extents(expert_extents(signature, signature.inputs[1].shape[0])) {
    const std::int64_t most = std::max<std::int64_t>(extents.pairs(), 1);
    if (weight.in_lines(most)) return;
    // Only experts of many rows have bundles, each of which is padded to a multiple of 4.
    std::int64_t least = 1;
    while (weight.in_lines(least)) ++least;
    bundle_rows = most + 3 * std::min(extents.expert_count, most / least);
  }
  std::int64_t lines_at() const { return ExpertGroups::bytes(extents); }
  std::int64_t bundles_at() const {
    return lines_at() + extents.given_rows() * weight.line.bytes();
  }
  std::int64_t bytes() const { return bundles_at() + weight.bundle_bytes(bundle_rows); }

  PackedWeight weight;
  ExpertExtents extents;
  std::int64_t bundle_rows = 0;
};

}  // namespace

Prepared prepare_packed_experts(const Signature& signature) {
  const auto plan = std::make_shared<const PackedExpertPlan>(signature);
  return {plan, plan->bytes()};
}

void launch_packed_experts(const Launch& launch) {
  const auto& plan = *static_cast<const PackedExpertPlan*>(launch.state);
  const PackedWeight& packed = plan.weight;
  auto* const memory = reinterpret_cast<std::byte*>(launch.workspace);
  const ExpertGroups groups(plan.extents, input_of(launch, 2), memory);
  const Operand weight = input_of(launch, 1), output = output_of(launch);
  const bool has_bias = has_input(launch, 3);
  const Operand bias = input_of(launch, has_bias ? 3 : 0);
  clear_without_expert(groups, output);
  if (groups.chosen() == 0) return;

  const RowProducts all{packed, input_of(launch, 0), output, memory + plan.lines_at()};
  for_chunks(plan.extents.given_rows(), packed.in,
             [&](std::int64_t begin, std::int64_t end) { all.code_lines(begin, end); });
  const auto product_of = [&](std::int64_t expert, std::byte* bundles) {
    return WeightProduct{
        .all = all,
        .weights = reinterpret_cast<const std::uint8_t*>(weight.at(expert * weight.stride(0))),
        .weight_stride = weight.stride(1),
        .bias = has_bias ? &bias : nullptr,
        .bias_data = has_bias ? bias.at(expert * bias.stride(0)) : bias.data,
        .bias_stride = has_bias ? bias.stride(1) : 0,
        .rows = {groups.count(expert), groups.pairs(expert), plan.extents.rows_of_line()},
        .bundles = bundles};
  };

  // Bundles lie in the order of experts; one of `firsts` for each, in rows.
  auto* const firsts = scratch<std::int64_t>(0, groups.expert_count() + 1);
  firsts[0] = 0;
  for (std::int64_t e = 0; e < groups.expert_count(); ++e) {
    const std::int64_t count = groups.count(e);
    firsts[e + 1] = firsts[e] + (packed.in_lines(count) ? 0 : Bundles{count}.padded());
  }
  const auto bundles_of = [&](std::int64_t expert) {
    return memory + plan.bundles_at() + packed.bundle_bytes(firsts[expert]);
  };
  if (firsts[groups.expert_count()] > 0) {
    groups.for_parts(
        [&](std::int64_t e) {
          return packed.in_lines(groups.count(e)) ? 0 : Bundles{groups.count(e)}.count();
        },
        [&](std::int64_t e, std::int64_t bundle) { product_of(e, bundles_of(e)).weave(bundle); });
  }
  const std::int64_t lines = packed.line_grain();
  const auto grain = [&](std::int64_t e) {
    return packed.panel_grain(Bundles{groups.count(e)}.count(), groups.chosen());
  };
  groups.for_parts(
      [&](std::int64_t e) {
        return packed.in_lines(groups.count(e)) ? ceil_div(packed.out, lines)
                                                : ceil_div(packed.panels(), grain(e));
      },
      [&](std::int64_t e, std::int64_t part) {
        const WeightProduct product = product_of(e, bundles_of(e));
        if (packed.in_lines(groups.count(e))) {
          product.multiply_lines(part * lines, std::min(packed.out, (part + 1) * lines));
        } else {
          product.multiply_panels(part * grain(e),
                                  std::min(packed.panels(), (part + 1) * grain(e)));
        }
      });
}

}  // namespace hearth::cpu
