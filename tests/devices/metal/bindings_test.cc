// Where arguments go: in the order of parameters, or by the indices that a text of Metal's own
// gives.
#include "devices/metal/driver/compile/bindings.h"

#include <gtest/gtest.h>

#include "runtime/commands/batched_kernel.h"

namespace hearth::metal {
namespace {

using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;
using Indices = std::vector<UInteger>;

TEST(MetalBindings, KernelsOfTheDialect) {
  KernelSource source{"axpy",
                      "",
                      "add_scaled<float>",
                      {{Kind::read, "float", "x"},
                       {Kind::threadgroup, "float", "shared", 32},
                       {Kind::read_write, "float", "y"},
                       {Kind::constant, "P", "p"}}};
  const Bindings bindings = bindings_of(source);
  EXPECT_EQ(bindings.entry, "axpy");
  EXPECT_EQ(bindings.buffers, (Indices{0, 1, 2}));
  EXPECT_TRUE(bindings.threadgroup.empty());
  EXPECT_FALSE(bindings.takes_grid);
  source.function = "axpy";
  EXPECT_EQ(bindings_of(source).entry, "hearth_entry_axpy");
  const Bindings batched = bindings_of(runtime::batched_kernel(source, 8));
  EXPECT_EQ(batched.entry, "axpy_batch8");
  EXPECT_EQ(batched.buffers, Indices{0});
  EXPECT_TRUE(batched.is_batch);
}

TEST(MetalBindings, TextsOfMetalsOwn) {
  const char* const text = R"(
kernel void spread(device float* y [[buffer(7)]], constant uint& n [[buffer(2)]],
                   threadgroup float* b [[threadgroup(3)]], uint i [[thread_position_in_grid]],
                   device const float* x [[buffer(4)]], threadgroup float* a [[threadgroup(1)]]) {
}
template <typename T>
[[kernel]] void copy(device const T* x [[buffer(0)]], device T* y [[buffer(1)]]) {}
template [[host_name("copy_float")]] [[kernel]] void copy<float>(device const float*, device float*);
)";
  runtime::MetalOptions options;
  options.threadgroup_bytes = {{1, 20}, {3, 64}};
  const Bindings spread = bindings_of(runtime::metal_kernel(text, "spread", options));
  EXPECT_EQ(spread.entry, "spread");
  EXPECT_EQ(spread.buffers, (Indices{2, 4, 7}));
  ASSERT_EQ(spread.threadgroup.size(), 2u);
  EXPECT_EQ(spread.threadgroup[0], (std::pair<UInteger, UInteger>(1, 32)));  // in whole 16 bytes
  EXPECT_EQ(spread.threadgroup[1], (std::pair<UInteger, UInteger>(3, 64)));
  EXPECT_TRUE(spread.takes_grid);
  EXPECT_EQ(bindings_of(runtime::metal_kernel(text, "copy_float", options)).entry, "copy_float");
  const KernelSource half = runtime::metal_kernel(text, "copy<half>", options);
  EXPECT_EQ(bindings_of(half).entry, half.name);  // instantiated by gpu::assemble()
}

}  // namespace
}  // namespace hearth::metal
