// Cases of the table-driven tests: inputs in every dtype and layout.
#pragma once

#include <string>
#include <vector>

#include "ops/reference/host_array.h"

namespace hearth::testing {

// channels_last: axis 1 innermost, where the rank is 3 at least; else contiguous.
enum class MemoryLayout { contiguous, transposed, sliced, flipped, broadcast, channels_last };
// Those of the table.
inline constexpr MemoryLayout kLayouts[] = {MemoryLayout::contiguous, MemoryLayout::transposed,
                                            MemoryLayout::sliced, MemoryLayout::flipped,
                                            MemoryLayout::broadcast};
// Those that hold any elements, of files of tests/golden.
inline constexpr MemoryLayout kElementLayouts[] = {
    MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::flipped,
    MemoryLayout::channels_last};
const char* name(MemoryLayout layout);

// One sample with the dtype of its varying inputs, and with elements that this dtype holds.
struct OpCase {
  const OpDef* op = nullptr;
  SampleCase sample;
  DType dtype = DType::f32;
  std::vector<HostArray> inputs;

  DType input_dtype(std::size_t i) const {
    const int fixed = sample.inputs[i].dtype;
    return fixed >= 0 ? static_cast<DType>(fixed) : dtype;
  }
  std::string text() const;
};

// `repeats`: every input has equal elements along its first axis longer than 1, as broadcasting
// gives.
OpCase make_case(const OpDef& op, std::size_t sample, DType dtype, bool repeats);

// An array of these elements whose memory is laid out as asked.
Array build_array(const HostArray& elements, DType dtype, MemoryLayout layout, Device device);
std::vector<Array> build_inputs(const OpCase& one, MemoryLayout layout, Device device);

// Records the case's op: its results.
std::vector<Array> record_case(const OpCase& one, const std::vector<Array>& inputs, Device device);

// What the results should be: by host_reference(), or by the op's composite in f64. Throws
// std::logic_error for an op that has neither.
std::vector<HostArray> expected_results(const OpCase& one);

// How far a result of `dtype` may be from the expected one, relative to its largest magnitude.
double tolerance_of(DType dtype);

// The same of ops that need not compute in the precision of their dtype: products with packed
// weights may code the other factor in 8 bits, those with halves round it to the weight's dtype. 0
// of all others.
double coding_tolerance(const OpCase& one);

// The least magnitude that the tolerance of an output is relative to: that of the terms whose
// difference it may be.
double term_magnitude(const OpCase& one, std::size_t output);

}  // namespace hearth::testing
