// What fuses, and what must be written out all the same.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/counted.h"
#include "graph/switches.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

TEST(Fusion, ChainsAreOneDispatch) {
  for (const Device device : devices_under_test()) {
    const Array a = iota({32, 8}, device);
    const Array b = iota({8}, device);
    const Statistics count = counted([&] { tanh(sub(mul(a, b), add(a, 1.0))).eval(); });
    EXPECT_EQ(count.dispatches, 1);
    EXPECT_EQ(count.fused, 3);
    EXPECT_EQ(count.copies, 0);
  }
}

TEST(Fusion, ReductionsEndARegion) {
  const Array a = iota({32, 8});
  const Statistics count = counted([&] { sum(square(sub(a, 3.0)), {1}).eval(); });
  EXPECT_EQ(count.dispatches, 1);
  EXPECT_EQ(count.fused, 2);
}

TEST(Fusion, SwitchedOffEveryOpIsADispatch) {
  switches().fuse_elementwise = switches().fuse_reductions = false;
  const Array a = iota({32, 8});
  const Statistics count = counted([&] { sum(square(sub(a, 3.0)), {1}).eval(); });
  switches() = Switches();
  EXPECT_EQ(count.dispatches, 3);
  EXPECT_EQ(count.fused, 0);
}

TEST(Fusion, ViewsAreReadInPlace) {
  const Array a = iota({6, 10});
  const Statistics count = counted([&] {
    const Array odd = slice(transpose(a), {{1, std::nullopt, 2}, {0, std::nullopt, -1}});
    const std::vector<float> values = mul(odd, 2.0).to_vector<float>();
    EXPECT_EQ(values[0], 2 * 51);
    EXPECT_EQ(values[1], 2 * 41);
    EXPECT_EQ(values[6], 2 * 53);
  });
  EXPECT_EQ(count.dispatches, 1);
  EXPECT_EQ(count.copies, 0);
}

TEST(Fusion, HeldIntermediatesAreWrittenOut) {
  for (const Device device : devices_under_test()) {
    const Array a = iota({64}, device);
    Array held;
    Array flipped;
    Array end;
    const Statistics count = counted([&] {
      held = add(a, 1.0);
      const Array middle = mul(held, 2.0);
      flipped = flip(middle, {0});
      end = sub(middle, 3.0).eval();
    });
    EXPECT_EQ(count.dispatches, 1);
    EXPECT_TRUE(held.is_evaluated());
    EXPECT_TRUE(flipped.is_evaluated());
    EXPECT_EQ(held.to_vector<float>()[10], 11);
    EXPECT_EQ(flipped.to_vector<float>()[0], 128);
    EXPECT_EQ(end.to_vector<float>()[10], 19);
  }
}

TEST(Fusion, HalvesStayWideInsideARegion) {
  const std::vector<float16> values{float16(0.1f), float16(1000.0f)};
  const Array a = Array::from_data(values, {2});
  // 1000 * 100 overflows f16, its tenth does not.
  const auto compute = [&] { return mul(mul(a, 100.0), 0.1).to_doubles(); };
  EXPECT_NEAR(compute()[1], 10000, 8);
  switches().exact = true;
  const std::vector<double> exact = compute();
  switches() = Switches();
  EXPECT_TRUE(std::isinf(exact[1]));
}

// What is cast from a half is one: on every device the value that it would have in memory.
TEST(Fusion, CastsFromHalvesSeeHalves) {
  const std::vector<float> values{0.1f, 3.7f, -1000.3f, 1e-7f};
  std::vector<Device> devices = devices_under_test();
  devices.push_back(kernel_device_under_test());
  for (const Device device : devices) {
    for (const DType half : {DType::f16, DType::bf16}) {
      const Array a = cast(Array::from_data(values, {4}, device), half).eval();
      for (const DType wide : {DType::f32, DType::f64, DType::i32, DType::bf16}) {
        const auto computed = [&] { return mul(a, a); };
        const Array stored = computed().eval();
        Array fused;
        const Statistics count = counted([&] { fused = cast(computed(), wide).eval(); });
        EXPECT_EQ(count.dispatches, 1);
        EXPECT_EQ(fused.to_doubles(), cast(stored, wide).to_doubles())
            << device.name() << " " << half << " to " << wide;
      }
    }
  }
}

// A kernel has a limited number of arguments.
TEST(Fusion, WideRegionsAreSplit) {
  std::vector<Array> inputs;
  for (int i = 0; i < 60; ++i) inputs.push_back(add(iota({33}), static_cast<double>(i)).eval());
  double expected = 0;
  for (int i = 0; i < 60; ++i) expected += 5 + i;
  const Statistics count = counted([&] {
    Array total = inputs[0];
    for (int i = 1; i < 60; ++i) total = add(total, inputs[static_cast<std::size_t>(i)]);
    EXPECT_EQ(total.to_vector<float>()[5], expected);
  });
  EXPECT_EQ(count.dispatches, 4) << "15 to 16 inputs each";
  EXPECT_EQ(count.fused, 59 - count.dispatches);
}

// A kernel's text stays small.
TEST(Fusion, LongChainsAreSplit) {
  const Array start = iota({5});
  const Statistics count = counted([&] {
    Array x = start;
    for (int i = 0; i < 1000; ++i) x = add(x, 1.0);
    EXPECT_EQ(x.to_vector<float>()[3], 1003);
  });
  EXPECT_EQ(count.dispatches, 6) << "192 ops at most in each";
  EXPECT_EQ(count.fused, 1000 - count.dispatches);
}

}  // namespace
}  // namespace hearth::testing
