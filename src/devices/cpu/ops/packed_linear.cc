// packed_linear: rows of x are coded once, then products with packed weights in integers. Which
// kernel a row meets, and beside which others, changes no bit of its result (packed/products.h).
#include <cstddef>
#include <cstdint>
#include <memory>

#include "devices/cpu/packed/row_products.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"
#include "ops/packed/blocks.h"

namespace hearth::cpu {
namespace {

// What a packed_linear comes to.
struct PackedPlan {
  explicit PackedPlan(const Signature& signature)
      : weight(read_format_of(signature), signature.inputs[0].shape.back(),
               signature.output.shape.back()) {
    const Shape& x = signature.inputs[0].shape;
    for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x[axis];
  }
  static DType read_format_of(const Signature& signature) {
    ParamReader statics(signature.statics);
    return read_format(statics);
  }

  bool in_lines() const { return weight.in_lines(rows); }

  PackedWeight weight;
  std::int64_t rows = 1;
};

Prepared prepare_packed_linear(const Signature& signature) {
  const auto plan = std::make_shared<const PackedPlan>(signature);
  const std::int64_t bytes = plan->in_lines()
                                 ? plan->rows * plan->weight.line.bytes()
                                 : plan->weight.bundle_bytes(Bundles{plan->rows}.padded());
  return {plan, bytes};
}

void launch_packed_linear(const Launch& launch) {
  const auto& plan = *static_cast<const PackedPlan*>(launch.state);
  const PackedWeight& packed = plan.weight;
  if (plan.rows == 0 || packed.out == 0) return;
  const bool has_bias = has_input(launch, 2);
  auto* const coded = reinterpret_cast<std::byte*>(launch.workspace);
  const Operand weight = input_of(launch, 1), bias = input_of(launch, has_bias ? 2 : 0);
  const RowProducts all{packed, input_of(launch, 0), output_of(launch), coded};
  const WeightProduct product{.all = all,
                              .weights = reinterpret_cast<const std::uint8_t*>(weight.data),
                              .weight_stride = weight.stride(0),
                              .bias = has_bias ? &bias : nullptr,
                              .bias_data = bias.data,
                              .bias_stride = has_bias ? bias.stride(0) : 0,
                              .rows = {plan.rows},
                              .bundles = coded};
  if (plan.in_lines()) {
    for_chunks(plan.rows, packed.in,
               [&](std::int64_t begin, std::int64_t end) { all.code_lines(begin, end); });
    const std::int64_t grain = packed.line_grain();
    const auto body = [&](std::int64_t begin, std::int64_t end) {
      product.multiply_lines(begin, end);
    };
    if (grain >= packed.out) return body(std::int64_t{0}, packed.out);
    return WorkerPool::global().parallel_for_range(packed.out, grain, body);
  }
  const std::int64_t bundles = Bundles{plan.rows}.count();
  for_chunks(bundles, kMostBundleRows * packed.in, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t bundle = begin; bundle < end; ++bundle) product.code_and_weave(bundle);
  });
  WorkerPool::global().parallel_for_range(
      packed.panels(), packed.panel_grain(bundles, 1),
      [&](std::int64_t begin, std::int64_t end) { product.multiply_panels(begin, end); });
}

constexpr Implementation kPackedLinearFamily[] = {
    {.name = "packed",
     .op = &defs::packed_linear_op,
     .accepts = [](const Signature& signature) { return signature.output.dtype != DType::f64; },
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_linear,
     .launch = launch_packed_linear},
};

}  // namespace

Family packed_linear_family() { return kPackedLinearFamily; }

}  // namespace hearth::cpu
