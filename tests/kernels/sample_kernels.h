// Kernels that use all of the dialect, for the tests of its four targets.
#pragma once

#include <string>
#include <vector>

#include "hearth/runtime.h"

namespace hearth::gpu_test {

// Elements with 16-byte loads, rows with a threadgroup reduction, simd functions, atomics and the
// functions of namespace metal; in every float type that they are for.
const std::vector<runtime::KernelSource>& sample_kernels();
// Instances of the library's own kernels: of the functions of src/kernels that need no generated
// text.
const std::vector<runtime::KernelSource>& library_kernels();
// One of sample_kernels(). Throws std::out_of_range.
const runtime::KernelSource& sample_kernel(const std::string& name);

// y[j] = formula(x[j], ...) for j below n, run by one thread: `p.op` chooses the formula, by its
// place in `ops`. `type` is the dialect's; results are of type `out`.
runtime::KernelSource formula_kernel(const std::string& name, const std::vector<std::string>& ops,
                                     int arguments, const std::string& type,
                                     const std::string& out);

}  // namespace hearth::gpu_test
