// Compiled kernels on disk.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/compile/source_hash.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// A file for each image, named by the hash of its source and compiler; by several, where one image
// serves several sources. Safe between threads and
// processes: files appear whole, by renaming. Nothing here throws: an entry that is damaged counts
// as absent and is replaced; a folder that cannot be read or written means compiling again.
class KernelCache {
 public:
  // An empty folder name: nothing is kept.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  // HEARTH_CACHE if set (empty: no cache), else hearth/kernels in the user's cache folder.
  static std::string default_folder();

  std::optional<std::vector<std::byte>> find(const SourceHash& hash) const noexcept;
  // True if the image is on disk now.
  bool keep(const SourceHash& hash, std::span<const std::byte> image) const noexcept;
  // One image that serves several sources: names of one file, where the system has such.
  bool keep(std::span<const SourceHash> hashes, std::span<const std::byte> image) const noexcept;
  const std::string& folder() const noexcept { return folder_; }

 private:
  std::string path_of(const SourceHash& hash) const;

  std::string folder_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
