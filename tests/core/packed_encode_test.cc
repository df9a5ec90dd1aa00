// Blocks that encode() makes: the golden bytes of tests/golden/packed_codes.txt, errors against
// those written there and against bounds, and what becomes of numbers that no format holds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/hashing.h"
#include "core/packed/decode.h"
#include "core/packed/encode.h"
#include "golden_file.h"
#include "hearth/dtype.h"

namespace hearth {
namespace {

using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kSuper = 256;

// What importance can change.
constexpr DType kSearched[] = {
    DType::q4_0,  DType::q4_1,    DType::q5_0,   DType::q5_1,   DType::q2_k,    DType::q3_k,
    DType::q4_k,  DType::q5_k,    DType::q6_k,   DType::iq4_nl, DType::iq4_xs,  DType::iq1_s,
    DType::iq1_m, DType::iq2_xxs, DType::iq2_xs, DType::iq2_s,  DType::iq3_xxs, DType::iq3_s};

std::vector<DType> packed_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kPackedDTypeCount; ++i) {
    dtypes.push_back(static_cast<DType>(kDTypeCount + i));
  }
  return dtypes;
}

Bytes encoded(DType dtype, const Floats& values, const Floats& importance = {}) {
  const auto elements = static_cast<std::int64_t>(values.size());
  // At an odd address, with a byte behind that stays.
  Bytes moved(static_cast<std::size_t>(bytes_of(dtype, elements)) + 2, std::byte{0xa5});
  encode(dtype, values.data(), elements, importance.empty() ? nullptr : importance.data(),
         moved.data() + 1);
  EXPECT_EQ(moved.front(), std::byte{0xa5}) << name(dtype);
  EXPECT_EQ(moved.back(), std::byte{0xa5}) << name(dtype);
  return {moved.begin() + 1, moved.end() - 1};
}

Floats decoded(DType dtype, const Bytes& blocks) {
  const auto bytes = static_cast<std::int64_t>(blocks.size());
  const std::int64_t elements = bytes / size_of(dtype) * block_of(dtype);
  Floats out(static_cast<std::size_t>(elements));
  decode(dtype, blocks.data(), elements, out.data());
  return out;
}

double error_of(const Floats& values, const Floats& decoded, const Floats& importance = {}) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(values[i]) - static_cast<double>(decoded[i]);
    const double weight = importance.empty() ? 1 : static_cast<double>(importance[i]);
    sum += weight * difference * difference;
  }
  return sum;
}

// Standard normal, by Box and Muller; the same for every run.
Floats gaussian(std::int64_t count, std::uint64_t seed) {
  Floats values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto uniform = [&](std::uint64_t which) {
      const std::uint64_t bits = splitmix64(seed + 2 * static_cast<std::uint64_t>(i) + which);
      return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
    };
    const double radius = std::sqrt(-2 * std::log(uniform(0)));
    values.push_back(static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform(1))));
  }
  return values;
}

Floats floats_of_digits(const std::string& digits) {
  Floats values;
  for (std::size_t i = 0; i < digits.size(); i += 8) {
    const auto bits = static_cast<std::uint32_t>(std::stoul(digits.substr(i, 8), nullptr, 16));
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

std::string digits_of(const Bytes& bytes) {
  std::string digits;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    digits += kDigits[std::to_integer<unsigned>(byte) >> 4];
    digits += kDigits[std::to_integer<unsigned>(byte) & 15u];
  }
  return digits;
}

// ---- Against what was written

TEST(PackedEncode, GivesTheGoldenBytesOrSmallerErrors) {
  std::ifstream file = check::golden_file("packed_codes");
  std::map<std::string, Floats> rows;
  Floats importance;
  std::set<DType> written;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind, first, row, expected;
    bool is_weighted = false;
    line >> kind >> first;
    if (kind == "row") {
      line >> row;
      rows[first] = floats_of_digits(row);
      continue;
    }
    if (kind == "importance") {
      importance = floats_of_digits(first);
      continue;
    }
    line >> row >> is_weighted >> expected;
    const DType dtype = dtype_from_name(first);
    const Floats& values = rows.at(row);
    const Floats weights = is_weighted ? importance : Floats{};
    const Bytes blocks = encoded(dtype, values, weights);
    if (kind == "codes") {
      EXPECT_EQ(digits_of(blocks), expected) << text.substr(0, 40);
    } else {
      EXPECT_LE(error_of(values, decoded(dtype, blocks), weights), 1.02 * std::stod(expected))
          << text;
    }
    written.insert(dtype);
  }
  EXPECT_EQ(written.size(), static_cast<std::size_t>(kPackedDTypeCount));
}

TEST(PackedEncode, ErrorsOfGaussianRowsAreBounded) {
  // One percent above what they are.
  const std::map<DType, double> bounds = {
      {DType::iq1_s, 0.453},  {DType::iq1_m, 0.42},  {DType::iq2_xxs, 0.333},
      {DType::iq2_xs, 0.288}, {DType::iq2_s, 0.245}, {DType::iq3_xxs, 0.179},
      {DType::iq3_s, 0.133},
  };
  const Floats values = gaussian(32 * kSuper, 5);
  const double norm = error_of(values, Floats(values.size()));
  for (const auto& [dtype, bound] : bounds) {
    const Floats out = decoded(dtype, encoded(dtype, values));
    EXPECT_LE(std::sqrt(error_of(values, out) / norm), bound) << name(dtype);
  }
}

TEST(PackedEncode, ImportanceMakesWeightedErrorsSmaller) {
  const Floats values = gaussian(8 * kSuper, 6);
  Floats importance = gaussian(8 * kSuper, 7);
  for (float& weight : importance) weight = std::exp(2 * weight);
  for (const DType dtype : kSearched) {
    const double without = error_of(values, decoded(dtype, encoded(dtype, values)), importance);
    const double with =
        error_of(values, decoded(dtype, encoded(dtype, values, importance)), importance);
    EXPECT_LT(with, without) << name(dtype);
  }
}

TEST(PackedEncode, ImportanceOfZeroIsNone) {
  const Floats values = gaussian(2 * kSuper, 13);
  for (const DType dtype : packed_dtypes()) {
    for (const float nothing : {0.0f, 1e-45f}) {
      const Floats importance(values.size(), nothing);
      EXPECT_EQ(encoded(dtype, values, importance), encoded(dtype, values)) << name(dtype);
    }
  }
}

TEST(PackedEncode, GroupsWithoutImportanceKeepTheirElements) {
  Floats values = gaussian(4 * kSuper, 14);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= i % kSuper < 128 ? 1.0f : 0.25f;
  for (const float size : {1e-9f, 1.0f, 1e9f}) {
    Floats importance = gaussian(4 * kSuper, 15);
    const auto is_dead = [](std::size_t i) { return i % kSuper >= 64 && i % kSuper < 96; };
    Floats only_dead(values.size()), only_live(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      importance[i] = is_dead(i) ? 0 : size * std::exp(importance[i]);
      only_dead[i] = is_dead(i) ? 1 : 0;
      only_live[i] = importance[i] / size;
    }
    for (const DType dtype : kSearched) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(size));
      const Floats without = decoded(dtype, encoded(dtype, values));
      const Floats with = decoded(dtype, encoded(dtype, values, importance));
      EXPECT_LE(error_of(values, with, only_dead), 1.5 * error_of(values, without, only_dead));
      EXPECT_LE(error_of(values, with, only_live), error_of(values, without, only_live));
    }
  }
}

TEST(PackedEncode, ImportanceOfWhatRoundsToZeroAlone) {
  Floats values(kSuper), importance(kSuper);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 16 == 3 ? 1e-4f : i % 2 == 0 ? 1.0f : -0.5f;
    importance[i] = i % 16 == 3 ? 1.0f : 0.0f;
  }
  for (const DType dtype : {DType::q4_0, DType::q5_0, DType::q3_k, DType::q6_k}) {
    const Floats out = decoded(dtype, encoded(dtype, values, importance));
    EXPECT_NEAR(out[0], 1, 0.1) << name(dtype);
    EXPECT_NEAR(out[1], -0.5, 0.1) << name(dtype);
  }
}

TEST(PackedEncode, WhatIsAboveTheLimitCountsAsIt) {
  for (const DType dtype : packed_dtypes()) {
    const float largest = largest_encoded(dtype);
    Floats values(kSuper, 0), beyond(kSuper, 0);
    values[1] = largest;
    beyond[1] = kInfinity;
    EXPECT_EQ(encoded(dtype, values), encoded(dtype, beyond)) << name(dtype);
  }
}

// ---- Meaning

TEST(PackedEncode, BlocksAreIndependent) {
  const Floats values = gaussian(3 * kSuper, 8);
  for (const DType dtype : packed_dtypes()) {
    Bytes each;
    const auto extent = static_cast<std::ptrdiff_t>(block_of(dtype));
    for (auto at = values.begin(); at != values.end(); at += extent) {
      const Bytes block = encoded(dtype, Floats(at, at + extent));
      each.insert(each.end(), block.begin(), block.end());
    }
    EXPECT_EQ(encoded(dtype, values), each) << name(dtype);
  }
}

TEST(PackedEncode, ZerosStayZeros) {
  for (const DType dtype : packed_dtypes()) {
    for (const Floats& importance : {Floats{}, Floats(kSuper, 1), Floats(kSuper, 0)}) {
      for (const float zero : {0.0f, -0.0f, 1e-40f}) {
        const Floats out = decoded(dtype, encoded(dtype, Floats(kSuper, zero), importance));
        for (const float element : out) EXPECT_NEAR(element, 0, 1e-38f) << name(dtype);
      }
    }
  }
}

TEST(PackedEncode, NoElements) {
  for (const DType dtype : packed_dtypes()) encode(dtype, nullptr, 0, nullptr, nullptr);
}

// ---- Numbers that no format holds

TEST(PackedEncode, NanCountsAsZero) {
  for (const DType dtype : packed_dtypes()) {
    Floats values = gaussian(2 * kSuper, 9);
    Floats zeroed = values;
    for (std::size_t i = 0; i < values.size(); i += 7) {
      values[i] = kNotANumber;
      zeroed[i] = 0;
    }
    EXPECT_EQ(encoded(dtype, values), encoded(dtype, zeroed)) << name(dtype);
    EXPECT_EQ(encoded(dtype, Floats(kSuper, kNotANumber)), encoded(dtype, Floats(kSuper, 0)));
  }
}

TEST(PackedEncode, InfinityCountsAsTheLargest) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const DType dtype : packed_dtypes()) {
    Floats values = gaussian(kSuper, 10);
    Floats limited = values;
    for (std::size_t i = 0; i < values.size(); i += 50) {
      values[i] = i % 4 == 0 ? kInfinity : -kInfinity;
      limited[i] = i % 4 == 0 ? kLargest : -kLargest;
    }
    const Bytes blocks = encoded(dtype, values);
    EXPECT_EQ(blocks, encoded(dtype, limited)) << name(dtype);
    for (const float element : decoded(dtype, blocks)) {
      EXPECT_TRUE(std::isfinite(element)) << name(dtype);
    }
  }
}

TEST(PackedEncode, ImportanceThatIsNoWeight) {
  const Floats values = gaussian(kSuper, 11);
  for (const DType dtype : packed_dtypes()) {
    Floats importance(kSuper, 1), limited(kSuper, 1);
    for (std::size_t i = 0; i < importance.size(); i += 3) {
      importance[i] = i % 2 == 0 ? kNotANumber : -1.0f;
      limited[i] = 0;
    }
    importance[1] = kInfinity;
    limited[1] = 0x1p56f;
    EXPECT_EQ(encoded(dtype, values, importance), encoded(dtype, values, limited)) << name(dtype);
  }
}

TEST(PackedEncode, EveryFloatGivesFiniteElements) {
  std::uint64_t state = 12;
  const auto any_float = [&] {
    return std::bit_cast<float>(static_cast<std::uint32_t>(splitmix64(++state)));
  };
  for (const DType dtype : packed_dtypes()) {
    for (int round = 0; round < 40; ++round) {
      Floats values = gaussian(kSuper, state);
      Floats importance(kSuper, 1);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (round % 4 == 0 || i % 60 == 7) values[i] = any_float();
        if (round % 4 == 2) values[i] = std::ldexp(values[i], -8 * round);
        if (round % 2 == 1) importance[i] = any_float();
      }
      for (const float element : decoded(dtype, encoded(dtype, values, importance))) {
        EXPECT_TRUE(std::isfinite(element)) << name(dtype) << " " << round;
      }
    }
  }
}

}  // namespace
}  // namespace hearth
