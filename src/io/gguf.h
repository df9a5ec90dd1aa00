// The GGUF format of ggml: typed metadata and named tensors, in one file or several.
//
//   "GGUF" [u32: version] [i64: number of tensors] [i64: number of metadata entries]
//   entries: [text: key] [u32: type] [value]
//   tensors: [text: name] [u32: rank] [i64 x rank: extents, innermost first] [u32: type]
//            [u64: offset into the data]
//   zeros up to the alignment ("general.alignment" of the metadata, else 32), then the data
//
// Little-endian; a text is its length as u64 and its bytes. Versions 2 and 3 are read. Reading
// trusts nothing: whatever breaks the format is Error{corrupt_file} with the byte offset; other
// versions, files of big-endian machines, arrays of arrays, and types of tensors that ggml has
// removed or that are new are Error{unsupported}. Beyond what the format demands, ggml's limits
// hold: texts and arrays of at most 2^30, names of tensors of at most 63 bytes, at most 4 axes. Of
// what ggml demands, one thing is not: tensors may follow each other with gaps and in any order, as
// long as they are aligned, inside of the file and apart.
//
// A model may be split into files called x-00001-of-00003.gguf, with "split.no" (from 0) and
// "split.count" in the metadata of each; the first has the metadata of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/gguf.h"
#include "hearth/shape.h"
#include "io/file.h"

namespace hearth::io {

inline constexpr std::int64_t kGgufAlignment = 32;  // unless the metadata say otherwise
inline constexpr int kMaxGgufRank = 4;
inline constexpr std::size_t kMaxGgufName = 63;  // bytes of the name of a tensor
inline constexpr std::uint64_t kMaxGgufLength = std::uint64_t{1} << 30;  // of texts and arrays
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";
// What says which part of a split model a file is.
inline constexpr std::string_view kGgufSplitNumber = "split.no";
inline constexpr std::string_view kGgufSplitCount = "split.count";
inline constexpr std::string_view kGgufSplitTensors = "split.tensors.count";

// One tensor of an open file. Its elements are row-major and little-endian.
struct GgufView {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // outermost axis first
  std::span<const std::byte> bytes;
  int part = 0;  // which file of a split model has it
};

// A parsed model. Views live as long as the object (for parse(), as long as the bytes given).
class GgufFile {
 public:
  // Maps the file, and with any part of a split model all of them. The metadata are those of the
  // first part, without the keys of the split. Throws Error{io} (also for a part that is missing),
  // Error{corrupt_file} or Error{unsupported}.
  static GgufFile open(const std::string& path);
  // Parses bytes that the caller keeps: one file, with what its metadata say of a split left as it
  // is. `source` is the name used in messages.
  static GgufFile parse(std::span<const std::byte> bytes, const std::string& source = "bytes");

  // In the order of the file, those of the first part first.
  const std::vector<GgufView>& tensors() const& noexcept { return tensors_; }
  const std::vector<GgufView>& tensors() && = delete;
  // The tensor called `name`, or null.
  const GgufView* find(std::string_view name) const& noexcept;
  const GgufView* find(std::string_view name) && = delete;
  const GgufMetadata& metadata() const& noexcept { return metadata_; }
  const GgufMetadata& metadata() && = delete;

  // Of the first part.
  int version() const noexcept { return version_; }
  std::int64_t alignment() const noexcept { return alignment_; }
  // Files that open() has mapped.
  int part_count() const noexcept { return static_cast<int>(files_.size()); }

 private:
  void index();

  std::vector<MappedFile> files_;
  int version_ = 0;
  std::int64_t alignment_ = 0;
  GgufMetadata metadata_;
  std::vector<GgufView> tensors_;
  std::vector<std::size_t> by_name_;  // places in tensors_
};

}  // namespace hearth::io
