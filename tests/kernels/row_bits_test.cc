// Numerics::batch_invariant on the device that runs kernels: a row of many has the bits that it has
// alone and among few, of each op that a language model's step adds up in.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/numerics.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "ops/linalg/half_linear.h"

namespace hearth {
namespace {

using namespace check;

// Of rows [first, first + count) of the most that there are.
using OfRows = std::function<Array(std::int64_t first, std::int64_t count)>;

constexpr std::int64_t kMostRows = 130;

std::size_t different_bits(const Array& got, const Array& expected) {
  const Values one = got.to_doubles(), other = expected.to_doubles();
  if (one.size() != other.size()) return one.size() + 1;
  std::size_t count = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const bool alike = one[i] == other[i] || (one[i] != one[i] && other[i] != other[i]);
    count += alike ? 0 : 1;
  }
  return count;
}

class RowBits : public ::testing::Test {
 protected:
  static Numerics asked() {
    Numerics wanted = numerics();
    wanted.batch_invariant = true;
    return wanted;
  }

  Array there(const Array& x) const { return to_device(x, device_); }
  bool has_f64() const { return device_.name() != "metal"; }

  // Against each other; the rows of all are also within `share` of the largest of `expected`, which
  // the CPU gives in f64.
  void expect_own_bits(const OfRows& made, const std::string& what,
                       const std::vector<std::int64_t>& counts = {1, 2, 5, 16, 17, 40}) {
    SCOPED_TRACE(what);
    const Array all = made(0, kMostRows);
    for (const std::int64_t count : counts) {
      EXPECT_EQ(different_bits(made(0, count), narrow(all, 0, 0, count)), 0u) << count << " rows";
    }
    for (const std::int64_t row : {std::int64_t{7}, kMostRows - 1}) {
      EXPECT_EQ(different_bits(made(row, 1), narrow(all, 0, row, 1)), 0u) << "row " << row;
    }
    const std::int64_t last = kMostRows - 19;
    EXPECT_EQ(different_bits(made(last, 19), narrow(all, 0, last, 19)), 0u) << "the last rows";
  }

  const WithNumerics invariant_{asked()};
  const Device device_ = testing::kernel_device_under_test();
};

TEST_F(RowBits, OfProducts) {
  for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{264, 70}, {77, 19}}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Array x = random_array({kMostRows, in}, dtype, -1, 1, 1);
      const Array w = random_array({out, in}, dtype, -1, 1, 2);
      const Array x_there = there(x), w_there = there(w);
      const OfRows rows = [&](std::int64_t first, std::int64_t count) {
        return linear(narrow(x_there, 0, first, count), w_there);
      };
      expect_own_bits(rows, std::string(name(dtype)) + " " + std::to_string(in));
      expect_within(cast(rows(0, kMostRows), DType::f32).to_doubles(),
                    linear(cast(x, DType::f64), cast(w, DType::f64)).to_doubles(),
                    2 * tolerance(dtype));
    }
  }
}

// Weights whose outputs lie side by side, batches, and weights of halves for x of f32.
TEST_F(RowBits, OfOtherProducts) {
  const Array x = there(random_array({kMostRows, 3, 40}, DType::f32, -1, 1, 1));
  const Array turned = there(random_array({120, 24}, DType::f32, -1, 1, 2));
  expect_own_bits(
      [&](std::int64_t first, std::int64_t count) {
        return matmul(reshape(narrow(x, 0, first, count), {count, 120}), turned);
      },
      "rows of outputs");
  const Array several = there(random_array({3, 24, 40}, DType::f16, -1, 1, 3));
  const Array halves = cast(x, DType::f16).eval();
  expect_own_bits(
      [&](std::int64_t first, std::int64_t count) {
        const Array own = permute(narrow(halves, 0, first, count), {1, 0, 2});
        return permute(matmul(own, transpose(several)), {1, 0, 2});
      },
      "batches");
  const Array narrow_weight = there(random_array({24, 120}, DType::bf16, -1, 1, 4));
  expect_own_bits(
      [&](std::int64_t first, std::int64_t count) {
        return half_linear(reshape(narrow(x, 0, first, count), {count, 120}), narrow_weight);
      },
      "weights of bf16");
}

std::vector<DType> packed_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kPackedDTypeCount; ++i) all.push_back(static_cast<DType>(kDTypeCount + i));
  return all;
}

// Of two formats with every number of rows, of the others with few.
class PackedRowBits : public RowBits {
 protected:
  static bool is_common(DType format) { return format == DType::q4_k || format == DType::q8_0; }

  void expect_own_bits_of(DType format) {
    // Ends in part of what a simdgroup takes at a time.
    const std::int64_t in = block_of(format) == 32 ? 9 * 32 : 3 * block_of(format);
    const Array weight = quantize(random_array({21, in}, DType::f32, -1, 1, 3), format);
    const Array x = random_array({kMostRows, in}, DType::f32, -2, 2, 5);
    const Array w_there = there(weight), x_there = there(x);
    const OfRows rows = [&](std::int64_t first, std::int64_t count) {
      return linear(narrow(x_there, 0, first, count), w_there);
    };
    expect_own_bits(rows, std::string(name(format)),
                    is_common(format) ? std::vector<std::int64_t>{1, 2, 5, 8, 9, 16, 17, 40}
                                      : std::vector<std::int64_t>{5, 17});
    // x is multiplied in codes of 8 bits.
    expect_within(rows(0, kMostRows).to_doubles(),
                  linear(cast(x, DType::f64), dequantize(weight, DType::f64)).to_doubles(), 0.03);
  }
};

TEST_F(PackedRowBits, OfCommonFormats) {
  for (const DType format : packed_dtypes()) {
    if (is_common(format)) expect_own_bits_of(format);
  }
}
TEST_F(PackedRowBits, OfOtherFormats) {
  for (const DType format : packed_dtypes()) {
    if (!is_common(format)) expect_own_bits_of(format);
  }
}

TEST_F(RowBits, OfExperts) {
  constexpr std::int64_t kCount = 5, kUsed = 2, kIn = 256, kOut = 37;
  std::vector<std::int32_t> chosen;
  for (std::int64_t i = 0; i < kMostRows * kUsed; ++i) {
    chosen.push_back(static_cast<std::int32_t>(i * 7 % 11 % (kCount + 1)) - (i % 13 == 0 ? 1 : 0));
  }
  const Array experts = there(Array::from_data(chosen, {kMostRows, kUsed}));
  const auto check_weight = [&](const Array& weight, DType dtype) {
    const Array x = there(random_array({kMostRows, kIn}, dtype, -1, 1, 1));
    expect_own_bits(
        [&](std::int64_t first, std::int64_t count) {
          return expert_linear(narrow(x, 0, first, count), weight,
                               narrow(experts, 0, first, count));
        },
        std::string(name(weight.dtype())));
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    check_weight(there(random_array({kCount, kOut, kIn}, dtype, -1, 1, 2)), dtype);
  }
  const Array plain = random_array({kCount, kOut, kIn}, DType::f32, -1, 1, 2);
  for (const DType format : {DType::q4_0, DType::q8_0, DType::q4_k, DType::q6_k, DType::mxfp4}) {
    check_weight(there(quantize(plain, format)), DType::f32);
  }
}

// A text of 40 rows and 300 keys and another of 90 rows and 120 keys, whole and in pieces.
TEST_F(RowBits, OfAttentionOverPages) {
  constexpr std::int64_t kPage = 20, kPages = 24, kSlots = kPage * kPages, kHeads = 4, kKv = 2;
  struct Case {
    DType dtype;
    bool has_codes;
    std::int64_t d, window;
  };
  const std::vector<std::int32_t> pages = [] {
    std::vector<std::int32_t> numbers;
    for (std::int32_t i = 0; i < 2 * 15; ++i) numbers.push_back(i * 7 % kPages);
    return numbers;
  }();
  const auto numbers = [&](const std::vector<std::int32_t>& values, const Shape& shape) {
    return there(Array::from_data(values, shape));
  };
  for (const Case& each : {Case{DType::f32, false, 32, 0}, Case{DType::f32, true, 32, 0},
                           Case{DType::f16, false, 64, 0}, Case{DType::bf16, false, 64, 100},
                           Case{DType::f16, true, 64, 0}, Case{DType::f16, false, 136, 0}}) {
    const auto cache = [&](std::uint64_t seed) {
      const Array plain = random_array({kSlots, kKv, each.d}, DType::f32, -1, 1, seed);
      return there(each.has_codes ? quantize(plain, DType::q8_0) : cast(plain, each.dtype));
    };
    const Array q = there(random_array({kMostRows, kHeads, each.d}, each.dtype, -1, 1, 1));
    const Array keys = cache(2), values = cache(3);
    const PagedAttentionOptions options{.window = each.window};
    const Array whole =
        paged_attention(q, keys, values, numbers(pages, {2, 15}), numbers({0, 40, 130}, {3}),
                        numbers({300, 120}, {2}), kPage, options);
    SCOPED_TRACE(std::string(name(each.dtype)) + " " + std::to_string(each.d));
    const auto expect_part = [&](std::int64_t text, std::int64_t first, std::int64_t count) {
      const std::int64_t begin = text == 0 ? 0 : 40, rows = text == 0 ? 40 : 90;
      const std::int64_t length = (text == 0 ? 300 : 120) - rows + first + count;
      const std::vector<std::int32_t> own(pages.begin() + text * 15,
                                          pages.begin() + text * 15 + 15);
      const Array part =
          paged_attention(narrow(q, 0, begin + first, count), keys, values, numbers(own, {1, 15}),
                          numbers({0, static_cast<std::int32_t>(count)}, {2}),
                          numbers({static_cast<std::int32_t>(length)}, {1}), kPage, options);
      EXPECT_EQ(different_bits(part, narrow(whole, 0, begin + first, count)), 0u)
          << "text " << text << ", " << count << " rows from " << first;
    };
    for (const std::int64_t text : {0, 1}) {
      for (const std::int64_t count : {1, 5, 17}) expect_part(text, 40 - count, count);
    }
    expect_part(0, 0, 1);
    expect_part(1, 89, 1);
  }
}

TEST_F(RowBits, OfNormsAndSums) {
  for (const std::int64_t length : {33, 1000, 5003}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if ((dtype == DType::bf16) != (length == 1000)) continue;
      const Array x = there(random_array({kMostRows, length}, dtype, -1, 1, 1));
      const Array weight = there(random_array({length}, dtype, -1, 1, 2));
      const std::vector<std::function<Array(const Array&)>> ops = {
          [&](const Array& rows) { return rms_norm(rows, weight); },
          [](const Array& rows) { return softmax(rows, -1); },
          [](const Array& rows) { return log_softmax(rows, -1); },
          [](const Array& rows) { return logsumexp(rows); },
          [](const Array& rows) { return sum(rows * rows, {-1}); },
          [](const Array& rows) { return rows * rsqrt(mean(square(rows), {-1}, true) + 1e-6); },
      };
      for (std::size_t i = 0; i < ops.size(); ++i) {
        expect_own_bits(
            [&](std::int64_t first, std::int64_t count) {
              return ops[i](narrow(x, 0, first, count));
            },
            std::string(name(dtype)) + " " + std::to_string(length) + ", op " + std::to_string(i),
            {1, 17});
      }
    }
  }
  const Array parts = there(random_array({kMostRows, 8, 65}, DType::f32, -1, 1, 3));
  expect_own_bits([&](std::int64_t first,
                      std::int64_t count) { return sum(narrow(parts, 0, first, count), {1}); },
                  "sums of experts");
}

}  // namespace
}  // namespace hearth
