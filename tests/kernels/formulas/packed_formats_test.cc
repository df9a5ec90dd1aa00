// The formulas of packed formats as texts of kernels: with address spaces, under NVRTC, and on the
// host, where they give the bits of decode().
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/bfloat_text.h"
#include "codegen/host_build.h"
#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "core/hashing.h"
#include "core/packed/decode.h"
#include "core/packed/formats.h"
#include "error_text.h"
#include "hearth/dtype.h"

namespace hearth::gpu_test {
namespace {

using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

constexpr const char* kText = R"(
#include "kernels/formulas/packed/formats.h"

struct PackedParams { uint blocks; };

// A block a thread: its elements by sixteen, then each.
template <class F>
void decode_blocks(device const uchar* blocks, device float* groups, device float* elements,
                   constant PackedParams& p, Ctx ctx) {
  if (ctx.gid.x >= p.blocks) return;
  device const uchar* block = blocks + ctx.gid.x * uint(F::bytes);
  uint first = ctx.gid.x * uint(F::elements);
  for (uint e = 0u; e < uint(F::elements); e += 16u) {
    packed_formats::elements_of<F, 16u>(block, e, groups + first + e);
  }
  for (uint e = 0u; e < uint(F::elements); ++e) {
    elements[first + e] = packed_formats::element_of<F>(block, e);
  }
}
)";

struct PackedFormat {
  DType dtype;
  const char* name;
};
constexpr PackedFormat kPackedFormats[] = {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) {DType::dtype, #name},
#include "core/packed/block_formats.def"
};

KernelSource kernel_of(const PackedFormat& format) {
  return {.name = "decode_" + std::string(name(format.dtype)),
          .text = kText,
          .function = "decode_blocks<packed_formats::" + std::string(format.name) + ">",
          .parameters = {{Kind::read, "uchar", "blocks"},
                         {Kind::write, "float", "groups"},
                         {Kind::write, "float", "elements"},
                         {Kind::constant, "PackedParams", "p"}}};
}

TEST(PackedFormats, AddressSpacesAreInOrder) {
  if (const std::string missing = compiler_missing(clang()); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  for (const PackedFormat& format : kPackedFormats) {
    const KernelSource kernel = kernel_of(format);
    const std::string text = gpu::assemble(kernel, gpu::Target::lint);
    EXPECT_EQ(lint(text), "") << kernel.name;
    EXPECT_EQ(lint_without_bfloat(text, gpu::bfloat_prelude(kernel)), "") << kernel.name;
  }
}

TEST(PackedFormats, CompileForCuda) {
  if (!nvrtc_missing().empty()) GTEST_SKIP() << nvrtc_missing();
  std::vector<KernelSource> kernels;
  for (const PackedFormat& format : kPackedFormats) kernels.push_back(kernel_of(format));
  std::vector<const KernelSource*> pointers;
  for (const KernelSource& kernel : kernels) pointers.push_back(&kernel);
  const std::string text = gpu::assemble_together(pointers);
  for (const char* architecture : {"sm_75", "sm_90"}) {
    const CudaBuild program = nvrtc_compile(text, architecture);
    ASSERT_TRUE(program.ok) << program.log;
    EXPECT_FALSE(check::contains(program.log, "warning")) << program.log;
    EXPECT_FALSE(check::contains(program.ptx, ".f64")) << architecture;
    EXPECT_FALSE(check::contains(program.ptx, ".local")) << architecture;
  }
}

std::uint32_t bits(float x) {
  return std::isnan(x) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x);
}

TEST(PackedFormats, KernelsGiveTheBitsOfDecode) {
  for (const PackedFormat& format : kPackedFormats) {
    const KernelSource kernel = kernel_of(format);
    const HostLibrary library(gpu::assemble(kernel, gpu::Target::host), kGcc, "-O1");
    ASSERT_TRUE(library.ok()) << kernel.name;
    constexpr unsigned kBlocks = 8;
    const auto n = static_cast<std::size_t>(kBlocks * block_of(format.dtype));
    std::vector<std::byte> blocks(static_cast<std::size_t>(kBlocks * size_of(format.dtype)));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = static_cast<std::byte>(splitmix64(i));
    }
    std::vector<float> groups(n), elements(n), expected(n);
    decode(format.dtype, blocks.data(), static_cast<std::int64_t>(n), expected.data());
    for (unsigned block = 0; block < kBlocks; ++block) {
      void* arguments[] = {blocks.data(), groups.data(), elements.data(),
                           const_cast<unsigned*>(&kBlocks)};
      const HearthContext context = {
          {block, 0, 0}, {0, 0, 0}, {block, 0, 0}, {1, 1, 1}, {kBlocks, 1, 1}, 0, 0, 1};
      library.kernel(kernel.name)(arguments, nullptr, &context);
    }
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(bits(groups[i]), bits(expected[i])) << kernel.name << ", element " << i;
      EXPECT_EQ(bits(elements[i]), bits(expected[i])) << kernel.name << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace hearth::gpu_test
