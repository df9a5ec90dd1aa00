// Writing GGUF files, version 3, one tensor after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/gguf.h"
#include "hearth/shape.h"
#include "io/file.h"

namespace hearth::io {

// What a file says of a tensor.
struct GgufTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // outermost axis first
};

// All that stands before the data of a file with these tensors, whose bytes then follow in this
// order, each padded with zeros to the alignment: a power of two from 8 on, which the metadata
// name if it is not 32. Throws Error{invalid_argument} for names that are used twice or too long,
// for more than 4 axes and negative extents, for rows of packed dtypes that are no whole blocks,
// and for empty keys; Error{dtype} for dtypes that the format lacks.
std::string gguf_header(std::span<const GgufTensor> tensors, const GgufMetadata& metadata,
                        std::int64_t alignment);

// Writes a model as its tensors come, so that only one has to be in memory. Each file is written
// as AtomicFileWriter does: up to commit() old files stay as they are, and a writer that is
// destroyed before leaves nothing behind. While commit() replaces several files, a fault may leave
// some of them old.
class GgufWriter {
 public:
  // `tensors` in the order in which their bytes will come. Where max_shard_bytes asks for several
  // files, those of "model.gguf" are called model-00001-of-00003.gguf and so on. What the metadata
  // say of a split is left out. Throws as gguf_header does, and Error{io}.
  GgufWriter(const std::string& path, std::vector<GgufTensor> tensors,
             const GgufMetadata& metadata = {}, const GgufOptions& options = {});

  // The bytes of the next tensor, all of them. Throws Error{invalid_argument} when they are not as
  // many as its shape says or when there is no next one, and Error{io}.
  void write(std::span<const std::byte> bytes);

  // Makes the files durable and visible. Throws Error{invalid_argument} when tensors are missing,
  // and Error{io}.
  void commit();

  // Of the files, in order.
  const std::vector<std::string>& paths() const noexcept { return paths_; }

 private:
  void open_parts();
  std::string part_header(std::size_t part) const;

  std::vector<GgufTensor> tensors_;
  GgufMetadata metadata_;
  std::int64_t alignment_ = 0;
  std::vector<std::string> paths_;
  std::vector<std::size_t> first_;                        // tensors of the parts
  std::vector<std::unique_ptr<AtomicFileWriter>> files_;  // of the parts begun
  std::size_t next_ = 0;                                  // tensor
};

}  // namespace hearth::io
