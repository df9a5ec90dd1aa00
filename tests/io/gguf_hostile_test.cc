// GGUF files that break a rule each: what is said of them, and where.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "error_text.h"
#include "io/gguf.h"
#include "io/gguf_bytes.h"

namespace hearth::io {
namespace {

using check::contains;
using testing::GgufBytes;

constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kF32 = 0, kQ4K = 12, kF64 = 28;

// Parsing `file` fails with a message that has `part` and ends in the offset.
void expect_refused(const std::string& file, const std::string& part, std::size_t offset,
                    ErrorCode code = ErrorCode::corrupt_file) {
  const std::string message =
      check::error_of(code, [&] { GgufFile::parse(testing::bytes_of(file), "x"); });
  EXPECT_TRUE(message.starts_with("gguf: x: ")) << message;
  EXPECT_TRUE(contains(message, part)) << message << "\nexpected: " << part;
  EXPECT_TRUE(message.ends_with("; at byte " + std::to_string(offset)))
      << message << "\nexpected: " << offset;
}

// A file with one entry, which begins at byte 24, up to the type of its value.
GgufBytes entry(std::string_view key, GgufType type) {
  return GgufBytes().start(0, 1).key(key, type);
}
// A file with one tensor, with its data.
std::string one_tensor(const std::string& name, const std::vector<std::int64_t>& extents,
                       std::int32_t type, std::uint64_t offset = 0) {
  return GgufBytes().start(1, 0).tensor(name, extents, type, offset).data(64).str();
}

TEST(GgufHostile, Starts) {
  expect_refused("", "the start is cut off; got 0 bytes, expected 4", 0);
  expect_refused("GGU", "the start is cut off", 0);
  expect_refused("FUGG" + std::string(20, '\0'), "not a GGUF file; got \"FUGG\"", 0);
  expect_refused(std::string("\x80\x02.\n") + std::string(20, '\0'), R"(got "\x80\x02.\x0a")", 0);
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
                 "git-lfs has not fetched the file; got its pointer, expected its contents", 0);
  expect_refused("GGUF\3", "the version is cut off", 4);
  expect_refused(GgufBytes().start(0, 0, 0).str(), "no such version; got 0", 4);
  for (const std::uint32_t version : {1u, 4u, 65537u}) {
    expect_refused(GgufBytes().start(0, 0, version).str(),
                   "a version that is not read; got " + std::to_string(version), 4,
                   ErrorCode::unsupported);
  }
  for (const std::uint32_t version : {0x02000000u, 0x03000000u, 0x00010000u}) {
    expect_refused(GgufBytes().start(0, 0, version).str(), "of a big-endian machine", 4,
                   ErrorCode::unsupported);
  }
}

TEST(GgufHostile, Counts) {
  expect_refused(GgufBytes().start(-1, 0).str(), "a wrong number of tensors; got -1", 8);
  expect_refused(GgufBytes().start(0, -1).str(), "a wrong number of metadata entries; got -1", 16);
  expect_refused(GgufBytes().start(kBig, 0).str(), "expected 0 to 0", 8);
  expect_refused(GgufBytes().start(0, kBig).str(), "expected 0 to 0", 16);
  expect_refused(GgufBytes().start(5, 0).raw(std::string(96, '\0')).str(), "expected 0 to 4", 8);
  expect_refused(GgufBytes().start(0, 5).raw(std::string(64, '\0')).str(), "expected 0 to 4", 16);
}

TEST(GgufHostile, Keys) {
  expect_refused(entry("", GgufType::u8).put(std::uint8_t{1}).str(), "a key without characters",
                 24);
  const std::string twice = GgufBytes()
                                .start(0, 2)
                                .key("k\n", GgufType::u8)
                                .put(std::uint8_t{1})
                                .key("k\n", GgufType::u16)
                                .put(std::uint16_t{1})
                                .str();
  expect_refused(twice, R"(the key "k\x0a" twice)", 39);
  const auto key_of = [](std::uint64_t length) {
    return GgufBytes().start(0, 1).put(length).raw("0123456789abcdef").str();
  };
  expect_refused(key_of(17), "a key is cut off; got 16 bytes, expected 17", 24);
  expect_refused(key_of((1u << 30) + 1), "a key is too long; got 1073741825 bytes", 24);
  expect_refused(key_of(~std::uint64_t{0}), "a key is too long; got 18446744073709551615", 24);
}

TEST(GgufHostile, Values) {
  expect_refused(entry("k", static_cast<GgufType>(13)).raw("12345678").str(),
                 "the value of \"k\" has no known type; got 13, expected 0 to 12", 33);
  expect_refused(entry("k", static_cast<GgufType>(255)).raw("12345678").str(), "got 255", 33);
  expect_refused(entry("k", GgufType::u64).raw("1234567").str(),
                 "a value is cut off; got 7 bytes, expected 8", 37);
  expect_refused(entry("k", GgufType::string).put(std::uint64_t{9}).raw("12345678").str(),
                 "a value is cut off; got 8 bytes, expected 9", 37);
  expect_refused(entry("k", GgufType::string).put((std::uint64_t{1} << 30) + 1).str(),
                 "a value is too long", 37);
}

TEST(GgufHostile, Arrays) {
  const auto array = [](GgufType type, std::uint64_t count) {
    return entry("k", GgufType::array).type(type).put(count);
  };
  expect_refused(array(static_cast<GgufType>(13), 1).str(), "has no known type; got 13", 37);
  expect_refused(array(GgufType::array, 1).raw(std::string(16, '\0')).str(),
                 "the value of \"k\" is an array of arrays", 37, ErrorCode::unsupported);
  expect_refused(
      array(GgufType::f64, 3).raw(std::string(23, '\0')).str(),
      "the array \"k\" is too long; got 3 elements, expected at most 2, for which the file "
      "has bytes: it is cut off, as by an incomplete download, or wrong",
      41);
  expect_refused(array(GgufType::u8, 4).raw("123").str(), "got 4 elements, expected at most 3", 41);
  expect_refused(array(GgufType::bool_, 4).raw("123").str(), "expected at most 3", 41);
  expect_refused(array(GgufType::string, 2).text("1234567").str(), "expected at most 1", 41);
  expect_refused(array(GgufType::string, 2).text("1").text("2").str().substr(0, 66),
                 "a text of an array is cut off; got 0 bytes, expected 1", 58);
  for (const std::uint64_t count : {(std::uint64_t{1} << 30) + 1, std::uint64_t{1} << 61,
                                    (std::uint64_t{1} << 61) + 1, ~std::uint64_t{0}}) {
    for (const GgufType type : {GgufType::u8, GgufType::u64, GgufType::string}) {
      expect_refused(array(type, count).raw("1234567").str(), "too long", 41);
    }
  }
}

TEST(GgufHostile, Alignments) {
  const auto aligned = [](GgufType type, auto value) {
    return entry("general.alignment", type).put(value).str();
  };
  expect_refused(aligned(GgufType::u64, std::uint64_t{32}), "another type; got type 10", 49);
  expect_refused(aligned(GgufType::i32, std::int32_t{32}), "another type; got type 5", 49);
  for (const std::uint32_t alignment : {0u, 3u, 48u, 4294967295u}) {
    expect_refused(aligned(GgufType::u32, alignment),
                   "a wrong alignment; got " + std::to_string(alignment), 53);
  }
}

TEST(GgufHostile, Names) {
  expect_refused(one_tensor(std::string(64, 'n'), {1}, kF32),
                 "the name of a tensor is too long; got 64 bytes, expected at most 63", 24);
  const std::string twice = GgufBytes()
                                .start(3, 0)
                                .tensor("t", {1}, kF32, 0)
                                .tensor("a", {1}, kF32, 32)
                                .tensor("t", {1}, kF32, 64)
                                .data(96)
                                .str();
  expect_refused(twice, "two tensors called \"t\"", 24 + 2 * 33);
}

TEST(GgufHostile, Shapes) {
  // The rank stands at byte 33, extents follow it.
  expect_refused(one_tensor("t", {1, 1, 1, 1, 1}, kF32), "too many axes; got 5", 33);
  expect_refused(GgufBytes().start(1, 0).text("t").put(~0u).raw(std::string(20, 0)).str(),
                 "too many axes; got 4294967295", 33);
  expect_refused(one_tensor("t", {4, -1}, kF32), "negative extent; got -1", 45);
  expect_refused(one_tensor("t", {kBig, 1, 2}, kF32), "overflows; got an extent of 2", 53);
  expect_refused(one_tensor("t", {kBig, 0, 2}, kF32), "overflows; got an extent of 2", 53);
  expect_refused(one_tensor("t", {std::int64_t{1} << 32, std::int64_t{1} << 31}, kF32), "overflows",
                 45);
}

TEST(GgufHostile, Types) {
  for (const std::int32_t type : {43, -1, 255, std::numeric_limits<std::int32_t>::min()}) {
    expect_refused(one_tensor("t", {1}, type), "an unknown type; got " + std::to_string(type), 45,
                   ErrorCode::unsupported);
  }
  for (const std::int32_t type : {4, 5, 31, 32, 33, 36, 37, 38}) {
    expect_refused(one_tensor("t", {1}, type), "a type that ggml has removed", 45,
                   ErrorCode::unsupported);
  }
  expect_refused(one_tensor("t", {128, 2}, kQ4K),
                 "rows of no whole blocks; got 128 elements, expected a multiple of 256 for Q4_K",
                 53);
  expect_refused(one_tensor("t", {}, kQ4K), "rows of no whole blocks; got 1 elements", 37);
  expect_refused(one_tensor("t", {kBig}, kF64), "more bytes than 63 bits count", 45);
  expect_refused(one_tensor("t", {kBig / 2}, kF32), "more bytes than 63 bits count", 45);
}

TEST(GgufHostile, Offsets) {
  // Of a tensor of one axis the offset stands at byte 49.
  expect_refused(one_tensor("t", {1}, kF32, 8), "not aligned; got an offset of 8, expected a", 49);
  expect_refused(
      one_tensor("t", {9}, kF32, 32),
      "outside the data; got 36 bytes at offset 32, "
      "expected them within 64 bytes: the file is cut off, as by an incomplete download, or "
      "wrong",
      49);
  expect_refused(one_tensor("t", {1}, kF32, 64), "outside the data", 49);
  expect_refused(one_tensor("t", {1}, kF32, std::uint64_t{1} << 63), "outside the data", 49);
  expect_refused(one_tensor("t", {1}, kF32, ~std::uint64_t{31}), "outside the data", 49);
  expect_refused(one_tensor("t", {0}, kF32, 96), "outside the data; got 0 bytes", 49);
  expect_refused(one_tensor("t", {1000}, kF64), "got 8000 bytes at offset 0", 49);
  const auto two = [](std::uint64_t a, std::uint64_t b) {
    return GgufBytes()
        .start(2, 0)
        .tensor("a", {9}, kF32, a)
        .tensor("b", {1}, kF32, b)
        .data(96)
        .str();
  };
  expect_refused(two(0, 0), "tensor \"b\" overlaps another; got an offset of 0, expected at least",
                 82);
  expect_refused(two(0, 32), "tensor \"b\" overlaps another; got an offset of 32", 82);
  expect_refused(two(32, 0).replace(70, 1, "\x09"), "tensor \"a\" overlaps", 49);
  GgufFile::parse(testing::bytes_of(two(0, 64)));
}

TEST(GgufHostile, MessagesAreFitToPrint) {
  std::string key(1000, 'n');
  key += "\n\x1b[2J";
  const std::string message = check::error_of([&] {
    GgufFile::parse(testing::bytes_of(entry(key, static_cast<GgufType>(99)).str()), "x");
  });
  EXPECT_LT(message.size(), 300u);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

std::string small_file() {
  return GgufBytes()
      .start(2, 5)
      .key("general.architecture", GgufType::string)
      .text("llama")
      .key("general.alignment", GgufType::u32)
      .put(std::uint32_t{16})
      .key("n", GgufType::array)
      .type(GgufType::i16)
      .put(std::uint64_t{2})
      .put(std::int16_t{1})
      .put(std::int16_t{2})
      .key("texts", GgufType::array)
      .type(GgufType::string)
      .put(std::uint64_t{2})
      .text("one")
      .text("")
      .key("flag", GgufType::bool_)
      .put(true)
      .tensor("blk.0.w", {2, 3}, kF32, 0)
      .tensor("q", {32}, 2, 32)
      .data(32 + 18, 16)
      .str();
}

TEST(GgufHostile, EveryTruncation) {
  const std::string file = small_file();
  const GgufFile whole = GgufFile::parse(testing::bytes_of(file));
  EXPECT_EQ(whole.tensors().size(), 2u);
  for (std::size_t size = 0; size < file.size(); ++size) {
    // A copy of this very size, so that tools see reads beyond it.
    const std::vector<char> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string message = check::error_of(
        ErrorCode::corrupt_file, [&] { GgufFile::parse(std::as_bytes(std::span(part))); });
    EXPECT_TRUE(contains(message, "; at byte ")) << message;
  }
}

TEST(GgufHostile, EveryChangedByte) {
  const std::string file = small_file();
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = file;
      changed[i] = static_cast<char>(value);
      try {
        const GgufFile parsed = GgufFile::parse(testing::bytes_of(changed));
        for (const GgufView& view : parsed.tensors()) {
          const auto* begin = reinterpret_cast<const char*>(view.bytes.data());
          EXPECT_TRUE(view.bytes.empty() || begin >= changed.data());
          EXPECT_TRUE(view.bytes.empty() ||
                      begin + view.bytes.size() <= changed.data() + changed.size());
        }
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::corrupt_file ||
                    error.code() == ErrorCode::unsupported)
            << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace hearth::io
