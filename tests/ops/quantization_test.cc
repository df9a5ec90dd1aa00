// Schemes, scales, codes and bytes of quantized arrays, against the host's own.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/quantization.h"
#include "hearth/runtime.h"
#include "quantization_reference.h"

namespace hearth {
namespace {

using namespace check;
using namespace reference;
using testing::devices_under_test;

// The first device has all cases; on others, which compile a kernel for each, some have to do.
bool has_all(Device device) { return device == devices_under_test().front(); }

// Stores that a value has.
std::vector<QuantStore> stores_of(QuantValue value, int rank) {
  std::vector<QuantStore> stores;
  if (bits_of(value) == 8) stores.push_back(QuantStore::native());
  for (int dim = 0; dim < std::max(rank, 1); ++dim) {
    stores.push_back(QuantStore::packed_u32(dim));
    if (value == QuantValue::e2m1) stores.push_back(QuantStore::packed_native(dim));
  }
  return stores;
}

// The scale of each element, from scales of blocks.
std::vector<float> spread(const std::vector<float>& scales, const QuantScheme& scheme,
                          const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (!scheme.block) return std::vector<float>(count, scales[0]);
  const Shape grid = scales_shape(scheme, shape);
  std::vector<float> each;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at = 0, stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t block = shape[axis] / grid[axis];
      at += rest % shape[axis] / block * stride;
      stride *= grid[axis];
      rest /= shape[axis];
    }
    each.push_back(scales[static_cast<std::size_t>(at)]);
  }
  return each;
}

// Bytes of codes along a packed axis: lines of the array with that axis swapped with the last.
std::vector<std::byte> packed(const std::vector<std::uint32_t>& codes, const QuantScheme& scheme,
                              const Shape& shape) {
  Array order = reshape(arange(0, element_count(shape)), shape.empty() ? Shape{1} : shape);
  const bool is_word = scheme.store.unit == QuantStore::Unit::packed_u32;
  if (scheme.store.unit != QuantStore::Unit::native) {
    order = swap_axes(order, order.rank() - 1 - scheme.store.dim, -1);
  }
  const std::vector<std::int64_t> places = order.to_vector<std::int64_t>();
  const auto line = static_cast<std::size_t>(order.shape(-1));
  const int bits = bits_of(scheme.value), unit = is_word ? 32 : 8;
  std::vector<std::byte> bytes;
  for (std::size_t begin = 0; begin < places.size(); begin += line) {
    std::uint32_t word = 0;
    int used = 0;
    for (std::size_t i = begin; i < begin + line; ++i) {
      const std::uint32_t mask = (1u << bits) - 1;
      word |= (codes[static_cast<std::size_t>(places[i])] & mask) << used;
      used += bits;
      if (used < unit && i + 1 < begin + line) continue;
      for (int part = 0; part < unit; part += 8) {
        bytes.push_back(static_cast<std::byte>(word >> part & 0xffu));
      }
      word = 0, used = 0;
    }
  }
  return bytes;
}

// What quantize_dynamic() should make of x, and its bytes be.
void expect_quantized(const Array& x, const QuantScheme& scheme, const std::string& what) {
  const QuantizedArray q = quantize_dynamic(x, scheme);
  const std::vector<float> values = floats(x), scales = floats(q.combined_scales());
  const std::vector<float> each = spread(scales, scheme, x.shape());
  std::vector<std::uint32_t> codes;
  Values expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes.push_back(encoded(values[i] / each[i], scheme.value));
    expected.push_back(decoded(codes.back(), scheme.value) * each[i]);
  }
  const std::vector<std::byte> bytes = to_bytes(q), body = packed(codes, scheme, x.shape());
  ASSERT_EQ(static_cast<std::int64_t>(bytes.size()), quantized_bytes(scheme, x.shape())) << what;
  ASSERT_TRUE(std::equal(body.begin(), body.end(), bytes.begin())) << what;
  EXPECT_EQ(floats(dequantize(q, DType::f32)), std::vector<float>(expected.begin(), expected.end()))
      << what;
  const QuantizedArray again =
      quantized_from_bytes(bytes, scheme, x.shape(), x.dtype(), x.device());
  EXPECT_EQ(to_bytes(again), bytes) << what;
  EXPECT_EQ(floats(dequantize(again)), floats(dequantize(q))) << what;
}

TEST(Quantization, EveryValueAndStore) {
  for (const Device device : devices_under_test()) {
    std::uint64_t seed = 1;
    for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1}, Shape{37}, Shape{2, 16, 3}}) {
      if (!has_all(device) && shape.rank() != 2) continue;
      for (const QuantValue value : kQuantValues) {
        for (const QuantStore store : stores_of(value, shape.rank())) {
          const ScaleDType dtype = kScaleDTypes[seed % 5];
          const QuantScheme scheme =
              QuantScheme().with_value(value).with_store(store).per_tensor(dtype);
          std::ostringstream what;
          what << device << " " << scheme << " " << shape;
          const Values numbers = random_values(element_count(shape), -3, 2, ++seed);
          expect_quantized(there(numbers, shape, device), scheme, what.str());
        }
      }
    }
  }
}

TEST(Quantization, Blocks) {
  for (const Device device : devices_under_test()) {
    std::uint64_t seed = 77;
    for (const QuantValue value : kQuantValues) {
      for (const QuantStore store : {QuantStore::packed_u32(0), QuantStore::packed_u32(1)}) {
        for (const Dims& size : {Dims{16}, Dims{16, 1}, Dims{16, 32}, Dims{2, 16, 16}}) {
          const int rank = size.rank();
          const std::int64_t along = store.dim < rank ? size[rank - 1 - store.dim] : 1;
          if (along % (32 / bits_of(value)) != 0) continue;
          if (!has_all(device) && size != Dims{16, 32}) continue;
          for (const bool two_levels : {false, true}) {
            const ScaleDType dtype = two_levels ? ScaleDType::ue4m3 : kScaleDTypes[seed % 5];
            QuantScheme scheme =
                QuantScheme().with_value(value).with_store(store).per_block(size, dtype);
            if (two_levels) scheme = scheme.per_tensor();
            const Shape shape = {2, 32, 64};
            std::ostringstream what;
            what << device << " " << scheme;
            const Values numbers = random_values(element_count(shape), -3, 3, ++seed);
            expect_quantized(there(numbers, shape, device), scheme, what.str());
          }
        }
      }
    }
  }
}

// More axes than can be split: scales are brought to each element before.
TEST(Quantization, BlocksOfManyAxes) {
  const Shape shape = {2, 4, 2, 4, 2, 8};
  const QuantScheme scheme =
      QuantScheme().with_value(QuantValue::q4s).per_block({2, 2, 2, 2, 2, 8});
  for (const Device device : devices_under_test()) {
    expect_quantized(there(random_values(element_count(shape)), shape, device), scheme, "blocks");
    expect_quantized(there(random_values(64), {1, 1, 1, 1, 2, 2, 2, 8}, device),
                     QuantScheme().per_block({2, 8}), "rank 8");
  }
}

TEST(Quantization, EveryDTypeAndLayout) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      const Array x = there(random_values(24 * 16), {24, 16}, device, dtype);
      const QuantScheme scheme = QuantScheme().with_value(QuantValue::q4s).per_block({8});
      expect_quantized(transpose(x), scheme, "transposed");
      expect_quantized(flip(x, {1}), scheme, "flipped");
      expect_quantized(expand(narrow(x, 0, 3, 1), {5, 16}), scheme, "expanded");
      EXPECT_EQ(quantize_dynamic(x, scheme).dtype(), dtype);
      EXPECT_EQ(dequantize(quantize_dynamic(x, scheme)).dtype(), dtype);
    }
  }
}

TEST(Quantization, EveryCodeComesBack) {
  for (const Device device : devices_under_test()) {
    for (const QuantValue value : kQuantValues) {
      std::vector<std::byte> bytes;
      const int count = 1 << bits_of(value), per_byte = 8 / bits_of(value);
      for (int code = 0; code < count; code += per_byte) {
        int byte = 0;
        for (int i = 0; i < per_byte; ++i) byte |= (code + i) << (i * bits_of(value));
        bytes.push_back(static_cast<std::byte>(byte));
      }
      while (bytes.size() % 4 != 0) bytes.push_back(std::byte{});
      const float one = 1;
      const auto* const scale = reinterpret_cast<const std::byte*>(&one);
      bytes.insert(bytes.end(), scale, scale + 4);
      const QuantScheme scheme = QuantScheme().with_value(value);
      const QuantizedArray q = quantized_from_bytes(bytes, scheme, {count}, DType::f32, device);
      const std::vector<float> got = floats(dequantize(q));
      const std::vector<float> stands_for = floats(quantized_values(q));
      for (int code = 0; code < count; ++code) {
        const auto i = static_cast<std::size_t>(code);
        const float expected = decoded(static_cast<std::uint32_t>(code), value);
        EXPECT_TRUE(got[i] == expected || (std::isnan(got[i]) && std::isnan(expected)))
            << name(value) << " " << code << ": " << got[i] << ", expected " << expected;
        EXPECT_EQ(std::isnan(got[i]), std::isnan(stands_for[i]));
        if (expected >= range_of(value).first && expected <= range_of(value).second) {
          EXPECT_EQ(encoded(expected, value), static_cast<std::uint32_t>(code)) << name(value);
        }
      }
    }
  }
}

// Of codes as they are, ties, what is beyond the range, and what is no number.
TEST(Quantization, SpecialValues) {
  const Values numbers = {0.0,   -0.0,  0.5,  1.5,    2.5,          -0.5,         -1.5,
                          0.25,  0.75,  1.25, 1.75,   3.5,          5.0,          -6.5,
                          1e9,   -1e9,  kNan, kInf,   -kInf,        1e-30,        -1e-30,
                          240.0, 464.0, 2.4,  447.99, 0.0009765625, 0.00146484375};
  const Shape shape = {static_cast<std::int64_t>(numbers.size())};
  for (const Device device : devices_under_test()) {
    const Array x = there(numbers, shape, device);
    for (const QuantValue value : kQuantValues) {
      const QuantScheme scheme = QuantScheme().with_value(value);
      const QuantizedArray q = quantize(x, scheme, {there({1}, {1}, device), Array()});
      std::vector<std::uint32_t> codes;
      for (const double number : numbers) {
        codes.push_back(encoded(static_cast<float>(number), value));
      }
      const std::vector<std::byte> bytes = to_bytes(q), body = packed(codes, scheme, shape);
      EXPECT_TRUE(std::equal(body.begin(), body.end(), bytes.begin())) << device << name(value);
    }
  }
}

TEST(Quantization, NothingAndZeros) {
  for (const Device device : devices_under_test()) {
    for (const QuantValue value : kQuantValues) {
      for (const ScaleDType dtype : kScaleDTypes) {
        if (!has_all(device) && value != QuantValue::e4m3) continue;
        const QuantScheme scheme = QuantScheme().with_value(value).per_tensor(dtype);
        const QuantizedArray none = quantize_dynamic(zeros({0, 3}, DType::f32, device), scheme);
        EXPECT_EQ(dequantize(none).shape(), Shape({0, 3}));
        EXPECT_EQ(to_bytes(none).size(), static_cast<std::size_t>(none.bytes()));
        const QuantizedArray nil = quantize_dynamic(zeros({2, 3}, DType::f32, device), scheme);
        EXPECT_EQ(dequantize(nil).to_doubles(), Values(6, 0)) << name(value) << name(dtype);
        EXPECT_EQ(quantized_values(nil).to_doubles(), Values(6, 0)) << name(value) << name(dtype);
      }
    }
    const QuantScheme blocks = QuantScheme().per_block({4}, ScaleDType::ue4m3).per_tensor();
    EXPECT_EQ(dequantize(quantize_dynamic(zeros({0, 8}, DType::f32, device), blocks)).shape(),
              Shape({0, 8}));
    EXPECT_EQ(dequantize(quantize_dynamic(zeros({2, 8}, DType::f32, device), blocks)).to_doubles(),
              Values(16, 0));
    // A NaN is not lost: its scale is NaN, and so are all that share it.
    const Array x = there({1, 2, kNan, 4, 1, 2, 3, 4}, {8}, device);
    const Values got = dequantize(quantize_dynamic(x, QuantScheme().per_block({4}))).to_doubles();
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(got[i]), i < 4);
    // What is infinite stays, at the cost of what shares its scale.
    const Array far = there({1, -kInf}, {2}, device);
    const QuantScheme symmetric = QuantScheme().with_value(QuantValue::q8s);
    EXPECT_EQ(dequantize(quantize_dynamic(far, symmetric)).to_doubles(), Values({0, -kInf}));
  }
}

TEST(Quantization, ScalesAreRoundedUp) {
  Values numbers = {0,     1e-45, 1e-39, 1e-30, 7.7e-4, 1e-3,  0.3,    0.5,     1.0 / 3,
                    440,   448,   449,   500,   65504,  65505, 1e30,   3e38,    1,
                    1.125, 1.126, 2,     1.99,  255,    256,   0x1p-9, 0x1p-10, 0x1p127};
  for (const double number : random_values(300, -40, 40, 5)) numbers.push_back(std::exp2(number));
  for (const double number : random_values(200, -26, -12, 6)) numbers.push_back(std::exp2(number));
  for (int e = -30; e < 20; ++e) {
    const float power = std::ldexp(1.0f, e);
    numbers.push_back(std::nextafter(power, 0.0f));
    numbers.push_back(power);
    numbers.push_back(std::nextafter(power, 1e30f));
    numbers.push_back(std::nextafter(std::ldexp(1.875f, e), 1e30f));
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (const Device device : devices_under_test()) {
    const Array scales = there(numbers, {count}, device);
    for (const ScaleDType dtype : kScaleDTypes) {
      const QuantScheme scheme =
          QuantScheme().with_store(QuantStore::native()).per_block({1}, dtype);
      const QuantizedArray q = quantize(zeros({count}, DType::f32, device), scheme, {scales, {}});
      const std::vector<float> got = floats(q.combined_scales());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto scale = static_cast<float>(numbers[i]);
        // Below normal numbers a device may flush to 0.
        if (scale > 0 && scale < 0x1p-126f && dtype != ScaleDType::f32) continue;
        EXPECT_EQ(got[i], rounded_up(scale, dtype)) << name(dtype) << " of " << scale;
      }
    }
  }
}

// Numbers of Burn's documentation of its layout, and what its formula gives.
TEST(Quantization, Formula) {
  const QuantScheme q8s = QuantScheme().with_value(QuantValue::q8s);
  for (const Device device : devices_under_test()) {
    const Array x = there({-1.8, -1.0, 0.0, 0.5}, {4}, device);
    const CalibrationRange range = compute_range(x, q8s);
    expect_values(range.min, {1}, {-1.8});
    expect_values(range.max, {1}, {0.5});
    EXPECT_FLOAT_EQ(compute_q_params(range, q8s).scales.item<float>(), 1.8f * 2 / 254);
    EXPECT_FLOAT_EQ(compute_q_params(range, QuantScheme()).scales.item<float>(), 1.8f * 2 / 255);
    const QuantizedArray q = quantize(x, q8s, compute_q_params(range, q8s));
    EXPECT_EQ(quantized_values(q).to_doubles(), Values({-127, -71, 0, 35}));
    EXPECT_EQ(q.payload().to_doubles(), Values({0x2300b981}));
    const Array exact = there({5, 0, 4, -12.7}, {4}, device);
    EXPECT_EQ(quantized_values(quantize_dynamic(exact, q8s)).to_doubles(),
              Values({50, 0, 40, -127}));
    const CalibrationRange middle = compute_range(x, q8s, Calibration::abs_mean);
    expect_values(middle.max, {1}, {0.825});
    expect_values(middle.min, {1}, {-0.825});
    const Array rows =
        there({-1.8, -1, 0, 0.5, 1.8, 1, 0, -0.5, .01, .02, .03, .04}, {3, 4}, device);
    const CalibrationRange each = compute_range(rows, QuantScheme().per_block({4}));
    expect_values(each.min, {3, 1}, {-1.8, -0.5, 0.01});
    expect_values(each.max, {3, 1}, {0.5, 1.8, 0.04});
    const CalibrationRange mean =
        compute_range(rows, QuantScheme().with_store(QuantStore::native()).per_block({3, 2}),
                      Calibration::abs_mean);
    expect_values(mean.max, {1, 2}, {(2.8 + 2.8 + .03) / 6, (.5 + .5 + .07) / 6});
  }
}

// The least of two levels: relative to the largest, whose scale is the largest of its dtype.
TEST(Quantization, TwoLevels) {
  const QuantScheme nvfp4 =
      QuantScheme().with_value(QuantValue::e2m1).per_block({16}, ScaleDType::ue4m3).per_tensor();
  for (const Device device : devices_under_test()) {
    Values numbers = random_values(64, -1, 1, 9);
    numbers[3] = 6 * 448;
    const QuantizedArray q = quantize_dynamic(there(numbers, {64}, device), nvfp4);
    EXPECT_EQ(q.global().item<float>(), 1);
    EXPECT_EQ(q.scales().to_vector<std::uint8_t>()[0], 0x7e);
    EXPECT_EQ(q.bytes(), 32 + 4 + 4);
    // An all-zero array has the least scale.
    EXPECT_EQ(quantize_dynamic(zeros({16}, DType::f32, device), nvfp4).global().item<float>(),
              0x1p-126f);
  }
}

// Products of two scales below the least normal number: elements come back to half a step of it.
TEST(Quantization, TinyScales) {
  for (const Device device : devices_under_test()) {
    for (const ScaleDType dtype : {ScaleDType::ue4m3, ScaleDType::f16}) {
      const QuantScheme scheme = QuantScheme().per_tensor().per_block({4}, dtype);
      for (const float magnitude : {1e-38f, 3e-37f, 1e-36f, 1e-34f}) {
        const Values x = {magnitude, -magnitude, magnitude / 2, 0, magnitude / 2, 0, 0, 0};
        const QuantizedArray q = quantize_dynamic(there(x, {8}, device), scheme);
        const std::vector<float> back = floats(dequantize(q));
        const std::vector<float> scales = floats(q.combined_scales());
        for (std::size_t i = 0; i < x.size(); ++i) {
          EXPECT_GE(scales[i / 4], 0x1p-126f);
          EXPECT_LE(std::abs(back[i] - x[i]), 0.5000001 * scales[i / 4]) << magnitude << " " << i;
        }
      }
    }
    // 2^-127 is a scale of ue8m0 alone.
    const QuantScheme scheme = QuantScheme().per_tensor(ScaleDType::ue8m0);
    const Array least = to_device(full({1}, 0x1p-127, DType::f32), device);
    const Values x = {0x1p-125, -0x1p-124, 0x1p-120, 0};
    const QuantizedArray q = quantize(there(x, {4}, device), scheme, {least, Array()});
    EXPECT_EQ(quantized_values(q).to_doubles(), (Values{4, -8, 127, 0}));
  }
}

// What is not finite spoils the block that it is in, and no other.
TEST(Quantization, TwoLevelsWithInfinities) {
  for (const Device device : devices_under_test()) {
    for (const ScaleDType dtype : {ScaleDType::ue4m3, ScaleDType::f16}) {
      const QuantScheme scheme = QuantScheme().per_tensor().per_block({4}, dtype);
      const Values finite = {1, -2, 0.5, 0, 3, 2, -1, 4};
      const std::vector<float> expected =
          floats(dequantize(quantize_dynamic(there(finite, {8}, device), scheme)));
      for (const double odd : {kInf, -kInf, kNan, 3e38}) {
        Values x = finite;
        for (const double each : {odd, 1.0, -4.0, 0.0}) x.push_back(each);
        const std::vector<float> got =
            floats(dequantize(quantize_dynamic(there(x, {12}, device), scheme)));
        if (odd == 3e38) {
          EXPECT_NEAR(got[8], 3e38, 2e37);
          continue;
        }
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(got[i], expected[i]) << odd << " " << i;
        if (std::isnan(odd)) continue;
        EXPECT_EQ(std::signbit(got[8]), std::signbit(odd));
        EXPECT_NEAR(std::abs(got[8]), 4, 0.3) << "the largest that there is";
        EXPECT_NEAR(got[10], -4, 0.3);
      }
      const Values all = {kInf, 1, -kInf, 0};
      const std::vector<float> lone =
          floats(dequantize(quantize_dynamic(there(all, {4}, device), scheme)));
      EXPECT_EQ(lone[0], std::numeric_limits<float>::infinity());
      EXPECT_EQ(lone[1], 0);
    }
  }
}

// A whole array of 4-bit codes is dequantized by one launch.
TEST(Quantization, DequantizesAtOnce) {
  for (const Device device : devices_under_test()) {
    const Array x = there(random_values(64 * 64), {64, 64}, device);
    for (const QuantScheme& scheme :
         {QuantScheme().with_value(QuantValue::q4s),
          QuantScheme().with_value(QuantValue::q4f).per_block({32}, ScaleDType::f16)}) {
      const QuantizedArray q = quantize_dynamic(x, scheme);
      q.eval();
      const runtime::Profile profile;
      dequantize(q, DType::bf16).eval();
      device.synchronize();
      std::int64_t launches = 0;
      for (const runtime::KernelTime& kernel : profile.kernels()) launches += kernel.launches;
      EXPECT_LE(launches, 1) << device;
    }
  }
}

TEST(Quantization, FakeIsStraightThrough) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      const Array x = there(random_values(32), {2, 16}, device, dtype).require_grad();
      const QuantScheme scheme = QuantScheme().with_value(QuantValue::q4s).per_block({8});
      const Array fake = fake_quantize(x, scheme);
      EXPECT_EQ(fake.to_doubles(), dequantize(quantize_dynamic(x, scheme)).to_doubles());
      const Array weights = there(random_values(32, 1, 2, 8), {2, 16}, device, dtype);
      EXPECT_EQ(backward(sum(fake * weights)).get(x).to_doubles(), weights.to_doubles());
    }
  }
}

TEST(Quantization, GoesToOtherDevices) {
  const Device far = devices_under_test().back();
  const QuantScheme scheme =
      QuantScheme().with_value(QuantValue::q4s).per_block({8}, ScaleDType::ue4m3).per_tensor();
  const QuantizedArray q = quantize_dynamic(array(random_values(32), {2, 16}), scheme)
                               .with_propagation(Propagation::propagate);
  const QuantizedArray there = to_device(q, far);
  EXPECT_TRUE(there.device() == far);
  EXPECT_EQ(there.propagation(), Propagation::propagate);
  EXPECT_EQ(to_bytes(there), to_bytes(q));
  EXPECT_EQ(dequantize(there).to_doubles(), dequantize(q).to_doubles());
}

}  // namespace
}  // namespace hearth
