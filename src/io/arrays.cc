#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/bools.h"
#include "hearth/io.h"
#include "io/safetensors.h"

namespace hearth {
namespace {

// Whether a tensor cannot be used as it lies in the file: of bools with bytes but 0 and 1.
bool has_other_bools(const io::SafetensorsView& view) {
  return is_bool(view.dtype) && !are_bools(view.bytes);
}

Array copied(const io::SafetensorsView& view, Device device) {
  if (!has_other_bools(view)) {
    return Array::from_bytes(view.bytes, view.dtype, view.shape, device);
  }
  return Array::from_bytes(as_bools(view.bytes), view.dtype, view.shape, device);
}

}  // namespace

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
    out.arrays.push_back({view.name, copied(view, device)});
  }
  return out;
}

SafetensorsContents map_safetensors(const std::string& path, Device device) {
  const auto file = std::make_shared<const io::SafetensorsFile>(io::SafetensorsFile::open(path));
  std::vector<HostElements> elements;
  SafetensorsContents out;
  out.metadata = file->metadata();
  for (const io::SafetensorsView& view : file->tensors()) {
    const bool has_others = has_other_bools(view);
    out.arrays.push_back({view.name, has_others ? copied(view, device) : Array()});
    if (!has_others) elements.push_back({view.bytes, view.dtype, view.shape});
  }
  std::vector<Array> arrays = host_arrays(elements, file, device);
  auto next = arrays.begin();
  for (NamedArray& each : out.arrays) {
    if (!each.array.defined()) each.array = std::move(*next++);
  }
  return out;
}

}  // namespace v0
}  // namespace hearth
