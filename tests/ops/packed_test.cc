// Packed arrays: blocks in the graph, what they stand for, products with them.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "core/packed/decode.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

std::vector<DType> formats() {
  std::vector<DType> all;
  for (int i = 0; i < kPackedDTypeCount; ++i) all.push_back(static_cast<DType>(kDTypeCount + i));
  return all;
}

Array there(const Array& x, Device device) { return to_device(x, device); }

// Random floats in a format that packs any shape of whole blocks.
Array packed_array(const Shape& shape, DType format, Device device, std::uint64_t seed = 1) {
  return there(quantize(random_array(shape, DType::f32, -1, 1, seed), format), device);
}

// What x stands for, worked out on the host from its bytes.
Values decoded(const Array& x) {
  const HostBytes bytes = x.host_bytes(x.dtype());
  std::vector<float> values(static_cast<std::size_t>(x.size()));
  decode(x.dtype(), bytes.data, x.size(), values.data());
  return {values.begin(), values.end()};
}

TEST(Packed, DTypesHaveBlocks) {
  EXPECT_EQ(block_of(DType::f32), 1);
  EXPECT_EQ(block_of(DType::q4_k), 256);
  EXPECT_EQ(size_of(DType::q4_k), 144);
  EXPECT_EQ(bytes_of(DType::q8_0, 64), 68);
  EXPECT_EQ(name(DType::iq2_xxs), "iq2_xxs");
  for (const DType format : formats()) {
    EXPECT_TRUE(is_packed(format));
    EXPECT_EQ(dtype_from_name(name(format)), format);
    EXPECT_EQ(info(format).block_bytes, size_of(format));
    EXPECT_FALSE(is_float(format) || is_int(format) || is_bool(format));
  }
  expect_error(ErrorCode::dtype, [] { (void)dtype_from_name("q9_9"); });
}

TEST(Packed, EveryFormatIsWhatItsBlocksAre) {
  for (const Device device : devices_under_test()) {
    for (const DType format : formats()) {
      const Array x = packed_array({3, 2 * block_of(format)}, format, device);
      SCOPED_TRACE(std::string(name(format)) + " on " + device.name());
      EXPECT_EQ(x.dtype(), format);
      const Values expected = decoded(x);
      EXPECT_EQ(dequantize(x).to_doubles(), expected);
      EXPECT_EQ(x.to_doubles(), expected);
      const Array half = dequantize(x, DType::bf16);
      EXPECT_EQ(half.dtype(), DType::bf16);
      expect_close(half.to_doubles(), expected, 8e-3);
      EXPECT_EQ(block_bytes(x).shape(), Shape({3, 2 * size_of(format)}));
    }
  }
}

TEST(Packed, ViewsKeepBlocksWhole) {
  const DType q8 = DType::q8_0;
  for (const Device device : devices_under_test()) {
    const Array x = packed_array({4, 3, 64}, q8, device), plain = dequantize(x);
    const auto same = [](const Array& a, const Array& b) {
      EXPECT_EQ(a.dtype(), DType::q8_0);
      EXPECT_EQ(a.shape(), b.shape());
      EXPECT_EQ(a.to_doubles(), b.to_doubles());
      EXPECT_EQ(dequantize(a).to_doubles(), b.to_doubles());
    };
    same(reshape(x, {12, 64}), reshape(plain, {12, 64}));
    same(reshape(x, {4, 6, 32}), reshape(plain, {4, 6, 32}));
    same(reshape(x, {12 * 64}), reshape(plain, {12 * 64}));
    same(permute(x, {1, 0, 2}), permute(plain, {1, 0, 2}));
    same(reshape(permute(x, {1, 0, 2}), {12, 64}), reshape(permute(plain, {1, 0, 2}), {12, 64}));
    same(contiguous(permute(x, {1, 0, 2})), permute(plain, {1, 0, 2}));
    same(narrow(x, 0, 1, 2), narrow(plain, 0, 1, 2));
    same(narrow(x, 2, 32, 32), narrow(plain, 2, 32, 32));
    same(flip(x, {0, 1}), flip(plain, {0, 1}));
    same(slice(x, {Slice(0, 4, 2), Slice(1, 3)}), slice(plain, {Slice(0, 4, 2), Slice(1, 3)}));
    same(dynamic_slice(x, {2, 0, 32}, {2, 3, 32}), dynamic_slice(plain, {2, 0, 32}, {2, 3, 32}));
    same(expand(narrow(x, 0, 0, 1), {5, 3, 64}), expand(narrow(plain, 0, 0, 1), {5, 3, 64}));
    same(cat({x, narrow(x, 0, 0, 1)}, 0), cat({plain, narrow(plain, 0, 0, 1)}, 0));
    same(cat({x, x}, 2), cat({plain, plain}, 2));
    const Array rows = there(ints({3, 0, 3}, {3}), device);
    same(select(x, rows, 0), select(plain, rows, 0));
    for (const Array& part : split(x, {1, 3}, 0)) EXPECT_EQ(part.dtype(), q8);
    same(to_device(permute(x, {1, 0, 2}), Device::cpu()), permute(plain, {1, 0, 2}));
  }
}

TEST(Packed, TakesNothingApart) {
  const Array x = packed_array({4, 64}, DType::q8_0, Device());
  expect_error(ErrorCode::shape, [&] { (void)narrow(x, 1, 16, 32); });
  expect_error(ErrorCode::shape, [&] { (void)narrow(x, 1, 0, 16); });
  expect_error(ErrorCode::shape, [&] { (void)flip(x, {1}); });
  expect_error(ErrorCode::shape, [&] { (void)transpose(x); });
  expect_error(ErrorCode::shape, [&] { (void)reshape(x, {16, 16}); });
  expect_error(ErrorCode::shape, [&] { (void)reshape(x, {64, 4}); });
  expect_error(ErrorCode::shape, [&] { (void)unsqueeze(x, {2}); });
  expect_error(ErrorCode::shape, [&] { (void)dynamic_slice(x, {0, 1}, {4, 32}); });
  expect_error(ErrorCode::shape, [&] { (void)select(x, ints({0}, {1}), 1); });
  const std::vector<std::byte> bytes(34);
  expect_error(ErrorCode::shape, [&] { (void)Array::from_bytes(bytes, DType::q8_0, {34}); });
  expect_error(ErrorCode::shape, [&] { (void)Array::from_bytes(bytes, DType::q8_0, {}); });
  expect_error(ErrorCode::shape, [&] { (void)Array::from_bytes(bytes, DType::q8_0, {64}); });
}

TEST(Packed, OtherOpsAskForFloats) {
  const Array x = packed_array({4, 64}, DType::q8_0, Device());
  const Array y = ones({4, 64});
  const auto refused = [](const auto& f) { expect_error(ErrorCode::dtype, f); };
  refused([&] { (void)add(x, 1); });
  refused([&] { (void)mul(y, x); });
  refused([&] { (void)sum(x); });
  refused([&] { (void)exp(x); });
  refused([&] { (void)matmul(y, x); });
  refused([&] { (void)cast(x, DType::f32); });
  refused([&] { (void)cast(y, DType::q8_0); });
  refused([&] { (void)sort(x); });
  refused([&] { (void)equal(x, x); });
  refused([&] { (void)where(greater(y, 0), x, x); });
  refused([&] { (void)zeros({4, 64}, DType::q4_0); });
  refused([&] { (void)full({4, 64}, 1, DType::q4_0); });
  refused([&] { (void)arange(0, 64, 1, DType::q4_0); });
  refused([&] { (void)cat({x, y}, 0); });
  refused([&] { (void)cat({x, packed_array({4, 64}, DType::q4_0, Device())}, 0); });
  refused([&] { (void)x.require_grad(); });
  refused([&] { (void)x.to_vector<float>(); });
  refused([&] { (void)dequantize(y); });
  refused([&] { (void)dequantize(x, DType::i32); });
  refused([&] { (void)block_bytes(y); });
  refused([&] { (void)packed_blocks(y, DType::q8_0); });
  refused([&] { (void)quantize(y, DType::f16); });
  refused([&] { (void)quantize(ints({1}, {1}), DType::q8_0); });
  expect_error(ErrorCode::shape, [&] { (void)quantize(ones({4, 33}), DType::q8_0); });
  expect_error(ErrorCode::shape, [&] { (void)quantize(y, DType::q8_0, ones({32})); });
}

TEST(Packed, BytesAndBlocksAreTheSameMemory) {
  for (const Device device : devices_under_test()) {
    const Array x = packed_array({4, 256}, DType::q4_k, device);
    const Array bytes = block_bytes(x);
    EXPECT_EQ(bytes.dtype(), DType::u8);
    EXPECT_EQ(packed_blocks(bytes, DType::q4_k).to_doubles(), x.to_doubles());
    // Rows that begin within a block of the memory: at byte 7 of a line of bytes.
    const Array line = cat({zeros({4, 7}, DType::u8, device), bytes}, 1).eval();
    const Array moved = packed_blocks(narrow(line, 1, 7, 144), DType::q4_k);
    EXPECT_EQ(moved.to_doubles(), x.to_doubles());
    EXPECT_EQ(dequantize(narrow(moved, 0, 2, 2)).to_doubles(),
              narrow(dequantize(x), 0, 2, 2).to_doubles());
    const Array flat = narrow(reshape(line, {4 * 151}), 0, 7, 144);
    EXPECT_EQ(packed_blocks(flat, DType::q4_k).to_doubles(),
              reshape(narrow(x, 0, 0, 1), {256}).to_doubles());
  }
}

TEST(Packed, LinearReadsPackedWeights) {
  for (const Device device : devices_under_test()) {
    for (const DType format : formats()) {
      const std::int64_t in = 2 * block_of(format), out = 5;
      const Array weight = packed_array({out, in}, format, device);
      const Array plain = cast(dequantize(weight), DType::f64);
      const Array bias = there(random_array({out}, DType::f32, -1, 1, 5), device);
      for (const std::int64_t rows : {1, 3, 17}) {
        const Array x = there(random_array({rows, in}, DType::f32, -1, 1, 7), device);
        const Values expected =
            linear(cast(x, DType::f64), plain, cast(bias, DType::f64)).to_doubles();
        SCOPED_TRACE(std::string(name(format)) + " on " + device.name());
        const Values got = linear(x, weight, bias).to_doubles();
        double error = 0, size = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          error += (got[i] - expected[i]) * (got[i] - expected[i]);
          size += expected[i] * expected[i];
        }
        EXPECT_LE(std::sqrt(error / size), 0.012);  // rows may go through codes of 8 bits
      }
    }
  }
}

TEST(Packed, LinearHasTheGradientOfItsRows) {
  for (const Device device : devices_under_test()) {
    const Array weight = packed_array({5, 64}, DType::q8_0, device);
    const Array x = there(random_array({3, 64}, DType::f32), device).require_grad();
    const Array bias = there(random_array({5}, DType::f32), device).require_grad();
    const Array g = there(random_array({3, 5}, DType::f32, -1, 1, 3), device);
    const Array loss = sum(mul(linear(x, weight, bias), g));
    const Gradients grads = backward(loss);
    expect_close(grads.at(x).to_doubles(), matmul(g, dequantize(weight)).to_doubles(), 1e-5);
    expect_close(grads.at(bias).to_doubles(), sum(g, {0}).to_doubles(), 1e-5);
  }
}

TEST(Packed, LinearSaysWhatDoesNotFit) {
  const Array weight = packed_array({5, 64}, DType::q8_0, Device());
  expect_error(ErrorCode::shape, [&] { (void)linear(ones({3, 32}), weight); });
  expect_error(ErrorCode::shape, [&] { (void)linear(ones({3, 64}), weight, ones({4})); });
  expect_error(ErrorCode::shape, [&] { (void)linear(ones({3, 64}), reshape(weight, {5, 1, 64})); });
  expect_error(ErrorCode::dtype, [&] { (void)linear(ones({3, 64}, DType::i32), weight); });
  expect_error(ErrorCode::dtype,
               [&] { (void)linear(ones({3, 64}), weight, ones({5}, DType::f16)); });
}

TEST(Packed, EmbeddingsAreRowsOfFloats) {
  for (const Device device : devices_under_test()) {
    const Array table = packed_array({7, 64}, DType::q8_0, device);
    const Array tokens = there(ints({6, 0, 3, 3}, {2, 2}), device);
    const Array rows = embedding(table, tokens);
    EXPECT_EQ(rows.dtype(), DType::f32);
    EXPECT_EQ(rows.shape(), Shape({2, 2, 64}));
    EXPECT_EQ(rows.to_doubles(), embedding(dequantize(table), tokens).to_doubles());
  }
}

TEST(Packed, IsPrinted) {
  const std::vector<float> row(32, 127.0f);
  const Array x = quantize(Array::from_data(row, {1, 32}), DType::q8_0);
  std::ostringstream out;
  out << narrow(x, 0, 0, 1);
  EXPECT_EQ(out.str().substr(0, 31), "Array q8_0 [1, 32]\n[[127, 127, ");
  const Array large = packed_array({3, 4096}, DType::q4_0, Device());
  std::ostringstream packed_text, text;
  packed_text << large;
  text << dequantize(large);
  EXPECT_EQ(packed_text.str().substr(packed_text.str().find('\n')),
            text.str().substr(text.str().find('\n')));
  std::ostringstream turned, plain;
  turned << flip(large, {0});
  plain << flip(dequantize(large), {0});
  EXPECT_EQ(turned.str().substr(turned.str().find('\n')),
            plain.str().substr(plain.str().find('\n')));
}

TEST(Packed, PlansAreSafeWhateverIsKept) {
  for (const Device device : devices_under_test()) {
    const Array x = packed_array({6, 64}, DType::q8_0, device);
    const Array bytes = block_bytes(x);
    const Array first = narrow(x, 0, 0, 3), second = narrow(x, 0, 3, 3);
    const Array joined = cat({second, first}, 0);
    const Array again = packed_blocks(add(block_bytes(joined), 0), DType::q8_0);
    const Array values = add(dequantize(joined), dequantize(again));
    submit();
    EXPECT_EQ(again.to_doubles(), joined.to_doubles());
    const Array plain = dequantize(x);
    EXPECT_EQ(values.to_doubles(),
              mul(cat({narrow(plain, 0, 3, 3), narrow(plain, 0, 0, 3)}, 0), 2).to_doubles());
    EXPECT_EQ(bytes.size(), 6 * 68);
  }
}

}  // namespace
}  // namespace hearth
