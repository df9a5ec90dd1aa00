// Kernel texts under NVRTC, for every architecture that Hearth runs on: no stack, no f64 that was
// not asked for, nothing contracted. Stack is memory: an array that is indexed, or registers that
// were spilled. (It does not count where no CUDA device is given the kernel.) Kernels share
// programs, as those of a plan do, and are what they are alone; that each text is complete alone,
// clang shows (kernel_lint_test.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

#include "codegen/kernel_programs.h"
#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "error_text.h"
#include "kernels/formulas/formula_ops.h"
#include "kernels/regions/region_samples.h"
#include "kernels/sample_kernels.h"
#include "runtime/commands/batched_kernel.h"

namespace hearth::gpu_test {
namespace {

using gpu::Target;
using runtime::KernelSource;
using Program = std::vector<const KernelSource*>;

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

void check(const KernelSource& kernel, const std::string& architecture, const CudaBuild& build) {
  const std::string what = kernel.name + " for " + architecture + ": " + build.log;
  EXPECT_TRUE(build.ok) << what;
  const int stack = stack_bytes(build.log);
  EXPECT_GE(stack, 0) << what;
  EXPECT_TRUE(is_emulated(kernel) || stack == 0) << what;
  EXPECT_FALSE(contains(build.log, "warning")) << what;
  EXPECT_FALSE(contains(build.ptx, ".f64")) << what;
}

CudaBuild check(const KernelSource& kernel, const std::string& architecture) {
  CudaBuild build = nvrtc_compile(gpu::assemble(kernel, Target::cuda), architecture);
  check(kernel, architecture, build);
  return build;
}

// Of kernels in one program, which it returns.
CudaBuild check_together(const Program& kernels, const std::string& architecture) {
  CudaBuild program = nvrtc_compile(gpu::assemble_together(kernels), architecture);
  EXPECT_TRUE(program.ok) << program.log;
  EXPECT_FALSE(contains(program.log, "warning")) << program.log;
  for (const KernelSource* kernel : kernels) {
    check(*kernel, architecture, kernel_of(program, kernel->name));
  }
  return program;
}

Program pointers_to(const std::vector<KernelSource>& kernels) {
  Program all;
  for (const KernelSource& kernel : kernels) all.push_back(&kernel);
  return all;
}

TEST_F(KernelCuda, SampleKernelsForEveryArchitecture) {
  const Program samples = {&sample_kernel("elements_bfloat"), &sample_kernel("rows_half")};
  for (const char* architecture :
       {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    check_together(samples, architecture);
  }
}

TEST_F(KernelCuda, SampleKernels) { check_together(pointers_to(sample_kernels()), "sm_90"); }

TEST_F(KernelCuda, TensorCoresAreUsedWhereTheyAre) {
  Program kernels;
  for (const KernelSource& kernel : library_kernels()) {
    const bool is_one = kernel.name.starts_with("flash_decoding_mma") ||
                        kernel.name.starts_with("matmul_row_tiles");
    if (is_one) kernels.push_back(&kernel);
  }
  EXPECT_GT(kernels.size(), 1u);
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_120"}) {
    const CudaBuild program = check_together(kernels, architecture);
    for (const KernelSource* kernel : kernels) {
      EXPECT_TRUE(contains(kernel_of(program, kernel->name).ptx, "mma.sync.aligned.m16n8k16"))
          << kernel->name;
    }
  }
}

// An entry point without what the others of its program number: functions within the names of
// labels and variables.
std::string unnumbered(const std::string& ptx) {
  static const std::regex kLabel("__BB[0-9]+_");
  static const std::regex kVariable("_Z[A-Za-z0-9_$]+|__local_depot[0-9]+");
  return std::regex_replace(std::regex_replace(ptx, kLabel, "__BB_"), kVariable, "variable");
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Those of the library, of regions, and batches, each once.
std::vector<KernelSource> kernels_of_cuda() {
  std::vector<KernelSource> kernels = library_kernels();
  for (const char* name : {"elements_bfloat", "rows_half"}) {
    kernels.push_back(sample_kernel(name));
    kernels.push_back(runtime::batched_kernel(sample_kernel(name), 200));
  }
  std::set<std::pair<std::string, std::string>> known;
  for (const gpu::BuiltKernel& sample : region_samples()) {
    if (known.emplace(sample.source.name, sample.source.text).second) {
      kernels.push_back(sample.source);
    }
  }
  return kernels;
}

// Compilers may turn a line or two of a kernel around for its neighbours, of one kernel in 16.
TEST_F(KernelCuda, ProgramsHaveTheCodeOfTheirKernelsAlone) {
  const std::vector<KernelSource> kernels = kernels_of_cuda();
  std::size_t compared = 0;
  std::size_t equal = 0;
  std::string others;
  for (const Program& program : gpu::divide_among_programs(pointers_to(kernels), 16)) {
    const CudaBuild together = check_together(program, "sm_90");
    for (const KernelSource* kernel : program) {
      if ((kernel - kernels.data()) % 32 != 0) continue;  // alone they take long to compile
      const CudaBuild alone = check(*kernel, "sm_90");
      const std::string shared = unnumbered(kernel_of(together, kernel->name).ptx);
      const std::string own = unnumbered(kernel_of(alone, kernel->name).ptx);
      ++compared;
      equal += shared == own ? 1 : 0;
      if (shared != own) others += " " + kernel->name;
      EXPECT_LE(lines_of(shared), lines_of(own) + lines_of(own) / 50) << kernel->name;
    }
  }
  EXPECT_GT(compared, 5u);
  EXPECT_GE(equal + compared / 16, compared) << "not those of" << others;
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
