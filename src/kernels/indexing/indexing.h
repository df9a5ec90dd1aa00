// The implementations on GPUs of ops with indices, which indexing.cc lists.
#pragma once

#include <string>

#include "graph/implementation.h"

namespace hearth::gpu {

// The type that elements are moved as, `bytes` bytes at a time.
std::string vector_type(std::int64_t bytes);

// kernels/indexing/indexing.metal.
Prepared prepare_gather(const Signature& signature);
// select of whole rows after the axis, and of any elements.
bool accepts_select_rows(const Signature& signature);
bool fits_select_rows(const Signature& signature);
Prepared prepare_select_rows(const Signature& signature);
Prepared prepare_select_elements(const Signature& signature);

// cat, and slice_assign of one element: a region for each input.
Prepared prepare_cat(const Signature& signature);
bool accepts_single_element(const Signature& signature);
Prepared prepare_single_element(const Signature& signature);
void launch_copies(const Launch& launch);

// kernels/indexing/assign_rows.metal: rows that replace others, of a list that is not long.
bool accepts_assign_rows(const Signature& signature);
Prepared prepare_assign_rows(const Signature& signature);

// kernels/indexing/scatter_privatized.metal: sums in threadgroup memory.
bool accepts_scatter_privatized(const Signature& signature);
Prepared prepare_scatter_privatized(const Signature& signature);
// kernels/indexing/scatter_bucketed.metal: values are brought together by ranges of destinations.
bool accepts_scatter_bucketed(const Signature& signature);
Prepared prepare_scatter_bucketed(const Signature& signature);
// kernels/indexing/scatter_atomics.metal: additions whose order may differ, of integers always and
// of floats where equal runs may differ.
bool accepts_scatter_atomics(const Signature& signature);
Prepared prepare_scatter_atomics(const Signature& signature);
// kernels/indexing/segmented_sum.metal: indices are sorted, with the elements or rows they are for.
bool accepts_scatter_sorted(const Signature& signature);
bool fits_scatter_sorted(const Signature& signature);
Prepared prepare_scatter_sorted(const Signature& signature);
bool accepts_select_sorted(const Signature& signature);
Prepared prepare_select_sorted(const Signature& signature);
// kernels/indexing/scatter_serial.metal: a thread for each line.
Prepared prepare_scatter_serial(const Signature& signature);
Prepared prepare_select_serial(const Signature& signature);

}  // namespace hearth::gpu
