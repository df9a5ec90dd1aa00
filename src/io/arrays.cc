#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hearth/io.h"
#include "io/safetensors.h"

namespace hearth {
inline namespace v0 {

void save_safetensors(const std::string& path, const NamedArrays& arrays,
                      const Metadata& metadata) {
  std::vector<HostBytes> contents;
  std::vector<io::SafetensorsView> views;
  contents.reserve(arrays.size());
  views.reserve(arrays.size());
  for (const auto& [name, array] : arrays) {
    const HostBytes& host = contents.emplace_back(array.host_bytes(array.dtype()));
    const std::span bytes(host.data, static_cast<std::size_t>(host.bytes));
    views.push_back({name, array.dtype(), array.shape(), bytes});
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

SafetensorsContents map_safetensors(const std::string& path, Device device) {
  const auto file = std::make_shared<const io::SafetensorsFile>(io::SafetensorsFile::open(path));
  std::vector<HostElements> elements;
  for (const io::SafetensorsView& view : file->tensors()) {
    elements.push_back({view.bytes, view.dtype, view.shape});
  }
  std::vector<Array> arrays = host_arrays(elements, file, device);
  SafetensorsContents out;
  out.metadata = file->metadata();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    out.arrays.push_back({file->tensors()[i].name, std::move(arrays[i])});
  }
  return out;
}

}  // namespace v0
}  // namespace hearth
