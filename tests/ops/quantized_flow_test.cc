// What moves, picks and computes with quantized arrays, beside the same of the floats they stand
// for.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/quantization.h"
#include "unit_roundoff.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

Array floats_on(const Shape& shape, Device device, std::uint64_t seed = 1,
                DType dtype = DType::f32) {
  return to_device(random_array(shape, dtype, -2, 3, seed), device);
}

// Rounded to codes of 8 bits: off by half a step at most, a share of the largest magnitude, and
// roundings of f32 beside it.
void expect_rounded(const Array& got, const Array& expected) {
  expect_within(got.to_doubles(), expected.to_doubles(),
                0.5 / 127 + 8 * testing::unit_roundoff(DType::f32));
}

using MoveQuantized = std::function<QuantizedArray(const QuantizedArray&)>;
using MoveFloats = std::function<Array(const Array&)>;
struct Movement {
  const char* name;
  MoveQuantized of_quantized;
  MoveFloats of_floats;
};
#define MOVEMENT(name, expression)                            \
  Movement {                                                  \
    name, [](const QuantizedArray& x) { return expression; }, \
        [](const Array& x) { return expression; }             \
  }

const Array& indices() {
  static const Array list = ints({2, 0, 1, 2}, {4});
  return list;
}
template <class T>
Array near(const T& x) {
  return to_device(indices(), x.device());
}

// Of [3, 16, 8].
const std::vector<Movement>& movements() {
  static const std::vector<Movement> list = {
      MOVEMENT("reshape", reshape(x, {6, 8, 8})),
      MOVEMENT("reshape to rows", reshape(x, {12, 32})),
      MOVEMENT("reshape flat", reshape(x, {-1})),
      MOVEMENT("reshape to more", reshape(x, {1, 1, 3, 16, 8})),
      MOVEMENT("permute", permute(x, {2, 0, 1})),
      MOVEMENT("permute from the end", permute(x, {-1, 0, -2})),
      MOVEMENT("swap_axes", swap_axes(x, 0, 1)),
      MOVEMENT("transpose", transpose(x)),
      MOVEMENT("expand", expand(x, {2, 3, 16, 8})),
      MOVEMENT("flip", flip(x, {1})),
      MOVEMENT("flip the last", flip(x, {-1, 0})),
      MOVEMENT("slice", slice(x, {{1, 3}, {0, 16}})),
      MOVEMENT("slice backwards", slice(x, {{}, {}, {0, 8, -1}})),
      MOVEMENT("slice a part", slice(x, {{}, {8, 16}, {0, 8}})),
      MOVEMENT("select", select(x, near(x), 0)),
      MOVEMENT("select the last", select(x, near(x), -1)),
      MOVEMENT("gather", gather(x, expand(reshape(near(x), {4, 1, 1}), {4, 16, 8}), 0)),
      MOVEMENT("repeat", repeat(x, {1, 2, 3})),
  };
  return list;
}

// One scale for all: nothing is rounded a second time.
TEST(QuantizedFlow, MovesExactly) {
  for (const Device device : devices_under_test()) {
    const Array x = floats_on({3, 16, 8}, device);
    for (const QuantValue value :
         {QuantValue::q8f, QuantValue::q4s, QuantValue::q2f, QuantValue::e4m3, QuantValue::e2m1}) {
      for (const std::int64_t dim : {0, 1, 2}) {
        // Other devices compile a kernel for each.
        if (!(device == devices_under_test().front()) && (dim != 0 || value > QuantValue::q4s)) {
          continue;
        }
        const QuantScheme scheme =
            QuantScheme().with_value(value).with_store(QuantStore::packed_u32(dim));
        const QuantizedArray q = quantize_dynamic(x, scheme);
        const Array floats = dequantize(q);
        for (const Movement& movement : movements()) {
          const QuantizedArray moved = movement.of_quantized(q);
          const Array expected = movement.of_floats(floats);
          EXPECT_EQ(moved.shape(), expected.shape()) << movement.name;
          EXPECT_EQ(dequantize(moved).to_doubles(), expected.to_doubles())
              << device << " " << movement.name << " of " << moved.scheme();
          EXPECT_EQ(moved.scheme().value, value);
          EXPECT_EQ(to_bytes(moved).size(), static_cast<std::size_t>(moved.bytes()));
        }
      }
    }
  }
}

TEST(QuantizedFlow, MovesBlocks) {
  for (const Device device : devices_under_test()) {
    const Array x = floats_on({3, 16, 8}, device);
    for (const QuantScheme& scheme :
         {QuantScheme().per_block({8}), QuantScheme().per_block({8, 8}, ScaleDType::f16),
          QuantScheme().with_store(QuantStore::packed_u32(1)).per_block({16, 1}),
          QuantScheme().per_block({8}, ScaleDType::ue4m3).per_tensor()}) {
      const QuantizedArray q = quantize_dynamic(x, scheme);
      const Array floats = dequantize(q);
      for (const Movement& movement : movements()) {
        const Array expected = movement.of_floats(floats);
        const bool fits = [&] {
          try {
            check_scheme(scheme, expected.shape());
            return true;
          } catch (const Error&) {
            return false;
          }
        }();
        // Blocks move with axes.
        const std::string_view word = movement.name;
        const bool permutes =
            word.starts_with("permute") || word == "swap_axes" || word == "transpose";
        if (!fits && !permutes) {
          EXPECT_THROW((void)movement.of_quantized(q), Error) << movement.name << scheme;
          continue;
        }
        expect_close(dequantize(movement.of_quantized(q)), expected.to_doubles(), 0.03,
                     movement.name);
      }
    }
  }
}

TEST(QuantizedFlow, WholeBlocksMoveExactly) {
  const QuantScheme scheme = QuantScheme().with_value(QuantValue::q4s).per_block({2, 8});
  for (const Device device : devices_under_test()) {
    const QuantizedArray q = quantize_dynamic(floats_on({3, 4, 16}, device), scheme);
    const Array floats = dequantize(q);
    const auto expect_same = [&](const QuantizedArray& moved, const Array& expected) {
      EXPECT_EQ(dequantize(moved).to_doubles(), expected.to_doubles());
    };
    expect_same(permute(q, {2, 0, 1}), permute(floats, {2, 0, 1}));
    EXPECT_EQ(permute(q, {2, 0, 1}).scheme(),
              scheme.per_block({8, 1, 2}).with_store(QuantStore::packed_u32(2)));
    EXPECT_EQ(transpose(q).scheme(),
              scheme.per_block({8, 2}).with_store(QuantStore::packed_u32(1)));
    expect_same(transpose(transpose(q)), floats);
    expect_same(flip(q, {0, 1}), flip(floats, {0, 1}));
    expect_same(slice(q, {{1, 3}}), slice(floats, {{1, 3}}));
    expect_same(repeat(q, {2, 2, 2}), repeat(floats, {2, 2, 2}));
    expect_same(expand(q, {2, 3, 4, 16}), expand(floats, {2, 3, 4, 16}));
    expect_same(reshape(q, {1, 3, 4, 16}), reshape(floats, {1, 3, 4, 16}));
    const QuantizedArray rows = quantize_dynamic(floats, QuantScheme().per_block({8}));
    expect_same(reshape(rows, {4, 48}), reshape(dequantize(rows), {4, 48}));
    // A block never lies in two rows, nor in fewer axes than it has.
    const QuantScheme wide = QuantScheme().with_value(QuantValue::q8s).per_block({32});
    const QuantizedArray x = quantize_dynamic(floats_on({2, 32}, device), wide);
    expect_error(ErrorCode::shape, [&] { (void)reshape(x, {4, 16}); });
    expect_error(ErrorCode::shape, [&] { (void)reshape(q, {192}); });
  }
}

TEST(QuantizedFlow, Joins) {
  for (const Device device : devices_under_test()) {
    const QuantScheme q8 = QuantScheme().with_value(QuantValue::q8s);
    const QuantizedArray a = quantize_dynamic(floats_on({2, 8}, device), q8);
    const QuantizedArray b = quantize_dynamic(
        floats_on({3, 8}, device, 4), QuantScheme().with_value(QuantValue::q4s).per_block({8}));
    const QuantizedArray both = cat({a, b}, 0);
    EXPECT_EQ(both.scheme(), q8);
    expect_rounded(dequantize(both), cat({dequantize(a), dequantize(b)}, 0));
    expect_error(ErrorCode::invalid_argument, [&] { (void)cat(std::vector<QuantizedArray>(), 0); });
    expect_error(ErrorCode::shape, [&] { (void)cat({a, b}, 1); });
  }
}

TEST(QuantizedFlow, Picks) {
  for (const Device device : devices_under_test()) {
    for (const QuantValue value : {QuantValue::q8s, QuantValue::q4f, QuantValue::e4m3}) {
      const QuantizedArray q =
          quantize_dynamic(floats_on({5, 16}, device), QuantScheme().with_value(value));
      const Array floats = dequantize(q);
      const auto same = [&](const QuantizedArray& got, const Array& expected) {
        EXPECT_EQ(got.shape(), expected.shape());
        EXPECT_EQ(dequantize(got).to_doubles(), expected.to_doubles());
      };
      same(picked([](const Array& x) { return max(x); }, q), max(floats));
      same(picked([](const Array& x) { return min(x, {0}, true); }, q), min(floats, {0}, true));
      same(picked([](const Array& x) { return sort(x, 1, true); }, q), sort(floats, 1, true));
      const auto [top, where_top] =
          picked([](const Array& x) { return topk_with_indices(x, 3, -1); }, q);
      same(top, topk(floats, 3, -1));
      EXPECT_EQ(where_top.to_doubles(), argtopk(floats, 3, -1).to_doubles());
      const auto [least, where_least] =
          picked([](const Array& x) { return min_with_indices(x, 0, true); }, q);
      same(least, min(floats, {0}, true));
      EXPECT_EQ(where_least.dtype(), DType::i64);
    }
    const QuantizedArray blocks =
        quantize_dynamic(floats_on({5, 16}, device), QuantScheme().per_block({8}));
    expect_rounded(dequantize(picked([](const Array& x) { return sort(x, 1); }, blocks)),
                   sort(dequantize(blocks), 1));
  }
}

TEST(QuantizedFlow, InhibitsOrPropagates) {
  const auto exp_of = [](const Array& x) { return exp(x); };
  for (const Device device : devices_under_test()) {
    const QuantizedArray q = quantize_dynamic(floats_on({4, 8}, device));
    const FloatOrQuantized inhibited = flow(exp_of, q);
    ASSERT_TRUE(std::holds_alternative<Array>(inhibited));
    expect_close(std::get<Array>(inhibited), exp(dequantize(q)).to_doubles(), 1e-6);
    const QuantizedArray flows = q.with_propagation(Propagation::propagate);
    const FloatOrQuantized propagated = flow(exp_of, flows);
    ASSERT_TRUE(std::holds_alternative<QuantizedArray>(propagated));
    EXPECT_EQ(std::get<QuantizedArray>(propagated).scheme(), q.scheme());
    EXPECT_EQ(std::get<QuantizedArray>(propagated).propagation(), Propagation::propagate);
    expect_rounded(to_float(propagated), exp(dequantize(q)));
    // Layouts keep it; what is no float stays what it is, and a scalar has fewer axes.
    EXPECT_EQ(transpose(flip(flows, {0})).propagation(), Propagation::propagate);
    const auto best = flow([](const Array& x) { return argmax(x, 1); }, flows);
    EXPECT_EQ(std::get<Array>(best).to_doubles(), argmax(dequantize(q), 1).to_doubles());
    const QuantizedArray outer =
        quantize_dynamic(floats_on({4, 8}, device),
                         QuantScheme().with_store(QuantStore::packed_u32(1)))
            .with_propagation(Propagation::propagate);
    const auto total = flow([](const Array& x) { return sum(x); }, outer);
    EXPECT_NEAR(to_float(total).item() / sum(dequantize(outer)).item(), 1, 0.5 / 127);
    // Its own scheme, with scales of the result.
    const QuantizedArray magnitude = requantized([](const Array& x) { return abs(x); }, q);
    expect_rounded(dequantize(magnitude), abs(dequantize(q)));
  }
}

TEST(QuantizedFlow, Arithmetic) {
  for (const Device device : devices_under_test()) {
    const QuantizedArray a = quantize_dynamic(floats_on({4, 8}, device));
    const QuantizedArray b =
        quantize_dynamic(floats_on({4, 8}, device, 3), QuantScheme().per_block({8}));
    const Array x = dequantize(a), y = dequantize(b);
    const auto same = [](const FloatOrQuantized& got, const Array& expected) {
      expect_close(to_float(got), expected.to_doubles(), 1e-6);
    };
    same(a + b, x + y);
    same(a - y, x - y);
    same(x * b, x * y);
    same(a / 3, x / 3);
    same(2.5 * b, 2.5 * y);
    // A chain, whose parts are floats or quantized as they come.
    same(flow([](const Array& u, const Array& v) { return u * v; }, a + b, b), (x + y) * y);
    // Indices and exponents are no floats, and stay.
    const Array twos = to_device(ints({2}, {1}), device);
    same(flow([](const Array& u, const Array& n) { return pow(u, cast(n, u.dtype())); }, a, twos),
         pow(x, 2.0));
    // A float decides which dtype the others are dequantized to; a number does not.
    const auto dtype_of = [](const FloatOrQuantized& any) { return to_float(any).dtype(); };
    EXPECT_EQ(dtype_of(a * cast(y, DType::bf16)), DType::bf16);
    EXPECT_EQ(dtype_of(a * 2.0), DType::f32);
    EXPECT_EQ(dtype_of(quantize_dynamic(cast(x, DType::f16)) + b), DType::f16);
  }
}

TEST(QuantizedFlow, Products) {
  for (const Device device : devices_under_test()) {
    const QuantScheme q4 = QuantScheme().with_value(QuantValue::q4s).per_block({8, 8});
    const QuantizedArray a = quantize_dynamic(floats_on({3, 16}, device));
    const QuantizedArray b = quantize_dynamic(floats_on({16, 24}, device, 5), q4);
    const Array expected = matmul(dequantize(a), dequantize(b));
    expect_close(to_float(matmul(a, b)), expected.to_doubles(), 1e-5);
    expect_close(to_float(matmul(dequantize(a), b)), expected.to_doubles(), 1e-5);
    expect_close(to_float(matmul(a, dequantize(b))), expected.to_doubles(), 1e-5);
    const FloatOrQuantized kept = matmul(a.with_propagation(Propagation::propagate), b);
    EXPECT_EQ(std::get<QuantizedArray>(kept).scheme(), a.scheme());
    expect_error(ErrorCode::shape, [&] { (void)matmul(b, a); });
    // The gradient of what is beside the codes: weights dequantized, transposed.
    const Array x = dequantize(a).require_grad();
    const Array seed = floats_on({3, 24}, device, 9);
    const Array gradient = backward(sum(to_float(matmul(x, b)) * seed)).get(x);
    expect_close(gradient, matmul(seed, transpose(dequantize(b))).to_doubles(), 1e-5);
  }
}

// Codes and scales only: a dequantize() that leaves either out, or keeps floats as they were, is
// wrong here.
TEST(QuantizedFlow, RoundsAndScales) {
  for (const Device device : devices_under_test()) {
    const Array x = to_device(array({10, 20, 26, -14}, {4}, DType::f32), device);
    const QuantScheme q4 = QuantScheme().with_value(QuantValue::q4s);
    const Array scale = to_device(array({4}, {1}, DType::f32), device);
    const QuantizedArray q = quantize(x, q4, {scale, Array()});
    EXPECT_EQ(dequantize(q).to_doubles(), Values({8, 20, 24, -16}));
    EXPECT_EQ(dequantize(transpose(reshape(q, {2, 2}))).to_doubles(), Values({8, 24, 20, -16}));
  }
}

}  // namespace
}  // namespace hearth
