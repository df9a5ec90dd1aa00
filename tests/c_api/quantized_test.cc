#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

using Floats = std::vector<float>;

hearth_scheme per_tensor(std::int32_t propagates = 0) {
  hearth_scheme scheme = HEARTH_SCHEME_INIT;
  scheme.value = HEARTH_Q8S;
  scheme.store = HEARTH_STORE_NATIVE;
  scheme.tensor_scale = HEARTH_SCALE_F32;
  scheme.propagates = propagates;
  return scheme;
}

Held quantized(const Held& x, const hearth_scheme& scheme) {
  hearth_array made = {0};
  EXPECT_EQ(hearth_quantize(x.handle, &scheme, {0}, {0}, &made), HEARTH_OK)
      << hearth_error_message();
  return Held(made);
}

Floats dequantized(const Held& x) {
  hearth_array floats = {0};
  EXPECT_EQ(hearth_dequantize(x.handle, HEARTH_F32, &floats), HEARTH_OK) << hearth_error_message();
  return values_of(Held(floats));
}

bool is_quantized(const Held& x) {
  hearth_array_info info = {};
  EXPECT_EQ(hearth_array_describe(x.handle, &info), HEARTH_OK) << hearth_error_message();
  return (info.flags & HEARTH_IS_QUANTIZED) != 0;
}

TEST(CQuantized, CodesAreStoredMovedAndComputedWith) {
  const Held x = floats({-127, 0, 64, 127}, {2, 2});
  const Held q = quantized(x, per_tensor());
  EXPECT_TRUE(is_quantized(q));
  EXPECT_EQ(dequantized(q), (Floats{-127, 0, 64, 127}));
  const std::int64_t shape[] = {4};
  const Held flat =
      apply("reshape", {hearth_of_array(q.handle)}, {{"shape", hearth_of_ints(shape, 1)}});
  EXPECT_TRUE(is_quantized(flat));
  EXPECT_EQ(dequantized(flat), (Floats{-127, 0, 64, 127}));
  const Held turned = apply("transpose", {hearth_of_array(q.handle)});
  EXPECT_EQ(dequantized(turned), (Floats{-127, 64, 0, 127}));
  const Held doubled = apply("mul", {hearth_of_array(q.handle), hearth_of_int(2)});
  EXPECT_FALSE(is_quantized(doubled)) << "its scheme does not propagate";
  EXPECT_EQ(values_of(doubled), (Floats{-254, 0, 128, 254}));
  const Held again = apply(
      "mul", {hearth_of_array(quantized(x, per_tensor(1)).handle), hearth_of_array(x.handle)});
  EXPECT_TRUE(is_quantized(again));
  EXPECT_EQ(dequantized(again)[0], 127 * 127);
}

TEST(CQuantized, TheInitialSchemeIsOneOfTheTensor) {
  const hearth_scheme scheme = HEARTH_SCHEME_INIT;
  std::int32_t supported = -1;
  ASSERT_EQ(hearth_scheme_supported(&scheme, &supported), HEARTH_OK) << hearth_error_message();
  EXPECT_EQ(supported, 1);
  const Held q = quantized(floats({-127, 0, 64, 127}, {4}), scheme);
  hearth_scheme found = {};
  std::size_t bytes = 0;
  ASSERT_EQ(hearth_quantized_describe(q.handle, &found, &bytes), HEARTH_OK);
  EXPECT_EQ(found.value, scheme.value);
  EXPECT_EQ(found.store, scheme.store);
  EXPECT_EQ(found.block_scale, HEARTH_SCALE_NONE);
  EXPECT_EQ(bytes, 8u) << "a word of four codes and an f32";
}

TEST(CQuantized, BytesAreReadAndTakenBack) {
  const hearth_scheme scheme = per_tensor();
  const Held q = quantized(floats({-127, 0, 64, 127}, {4}), scheme);
  hearth_scheme found = {};
  std::size_t bytes = 0;
  ASSERT_EQ(hearth_quantized_describe(q.handle, &found, &bytes), HEARTH_OK);
  EXPECT_EQ(found.value, HEARTH_Q8S);
  EXPECT_EQ(found.store, HEARTH_STORE_NATIVE);
  EXPECT_EQ(bytes, 8u) << "four codes and a scale";
  std::vector<unsigned char> stored(bytes);
  ASSERT_EQ(hearth_array_read(q.handle, stored.data(), bytes), HEARTH_OK);
  const std::int64_t shape[] = {4};
  hearth_array made = {0};
  ASSERT_EQ(hearth_array_from_quantized_bytes(stored.data(), bytes, &scheme, HEARTH_F32, shape, 1,
                                              HEARTH_DEFAULT_DEVICE, &made),
            HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(dequantized(Held(made)), (Floats{-127, 0, 64, 127}));
  hearth_read read;
  ASSERT_EQ(hearth_read_start(q.handle, &read), HEARTH_OK);
  std::vector<unsigned char> later(bytes);
  ASSERT_EQ(hearth_read_finish(read, later.data(), bytes), HEARTH_OK);
  EXPECT_EQ(later, stored);
}

TEST(CQuantized, LikeAnotherByItsSchemeOrItsScales) {
  const Held q = quantized(floats({-127, 0, 64, 127}, {4}), per_tensor());
  const Held small = floats({1, 2, 3, 4}, {4});
  hearth_array own = {0}, kept = {0};
  ASSERT_EQ(hearth_quantize_like(small.handle, q.handle, 0, &own), HEARTH_OK);
  ASSERT_EQ(hearth_quantize_like(small.handle, q.handle, 1, &kept), HEARTH_OK);
  EXPECT_NEAR(dequantized(Held(own))[0], 1, 0.02);
  EXPECT_EQ(dequantized(Held(kept)), (Floats{1, 2, 3, 4}));
}

TEST(CQuantized, BadSchemesAndKindsAreRefused) {
  const Held x = floats({1, 2, 3, 4}, {4});
  hearth_array made = {0};
  hearth_scheme scheme = per_tensor();
  std::int32_t supported = -1;
  EXPECT_EQ(hearth_scheme_supported(&scheme, &supported), HEARTH_OK);
  EXPECT_EQ(supported, 1);
  scheme.value = HEARTH_Q4S;
  EXPECT_EQ(hearth_scheme_supported(&scheme, &supported), HEARTH_OK);
  EXPECT_EQ(supported, 0) << "codes of four bits have no bytes of their own";
  scheme.value = 9;
  expect_refused(hearth_quantize(x.handle, &scheme, {0}, {0}, &made), HEARTH_ERROR_INVALID_ARGUMENT,
                 "value out of range; got 9");
  scheme = per_tensor();
  scheme.block_scale = HEARTH_SCALE_F32;
  scheme.block_rank = -1;
  expect_refused(hearth_quantize(x.handle, &scheme, {0}, {0}, &made), HEARTH_ERROR_SHAPE, "rank");
  expect_refused(hearth_quantize(x.handle, nullptr, {0}, {0}, &made), HEARTH_ERROR_INVALID_ARGUMENT,
                 "hearth_quantize: scheme: missing; got NULL, expected a pointer");
  expect_refused(
      hearth_dequantize(x.handle, HEARTH_F32, &made), HEARTH_ERROR_DTYPE,
      "hearth_dequantize: quantized: wrong kind of array; got one that is not quantized");
  scheme = per_tensor();
  const Held q = quantized(x, scheme);
  expect_refused(
      hearth_array_require_grad(q.handle, &made), HEARTH_ERROR_DTYPE,
      "hearth_array_require_grad: array: wrong kind of array; got one that is quantized");
  expect_refused(hearth_quantize(q.handle, &scheme, {0}, {0}, &made), HEARTH_ERROR_DTYPE,
                 "hearth_quantize: x: wrong kind of array; got one that is quantized");
  expect_refused(hearth_quantize({0}, &scheme, {0}, {0}, &made), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_quantize: x: no such handle; got a zero handle, expected one of an array");
  expect_refused(hearth_quantize(x.handle, &scheme, {7}, {0}, &made), HEARTH_ERROR_INVALID_HANDLE,
                 "hearth_quantize: scales: no such handle; got 7");
  expect_refused(hearth_quantize(x.handle, &scheme, {0}, x.handle, &made),
                 HEARTH_ERROR_INVALID_ARGUMENT, "hearth_quantize: scales: missing");
}

}  // namespace
}  // namespace hearth::c_api::testing
