// The scalar formulas as kernels compute them, against the CPU's vectors: the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "codegen/host_build.h"
#include "codegen/kernel_text.h"
#include "devices/platform_bits.h"
#include "devices/region_fixture.h"
#include "kernels/formulas/formula_ops.h"

namespace hearth::gpu_test {
namespace {

using region_test::one_op;
using region_test::run_region;

// The ops' definitions for the CPU's region kernel.
const OpDef* definition(const std::string& name) {
#define HEARTH_TEST_FIND(op) \
  if (name == #op) return &region_test::op##_def;
#define UNARY(name) HEARTH_TEST_FIND(name)
#define BINARY(name) HEARTH_TEST_FIND(name)
#define COMPARISON(name) HEARTH_TEST_FIND(name)
#define TERNARY(name) HEARTH_TEST_FIND(name)
#include "ops/op_list.def"
#undef HEARTH_TEST_FIND
  return nullptr;
}

// An fma is one instruction where the CPU's vectors have it; the result is that of the function.
std::string fast_fma() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) return " -mfma";
#endif
  return "";
}
// Without fma, vectors round the product, too.
bool vectors_have_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

class FormulaLibrary {
 public:
  FormulaLibrary(const runtime::KernelSource& kernel, const std::string& compiler)
      : library_(gpu::assemble(kernel, gpu::Target::host), compiler, "-O1" + fast_fma()) {
    if (library_.ok()) kernel_ = library_.kernel(kernel.name);
  }
  template <class Out, class T>
  std::vector<Out> run(unsigned op, const std::vector<std::vector<T>>& inputs) const {
    std::vector<Out> out(inputs[0].size());
    const struct {
      unsigned n;
      unsigned op;
    } parameters = {static_cast<unsigned>(out.size()), op};
    std::vector<void*> arguments;
    for (const auto& input : inputs) arguments.push_back(const_cast<T*>(input.data()));
    arguments.push_back(out.data());
    arguments.push_back(const_cast<void*>(static_cast<const void*>(&parameters)));
    const HearthContext context = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 0, 0, 1};
    kernel_(arguments.data(), nullptr, &context);
    return out;
  }
  bool ok() const { return kernel_ != nullptr; }

 private:
  HostLibrary library_;
  HearthKernel kernel_ = nullptr;
};

template <class Out, class T>
std::vector<Out> on_cpu(const std::string& op, const std::vector<std::vector<T>>& inputs,
                        DType result) {
  std::vector<std::vector<T>> copies = inputs;
  std::vector<Out> out(inputs[0].size());
  const Region region = one_op(*definition(op), static_cast<std::int64_t>(out.size()),
                               dtype_of_v<T>, static_cast<int>(inputs.size()), result);
  std::vector<std::byte*> operands;
  for (auto& input : copies) operands.push_back(reinterpret_cast<std::byte*>(input.data()));
  operands.push_back(reinterpret_cast<std::byte*>(out.data()));
  run_region(region, operands);
  return out;
}

template <class T>
bool same_bits(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Word>(a) == std::bit_cast<Word>(b);
  } else {
    return a == b;
  }
}

// Far from zero the f32 vectors ask the platform, kernels reduce in integers: each near the truth.
bool is_near_truth(const std::string& op, float got, float x) {
  const region_test::PlatformBits* const bits = region_test::platform_bits(op);
  if (bits == nullptr || bits->truth == nullptr || std::abs(x) <= region_test::kFar) return false;
  const long double right = bits->truth(static_cast<long double>(x));
  int exponent;
  std::frexp(right, &exponent);
  return std::abs(static_cast<long double>(got) - right) <=
         std::ldexp(static_cast<long double>(bits->ulps), exponent - 24);
}

template <class Out, class T>
void compare(const FormulaLibrary& library, const std::vector<std::string>& ops,
             const std::vector<std::vector<T>>& inputs, DType result) {
  for (unsigned i = 0; i < ops.size(); ++i) {
    const auto got = library.run<Out>(i, inputs);
    const auto want = on_cpu<Out>(ops[i], inputs, result);
    int wrong = 0;
    for (std::size_t j = 0; j < got.size() && wrong < 3; ++j) {
      if (same_bits(got[j], want[j])) continue;
      if constexpr (std::is_same_v<T, float> && std::is_same_v<Out, float>) {
        if (is_near_truth(ops[i], got[j], inputs[0][j])) continue;
      }
      ++wrong;
      std::string of;
      for (const auto& input : inputs) of += std::to_string(input[j]) + " ";
      ADD_FAILURE() << ops[i] << " of " << of << "gave " << +got[j] << ", the CPU " << +want[j];
    }
  }
}

// Values of every exponent and sign, ordinary ones, and the edges.
template <class T>
std::vector<T> values(std::size_t count, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> made;
  if constexpr (std::is_floating_point_v<T>) {
    made = {T(0),
            T(-0.0),
            T(1),
            T(-1),
            T(0.5),
            T(-2),
            T(3),
            T(1e5),
            T(-1e8),
            Limits::infinity(),
            Limits::max(),
            Limits::min(),
            -Limits::infinity(),
            Limits::quiet_NaN(),
            Limits::lowest(),
            Limits::denorm_min(),
            -Limits::denorm_min()};
  } else {
    made = {T(0),
            T(1),
            T(-1),
            T(2),
            T(-2),
            T(3),
            T(31),
            Limits::min(),
            Limits::max(),
            T(Limits::max() - 1),
            T(Limits::min() + 1)};
  }
  std::uint64_t state = seed;
  while (made.size() < count) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if constexpr (std::is_same_v<T, float>) {
      made.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(state >> 20)));
    } else if constexpr (std::is_same_v<T, double>) {
      made.push_back(std::bit_cast<double>(state));
    } else {
      made.push_back(static_cast<T>(state >> (made.size() % 64)));
    }
    if constexpr (std::is_floating_point_v<T>) {
      made.push_back(static_cast<T>(static_cast<double>(state >> 11) * 0x1p-53 * 40 - 20));
    }
  }
  return made;
}
// Each value of a few beside each, then random pairs.
template <class T>
std::vector<std::vector<T>> tuples(int arguments, std::size_t count) {
  std::vector<std::vector<T>> inputs;
  for (int i = 0; i < arguments; ++i) {
    inputs.push_back(values<T>(count, 0x9e3779b97f4a7c15u + static_cast<unsigned>(i)));
  }
  if (arguments < 2) return inputs;
  const std::vector<T> edges = values<T>(24, 12345);
  std::size_t at = 0;
  for (const T a : edges) {
    for (const T b : edges) {
      inputs[0][at] = a;
      inputs[1][at++] = b;
    }
  }
  return inputs;
}

template <class T>
void compare_arithmetic(FormulaType type, const std::string& compiler) {
  const FormulaLibrary unary(unary_kernel(type), compiler);
  const FormulaLibrary binary_library(binary_kernel(type), compiler);
  ASSERT_TRUE(unary.ok() && binary_library.ok());
  constexpr DType kDType = dtype_of_v<T>;
  compare<T>(unary, type.real ? real_unary() : integer_unary(), tuples<T>(1, 200000), kDType);
  compare<T>(binary_library, type.real ? real_binary() : integer_binary(), tuples<T>(2, 100000),
             kDType);
}
template <class T>
void compare_all(FormulaType type) {
  compare_arithmetic<T>(type, kGcc);
  const FormulaLibrary comparison(comparison_kernel(type), kGcc);
  const FormulaLibrary clamp(clamp_kernel(type), kGcc);
  ASSERT_TRUE(comparison.ok() && clamp.ok());
  constexpr DType kDType = dtype_of_v<T>;
  compare<std::uint8_t>(comparison, comparisons(), tuples<T>(2, 20000), DType::bool_);
  compare<T>(clamp, {"clamp"}, tuples<T>(3, 20000), kDType);
  if (!type.real) return;
  const FormulaLibrary lerp(lerp_kernel(type), kGcc);
  ASSERT_TRUE(lerp.ok());
  compare<T>(lerp, {"lerp"}, tuples<T>(3, 20000), kDType);
}

class Formulas : public testing::Test {
 protected:
  void SetUp() override {
    if (!vectors_have_fma()) GTEST_SKIP() << "this processor's vectors have no fma";
  }
};

TEST_F(Formulas, F32) { compare_all<float>(kFormulaTypes[0]); }
TEST_F(Formulas, F32ByClang) {
  if (const std::string missing = compiler_missing(clang()); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  compare_arithmetic<float>(kFormulaTypes[0], clang());
}
TEST_F(Formulas, F64) { compare_all<double>(kFormulaTypes[1]); }
TEST_F(Formulas, I32) { compare_all<std::int32_t>(kFormulaTypes[2]); }
TEST_F(Formulas, I64) { compare_all<std::int64_t>(kFormulaTypes[4]); }
TEST_F(Formulas, U64) { compare_all<std::uint64_t>(kFormulaTypes[5]); }

}  // namespace
}  // namespace hearth::gpu_test
