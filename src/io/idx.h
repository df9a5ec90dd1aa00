// The IDX format, in which MNIST and its kin come: one array in a file.
//
//   [2 bytes: 0] [1 byte: type] [1 byte: rank] [rank x 4 bytes: extents] [elements]
//
// Extents and elements are big-endian, elements row-major; nothing follows them. Reading trusts
// nothing: whatever breaks the format is Error{corrupt_file} with the byte offset, ranks that
// Hearth lacks are Error{unsupported}.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "hearth/dtype.h"
#include "hearth/shape.h"
#include "io/file.h"

namespace hearth::io {

// A parsed file. Its elements live as long as the object (for parse(), as long as the bytes given).
class IdxFile {
 public:
  // Maps the file. Throws Error{io}, Error{corrupt_file} or Error{unsupported}.
  static IdxFile open(const std::string& path);
  // Parses bytes that the caller keeps. `source` is the name used in messages.
  static IdxFile parse(std::span<const std::byte> bytes, const std::string& source = "bytes");

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  // As they are in the file: big-endian, at any alignment.
  std::span<const std::byte> elements() const noexcept { return elements_; }
  // Where they begin in the file.
  std::size_t begin() const noexcept { return begin_; }

 private:
  MappedFile file_;
  DType dtype_ = DType::u8;
  Shape shape_;
  std::span<const std::byte> elements_;
  std::size_t begin_ = 0;
};

}  // namespace hearth::io
