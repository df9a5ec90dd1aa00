// The safetensors format: named tensors in one file.
//
//   [8 bytes: header length n, little-endian] [n bytes: JSON] [data]
//
// The JSON object maps a name to {"dtype", "shape", "data_offsets": [begin, end)} with offsets into
// the data, and may map "__metadata__" to an object of strings. The tensors cover the data without
// holes or overlaps. Reading trusts nothing: whatever breaks the format is Error{corrupt_file} with
// the byte offset; dtypes and ranks that the format knows but Hearth lacks are Error{unsupported}.
// Beyond the format, a header may not have more than 65536 line breaks or tabs in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "hearth/shape.h"
#include "io/file.h"

namespace hearth::io {

// The longest JSON that the format allows.
inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;

using SafetensorsMetadata = std::map<std::string, std::string>;

// Element types of one byte that the format has and Hearth lacks.
enum class Float8 : std::uint8_t { none, e4m3, e5m2, e8m0 };

// "F8_E4M3"; empty for none.
std::string_view safetensors_name(Float8 type) noexcept;

// What reading does with tensors of them.
enum class Float8Tensors { refuse, as_bytes };

// One tensor of an open file. Elements are row-major and little-endian; their address may have any
// alignment.
struct SafetensorsView {
  std::string name;
  DType dtype;
  Shape shape;
  std::span<const std::byte> bytes;
  Float8 float8 = Float8::none;  // of another, `dtype` is u8 and `bytes` are such floats
};

// A parsed file. Views live as long as the object (for parse(), as long as the bytes given).
class SafetensorsFile {
 public:
  // Maps the file. Throws Error{io}, Error{corrupt_file} or Error{unsupported}.
  static SafetensorsFile open(const std::string& path,
                              Float8Tensors float8 = Float8Tensors::refuse);
  // Parses bytes that the caller keeps. `source` is the name used in messages.
  static SafetensorsFile parse(std::span<const std::byte> bytes,
                               const std::string& source = "bytes",
                               Float8Tensors float8 = Float8Tensors::refuse);

  // In the order of their names.
  const std::vector<SafetensorsView>& tensors() const& noexcept { return tensors_; }
  const std::vector<SafetensorsView>& tensors() && = delete;
  // The tensor called `name`, or null.
  const SafetensorsView* find(std::string_view name) const& noexcept;
  const SafetensorsView* find(std::string_view name) && = delete;
  const SafetensorsMetadata& metadata() const& noexcept { return metadata_; }
  const SafetensorsMetadata& metadata() && = delete;

 private:
  MappedFile file_;
  std::vector<SafetensorsView> tensors_;
  SafetensorsMetadata metadata_;
};

// Puts the tensors into the order in which their bytes follow the header (widest elements first,
// then by name, so that every tensor is aligned to its elements) and returns the header that
// describes them: length, JSON, and spaces up to a multiple of 8 bytes. A view may leave its bytes
// out, which whoever writes the file then has elsewhere. Throws Error{invalid_argument} when a name
// is used twice, reserved or not UTF-8, or when bytes and shape do not fit.
std::string safetensors_header(std::vector<SafetensorsView>& tensors,
                               const SafetensorsMetadata& metadata);

// Writes a file in one step that succeeds or leaves the old file (see AtomicFileWriter). Throws
// Error{invalid_argument} as safetensors_header does, Error{io}.
void write_safetensors(const std::string& path, std::vector<SafetensorsView> tensors,
                       const SafetensorsMetadata& metadata = {});

}  // namespace hearth::io
