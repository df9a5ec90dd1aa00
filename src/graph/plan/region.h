// A fused elementwise region: what the planner hands to a device's region kernel.
//
// A region computes over the index space `shape`. Its values are numbered: first the memory inputs,
// then the scalars, then the results of the instructions in order. An instruction applies the
// scalar formula of an elementwise op to values; every value has the dtype that the op's rules give
// it.
//
// Numerics: f16 and bf16 values are f32 inside the region; they are rounded when stored and by an
// explicit cast, to them or from them. With `exact`, every result is rounded to its dtype and no
// fma is formed. Integers narrower than their compute class wrap after every instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth {

struct OpDef;

struct RegionInput {
  DType dtype;
  Strides strides;  // in elements, over Region::shape; 0 on broadcast axes; may be negative
};

struct RegionScalar {
  DType dtype;
  int dynamic;  // index of its word in the dynamic block: f64 bits for floats, i64 otherwise
};

struct RegionInstruction {
  const OpDef* op;  // kind elementwise; `cast` converts to `dtype`
  DType dtype;      // of the result
  std::int16_t args[4] = {-1, -1, -1, -1};
};

struct RegionOutput {
  DType dtype;
  int value;
  Strides
      strides;  // over Region::shape; outputs of a plan are dense row-major, or have padded rows
};

// How a region ends in a reduction: `value` is reduced over `axes` (bit i = axis i of shape).
struct RegionReduction {
  const OpDef* op = nullptr;  // sum, max, min, prod, any, all: OpDef::formula names it; null = none
  int value = -1;
  std::uint32_t axes = 0;
  DType dtype = DType::f32;  // of the result
  Strides strides;           // of the result over Region::shape; 0 on reduced axes
  bool precise = false;      // a sum of f32 is kept in twice its digits
  bool by_row = false;       // the order of a sum does not depend on how many others there are
};

struct Region {
  Shape shape;
  std::vector<RegionInput> inputs;
  std::vector<RegionScalar> scalars;
  std::vector<RegionInstruction> instructions;
  std::vector<RegionOutput> outputs;  // written elementwise
  RegionReduction reduction;          // its result is the operand after the outputs
  bool exact = false;

  int first_scalar() const { return static_cast<int>(inputs.size()); }
  // Operands of its elements: inputs, then outputs.
  int operand_count() const { return first_scalar() + static_cast<int>(outputs.size()); }
  int first_result() const { return static_cast<int>(inputs.size() + scalars.size()); }
  DType value_dtype(int value) const {
    if (value < first_scalar()) return inputs[static_cast<std::size_t>(value)].dtype;
    if (value < first_result()) {
      return scalars[static_cast<std::size_t>(value - first_scalar())].dtype;
    }
    return instructions[static_cast<std::size_t>(value - first_result())].dtype;
  }
};

}  // namespace hearth
