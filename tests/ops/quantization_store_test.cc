// Schemes, memory and bytes of quantized arrays: what there can be, how large it is, what is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/quantization.h"
#include "quantization_reference.h"

namespace hearth {
namespace {

using namespace check;
using namespace reference;
using testing::devices_under_test;

// Half, a quarter, an eighth of a byte each, and nothing else.
TEST(QuantizationStore, IsPacked) {
  for (const Device device : devices_under_test()) {
    const Array x = there(random_values(64 * 128), {64, 128}, device);
    for (const QuantValue value : kQuantValues) {
      const QuantizedArray q = quantize_dynamic(x, QuantScheme().with_value(value));
      EXPECT_EQ(q.payload().size() * size_of(q.payload().dtype()), 64 * 128 * bits_of(value) / 8);
      EXPECT_EQ(q.bytes(), 64 * 128 * bits_of(value) / 8 + 4);
    }
  }
  // Each line for itself: 3 words, not 2.
  EXPECT_EQ(quantized_bytes(QuantScheme().with_value(QuantValue::q4s), {3, 3}), 3 * 4 + 4);
  EXPECT_EQ(quantized_bytes(
                QuantScheme().with_value(QuantValue::e2m1).with_store(QuantStore::packed_native()),
                {3, 3}),
            3 * 2 + 4);
}

TEST(QuantizationStore, PacksAlongAnyAxis) {
  const QuantScheme q4 = QuantScheme().with_value(QuantValue::q4s);
  const QuantParams one = {array({1}, {1}, DType::f32), Array()};
  const Array rows =
      array({0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1}, {2, 8}, DType::f32);
  const QuantizedArray inner = quantize(rows, q4, one);
  const QuantizedArray outer =
      quantize(transpose(rows), q4.with_store(QuantStore::packed_u32(1)), one);
  EXPECT_EQ(inner.payload().to_doubles(), Values({0x76543210, 0xffffffff}));
  EXPECT_EQ(outer.payload().shape(), Shape({1, 2}));
  EXPECT_EQ(to_bytes(outer), to_bytes(inner));
}

TEST(QuantizationStore, ReadsUntrustedBytes) {
  const QuantScheme q8 = QuantScheme().with_value(QuantValue::q8s).with_store(QuantStore::native());
  const std::vector<std::byte> bytes = to_bytes(quantize_dynamic(array({1, 2, 3}, {3}), q8));
  ASSERT_EQ(bytes.size(), 7u);
  std::vector<std::byte> aligned = bytes;
  aligned.insert(aligned.begin() + 3, std::byte{0xff});
  EXPECT_EQ(floats(dequantize(quantized_from_bytes(aligned, q8, {3}))),
            floats(dequantize(quantized_from_bytes(bytes, q8, {3}))));
  for (const std::size_t count : {0u, 3u, 6u}) {
    const std::span<const std::byte> part(bytes.data(), count);
    expect_error(ErrorCode::shape, [&] { (void)quantized_from_bytes(part, q8, {3}); });
  }
  aligned.push_back(std::byte{});
  expect_error(ErrorCode::shape, [&] { (void)quantized_from_bytes(aligned, q8, {3}); });
  expect_error(ErrorCode::shape, [&] { (void)quantized_from_bytes(bytes, q8, {-1}); });
  for (const Shape& huge : {Shape{std::int64_t{1} << 61}, Shape{std::int64_t{1} << 40, 1 << 30},
                            Shape{(std::int64_t{1} << 59) + 1, 1}}) {
    for (const QuantValue value : {QuantValue::q8s, QuantValue::q2s}) {
      expect_error(ErrorCode::shape, [&] {
        (void)quantized_from_bytes(bytes, QuantScheme().with_value(value), huge);
      });
    }
  }
  expect_error(ErrorCode::dtype, [&] { (void)quantized_from_bytes(bytes, q8, {3}, DType::i32); });
  // Whatever the bytes are, they are read.
  Values noise = random_values(4 * 80, 0, 256, 3);
  std::vector<std::byte> any;
  for (const double one : noise) any.push_back(static_cast<std::byte>(static_cast<int>(one)));
  for (const QuantValue value : kQuantValues) {
    for (const ScaleDType dtype : kScaleDTypes) {
      const QuantScheme scheme = QuantScheme().with_value(value).per_block({16}, dtype);
      const std::span<const std::byte> part(
          any.data(), static_cast<std::size_t>(quantized_bytes(scheme, {32})));
      const QuantizedArray q = quantized_from_bytes(part, scheme, {32});
      EXPECT_TRUE(std::equal(part.begin(), part.end(), to_bytes(q).begin()));
      EXPECT_EQ(dequantize(q).to_doubles().size(), 32u);
    }
  }
}

TEST(QuantizationStore, SchemesThatCannotBe) {
  const Array x = array(random_values(96), {6, 16}, DType::f32);
  const auto refuses = [&](ErrorCode code, const QuantScheme& scheme) {
    expect_error(code, [&] { (void)quantize_dynamic(x, scheme); });
  };
  const QuantScheme q4 = QuantScheme().with_value(QuantValue::q4s);
  refuses(ErrorCode::invalid_argument, q4.with_store(QuantStore::native()));
  refuses(ErrorCode::invalid_argument, q4.with_store(QuantStore::packed_native()));
  refuses(ErrorCode::invalid_argument,
          QuantScheme().with_value(QuantValue::e2m1).with_store(QuantStore::native()));
  EXPECT_FALSE(is_quantizable(q4.with_store(QuantStore::native())));
  EXPECT_FALSE(is_quantizable(q4.with_store(QuantStore::packed_u32(-1))));
  EXPECT_FALSE(is_quantizable(q4.with_store(QuantStore::packed_u32(8))));
  EXPECT_FALSE(is_quantizable(q4.per_block({4})));
  EXPECT_FALSE(is_quantizable(q4.per_block({8}, ScaleDType::ue8m0).per_tensor()));
  EXPECT_TRUE(is_quantizable(QuantScheme()));
  EXPECT_TRUE(is_quantizable(q4.with_store(QuantStore::packed_u32(2))));
  EXPECT_TRUE(is_quantizable(q4.per_block({5, 8}, ScaleDType::ue4m3).per_tensor()));
  refuses(ErrorCode::shape, q4.with_store(QuantStore::packed_u32(2)));
  refuses(ErrorCode::shape, q4.with_store(QuantStore::packed_u32(-1)));
  refuses(ErrorCode::shape, q4.per_block({5, 8}));
  refuses(ErrorCode::shape, q4.per_block({2, 2, 8}));
  refuses(ErrorCode::invalid_argument, q4.per_block({4}));  // half a word
  refuses(ErrorCode::invalid_argument, QuantScheme().per_block({0}));
  refuses(ErrorCode::invalid_argument, QuantScheme().per_block({-4}));
  refuses(ErrorCode::invalid_argument, q4.per_block({8}, ScaleDType::f32).per_tensor());
  refuses(ErrorCode::invalid_argument, q4.per_block({8}, ScaleDType::ue8m0).per_tensor());
  refuses(ErrorCode::invalid_argument,
          q4.per_block({8}, ScaleDType::ue4m3).per_tensor(ScaleDType::f16));
  expect_error(ErrorCode::invalid_argument, [&] {
    (void)quantize_dynamic(x, q4.per_block({8}, ScaleDType::f16).per_tensor(),
                           Calibration::abs_mean);
  });
  expect_error(ErrorCode::dtype, [&] { (void)quantize_dynamic(ints({1, 2}, {2}), q4); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantize_dynamic(Array(), q4); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)dequantize(QuantizedArray()); });
  const Array one = array({1}, {1}, DType::f32);
  expect_error(ErrorCode::shape, [&] { (void)quantize(x, q4.per_block({8}), {one, Array()}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantize(x, q4, {one, one}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantize(x, q4, {}); });
  const QuantizedArray q = quantize_dynamic(x, q4);
  expect_error(ErrorCode::dtype, [&] { (void)dequantize(q, DType::i32); });
  expect_error(ErrorCode::dtype, [&] {
    (void)QuantizedArray(q.scheme(), q.shape(), q.dtype(), q.scales(), q.scales());
  });
  expect_error(ErrorCode::shape, [&] {
    (void)QuantizedArray(q.scheme(), {6, 24}, q.dtype(), q.payload(), q.scales());
  });
  EXPECT_EQ(QuantScheme().per_block({1, 32}), QuantScheme().per_block({32}));
  EXPECT_EQ(QuantScheme(), QuantScheme()
                               .with_value(QuantValue::q8f)
                               .with_mode(QuantMode::symmetric)
                               .with_store(QuantStore::packed_u32()));
  std::ostringstream text;
  text << q4.per_block({8}, ScaleDType::ue4m3).per_tensor() << quantize_dynamic(one);
  EXPECT_EQ(text.str(),
            "q4s packed_u32(0), ue4m3 per block [8], f32 per tensorQuantized q8f packed_u32(0), "
            "f32 per tensor: Array f32 [1] [0.996078]");
}

}  // namespace
}  // namespace hearth
