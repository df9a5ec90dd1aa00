// Elements of packed dtypes against tests/golden/packed.txt: bit by bit, and each element of the
// formulas against all.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/hashing.h"
#include "core/packed/decode.h"
#include "core/packed/formats.h"
#include "golden_file.h"
#include "hearth/dtype.h"

namespace hearth {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of_digits(const std::string& digits) {
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<float> decoded(DType dtype, const Bytes& blocks) {
  const auto bytes = static_cast<std::int64_t>(blocks.size());
  EXPECT_EQ(bytes % size_of(dtype), 0);
  const std::int64_t elements = bytes / size_of(dtype) * block_of(dtype);
  // At an odd address, and without room behind them.
  Bytes moved(1);
  moved.insert(moved.end(), blocks.begin(), blocks.end());
  moved.shrink_to_fit();
  std::vector<float> out(static_cast<std::size_t>(elements));
  decode(dtype, moved.data() + 1, elements, out.data());
  return out;
}

// All NaN are one.
std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x);
}

std::uint64_t hash_of(const std::vector<float>& elements) {
  std::uint64_t hash = kFnvBasis;
  for (const float element : elements) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = fnv1a(hash, (bits(element) >> shift) & 0xffu);
    }
  }
  return hash;
}

TEST(PackedDecode, GivesTheGoldenBits) {
  std::ifstream file = check::golden_file("packed");
  std::map<DType, int> written;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind, name, digits, expected;
    line >> kind >> name >> digits >> expected;
    const DType dtype = dtype_from_name(name);
    const std::vector<float> elements = decoded(dtype, bytes_of_digits(digits));
    if (kind == "blocks") {
      EXPECT_EQ(hash_of(elements), std::stoull(expected, nullptr, 16)) << name << " " << digits;
    } else {
      ASSERT_EQ(expected.size(), 8 * elements.size()) << name;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const auto want = std::stoul(expected.substr(8 * i, 8), nullptr, 16);
        EXPECT_EQ(bits(elements[i]), want) << name << ", element " << i;
      }
    }
    ++written[dtype];
  }
  EXPECT_EQ(written.size(), static_cast<std::size_t>(kPackedDTypeCount));
}

namespace formats = on_host::packed_formats;

// The same, of one element and of a few, for two blocks of bytes of all kinds.
template <class F>
void check_formulas(DType dtype) {
  static_assert(F::elements % 16 == 0);
  EXPECT_EQ(F::elements, block_of(dtype)) << name(dtype);
  EXPECT_EQ(F::bytes, size_of(dtype)) << name(dtype);
  Bytes blocks;
  for (std::uint64_t i = 0; i < 2 * F::bytes; ++i) {
    blocks.push_back(static_cast<std::byte>(splitmix64(i)));
  }
  const std::vector<float> all = decoded(dtype, blocks);
  for (std::uint32_t b = 0; b < 2; ++b) {
    const auto* block = reinterpret_cast<const std::uint8_t*>(blocks.data()) + b * F::bytes;
    const float* elements = all.data() + b * F::elements;
    for (std::uint32_t e = 0; e < F::elements; ++e) {
      EXPECT_EQ(bits(formats::element_of<F>(block, e)), bits(elements[e])) << name(dtype) << e;
      EXPECT_LT(F::code(block, e), 256u);
      if (F::has_least == 0) {
        EXPECT_EQ(F::least(block, e / 16), 0.0f);
      }
    }
    for (std::uint32_t first = 0; first < F::elements; first += 4) {
      float few[16];
      std::uint32_t count = 4;
      formats::elements_of<F, 4>(block, first, few);
      if (first % 8 == 0) formats::elements_of<F, 8>(block, first, few), count = 8;
      if (first % 16 == 0) formats::elements_of<F, 16>(block, first, few), count = 16;
      for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(bits(few[i]), bits(elements[first + i])) << name(dtype) << " " << first + i;
      }
    }
  }
}

TEST(PackedDecode, ElementsByFormulaAreThose) {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  check_formulas<formats::name>(DType::dtype);
#include "core/packed/block_formats.def"
}

TEST(PackedDecode, ScalesThatAreNotFinite) {
  // d is infinite, then NaN; a code that stands for 0 gives NaN.
  Bytes blocks(36, std::byte{0x8f});
  for (const std::size_t at : {0u, 18u}) {
    blocks[at] = std::byte{at == 0u ? std::uint8_t{0} : std::uint8_t{1}};
    blocks[at + 1] = std::byte{0x7c};
  }
  const std::vector<float> elements = decoded(DType::q4_0, blocks);
  EXPECT_EQ(elements[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(elements[16]));
  for (std::size_t i = 32; i < 64; ++i) EXPECT_TRUE(std::isnan(elements[i]));
}

TEST(PackedDecode, NoElements) { decode(DType::q6_k, nullptr, 0, nullptr); }

}  // namespace
}  // namespace hearth
