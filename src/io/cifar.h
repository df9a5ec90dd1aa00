// The binary format of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records without a header.
//
//   CIFAR-10:  [1 byte: label] [3 x 32 x 32 bytes: pixels]
//   CIFAR-100: [1 byte: coarse label] [1 byte: label] [3 x 32 x 32 bytes: pixels]
//
// Reading trusts nothing: whatever breaks the format is Error{corrupt_file} with the byte offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/file.h"

namespace hearth::io {

inline constexpr std::size_t kCifarSide = 32;
inline constexpr std::size_t kCifarPixels = 3 * kCifarSide * kCifarSide;

enum class CifarKind : std::uint8_t { cifar10, cifar100 };
// Of `kind`; labels are below.
std::int64_t cifar_classes(CifarKind kind);

// A parsed file. Its records live as long as the object (for parse(), as long as the bytes given).
class CifarFile {
 public:
  // Maps the file. Throws Error{io} or Error{corrupt_file}, also for a file without a record.
  static CifarFile open(const std::string& path, CifarKind kind);
  // Parses bytes that the caller keeps. `source` is the name used in messages.
  static CifarFile parse(std::span<const std::byte> bytes, CifarKind kind,
                         const std::string& source = "bytes");

  std::size_t count() const noexcept { return count_; }
  std::uint8_t label(std::size_t record) const;
  // [3, 32, 32]: all red, all green, all blue.
  std::span<const std::byte> pixels(std::size_t record) const;

 private:
  MappedFile file_;
  std::span<const std::byte> bytes_;
  std::size_t labels_ = 1;  // bytes of them in a record
  std::size_t count_ = 0;
};

}  // namespace hearth::io
