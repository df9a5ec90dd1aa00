// Kernel texts under clang with real address spaces: what Metal would refuse must not pass.
#include <gtest/gtest.h>

#include "devices/gpu/formula_ops.h"
#include "devices/gpu/host_build.h"
#include "devices/gpu/sample_kernels.h"
#include "devices/gpu/text/kernel_text.h"
#include "runtime/batched_kernel.h"

namespace hearth::gpu_test {
namespace {

using gpu::Target;
using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

class KernelLint : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = compiler_missing(clang()); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
  }
};

std::string lint(const KernelSource& kernel) {
  return gpu_test::lint(gpu::assemble(kernel, Target::lint));
}

TEST_F(KernelLint, SampleKernelsPass) {
  for (const KernelSource& kernel : sample_kernels()) EXPECT_EQ(lint(kernel), "") << kernel.name;
}

TEST_F(KernelLint, LibraryKernelsPass) {
  for (const KernelSource& kernel : library_kernels()) EXPECT_EQ(lint(kernel), "") << kernel.name;
}

TEST_F(KernelLint, BatchedKernelsPass) {
  for (const char* name : {"elements_bfloat", "rows_half"}) {
    EXPECT_EQ(lint(runtime::batched_kernel(sample_kernel(name), 200)), "") << name;
  }
}

TEST_F(KernelLint, FormulasPass) {
  for (const FormulaType& type : kFormulaTypes) {
    EXPECT_EQ(lint(unary_kernel(type)), "") << type.name;
    EXPECT_EQ(lint(binary_kernel(type)), "") << type.name;
    EXPECT_EQ(lint(comparison_kernel(type)), "") << type.name;
    EXPECT_EQ(lint(clamp_kernel(type)), "") << type.name;
    if (type.real) {
      EXPECT_EQ(lint(lerp_kernel(type)), "") << type.name;
    }
  }
}

TEST_F(KernelLint, MistakesAreErrors) {
  const auto check = [](const std::string& body, const std::string& helpers = "") {
    const KernelSource kernel{.name = "mistake",
                              .text = "struct P { float factor; uint n; };\n" + helpers +
                                      "inline void f(device const float* x, device float* y, "
                                      "constant P& p, threadgroup float* shared, Ctx ctx) {\n" +
                                      body + "\n}\n",
                              .function = "f",
                              .parameters = {{Kind::read, "float", "x"},
                                             {Kind::write, "float", "y"},
                                             {Kind::constant, "P", "p"},
                                             {Kind::threadgroup, "float", "shared", 4}}};
    return lint(kernel);
  };
  EXPECT_EQ(check("shared[0] = x[0]; y[ctx.gid.x] = shared[0] * p.factor;"), "");
  // Pointers of one address space taken for another.
  EXPECT_NE(check("device float* q = shared; q[0] = 1.0f;"), "");
  EXPECT_NE(check("threadgroup float* q = y; q[0] = 1.0f;"), "");
  EXPECT_NE(check("float* q = y; q[0] = 1.0f;"), "");
  EXPECT_NE(check("g(shared);", "inline void g(device float* q) { q[0] = 1.0f; }\n"), "");
  // A helper that forgot to say which.
  EXPECT_NE(check("g(y);", "inline void g(float* q) { q[0] = 1.0f; }\n"), "");
  EXPECT_NE(check("g(p);", "inline void g(P& q) { q.n = 1u; }\n"), "");
  // Writes to what is constant.
  EXPECT_NE(check("p.factor = 1.0f;"), "");
  EXPECT_NE(check("((device float*)y)[0] = 1.0f; x[0] = 1.0f;"), "");
  // A double where Metal has none.
  EXPECT_NE(check("y[0] = x[0] * 1.5;"), "");
  // A name that Metal has.
  EXPECT_NE(check("y[0] = exp(x[0]);", "inline float exp(float v) { return v; }\n"), "");
}

}  // namespace
}  // namespace hearth::gpu_test
