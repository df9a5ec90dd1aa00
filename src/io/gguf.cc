#include "io/gguf.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/gguf_reader.h"

namespace hearth::io {

GgufFile GgufFile::parse(std::span<const std::byte> bytes, const std::string& source) {
  GgufPart part = read_gguf(bytes, FileErrors("gguf", source));
  GgufFile file;
  file.version_ = part.version;
  file.alignment_ = part.alignment;
  file.metadata_ = std::move(part.metadata);
  file.tensors_ = std::move(part.tensors);
  file.index();
  return file;
}

void GgufFile::index() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [this](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
}

const GgufView* GgufFile::find(std::string_view name) const& noexcept {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](std::size_t place, std::string_view wanted) { return tensors_[place].name < wanted; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

}  // namespace hearth::io
