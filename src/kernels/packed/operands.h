// What kernels of products with packed weights know of their operands: x [.., in], the weight
// [outputs, bytes of a row], and the bias and what is added, where there are any.
#pragma once

#include <cstdint>

#include "kernels/launch/kernel_call.h"
#include "kernels/packed/packed.h"

namespace hearth::gpu {

struct PackedOperands {
  explicit PackedOperands(const Signature& signature);

  // Adds "weight", "bias", "added" and "y", which "x" or its codes are before. `whole`: rows of the
  // weight are read in packets.
  void add_to(KernelCall& call, bool whole) const;

  StridedOperand x;
  MergedLines lines;  // of x
  const char* type;   // of x and y
  DType format;
  std::int64_t rows, outputs, units;  // of x, of the weight; of a row
  bool has_bias, has_added;
  StepArgument weight, bias, added, y;  // of what is not there x, which is not read
  // Where rows of the weight begin, their stride, and where the last one ends, in bytes; they begin
  // at multiples of `step`.
  std::int64_t base, stride, end, step;
};

}  // namespace hearth::gpu
