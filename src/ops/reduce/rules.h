// What the reductions share: their parameters, their shapes, and how they are recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/definition/call.h"
#include "ops/definition/rules.h"

namespace hearth::reductions {

inline constexpr ParamSpec kParams[] = {
    {.name = "axes", .type = ParamType::i64_list, .range = "of [0, rank), none twice"},
    {.name = "keepdim", .type = ParamType::boolean, .optional = true}};

Shape reduced_shape(const Shape& shape, std::uint32_t axes, bool keepdim);

// Fails for a reduction that chooses an element where there is none.
[[noreturn]] void fail_empty(const Inference& inference);

void infer_reduce(Inference& inference);

// `x`, of the shape of the op's result, with the reduced axes back as extents of 1.
Array kept(const Vjp& v, const Array& x);

// The shape of x; Error{invalid_argument} of `op` where it has no value.
const Shape& shape_of(const OpDef& op, const Array& x);

Array reduce(const OpDef& op, const Array& x, std::uint32_t bits, bool keepdim);
Array reduce(const OpDef& op, const Array& x);
Array reduce(const OpDef& op, const Array& x, const Dims& axes, bool keepdim);

SampleCase reduce_sample(const Shape& shape, const Dims& axes, bool keepdim);
std::vector<SampleCase> reduce_samples();
// reduce_samples(), and empty inputs, for reductions that are defined over nothing.
std::vector<SampleCase> total_samples();

}  // namespace hearth::reductions
