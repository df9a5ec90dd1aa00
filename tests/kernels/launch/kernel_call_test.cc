// What a kernel declares and what a launch passes, made from the same calls.
#include "kernels/launch/kernel_call.h"

#include <gtest/gtest.h>

namespace hearth::gpu {
namespace {

using From = StepArgument::From;

struct PairParams {
  long first, second;
};
template <int kRank>
struct StridedParams {
  long count;
  long factor[2];
  Axes<kRank> x, y;
};

static_assert(unqualified_name<PairParams>() == "PairParams");
static_assert(unqualified_name<StridedParams<1>>() == "StridedParams");

TEST(KernelCalls, AParameterAndItsArgumentStandAtOnePlace) {
  StepPlan plan;
  const StepArgument x{From::operand, 0, 4, 40};
  const StepArgument kept{From::workspace, 0, 256, 16};
  const StepArgument y{From::operand, 1, 0, 20};
  const Step step = KernelCall("rope/rope.metal", "turn", {"F16", "2"})
                        .read("half", "x", aligned(x, 8))
                        .dynamics()
                        .read_write("float", "kept", kept)
                        .constants(PairParams{.first = 7, .second = -1})
                        .write("half", "y", y)
                        .threadgroup("float", "shared", 64)
                        .work(3)
                        .step(plan, {5, 2}, {96}, 128);
  const runtime::KernelSource& source = *step.kernel->source();
  EXPECT_EQ(source.name, "turn_F16_2");
  EXPECT_EQ(source.function, "turn<F16, 2>");
  EXPECT_EQ(source.text, "#include \"kernels/rope/rope.metal\"\n");
  EXPECT_EQ(source.max_threads, 128);
  const KernelParameter expected[] = {
      {Kind::read, "half", "x"},           {Kind::read, "ulong", "dynamics"},
      {Kind::read_write, "float", "kept"}, {Kind::constant, "PairParams", "p"},
      {Kind::write, "half", "y"},          {Kind::threadgroup, "float", "shared", 64}};
  ASSERT_EQ(source.parameters.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(source.parameters[i].kind, expected[i].kind) << i;
    EXPECT_EQ(source.parameters[i].type, expected[i].type) << i;
    EXPECT_EQ(source.parameters[i].name, expected[i].name) << i;
    EXPECT_EQ(source.parameters[i].count, expected[i].count) << i;
  }
  ASSERT_EQ(step.arguments.size(), 5u);
  EXPECT_EQ(step.arguments[0].from, From::operand);
  EXPECT_EQ(step.arguments[0].offset, 4);
  EXPECT_EQ(step.arguments[0].bytes, 40);
  EXPECT_EQ(step.arguments[0].alignment, 8);
  EXPECT_EQ(step.arguments[1].from, From::dynamics);
  EXPECT_EQ(step.arguments[2].from, From::workspace);
  EXPECT_EQ(step.arguments[2].offset, 256);
  EXPECT_EQ(step.arguments[3].from, From::constants);
  EXPECT_EQ(step.arguments[4].operand, 1);
  EXPECT_EQ(step.constants, (std::vector<std::int64_t>{7, -1}));
  EXPECT_EQ(step.groups, (Size3{5, 2}));
  EXPECT_EQ(step.threads, (Size3{96}));
  EXPECT_EQ(step.work, 3);
}

TEST(KernelCalls, AxesHaveTheRankOfTheirShape) {
  StepPlan plan;
  const Shape shape = {2, 3, 5};
  const Strides x = {15, 5, 1}, y = {1, 2, 6};
  const Step step =
      KernelCall("rope/rope.metal", "turn")
          .constants(StridedParams<kRuntimeRank>{
              .count = 30, .factor = {8, 9}, .x = {4, &shape, &x}, .y = {0, &shape, &y}})
          .step(plan, {1}, {32}, 32);
  EXPECT_EQ(step.kernel->source()->parameters[0].type, "StridedParams<3>");
  const StridedParams<3> expected{.count = 30,
                                  .factor = {8, 9},
                                  .x = {4, {2, 3, 5}, {15, 5, 1}},
                                  .y = {0, {2, 3, 5}, {1, 2, 6}}};
  std::vector<std::int64_t> words;
  append_words(expected, &words);
  EXPECT_EQ(step.constants, words);
}

TEST(KernelCalls, AlignmentIsForOperandsOnly) {
  StepPlan plan;
  const Step step = KernelCall("rope/rope.metal", "turn")
                        .read("float", "x", {From::operand, 0, 0, 16})
                        .write("float", "kept", {From::workspace, 0, 0, 16})
                        .align_operands(16)
                        .write("float", "y", {From::operand, 1, 0, 16})
                        .step(plan, {1}, {32}, 32);
  EXPECT_EQ(step.arguments[0].alignment, 16);
  EXPECT_EQ(step.arguments[1].alignment, 1);
  EXPECT_EQ(step.arguments[2].alignment, 1);
}

// Steps that differ in what they pass share a kernel; a rare one is not compiled with the plan.
TEST(KernelCalls, EqualKernelsAreOne) {
  StepPlan plan;
  const auto step = [&plan](long word, const char* type, bool rare) {
    return KernelCall("rope/rope.metal", "turn")
        .read(type, "x", {From::operand, 0, 0, 16})
        .constants(PairParams{.first = word, .second = 0})
        .step(plan, {1}, {32}, 32, rare);
  };
  const Step one = step(1, "float", false), other = step(2, "float", false);
  EXPECT_EQ(one.kernel, other.kernel);
  EXPECT_NE(one.constants, other.constants);
  EXPECT_NE(step(1, "half", false).kernel, one.kernel);
  EXPECT_EQ(plan.kernels.size(), 2u);
  EXPECT_NE(step(1, "long", true).kernel, one.kernel);
  EXPECT_EQ(plan.kernels.size(), 2u);
  step(1, "long", false);
  EXPECT_EQ(plan.kernels.size(), 3u);
}

}  // namespace
}  // namespace hearth::gpu
