#include "graph/lower/lowered_region.h"

#include <utility>

#include "core/compute_class.h"
#include "graph/lower/fma.h"
#include "graph/lower/liveness.h"
#include "graph/op_def.h"

namespace hearth {
namespace {

// Whether the region holds this half as f32 with more digits than it has: not as it is read from
// memory, nor behind a cast.
bool is_unrounded(const Region& region, int value) {
  if (!is_half(region.value_dtype(value)) || value < region.first_scalar() || region.exact) {
    return false;
  }
  const int at = value - region.first_result();
  return at < 0 || region.instructions[static_cast<std::size_t>(at)].op->formula != Formula::cast;
}

LoweredInstruction lower_one(const Region& region, const RegionInstruction& instruction) {
  const OpDef& op = *instruction.op;
  LoweredInstruction result{.work = instruction.dtype};
  if (op.formula == Formula::comparison) result.work = region.value_dtype(instruction.args[0]);
  if (op.formula == Formula::logic) result.work = DType::bool_;
  if (op.formula == Formula::arithmetic || op.formula == Formula::choice) {
    result.narrows = (is_narrow_int(instruction.dtype) && op.may_wrap) ||
                     (region.exact && is_half(instruction.dtype));
  }
  if (op.formula == Formula::cast) {
    result.rounds_source = is_unrounded(region, instruction.args[0]);
  }
  return result;
}

}  // namespace

DType LoweredRegion::argument_dtype(std::size_t i, int k) const {
  const bool is_condition = k == 0 && region.instructions[i].op->formula == Formula::choice;
  return is_condition ? DType::bool_ : instructions[i].work;
}

DType LoweredRegion::reduced_dtype() const {
  const RegionReduction& reduction = region.reduction;
  return reduction.op->finds_index ? region.value_dtype(reduction.value) : reduction.dtype;
}

void lower(LoweredRegion* lowered) {
  const Region& region = lowered->region;
  lowered->layout = region_layout(region);
  lowered->instructions.reserve(region.instructions.size());
  for (const RegionInstruction& instruction : region.instructions) {
    lowered->instructions.push_back(lower_one(region, instruction));
  }
  count_uses(lowered);
  form_fmas(lowered);
  find_last_reads(lowered);
}

LoweredRegion lower(Region region) {
  LoweredRegion result;
  result.region = std::move(region);
  lower(&result);
  return result;
}

}  // namespace hearth
