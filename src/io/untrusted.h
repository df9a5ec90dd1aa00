// What the readers of untrusted bytes share: where errors are raised, and sizes that overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "hearth/shape.h"

namespace hearth::io {

// Bytes of `shape` elements of `dtype`, or nothing when that overflows 63 bits or when rows of a
// packed dtype are no whole blocks.
std::optional<std::uint64_t> checked_bytes(const Shape& shape, DType dtype);

// The errors of a file, whose format and name they begin with; positions are in the file.
class FileErrors {
 public:
  FileErrors(const char* format, const std::string& source) : format_(format), source_(source) {}

  Error error(ErrorCode code, std::uint64_t position, const std::string& what) const {
    return Error(code, std::string(format_) + ": " + source_ + ": " + what + "; at byte " +
                           std::to_string(position));
  }
  [[noreturn]] void corrupt(std::uint64_t position, const std::string& what) const {
    throw error(ErrorCode::corrupt_file, position, what);
  }
  // Throws for what a clone without git-lfs has in a file's place.
  void refuse_pointer(std::span<const std::byte> bytes) const;

 private:
  const char* format_;
  const std::string& source_;
};

}  // namespace hearth::io
