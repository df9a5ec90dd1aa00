// Kernel texts under clang with real address spaces: what Metal would refuse must not pass.
#include <gtest/gtest.h>

#include "codegen/bfloat_text.h"
#include "codegen/host_build.h"
#include "codegen/kernel_text.h"
#include "kernels/formulas/formula_ops.h"
#include "kernels/sample_kernels.h"
#include "runtime/commands/batched_kernel.h"

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

// All kernels but those for f64, which Metal has not.
TEST_F(KernelLint, KernelsPassWithABfloatOfTheirOwn) {
  int count = 0;
  const auto check = [&](const KernelSource& kernel) {
    std::string text = gpu::assemble(kernel, Target::lint);
    if (text.find("#define HEARTH_HAS_F64 1") != text.npos) return;
    EXPECT_EQ(lint_without_bfloat(std::move(text), gpu::bfloat_prelude(kernel)), "") << kernel.name;
    ++count;
  };
  for (const KernelSource& kernel : sample_kernels()) check(kernel);
  for (const KernelSource& kernel : library_kernels()) check(kernel);
  check(runtime::batched_kernel(sample_kernel("elements_bfloat"), 200));
  EXPECT_GT(count, 60);
}

TEST_F(KernelLint, ABfloatOfTheirOwnIsWhatKernelsUse) {
  const auto check = [](const std::string& body) {
    const KernelSource kernel{.name = "uses",
                              .text =
                                  "inline void f(device const bfloat* x, device bfloat* y, "
                                  "threadgroup bfloat* shared, threadgroup bfloat4* fours, "
                                  "Ctx ctx) {\n" +
                                  body + "\n}\n",
                              .function = "f",
                              .parameters = {{Kind::read, "bfloat", "x"},
                                             {Kind::write, "bfloat", "y"},
                                             {Kind::threadgroup, "bfloat", "shared", 4},
                                             {Kind::threadgroup, "bfloat4", "fours", 4}}};
    return lint_without_bfloat(gpu::assemble(kernel, Target::lint), gpu::bfloat_prelude(kernel));
  };
  EXPECT_EQ(check("shared[0] = x[0]; y[1] = shared[0] + shared[1]; y[2] += x[2] * bfloat(3.0f);"),
            "");
  EXPECT_EQ(check("float sum = x[0] + 1.0f; y[0] = -(x[1] - 2) / x[2]; y[1] = sum;"), "");
  EXPECT_EQ(check("bfloat v = x[0]; v *= 2.0f; shared[1] -= v; y[0] = v < x[1] ? v : bfloat(0);"),
            "");
  EXPECT_EQ(check("ushort bits = as_type<ushort>(x[0]); y[0] = as_type<bfloat>(bits);"), "");
  EXPECT_EQ(check("y[0] = simd_shuffle(x[0], ushort(1)) + simd_shuffle_xor(x[1], ushort(1));"), "");
  EXPECT_EQ(check("y[0] = simd_sum(x[0]) + metal::max(float(x[0]), 0.0f);"), "");
  EXPECT_EQ(check("vec<bfloat, 4> v = ((device const bfloat4*)x)[0]; fours[0] = v;\n"
                  "((device bfloat4*)y)[0] = (v + fours[1]) * bfloat(2.0f);"),
            "");
  EXPECT_EQ(check("fours[0].x = x[0]; fours[0][1] = x[1]; y[0] = fours[1].w;\n"
                  "((device packed_bfloat3*)y)[1] = ((device const packed_bfloat3*)x)[0];"),
            "");
  EXPECT_EQ(check("vec<float, 4> v = vec<float, 4>(fours[0] + bfloat4(x[0], x[1], x[2], x[3]));\n"
                  "y[0] = bfloat4(v).z;"),
            "");
  // Address spaces are kept apart here as well, and what is constant stays so.
  EXPECT_NE(check("device bfloat* q = shared; q[0] = bfloat(1.0f);"), "");
  EXPECT_NE(check("x[0] = bfloat(1.0f);"), "");
  EXPECT_NE(check("x[0] += bfloat(1.0f);"), "");
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
