// Arrays in GGUF files.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hearth/io.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"

namespace hearth {
namespace {

// Arrays are the file's own memory where they begin at multiples of this many bytes.
constexpr std::uintptr_t kMappedAlignment = 16;

bool begins_aligned(const io::GgufView& view) {
  return reinterpret_cast<std::uintptr_t>(view.bytes.data()) % kMappedAlignment == 0;
}

Array copied_gguf(const io::GgufView& view, Device device) {
  return Array::from_bytes(view.bytes, view.dtype, view.shape, device);
}

}  // namespace

inline namespace v0 {

GgufContents load_gguf(const std::string& path, Device device) {
  const io::GgufFile file = io::GgufFile::open(path);
  GgufContents out;
  out.metadata = file.metadata();
  for (const io::GgufView& view : file.tensors()) {
    out.arrays.push_back({view.name, copied_gguf(view, device)});
  }
  return out;
}

GgufContents map_gguf(const std::string& path, Device device) {
  const auto file = std::make_shared<const io::GgufFile>(io::GgufFile::open(path));
  // By the file that has them: each is mapped for itself.
  std::vector<std::vector<HostElements>> elements(static_cast<std::size_t>(file->part_count()));
  GgufContents out;
  out.metadata = file->metadata();
  for (const io::GgufView& view : file->tensors()) {
    const bool in_place = begins_aligned(view);
    out.arrays.push_back({view.name, in_place ? Array() : copied_gguf(view, device)});
    if (!in_place) continue;
    elements[static_cast<std::size_t>(view.part)].push_back({view.bytes, view.dtype, view.shape});
  }
  auto next = out.arrays.begin();
  for (const std::vector<HostElements>& each : elements) {
    for (Array& array : host_arrays(each, file, device)) {
      while (next->array.defined()) ++next;
      next->array = std::move(array);
    }
  }
  return out;
}

std::vector<std::string> save_gguf(const std::string& path, const NamedArrays& arrays,
                                   const GgufMetadata& metadata, const GgufOptions& options) {
  std::vector<io::GgufTensor> tensors;
  tensors.reserve(arrays.size());
  for (const auto& [name, array] : arrays) tensors.push_back({name, array.dtype(), array.shape()});
  io::GgufWriter writer(path, std::move(tensors), metadata, options);
  for (const NamedArray& each : arrays) {
    const HostBytes host = each.array.host_bytes(each.array.dtype());
    writer.write({host.data, static_cast<std::size_t>(host.bytes)});
  }
  writer.commit();
  return writer.paths();
}

}  // namespace v0
}  // namespace hearth
