#include "io/idx.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::io {
namespace {

using std::string_literals::operator""s;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void expect_idx_error(const std::string& file, const std::string& part, std::size_t position,
                      ErrorCode code = ErrorCode::corrupt_file) {
  try {
    IdxFile::parse(bytes_of(file), "digits");
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), code) << text;
    EXPECT_EQ(text.rfind("idx: digits: ", 0), 0u) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("; at byte " + std::to_string(position))) << text;
    return;
  }
  ADD_FAILURE() << "accepted; expected: " << part;
}

TEST(IdxReader, ReadsShapeAndElements) {
  const std::string file =
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"
      "abcdef"s;
  const IdxFile idx = IdxFile::parse(bytes_of(file));
  EXPECT_EQ(idx.dtype(), DType::u8);
  EXPECT_EQ(idx.shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(idx.begin(), 16u);
  ASSERT_EQ(idx.elements().size(), 6u);
  EXPECT_EQ(idx.elements().data(), bytes_of(file).data() + 16);
}

TEST(IdxReader, KnowsEveryType) {
  const std::pair<char, DType> types[] = {{8, DType::u8},   {9, DType::i8},   {11, DType::i16},
                                          {12, DType::i32}, {13, DType::f32}, {14, DType::f64}};
  for (const auto& [code, dtype] : types) {
    const std::string file = "\0\0"s + code + "\x01\0\0\x01\x02"s +
                             std::string(static_cast<std::size_t>(258 * size_of(dtype)), 'x');
    const IdxFile idx = IdxFile::parse(bytes_of(file));
    EXPECT_EQ(idx.dtype(), dtype);
    EXPECT_EQ(idx.shape(), (Shape{258}));
  }
}

TEST(IdxReader, TakesArraysWithoutElements) {
  const std::string file = "\0\0\x0e\x02\0\0\0\0\xff\xff\xff\xff"s;
  EXPECT_EQ(IdxFile::parse(bytes_of(file)).shape(), (Shape{0, 4294967295}));
}

TEST(IdxReader, RefusesWhatBreaksTheFormat) {
  const std::string good =
      "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
      "abcdef"s;
  for (std::size_t size = 0; size < good.size(); ++size) {
    expect_idx_error(good.substr(0, size),
                     size < 4    ? "ends in its first 4 bytes"
                     : size < 12 ? "ends in its extents"
                                 : "a size that does not fit its shape",
                     size);
  }
  expect_idx_error(good + "g", "got 7 bytes of elements, expected 6 for u8 [2, 3]", good.size());
  expect_idx_error("\x1f\x8b\x08\x01"s, "no IDX file; got 31, expected 0", 0);
  expect_idx_error("\0\x01\x08\x01"s, "no IDX file; got 1, expected 0", 1);
  expect_idx_error("\0\0\x0a\x01"s, "no type of elements; got 10", 2);
  expect_idx_error("\0\0\x08\0"s, "got rank 0", 3);
  expect_idx_error("\0\0\x08\x09"s + std::string(36, '\0'), "too many extents; got 9", 3,
                   ErrorCode::unsupported);
}

TEST(IdxReader, RefusesShapesThatOverflow) {
  for (const char rank : {'\x02', '\x08'}) {
    for (const char type : {'\x08', '\x0e'}) {
      const std::string file =
          "\0\0"s + type + rank + std::string(static_cast<std::size_t>(rank) * 4, '\xff');
      // Twice 32 bits are one bit more than a size has; of bytes, they are not there.
      expect_idx_error(file, "a shape that overflows", 4);
    }
  }
}

TEST(IdxReader, NamesTheFileThatIsMissing) {
  EXPECT_THROW(IdxFile::open("/nowhere/at-all"), Error);
}

}  // namespace
}  // namespace hearth::io
