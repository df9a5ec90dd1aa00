// Kernel texts under NVRTC, for every architecture that Hearth runs on: no stack, no f64 that was
// not asked for, nothing contracted. Stack is memory: an array that is indexed, or registers that
// were spilled. (It does not count where no CUDA device is given the kernel.)
#include <gtest/gtest.h>

#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "devices/error_text.h"
#include "kernels/formulas/formula_ops.h"
#include "kernels/sample_kernels.h"
#include "runtime/commands/batched_kernel.h"

namespace hearth::gpu_test {
namespace {

using gpu::Target;
using runtime::KernelSource;

class KernelCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_missing().empty()) GTEST_SKIP() << nvrtc_missing();
  }
};

using check::contains;

// Whether no CUDA device is given it: simdgroup matrices are made of shuffles there, which is
// legal, and too slow for registers to matter.
bool is_emulated(const KernelSource& kernel) { return contains(kernel.name, "simdgroup_"); }

int stack_bytes(const std::string& log) {
  const std::size_t end = log.find(" bytes stack frame");
  if (end == log.npos) return -1;
  const std::size_t begin = log.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoi(log.substr(begin, end - begin));
}

CudaBuild check(const KernelSource& kernel, const std::string& architecture) {
  const CudaBuild build = nvrtc_compile(gpu::assemble(kernel, Target::cuda), architecture);
  const std::string what = kernel.name + " for " + architecture + ": " + build.log;
  EXPECT_TRUE(build.ok) << what;
  const int stack = stack_bytes(build.log);
  EXPECT_GE(stack, 0) << what;
  EXPECT_TRUE(is_emulated(kernel) || stack == 0) << what;
  EXPECT_FALSE(contains(build.log, "warning")) << what;
  EXPECT_FALSE(contains(build.ptx, ".f64")) << what;
  return build;
}

TEST_F(KernelCuda, SampleKernelsForEveryArchitecture) {
  for (const char* architecture :
       {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    for (const char* name : {"elements_bfloat", "rows_half"}) {
      check(sample_kernel(name), architecture);
    }
  }
}

TEST_F(KernelCuda, SampleKernels) {
  for (const KernelSource& kernel : sample_kernels()) check(kernel, "sm_90");
}

TEST_F(KernelCuda, BatchedKernels) {
  for (const char* name : {"elements_bfloat", "rows_half"}) {
    check(runtime::batched_kernel(sample_kernel(name), 200), "sm_90");
  }
}

TEST_F(KernelCuda, LibraryKernels) {
  for (const KernelSource& kernel : library_kernels()) check(kernel, "sm_90");
}

TEST_F(KernelCuda, TensorCoresAreUsedWhereTheyAre) {
  int count = 0;
  for (const KernelSource& kernel : library_kernels()) {
    if (!kernel.name.starts_with("flash_decoding_mma")) continue;
    for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_120"}) {
      EXPECT_TRUE(contains(check(kernel, architecture).ptx, "mma.sync.aligned.m16n8k16"));
    }
    ++count;
  }
  EXPECT_GT(count, 1);
}

TEST_F(KernelCuda, Formulas) {
  const auto& [f32, f64, i32, u32, i64, u64] = kFormulaTypes;
  check(unary_kernel(f32), "sm_90");
  check(binary_kernel(f32), "sm_90");
  check(binary_kernel(i32), "sm_90");
  check(binary_kernel(u64), "sm_90");
  // The platform's sine of large arguments has a frame.
  const std::string text = gpu::assemble(unary_kernel(f64), Target::cuda);
  EXPECT_TRUE(nvrtc_compile(text, "sm_90").ok);
}

TEST_F(KernelCuda, MemoryIsReadInVectorsAndThroughTheReadOnlyCache) {
  const CudaBuild build = check(sample_kernel("elements_float"), "sm_90");
  EXPECT_TRUE(contains(build.ptx, "ld.global.nc.v4")) << build.ptx;
  EXPECT_TRUE(contains(build.ptx, "st.global.v4")) << build.ptx;
}

TEST_F(KernelCuda, NothingIsContractedAndDivisionIsRoundedCorrectly) {
  using Kind = runtime::KernelParameter::Kind;
  const KernelSource kernel{
      .name = "sums",
      .text =
          "inline void sums(device const float* x, device float* y, "
          "Ctx ctx) { y[0] = x[0] * x[1] + x[2]; y[1] = x[0] / x[1]; "
          "y[2] = metal::sqrt(x[2]); }",
      .function = "sums",
      .parameters = {{Kind::read, "float", "x"}, {Kind::write, "float", "y"}}};
  const std::string ptx = check(kernel, "sm_90").ptx;
  EXPECT_FALSE(contains(ptx, "fma")) << ptx;
  EXPECT_TRUE(contains(ptx, "div.rn.f32")) << ptx;
  EXPECT_TRUE(contains(ptx, "sqrt.rn.f32")) << ptx;
  EXPECT_FALSE(contains(ptx, ".ftz")) << ptx;
}

}  // namespace
}  // namespace hearth::gpu_test
