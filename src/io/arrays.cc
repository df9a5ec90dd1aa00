#include <cstddef>
#include <span>
#include <vector>

#include "hearth/io.h"
#include "io/safetensors.h"

namespace hearth {
inline namespace v0 {

void save_safetensors(const std::string& path, const NamedArrays& arrays,
                      const Metadata& metadata) {
  std::vector<std::vector<std::byte>> contents;
  std::vector<io::SafetensorsView> views;
  contents.reserve(arrays.size());
  views.reserve(arrays.size());
  for (const NamedArray& named : arrays) {
    const Array& array = named.array;
    const std::int64_t bytes = array.size() * size_of(array.dtype());
    std::vector<std::byte>& host = contents.emplace_back(static_cast<std::size_t>(bytes));
    array.read(host.data(), bytes, array.dtype());
    views.push_back({named.name, array.dtype(), array.shape(), host});
  }
  io::write_safetensors(path, std::move(views), metadata);
}

SafetensorsContents load_safetensors(const std::string& path, Device device) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(path);
  SafetensorsContents out;
  out.metadata = file.metadata();
  for (const io::SafetensorsView& view : file.tensors()) {
    out.arrays.push_back(
        {view.name, Array::from_bytes(view.bytes, view.dtype, view.shape, device)});
  }
  return out;
}

}  // namespace v0
}  // namespace hearth
