// What caches of codes rest on: the Hadamard transform against its definition; rows of TurboQuant,
// their errors and their bytes; paged_attention over codes against what the codes stand for, of any
// keys with any values; and what attention loses by them, rotated or not.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/quantization/packed.h"

namespace hearth {
namespace {

using namespace check;
using hearth::testing::devices_under_test;

Array gaussian(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Values values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = normal(random);
  return array(values, shape, DType::f32);
}

// Gaussian, but for four channels that are twenty times as large.
Array with_outliers(const Shape& shape, std::uint64_t seed) {
  std::vector<float> factors(static_cast<std::size_t>(shape.back()), 1.0f);
  for (const std::size_t channel : {1, 17, 40, 63}) factors[channel] = 20.0f;
  return mul(gaussian(shape, seed), Array::from_data(factors, {shape.back()}));
}

double relative_error(const Array& got, const Array& expected) {
  const Values a = got.to_doubles(), b = expected.to_doubles();
  EXPECT_EQ(a.size(), b.size());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(error / norm);
}

double mean_cosine(const Array& got, const Array& expected) {
  const Values a = got.to_doubles(), b = expected.to_doubles();
  const auto n = static_cast<std::size_t>(got.shape().back());
  double sum = 0;
  for (std::size_t row = 0; row < a.size(); row += n) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = row; i < row + n; ++i) {
      ab += a[i] * b[i];
      aa += a[i] * a[i];
      bb += b[i] * b[i];
    }
    sum += ab / std::sqrt(aa * bb);
  }
  return sum / static_cast<double>(a.size() / n);
}

TEST(Hadamard, IsItsDefinition) {
  for (const Device device : devices_under_test()) {
    for (const std::int64_t n : {1, 2, 6, 32, 80, 96, 128, 256}) {
      const std::int64_t block = n & -n, rows = 3;
      const Array x = random_array({rows, n}, DType::f32, -2, 2, static_cast<std::uint64_t>(n));
      const Values in = x.to_doubles();
      Values expected(in.size(), 0);
      for (std::int64_t i = 0; i < rows * n; ++i) {
        const std::int64_t first = i / block * block;
        for (std::int64_t j = 0; j < block; ++j) {
          const bool is_odd = __builtin_parityll(static_cast<unsigned long long>((i - first) & j));
          const double value = in[static_cast<std::size_t>(first + j)];
          expected[static_cast<std::size_t>(i)] += is_odd ? -value : value;
        }
        expected[static_cast<std::size_t>(i)] /= std::sqrt(static_cast<double>(block));
      }
      const Array y = hadamard(to_device(x, device));
      expect_close(y, expected, 1e-5, device.name() + " n " + std::to_string(n));
      expect_close(hadamard(y), in, 1e-5, device.name() + " back");
    }
  }
}

TEST(Turbo, ErrorsOfGaussianRows) {
  const Array x = gaussian({2048, 128}, 3);
  const double bars[] = {0.340, 0.184, 0.0963};
  for (const Device device : devices_under_test()) {
    for (std::int64_t bits = 2; bits <= 4; ++bits) {
      const Array codes = turbo_quantize(to_device(x, device), bits);
      EXPECT_EQ(codes.shape(), (Shape{2048, 4 + 16 * bits}));
      const Array back = turbo_dequantize(codes, bits);
      EXPECT_LE(relative_error(back, x), bars[bits - 2]) << device.name() << " " << bits;
      EXPECT_GE(mean_cosine(back, x), bits == 4 ? 0.991 : 0) << device.name();
    }
  }
}

TEST(Turbo, RowsOfAnySizeOfNumbers) {
  for (const Device device : devices_under_test()) {
    const Array x = gaussian({4, 64}, 5);
    for (std::int64_t bits = 2; bits <= 4; ++bits) {
      const auto back = [&](const Array& rows) {
        return turbo_dequantize(turbo_quantize(to_device(rows, device), bits), bits).to_doubles();
      };
      const Values plain = back(x);
      for (const double factor : {1e-30, 1e30}) {
        Values scaled = back(mul(x, factor));
        for (double& value : scaled) value /= factor;
        expect_close(scaled, plain, 1e-4, device.name() + " times " + std::to_string(factor));
      }
      for (const double value : back(zeros({2, 32}, DType::f32))) EXPECT_EQ(value, 0);
      for (const double bad : {kNan, kInf}) {
        Values one = x.to_doubles();
        one[70] = bad;
        const Values got = back(array(one, {4, 64}, DType::f32));
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(std::isnan(got[i]), i / 64 == 1) << device.name() << " at " << i;
        }
      }
      expect_close(back(cast(x, DType::f16)), plain, 0.02, device.name() + " f16");
      expect_close(back(permute(permute(x, {1, 0}), {1, 0})), plain, 1e-6, "views");
    }
    EXPECT_EQ(turbo_quantize(zeros({0, 32}, DType::f32), 4).shape(), (Shape{0, 20}));
  }
}

TEST(Turbo, RefusesWhatItIsNotFor) {
  const Array x = zeros({2, 32}, DType::f32);
  expect_error(ErrorCode::invalid_argument, [&] { (void)turbo_quantize(x, 5); });
  expect_error(ErrorCode::shape, [&] { (void)turbo_quantize(zeros({2, 33}, DType::f32), 4); });
  expect_error(ErrorCode::dtype, [&] { (void)turbo_quantize(zeros({2, 32}, DType::i32), 4); });
  expect_error(ErrorCode::shape, [&] { (void)turbo_dequantize(zeros({2, 19}, DType::u8), 4); });
  expect_error(ErrorCode::dtype, [&] { (void)turbo_dequantize(x, 4); });
}

// Blocks that a device makes itself are those of the host.
TEST(Turbo, BlocksOfDevicesAreTheHosts) {
  Values values = random_values(64 * 96, -3, 3, 11);
  values[5] = kNan;
  values[40] = 1e30;
  for (std::size_t i = 96; i < 192; ++i) values[i] = 0;
  values[200] = -values[201];
  const Array x = array(values, {64, 96}, DType::f32);
  for (const Device device : devices_under_test()) {
    for (const DType format : {DType::q8_0, DType::q4_0}) {
      const Values host = block_bytes(quantize(x, format)).to_doubles();
      const Values there = block_bytes(quantize(to_device(x, device), format)).to_doubles();
      EXPECT_EQ(host, there) << device.name() << " " << name(format);
    }
  }
}

// A way to hold rows.
struct Storage {
  DType dtype;
  std::int64_t bits = 0;

  Array store(const Array& rows) const {
    if (bits != 0) return turbo_quantize(rows, bits);
    return is_packed(dtype) ? quantize(rows, dtype) : cast(rows, dtype);
  }
  Array decode(const Array& stored) const {
    if (bits != 0) return turbo_dequantize(stored, bits);
    return is_packed(dtype) ? dequantize(stored) : cast(stored, DType::f32);
  }
  std::string text() const { return std::string(name(dtype)) + "/" + std::to_string(bits); }
};
const std::vector<Storage>& storages() {
  static const std::vector<Storage> all = {{DType::f32},   {DType::f16},  {DType::bf16},
                                           {DType::q8_0},  {DType::q4_0}, {DType::u8, 4},
                                           {DType::u8, 3}, {DType::u8, 2}};
  return all;
}

// One sequence of `rows` rows behind others, in pages that are shuffled.
struct Problem {
  std::int64_t rows = 1, length = 300, heads = 6, kv_heads = 2, d = 64, dv = 64;
  PagedAttentionOptions options = {};

  static constexpr std::int64_t kPage = 16;

  std::int64_t pages() const { return (length + kPage - 1) / kPage + 2; }
  Array q() const { return random_array({rows, heads, d}, DType::f32, -2, 2, 1); }
  Array keys() const { return random_array({pages() * kPage, kv_heads, d}, DType::f32, -2, 2, 2); }
  Array values() const {
    return random_array({pages() * kPage, kv_heads, dv}, DType::f32, -2, 2, 3);
  }
  Array attend(const Array& queries, const Array& k, const Array& v, Device device) const {
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages() - 2));
    std::iota(order.begin(), order.end(), 1);
    std::shuffle(order.begin(), order.end(), std::mt19937(4));
    const auto there = [&](const Array& x) { return to_device(x, device); };
    const auto numbers = [&](const std::vector<std::int32_t>& list, const Shape& shape) {
      return there(Array::from_data(list, shape));
    };
    return paged_attention(there(queries), there(k), there(v), numbers(order, {1, pages() - 2}),
                           numbers({0, static_cast<std::int32_t>(rows)}, {2}),
                           numbers({static_cast<std::int32_t>(length)}, {1}), kPage, options);
  }
};

void expect_reads_codes(Problem problem, const Storage& k, const Storage& v, Device device,
                        DType dtype = DType::f32) {
  const Array keys = k.store(problem.keys()), values = v.store(problem.values());
  const Array q = cast(problem.q(), dtype);
  problem.options.key_bits = problem.options.value_bits = 0;
  const Array wide = problem.attend(cast(q, DType::f64), cast(k.decode(keys), DType::f64),
                                    cast(v.decode(values), DType::f64), Device::cpu());
  problem.options.key_bits = k.bits;
  problem.options.value_bits = v.bits;
  const double bound = dtype == DType::f32 ? 2e-5 : 5 * tolerance(dtype);
  expect_close(problem.attend(q, keys, values, device), wide.to_doubles(), bound,
               device.name() + " " + k.text() + " " + v.text() + " " + std::string(name(dtype)));
}

TEST(CacheCodes, AnyKeysWithAnyValues) {
  for (const Device device : devices_under_test()) {
    for (const Storage& k : storages()) {
      for (const Storage& v : storages()) {
        if (k.dtype == v.dtype && is_float(k.dtype)) continue;
        expect_reads_codes({}, k, v, device);
      }
    }
  }
}

TEST(CacheCodes, ReadByQueriesOf16Bits) {
  const Storage f16{DType::f16};
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      for (const Storage& storage : storages()) {
        if (is_float(storage.dtype)) continue;
        expect_reads_codes({.rows = 3, .d = 128, .dv = 128}, storage, storage, device, dtype);
        expect_reads_codes({.rows = 21, .length = 90, .d = 128, .dv = 96}, storage, storage, device,
                           dtype);
        expect_reads_codes({.heads = 10, .d = 32, .dv = 96, .options = {.softcap = 3}}, storage,
                           f16, device, dtype);
      }
      expect_reads_codes({.options = {.window = 70}}, f16, {DType::q8_0}, device, dtype);
    }
  }
}

TEST(CacheCodes, ManyRowsWindowsAndOddHeads) {
  for (const Device device : devices_under_test()) {
    for (const Storage& storage : storages()) {
      if (is_float(storage.dtype)) continue;
      expect_reads_codes({.rows = 40, .length = 90}, storage, storage, device);
      expect_reads_codes({.rows = 3, .heads = 2, .kv_heads = 2, .d = 32, .dv = 96}, storage,
                         storage, device);
      expect_reads_codes(
          {.heads = 10, .d = 128, .dv = 256, .options = {.softcap = 3, .window = 70}}, storage,
          storage, device);
    }
  }
}

TEST(CacheCodes, RowsOfAnyCompanyHaveTheSameBits) {
  const Storage storage{DType::q8_0};
  Problem one;
  const Array keys = storage.store(one.keys()), values = storage.store(one.values());
  const Array alone = one.attend(one.q(), keys, values, Device::cpu());
  // The same row as the last of two sequences: numbers of pages differ, not where keys are cut.
  std::vector<std::int32_t> order(static_cast<std::size_t>(one.pages() - 2));
  std::iota(order.begin(), order.end(), 1);
  std::shuffle(order.begin(), order.end(), std::mt19937(4));
  std::vector<std::int32_t> both(order);
  both.insert(both.end(), order.begin(), order.end());
  const auto numbers = [](const std::vector<std::int32_t>& list, const Shape& shape) {
    return Array::from_data(list, shape);
  };
  const Array q = cat(std::vector<Array>{neg(one.q()), one.q()}, 0);
  const Array pair =
      paged_attention(q, keys, values, numbers(both, {2, one.pages() - 2}), numbers({0, 1, 2}, {3}),
                      numbers({123, 300}, {2}), Problem::kPage);
  EXPECT_EQ(narrow(pair, 0, 1, 1).to_doubles(), alone.to_doubles());
}

TEST(CacheCodes, RefusesRowsThatAreNone) {
  const Problem problem;
  const Device cpu = Device::cpu();
  const Array q = problem.q(), keys = problem.keys(), values = problem.values();
  const auto attend = [&](const Array& k, std::int64_t bits, const Array& v) {
    Problem own = problem;
    own.options.key_bits = bits;
    (void)own.attend(q, k, v, cpu);
  };
  expect_error(ErrorCode::dtype, [&] { attend(quantize(keys, DType::q5_0), 0, values); });
  expect_error(ErrorCode::dtype, [&] { attend(quantize(keys, DType::q8_0), 4, values); });
  expect_error(ErrorCode::dtype, [&] { attend(keys, 4, values); });
  expect_error(ErrorCode::invalid_argument, [&] { attend(turbo_quantize(keys, 4), 5, values); });
  expect_error(ErrorCode::shape, [&] { attend(turbo_quantize(keys, 4), 3, values); });
  expect_error(ErrorCode::dtype, [&] { attend(turbo_quantize(keys, 4), 0, values); });
  expect_error(ErrorCode::shape, [&] {
    attend(quantize(random_array({320, 2, 32}, DType::f32), DType::q8_0), 0, values);
  });
}

// What attention over codes loses, relative to the result: of rows as they are, and rotated.
struct Losses {
  double plain, rotated;
};
Losses losses_of(const Storage& storage, bool outliers) {
  Problem problem{.rows = 1, .length = 512, .heads = 8, .kv_heads = 2, .d = 128, .dv = 128};
  problem.options.key_bits = problem.options.value_bits = storage.bits;
  const auto drawn = [&](const Shape& shape, std::uint64_t seed) {
    return outliers ? with_outliers(shape, seed) : gaussian(shape, seed);
  };
  const Shape shape = {problem.pages() * Problem::kPage, problem.kv_heads, problem.d};
  // Queries that leave the softmax wide, as trained heads do.
  const Array q = mul(gaussian({1, problem.heads, problem.d}, 7), outliers ? 0.1 : 1.0);
  const Array k = drawn(shape, 8), v = drawn(shape, 9);
  Problem exact = problem;
  exact.options = {};
  const Array expected = exact.attend(q, cast(k, DType::f16), cast(v, DType::f16), Device::cpu());
  const Array signs = array(
      [&] {
        Values made = random_values(problem.d, -1, 1, 21);
        for (double& value : made) value = value < 0 ? -1 : 1;
        return made;
      }(),
      {problem.d}, DType::f32);
  const auto rotated = [&](const Array& x) { return hadamard(mul(x, signs)); };
  const Array plain = problem.attend(q, storage.store(k), storage.store(v), Device::cpu());
  const Array turned = problem.attend(rotated(q), storage.store(rotated(k)),
                                      storage.store(rotated(v)), Device::cpu());
  return {relative_error(plain, expected), relative_error(mul(hadamard(turned), signs), expected)};
}

TEST(CacheCodes, LossesOfAttention) {
  const struct {
    Storage storage;
    double gaussian, outliers;  // of rotated rows, at most
  } bars[] = {{{DType::q8_0}, 0.02, 0.02},
              {{DType::q4_0}, 0.2, 0.2},
              {{DType::u8, 4}, 0.2, 0.2},
              {{DType::u8, 3}, 0.4, 0.4},
              {{DType::u8, 2}, 0.7, 0.7}};
  for (const auto& bar : bars) {
    const Losses even = losses_of(bar.storage, false), uneven = losses_of(bar.storage, true);
    RecordProperty(bar.storage.text(), std::to_string(even.rotated));
    EXPECT_LE(even.rotated, bar.gaussian) << bar.storage.text() << " plain " << even.plain;
    EXPECT_LE(uneven.rotated, bar.outliers) << bar.storage.text() << " plain " << uneven.plain;
    EXPECT_LT(uneven.rotated, uneven.plain) << bar.storage.text();
  }
}

}  // namespace
}  // namespace hearth
