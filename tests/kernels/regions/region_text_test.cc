// The texts of region kernels: what they depend on, and that every target's compiler takes them.
#include <gtest/gtest.h>

#include <limits>

#include "codegen/host_build.h"
#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "kernels/regions/region_runner.h"
#include "kernels/regions/region_samples.h"
#include "kernels/regions/region_text.h"

namespace dialect {

// As much of the dialect as kernels/blocks/dynamics.h needs.
using uint = unsigned;
using ulong = std::uint64_t;
template <class D, class S>
D as_type(S value) {
  return std::bit_cast<D>(value);
}
#include "kernels/blocks/dynamics.h"

}  // namespace dialect

namespace hearth::gpu_test {
namespace {

using namespace gpu;          // NOLINT(google-build-using-namespace): the kernels' makers
using namespace region_test;  // NOLINT(google-build-using-namespace): the ops

void expect_same_text(const Region& a, const Region& b, bool same = true) {
  const std::vector<BuiltKernel> x = kernels_of(a);
  const std::vector<BuiltKernel> y = kernels_of(b);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].source.text == y[i].source.text, same) << x[i].source.text << "\n----\n"
                                                          << y[i].source.text;
    if (same) {
      EXPECT_EQ(x[i].source.name, y[i].source.name);
      EXPECT_EQ(x[i].constants.size(), y[i].constants.size());
    }
  }
}

TEST(RegionText, DependsOnStructureOnly) {
  const DType f32 = DType::f32;
  // Extents and scalars.
  expect_same_text(chain(f32, {1000}, {1}, {1}), chain(f32, {77, 5}, {5, 1}, {5, 1}, 9));
  expect_same_text(chain(f32, {30, 64}, {64, 1}, {0, 1}),
                   chain(f32, {9, 400, 32}, {12800, 32, 1}, {0, 0, 1}, 3));
  expect_same_text(chain(f32, {30, 7}, {1, 30}, {-7, -1}), chain(f32, {5, 9}, {1, 5}, {-9, -1}));
  expect_same_text(sum(f32, {100, 640}, 2, {1, 0}), sum(f32, {7, 5000}, 2, {1, 0}));
  expect_same_text(sum(f32, {100, 64}, 2, {1, 0}), sum(f32, {7, 12}, 2, {1, 0}));
  expect_same_text(sum(f32, {100, 64}, 1, {0, 1}), sum(f32, {20, 128}, 1, {0, 1}));
  expect_same_text(sum(f32, {1 << 20}, 1, {0}), sum(f32, {1 << 24}, 1, {0}));
  // What does change it: dtypes, layouts, the number of axes.
  expect_same_text(chain(f32, {64}, {1}, {1}), chain(DType::f16, {64}, {1}, {1}), false);
  expect_same_text(chain(f32, {64}, {1}, {1}), chain(f32, {64}, {1}, {0}), false);
  expect_same_text(chain(f32, {8, 8}, {8, 1}, {0, 1}), chain(f32, {8, 8}, {8, 1}, {1, 8}), false);
}

TEST(RegionText, LayoutsAreSimplified) {
  const auto kind_of = [](const Region& region) {
    const LoweredRegion lowered = lower(region);
    const RegionLayout& layout = lowered.layout;
    const int width = map_width(lowered, RegionValues(lowered));
    return std::tuple(classify(layout, 4, width), static_cast<int>(layout.axes.size()), width);
  };
  using enum RegionClass;
  const DType f32 = DType::f32;
  EXPECT_EQ(kind_of(chain(f32, {3, 1, 5, 7}, {35, 9, 7, 1}, {35, 1, 7, 1})),
            std::tuple(linear, 1, 4));
  EXPECT_EQ(kind_of(chain(f32, {3, 5}, {5, 1}, {0, 0})), std::tuple(linear, 1, 4));
  EXPECT_EQ(kind_of(chain(f32, {3, 5, 8}, {40, 8, 1}, {0, 8, 1})), std::tuple(vector, 2, 4));
  EXPECT_EQ(kind_of(chain(f32, {3, 5, 6}, {30, 6, 1}, {0, 6, 1})), std::tuple(vector, 2, 2));
  EXPECT_EQ(kind_of(chain(DType::f16, {3, 8}, {8, 1}, {1, 0})), std::tuple(vector, 2, 8));
  EXPECT_EQ(kind_of(chain(f32, {3, 8}, {8, 1}, {8, -1})), std::tuple(strided, 2, 1));
  EXPECT_EQ(kind_of(chain(f32, {3, 8}, {8, 1}, {9, 1})), std::tuple(strided, 2, 1));
  // Beyond 32 bits.
  EXPECT_FALSE(region_layout(chain(f32, {(1 << 30), 1}, {1, 1}, {1, 1})).wide);
  EXPECT_TRUE(region_layout(chain(f32, {std::int64_t{1} << 31}, {1}, {1})).wide);
  EXPECT_TRUE(region_layout(chain(f32, {3, 2}, {1 << 30, 1}, {2, 1})).wide);
}

TEST(RegionText, UnknownOpsAreErrors) {
  static constexpr OpDef kUnknown{.name = "frobnicate", .kind = OpKind::elementwise};
  Region region = chain(DType::f32, {4}, {1}, {1});
  region.instructions[2].op = &kUnknown;
  EXPECT_THROW(prepare_region(lower(region)), Error);
}

TEST(RegionText, AddressSpacesAreInOrder) {
  if (const std::string missing = compiler_missing(clang()); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  for (const BuiltKernel& kernel : region_samples()) {
    EXPECT_EQ(lint(assemble(kernel.source, Target::lint)), "") << kernel.source.text;
  }
}

// That all samples compile for CUDA, and spill nothing: kernel_cuda_test.cc.
TEST(RegionText, MemoryIsReadInVectors) {
  if (!nvrtc_missing().empty()) GTEST_SKIP() << nvrtc_missing();
  // 16 bytes a load, and all its truths in one test.
  const auto rows = kernels_of(plain(any_def, DType::bool_, {9000, 8192}, 2, {1, 0}));
  EXPECT_NE(rows[0].source.text.find("Packet<16> x0"), std::string::npos) << rows[0].source.text;
  const CudaBuild dense =
      nvrtc_compile(assemble(region_samples()[0].source, Target::cuda), "sm_90");
  EXPECT_NE(dense.ptx.find("ld.global.nc.v4"), std::string::npos);
  EXPECT_NE(dense.ptx.find("st.global.v4"), std::string::npos);
}

// No array of a test has 2^31 elements; the texts for those are right for small ones, too.
TEST(RegionText, WideIndicesGiveTheSame) {
  RegionRunner runner;
  for (const bool reduces : {false, true}) {
    Region region = chain(DType::f32, {6, 7, 8}, {1, 6, -42}, {0, 8, 1});
    if (reduces) {
      region.outputs.clear();
      region.instructions.resize(2);
      region.reduction = {&max_def, 4, 5u, DType::f32, {0, 1, 0}};
    }
    std::vector<std::vector<std::byte>> results;
    std::vector<Operand> inputs;
    for (const RegionInput& input : region.inputs) {
      inputs.push_back(runner.operand(region.shape, input.strides, input.dtype, Values::mild));
    }
    for (const bool wide : {false, true}) {
      const BuiltKernel built = std::move(kernels_of(region, wide)[0]);
      EXPECT_EQ(built.source.text.find("ulong position") != std::string::npos, wide);
      runtime::CommandBatch batch;
      std::vector<runtime::Argument> arguments;
      std::vector<Address> written;
      for (const OperandUse& use : built.operands) {
        const auto k = static_cast<std::size_t>(use.operand);
        const Address block = runner.driver().allocate(use.bytes);
        if (k < inputs.size()) {
          runner.driver().copy_to_device(block, inputs[k].memory.data(), use.bytes);
        } else {
          written.push_back(block);
          results.emplace_back(static_cast<std::size_t>(use.bytes));
        }
        arguments.push_back(runtime::memory(block, use.bytes));
      }
      arguments.push_back(
          {nullptr, static_cast<std::int64_t>(built.constants.size()), built.constants.data()});
      const std::uint64_t dynamics = std::bit_cast<std::uint64_t>(1.5);
      const Address block = runner.driver().allocate(8);
      runner.driver().copy_to_device(block, &dynamics, 8);
      arguments.push_back(runtime::memory(block, 8));
      batch.add(runner.registry().get(built.source), built.groups, built.threads, arguments,
                runner.driver().properties());
      runner.driver().submit(batch.commands());
      for (std::size_t i = 0; i < written.size(); ++i) {
        std::vector<std::byte>& bytes = results[results.size() - written.size() + i];
        runner.driver().copy_to_host(bytes.data(), written[i],
                                     static_cast<std::int64_t>(bytes.size()));
      }
    }
    const std::size_t half = results.size() / 2;
    for (std::size_t i = 0; i < half; ++i) EXPECT_EQ(results[i], results[half + i]);
  }
}

TEST(RegionText, ScalarsAreRoundedOnce) {
  RegionRunner runner;
  const auto check = [](double x) {
    const auto word = std::bit_cast<std::uint64_t>(x);
    const float want = static_cast<float>(x);
    const float got = dialect::dynamic_float(word);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got));
      return;
    }
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want)) << x;
    for (const DType half : {DType::f16, DType::bf16}) {
      const float odd = std::bit_cast<float>(dialect::float_bits_of(word, true));
      const double once = to_half(x, half).f;
      EXPECT_EQ(
          half == DType::f16 ? static_cast<float>(float16(odd)) : static_cast<float>(bfloat16(odd)),
          once)
          << x;
    }
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double x : {0.0, 1.0, 0x1p-149, 0x1p-150, 0x1.8p-150, 0x1p-151, 0x1.fffffep127,
                         0x1.ffffffp127, 0x1.fffffefffffffp127, 1e300, 0x1p-126, 0x1.fffffep-127,
                         0x1p-1074, 0x1p-1022, 65504.0, 65520.0, kInf, std::nan("")}) {
    check(x);
    check(-x);
  }
  for (int i = 0; i < 200000; ++i) {
    std::uint64_t word = (std::uint64_t{runner.random()()} << 32) | runner.random()();
    if (i % 2 == 0) {
      // Of the magnitude of floats, often half way between two.
      const std::uint64_t exponent = 860 + static_cast<std::uint64_t>(runner.pick(300));
      word = (word & 0x800fffffffffffffu) | (exponent << 52);
      if (i % 4 == 0) word &= ~((std::uint64_t{1} << (28 + runner.pick(24))) - 1);
    }
    check(std::bit_cast<double>(word));
  }
}

}  // namespace
}  // namespace hearth::gpu_test
