// NVRTC for tests: compiles assembled kernel text for any architecture, without a GPU or a toolkit.
#pragma once

#include <string>

namespace hearth::gpu_test {

struct CudaBuild {
  bool ok = false;
  std::string log;  // the compiler's messages, with each kernel's registers and spills
  std::string ptx;
};

// Empty if NVRTC can be loaded, else why not. Looked for where cuda::search_folders() says, and
// among the Python packages that scripts/bootstrap installs.
const std::string& nvrtc_missing();

// Compiles for `architecture` ("sm_90"): to PTX, and by ptxas to machine code. In the folder that
// HEARTH_TEST_KERNELS names, if any, builds are kept by text, compiler and options.
CudaBuild nvrtc_compile(const std::string& text, const std::string& architecture);

// Of a program of several kernels (gpu::assemble_together), what is said of one: whether it is
// there, the assembler's messages and the PTX.
CudaBuild kernel_of(const CudaBuild& program, const std::string& name);

}  // namespace hearth::gpu_test
