// The text that assemble() makes of a kernel: entry points of every target, includes, errors.
#include "codegen/kernel_text.h"

#include <gtest/gtest.h>

#include "check.h"
#include "codegen/dialect_text.h"
#include "codegen/embedded_texts.h"

namespace hearth::gpu {
namespace {

using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

KernelSource source() {
  return {.name = "scale_half",
          .text = "struct P { float factor; };\n",
          .function = "scale<half>",
          .parameters = {{Kind::read, "half", "x"},
                         {Kind::threadgroup, "float", "shared", 32},
                         {Kind::write, "vec<half, 4>", "y"},
                         {Kind::read_write, "uint", "count"},
                         {Kind::constant, "P", "p"}},
          .max_threads = 256};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}
void expect_once(const std::string& text, const std::string& part) {
  EXPECT_EQ(count(text, part), 1u) << part << "\nin\n" << text;
}
// From the first #line of the entry on.
std::string entry(Target target) {
  const std::string text = assemble(source(), target);
  return text.substr(text.find("\"scale_half (entry)\""));
}

TEST(KernelText, CudaEntry) {
  const std::string text = entry(Target::cuda);
  expect_once(text,
              "extern \"C\" __attribute__((global)) void __launch_bounds__(256)\nscale_half(");
  expect_once(text,
              "(const half* __restrict__ x, vec<half, 4>* __restrict__ y, uint* count, "
              "const __grid_constant__ P p) {");
  expect_once(text, "__attribute__((shared)) alignas(16) static float shared[32];");
  expect_once(text, "  scale<half>(x, shared, y, count, p, current_ctx());");
}

// NVRTC reads the prelude for longer than a small kernel.
TEST(KernelText, CudaHasTheFunctionsThatAreNamed) {
  const auto with = [](const std::string& body) {
    KernelSource kernel{.name = "f",
                        .text = "inline void f(device float* x, Ctx ctx) { " + body + " }\n",
                        .function = "f",
                        .parameters = {{Kind::read_write, "float", "x"}}};
    return assemble(kernel, Target::cuda);
  };
  const std::string tanh = "HEARTH_UNARY(tanh, tanh)", atan2 = "HEARTH_BINARY(atan2, atan2)",
                    quad = "HEARTH_QUAD_REDUCTION(quad_max, ";
  const std::string least = with("x[0] = 1.0f;");
  for (const std::string& each : {tanh, atan2, quad}) EXPECT_EQ(count(least, each), 0u) << each;
  const std::string named = with("x[0] = metal::precise::tanh(x[0]);");
  expect_once(named, tanh);
  EXPECT_EQ(count(named, atan2), 0u);
  EXPECT_EQ(count(named, "\n"), count(least, "\n"));
  const std::string reduced = with("x[0] = quad_max(x[0]);");
  expect_once(reduced, quad);
  expect_once(reduced, "HEARTH_BINARY(max, fmax)");
  // Names that are made of parts.
  const std::string pasted = with("\n#define ARC(name) a##name\nx[0] = ARC(tan2)(x[0], 1.0f);\n");
  for (const std::string& each : {tanh, atan2, quad}) expect_once(pasted, each);
  // The simulator reads all of it.
  expect_once(assemble(source(), Target::host), tanh);
}

TEST(KernelText, HostEntry) {
  const std::string text = entry(Target::host);
  expect_once(text, "void scale_half(void* const* hearth_arguments, void* const* hearth_arrays,");
  expect_once(text,
              "scale<half>(static_cast<const half*>(hearth_arguments[0]), "
              "static_cast<float*>(hearth_arrays[0]), "
              "static_cast<vec<half, 4>*>(hearth_arguments[1]), "
              "static_cast<uint*>(hearth_arguments[2]), "
              "*static_cast<const P*>(hearth_arguments[3]), ctx_of(*hearth_context));");
  expect_once(text, "unsigned long scale_half_threadgroup_bytes(unsigned array)");
  expect_once(text, "{sizeof(float) * 32ul, 0ul}");
}

TEST(KernelText, MetalEntry) {
  const std::string text = entry(Target::metal);
  expect_once(text, "kernel void scale_half(\n");
  expect_once(text, "device const half* x [[buffer(0)]],");
  expect_once(text, "device vec<half, 4>* y [[buffer(1)]],");
  expect_once(text, "device uint* count [[buffer(2)]],");
  expect_once(text, "constant P& p [[buffer(3)]],");
  expect_once(text, "uint3 hearth_gid [[thread_position_in_grid]],");
  expect_once(text, "uint hearth_nsg [[simdgroups_per_threadgroup]]) {");
  expect_once(text, "  threadgroup float shared[32];\n");
  expect_once(text, "  scale<half>(x, shared, y, count, p, hearth_ctx);");
}

// Metal has no overloads of entry points, and contracts what it is not told to leave.
TEST(KernelText, MetalRules) {
  runtime::KernelSource twin = source();
  twin.name = "scale";
  twin.function = "scale<half>";
  const std::string text = assemble(twin, Target::metal);
  EXPECT_EQ(count(text, "kernel void scale("), 0u);
  expect_once(text, "kernel void hearth_entry_scale(\n");
  expect_once(text, "#pragma METAL fp contract(off)\n");
}

TEST(KernelText, LintEntry) {
  const std::string text = entry(Target::lint);
  expect_once(text,
              "void hearth_entry_scale_half(device const half* x, threadgroup float* shared, "
              "device vec<half, 4>* y, device uint* count, constant P& p, Ctx hearth_ctx) {");
  expect_once(text, "  scale<half>(x, shared, y, count, p, hearth_ctx);");
}

TEST(KernelText, DependsOnItsArgumentsOnly) {
  for (const Target target : {Target::cuda, Target::host, Target::lint, Target::metal}) {
    EXPECT_EQ(assemble(source(), target), assemble(source(), target));
  }
}

TEST(KernelText, IncludesAreResolvedEachOnce) {
  KernelSource twice = source();
  twice.text =
      "#include \"kernels/formulas/formulas.h\"\n#include \"formulas/formulas.h\"\n" + twice.text;
  for (const Target target : {Target::cuda, Target::host, Target::lint, Target::metal}) {
    const std::string text = assemble(twice, target);
    expect_once(text, "HEARTH_FN T log1p(T x) {\n  auto huge = x > T(8.0e37f);");
    EXPECT_EQ(count(text, "#include \""), 0u);
    EXPECT_EQ(count(text, "#pragma once"), 0u);
    expect_once(text, "struct Ctx {");
    // Messages of compilers count the lines of the kernel's own text.
    expect_once(text, "#line 3 \"scale_half\"\nstruct P {");
  }
  expect_once(assemble(source(), Target::metal), "#include <metal_stdlib>");
}

// Kernels with the same headers have all before their own text in common.
TEST(KernelText, HostTextsBeginAlike) {
  const auto beginning = [](const KernelSource& kernel) {
    const std::string text = assemble(kernel, Target::host);
    EXPECT_EQ(count(text, std::string(kOwnText)), 1u);
    return text.substr(0, text.find(kOwnText));
  };
  KernelSource other = source();
  other.name = "other";
  other.text = "struct P { double factor; };\nfloat more();\n";
  EXPECT_EQ(beginning(source()), beginning(other));
  KernelSource first = source();
  first.text = "#include \"kernels/formulas/formulas.h\"\n" + first.text;
  other.text += "#include \"kernels/formulas/formulas.h\"\n";
  EXPECT_EQ(beginning(first), beginning(other));
  expect_once(beginning(first), "HEARTH_FN T log1p(T x) {\n  auto huge = x > T(8.0e37f);");
  EXPECT_NE(beginning(first), beginning(source()));
}

TEST(KernelText, F64IsWhereItIsSaid) {
  const auto has_f64 = [](const KernelSource& kernel, Target target) {
    return assemble(kernel, target).find("#define HEARTH_HAS_F64 1") != std::string::npos;
  };
  KernelSource kernel = source();
  kernel.text += "// no double here, /* nor */ doubles\n/* double */ float redouble;\n";
  EXPECT_TRUE(has_f64(kernel, Target::cuda));
  EXPECT_TRUE(has_f64(kernel, Target::host));
  EXPECT_FALSE(has_f64(kernel, Target::lint));
  EXPECT_FALSE(has_f64(kernel, Target::metal));
  kernel.parameters[0].type = "double";
  EXPECT_TRUE(has_f64(kernel, Target::lint));
  check::expect_error(ErrorCode::unsupported, [&] { assemble(kernel, Target::metal); });
  kernel = source();
  kernel.function = "scale<double>";
  check::expect_error(ErrorCode::unsupported, [&] { assemble(kernel, Target::metal); });
  kernel = source();
  kernel.text += "typedef double wide;\n";
  check::expect_error(ErrorCode::unsupported, [&] { assemble(kernel, Target::metal); });
}

TEST(KernelText, Errors) {
  const auto expect_invalid = [](void (*spoil)(KernelSource&)) {
    KernelSource kernel = source();
    spoil(kernel);
    for (const Target target : {Target::cuda, Target::host, Target::lint, Target::metal}) {
      check::expect_error(ErrorCode::invalid_argument, [&] { assemble(kernel, target); });
    }
  };
  expect_invalid([](KernelSource& kernel) { kernel.name = ""; });
  expect_invalid([](KernelSource& kernel) { kernel.name = "2x"; });
  expect_invalid([](KernelSource& kernel) { kernel.name = "a-b"; });
  expect_invalid([](KernelSource& kernel) { kernel.name = "a\nb"; });
  expect_invalid([](KernelSource& kernel) { kernel.function = ""; });
  expect_invalid([](KernelSource& kernel) { kernel.function = "f(); g"; });
  expect_invalid([](KernelSource& kernel) { kernel.max_threads = 0; });
  expect_invalid([](KernelSource& kernel) { kernel.max_threads = 2048; });
  expect_invalid([](KernelSource& kernel) { kernel.parameters[0].name = "x y"; });
  expect_invalid([](KernelSource& kernel) { kernel.parameters[0].name = "y"; });
  expect_invalid([](KernelSource& kernel) { kernel.parameters[0].type = ""; });
  expect_invalid([](KernelSource& kernel) { kernel.parameters[0].type = "float*"; });
  expect_invalid([](KernelSource& kernel) { kernel.parameters[1].count = 0; });
  expect_invalid([](KernelSource& kernel) { kernel.text = "#include \"kernels/none.h\"\n"; });
  expect_invalid([](KernelSource& kernel) { kernel.text = "#include \"../secret\"\n"; });
}

TEST(KernelText, EmbeddedTexts) {
  EXPECT_NE(embedded_text("formulas/scalar_ops.h").find("HEARTH_FN"), std::string_view::npos);
  EXPECT_NE(embedded_text("prelude/cuda.h").find("__syncthreads"), std::string_view::npos);
  check::expect_error(ErrorCode::invalid_argument, [] { embedded_text("kernels/none.h"); });
  EXPECT_NE(embedded_revision(), 0u);
  EXPECT_EQ(embedded_revision(), embedded_revision());
}

// Other compilers take them as names: of a member of a parameter struct, say.
TEST(DialectText, WordsOfMetalAreNoNames) {
  constexpr const char* kWords[] = {"kernel",   "vertex",      "fragment",
                                    "ray_data", "object_data", "threadgroup_imageblock"};
  int count = 0;
  for (const EmbeddedText& embedded : embedded_texts()) {
    if (embedded.path.starts_with("prelude/")) continue;
    ++count;
    for (const char* word : kWords) {
      EXPECT_FALSE(mentions(embedded.text, word)) << word << " in " << embedded.path;
    }
  }
  EXPECT_GT(count, 50);
  for (const char* word : {"kernel", "vertex", "fragment"}) {
    KernelSource own = source();
    own.text = "struct P { float factor; long " + std::string(word) + "; };\n";
    EXPECT_THROW(static_cast<void>(assemble(own, Target::cuda)), Error) << word;
  }
}

}  // namespace
}  // namespace hearth::gpu
