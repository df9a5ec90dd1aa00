// bf16 where Metal's language has no bfloat, on macOS 13: by kernels/prelude/metal_bfloat.h.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "devices/metal/metal_fixture.h"
#include "hearth/dtype.h"

namespace hearth::metal {
namespace {

using runtime::Argument;
using runtime::KernelSource;

class OwnBfloat : public MetalDriverTest {
 protected:
  void SetUp() override {
    MetalDoubleTest::SetUp();
    double_->system = {13, 3, 0};
    open();
  }

  // y of `source`, which reads x and has a thread for each of both.
  template <class From, class To>
  std::vector<To> run(const KernelSource& source, const std::vector<From>& x) {
    const runtime::Function& function = kernel(source);
    const Address from = upload(x), to = upload(std::vector<To>(x.size()));
    const auto bytes = [&](std::size_t each) { return static_cast<std::int64_t>(x.size() * each); };
    const Argument arguments[] = {{from, bytes(sizeof(From))}, {to, bytes(sizeof(To))}};
    runtime::CommandBatch batch;
    batch.add(function, {static_cast<std::uint32_t>(x.size() / 32)}, {32}, arguments,
              driver_->properties());
    driver_->submit(batch.commands());
    const std::vector<To> got = download<To>(to, x.size());
    driver_->free(from);
    driver_->free(to);
    return got;
  }
};

KernelSource source_of(const std::string& body, const std::string& from, const std::string& to) {
  return {.name = "own_bfloat",
          .text = "inline void f(device const " + from + "* x, device " + to +
                  "* y, threadgroup bfloat* shared, Ctx ctx) {\n  uint i = ctx.gid.x;\n" + body +
                  "\n}\n",
          .function = "f",
          .parameters = {{Kind::read, from, "x"},
                         {Kind::read_write, to, "y"},
                         {Kind::threadgroup, "bfloat", "shared", 32}}};
}

TEST_F(OwnBfloat, RoundsToNearestEvenAndKeepsNan) {
  std::vector<std::uint32_t> words = {0x00000000, 0x80000000, 0x3f800000, 0x3f808000, 0x3f818000,
                                      0x3f808001, 0x3f817fff, 0x7f7fffff, 0x7f7f7fff, 0x7f800000,
                                      0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0x00000001,
                                      0x00007fff, 0x00008000, 0x00008001, 0x00018000, 0x807fffff};
  std::mt19937 random(std::random_device{}());
  while (words.size() < 4096) words.push_back(random());
  std::vector<float> x;
  for (const std::uint32_t word : words) x.push_back(std::bit_cast<float>(word));
  const auto got = run<float, std::uint16_t>(
      source_of("y[i] = as_type<ushort>(bfloat(x[i]));", "float", "ushort"), x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(got[i], bfloat16(x[i]).bits) << std::hex << words[i];
  }
}

TEST_F(OwnBfloat, EveryValueIsAFloat) {
  std::vector<std::uint16_t> x(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  const auto got = run<std::uint16_t, float>(
      source_of("y[i] = float(as_type<bfloat>(x[i]));", "ushort", "float"), x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), static_cast<std::uint32_t>(x[i]) << 16) << i;
  }
}

std::vector<bfloat16> random_values(std::size_t count) {
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> normal;
  std::vector<bfloat16> made;
  while (made.size() < count) made.emplace_back(normal(random));
  return made;
}

// Every result is rounded, those with a float are not.
TEST_F(OwnBfloat, ArithmeticRounds) {
  const auto x = random_values(32);
  const auto got =
      run<bfloat16, bfloat16>(source_of("  bfloat a = x[i], b = x[i ^ 1u];\n"
                                        "  shared[i] = a * b;\n"
                                        "  shared[i] += b;\n"
                                        "  y[i] = (shared[i] - a / b) * 2;\n"
                                        "  y[i] -= a + 0.001f;\n"
                                        "  y[i] = -y[i] + simd_shuffle_xor(a, ushort(1));",
                                        "bfloat", "bfloat"),
                              x);
  const auto round = [](float value) { return static_cast<float>(bfloat16(value)); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto a = static_cast<float>(x[i]), b = static_cast<float>(x[i ^ 1]);
    float shared = round(round(a * b) + b);
    float y = round(round(shared - round(a / b)) * 2);
    y = round(y - (a + 0.001f));
    EXPECT_EQ(static_cast<float>(got[i]), round(-y + b)) << a << " " << b;
  }
}

TEST_F(OwnBfloat, VectorsAreElements) {
  const auto x = random_values(128);
  const auto got = run<bfloat16, bfloat16>(
      source_of("  if (i >= 32u) return;\n"
                "  vec<bfloat, 4> v = ((device const bfloat4*)x)[i];\n"
                "  v = v * bfloat4(x[0], x[1], x[2], x[3]) + v.x;\n"
                "  v[2] = v.w;\n"
                "  ((device bfloat4*)y)[i] = bfloat4(float4(v) + float4(1.0f));",
                "bfloat", "bfloat"),
      x);
  const auto round = [](float value) { return static_cast<float>(bfloat16(value)); };
  const auto at = [&](std::size_t i) { return static_cast<float>(x[i]); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t j = i % 4 == 2 ? i + 1 : i;
    const float sum = round(round(at(j) * at(j % 4)) + at(j / 4 * 4));
    EXPECT_EQ(static_cast<float>(got[i]), round(sum + 1)) << i;
  }
}

// What a compiler of the language says of a bfloat that nobody defined.
TEST_F(OwnBfloat, TheDoubleHasNone) {
  std::string messages;
  EXPECT_EQ(double_->gpu->compile("#include <metal_stdlib>\nusing namespace metal;\n"
                                  "kernel void f(device bfloat* x [[buffer(0)]]) { x[0] = x[1]; }",
                                  0x30000, messages),
            nullptr);
  EXPECT_TRUE(contains(messages, "unknown type name 'bfloat'")) << messages;
}

}  // namespace
}  // namespace hearth::metal
