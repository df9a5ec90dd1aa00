// What kernels of expert_linear know of its operands: x, input 0, the weight, input 1, and the
// bias, input 3; and the launch that multiplies codes of x with packed weights.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/experts/experts.h"
#include "kernels/packed/packed.h"

namespace hearth::gpu {

#include "kernels/experts/params.h"

struct ExpertOperands {
  explicit ExpertOperands(const Signature& signature);

  StridedOperand x, weight, bias;  // the bias is x where there is none: it is not read
  std::int64_t weight_expert, weight_row, weight_column;  // strides
  std::int64_t bias_expert = 0, bias_column = 0;
};

// Of kernels that find `slots` slots of pairs in the order of their experts.
ExpertTileParams expert_tile_params(const ExpertPairs& of, const ExpertOperands& operands,
                                    std::int64_t slots);

// Packed weights, rows of which simdgroups stage in vectors of 16 bytes of threadgroup memory.
struct PackedExperts {
  PackedExperts(const Signature& signature, const ExpertPairs& of);

  ExpertOperands operands;
  DType format;
  // Of a threadgroup, as many as fit into the memory that every GPU has: with more of it
  // threadgroups would not run at the same time.
  std::int64_t simdgroups;
  std::int64_t vectors;  // of a threadgroup, with the format's codebook
  std::int64_t step;     // rows begin at multiples of so many bytes
  // A pair at a time, each with a row of codes of its own; without places of experts and slots.
  ExpertPackedParams params;
};

// What a kernel of coded rows and packed weights has for itself; the rest is the same of all.
struct PackedExpertKernel {
  const char* file;
  const char* function;
  std::vector<std::string> sizes;  // template arguments behind the format and the dtype
  std::vector<std::pair<const char*, StepArgument>> places;  // ints that tell experts and rows
  ExpertPackedParams params;
  std::int64_t layers;     // of threadgroups, which share out the outputs of each
  std::int64_t registers;  // of a thread; compilers left alone take fewer, and spill
};
void add_packed_expert_call(StepPlan& plan, const Signature& signature, const ExpertPairs& of,
                            const PackedExperts& packed, const CodedRows& coded,
                            const PackedExpertKernel& kernel);

}  // namespace hearth::gpu
