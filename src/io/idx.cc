#include "io/idx.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "io/untrusted.h"

namespace hearth::io {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kExtentBytes = 4;

unsigned byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

std::optional<DType> dtype_of(unsigned type) {
  switch (type) {
    case 0x08:
      return DType::u8;
    case 0x09:
      return DType::i8;
    case 0x0b:
      return DType::i16;
    case 0x0c:
      return DType::i32;
    case 0x0d:
      return DType::f32;
    case 0x0e:
      return DType::f64;
    default:
      return std::nullopt;
  }
}

}  // namespace

IdxFile IdxFile::open(const std::string& path) {
  MappedFile file = MappedFile::open(path);
  IdxFile out = parse(file.bytes(), path);
  out.file_ = std::move(file);
  return out;
}

IdxFile IdxFile::parse(std::span<const std::byte> bytes, const std::string& source) {
  const FileErrors errors("idx", source);
  if (bytes.size() < kMagicBytes) {
    errors.corrupt(bytes.size(), "ends in its first 4 bytes");
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (byte_at(bytes, i) != 0) {
      errors.corrupt(i, "no IDX file; got " + std::to_string(byte_at(bytes, i)) + ", expected 0");
    }
  }
  const std::optional<DType> dtype = dtype_of(byte_at(bytes, 2));
  if (!dtype) {
    errors.corrupt(2, "no type of elements; got " + std::to_string(byte_at(bytes, 2)) +
                          ", expected 8, 9 or 11 to 14");
  }
  const std::size_t rank = byte_at(bytes, 3);
  if (rank == 0) errors.corrupt(3, "no extents; got rank 0, expected at least 1");
  if (rank > kMaxRank) {
    throw errors.error(ErrorCode::unsupported, 3,
                       "too many extents; got " + std::to_string(rank) + ", expected at most " +
                           std::to_string(kMaxRank));
  }
  IdxFile out;
  out.dtype_ = *dtype;
  out.begin_ = kMagicBytes + rank * kExtentBytes;
  if (bytes.size() < out.begin_) {
    errors.corrupt(bytes.size(),
                   "ends in its extents; expected " + std::to_string(rank) + " of 4 bytes");
  }
  std::int64_t extents[kMaxRank] = {};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (std::size_t i = 0; i < kExtentBytes; ++i) {
      extents[axis] = extents[axis] << 8 | byte_at(bytes, kMagicBytes + axis * kExtentBytes + i);
    }
  }
  out.shape_ = Shape(std::span<const std::int64_t>(extents, rank));
  const std::optional<std::uint64_t> expected = checked_bytes(out.shape_, *dtype);
  if (!expected) {
    errors.corrupt(kMagicBytes, "a shape that overflows; got " + to_string(out.shape_));
  }
  out.elements_ = bytes.subspan(out.begin_);
  if (out.elements_.size() != *expected) {
    errors.corrupt(out.elements_.size() < *expected ? bytes.size() : out.begin_ + *expected,
                   "a size that does not fit its shape; got " +
                       std::to_string(out.elements_.size()) + " bytes of elements, expected " +
                       std::to_string(*expected) + " for " + std::string(name(*dtype)) + " " +
                       to_string(out.shape_));
  }
  return out;
}

}  // namespace hearth::io
