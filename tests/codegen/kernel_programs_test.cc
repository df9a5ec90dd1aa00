// Which kernels share a program; what becomes of them there: kernel_cuda_test.cc.
#include "codegen/kernel_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "codegen/kernel_text.h"
#include "error_text.h"
#include "kernels/sample_kernels.h"

namespace hearth::gpu_test {
namespace {

using runtime::KernelSource;
using Program = std::vector<const KernelSource*>;

std::vector<KernelSource> blank_kernels(int count, std::size_t bytes) {
  std::vector<KernelSource> kernels;
  for (int i = 0; i < count; ++i) {
    KernelSource& kernel = kernels.emplace_back();
    kernel.name = "k" + std::to_string(i);
    kernel.text = std::string(bytes, ' ');
  }
  return kernels;
}

std::vector<Program> divide(const std::vector<KernelSource>& kernels, int threads) {
  Program all;
  for (const KernelSource& kernel : kernels) all.push_back(&kernel);
  return gpu::divide_among_programs(all, threads);
}

// Of all programs.
std::multiset<const KernelSource*> sources_of(const std::vector<Program>& programs) {
  std::multiset<const KernelSource*> all;
  for (const Program& program : programs) all.insert(program.begin(), program.end());
  return all;
}

TEST(KernelPrograms, FewKernelsShareOneAndManyShareSeveral) {
  EXPECT_TRUE(divide({}, 16).empty());
  EXPECT_EQ(divide(blank_kernels(1, 3000), 16).size(), 1u);
  EXPECT_EQ(divide(blank_kernels(3, 3000), 16).size(), 1u);
  const std::vector<KernelSource> many = blank_kernels(40, 5000);
  EXPECT_EQ(divide(many, 16).size(), 5u);
  EXPECT_EQ(divide(many, 2).size(), 2u);
  EXPECT_EQ(divide(many, 1).size(), 1u);
  for (const int threads : {1, 2, 16}) {
    std::multiset<const KernelSource*> each;
    for (const KernelSource& kernel : many) each.insert(&kernel);
    EXPECT_EQ(sources_of(divide(many, threads)), each);
  }
}

TEST(KernelPrograms, CostIsSharedOutEvenly) {
  std::vector<KernelSource> kernels = blank_kernels(30, 1000);
  kernels[17].text = std::string(90000, ' ');
  const std::vector<Program> programs = divide(kernels, 16);
  ASSERT_GT(programs.size(), 1u);
  EXPECT_EQ(programs[0], Program{&kernels[17]});
  for (std::size_t i = 2; i < programs.size(); ++i) {
    EXPECT_LE(std::max(programs[1].size(), programs[i].size()) -
                  std::min(programs[1].size(), programs[i].size()),
              1u);
  }
}

TEST(KernelPrograms, NamesDifferWithinOneAndTextsOfMetalStandAlone) {
  std::vector<KernelSource> kernels = blank_kernels(12, 2000);
  for (int i = 0; i < 5; ++i) kernels[static_cast<std::size_t>(2 * i)].name = "same";
  kernels[3].metal = true;
  const std::vector<Program> programs = divide(kernels, 16);
  EXPECT_EQ(sources_of(programs).size(), kernels.size());
  for (const Program& program : programs) {
    std::set<std::string> names;
    for (const KernelSource* kernel : program) {
      EXPECT_TRUE(names.insert(kernel->name).second) << kernel->name;
      EXPECT_TRUE(!kernel->metal || program.size() == 1);
    }
  }
}

// Their texts, which compilers judge in builds without sanitizers.
TEST(KernelPrograms, AllKernelsAreAssembledForEveryTarget) {
  const std::vector<KernelSource>& kernels = library_kernels();
  ASSERT_FALSE(kernels.empty());
  for (const KernelSource& kernel : kernels) {
    using gpu::Target;
    for (const Target target : {Target::cuda, Target::host, Target::lint, Target::metal}) {
      const std::string text = gpu::assemble(kernel, target);
      EXPECT_TRUE(check::contains(text, "#line 1 \"" + kernel.name + " (entry)\"\n"))
          << kernel.name;
    }
  }
  for (const Program& program : divide(kernels, 16)) {
    const std::string text = gpu::assemble_together(program);
    for (const KernelSource* kernel : program) {
      EXPECT_TRUE(check::contains(text, "#line 1 \"" + kernel->name + " (entry)\"\n"))
          << kernel->name;
    }
  }
}

TEST(KernelPrograms, TextsOfMetalAreRefused) {
  KernelSource kernel = sample_kernels().front();
  kernel.metal = true;
  const Program program{&kernel};
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [&] { gpu::assemble_together(program); }),
      kernel.name));
}

// Macros of one kernel, however they are spaced, are not those of the next.
TEST(KernelPrograms, MacrosStayWithTheirKernel) {
  KernelSource first = sample_kernels().front(), second = first;
  second.name = first.name + "_second";
  for (const char* define : {"#define OWN 4\n", "  # define OWN 4\n", "#\tdefine\tOWN 4\n"}) {
    first.text = define + sample_kernels().front().text;
    const std::string text = gpu::assemble_together(Program{&first, &second});
    EXPECT_TRUE(check::contains(text, "#undef OWN\n")) << define;
  }
  first.text = "#define HEARTH_HAS_F64 0\n" + sample_kernels().front().text;
  EXPECT_TRUE(
      check::contains(check::error_of(ErrorCode::invalid_argument,
                                      [&] { gpu::assemble_together(Program{&first, &second}); }),
                      "a macro of the headers, HEARTH_HAS_F64"));
}

}  // namespace
}  // namespace hearth::gpu_test
