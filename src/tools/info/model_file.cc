#include "tools/info/model_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/quoted.h"
#include "io/file.h"
#include "io/gguf.h"
#include "io/safetensors.h"

namespace hearth::tools {
namespace {

template <class Views>
std::vector<TensorFacts> facts_of(const Views& views) {
  std::vector<TensorFacts> facts;
  facts.reserve(views.size());
  for (const auto& view : views) {
    facts.push_back(
        {view.name, view.dtype, view.shape, static_cast<std::int64_t>(view.bytes.size())});
  }
  return facts;
}

ModelFile read_gguf_file(const std::string& path) {
  const io::GgufFile file = io::GgufFile::open(path);
  return {"gguf",           file.version(),  file.part_count(),
          file.alignment(), file.metadata(), facts_of(file.tensors())};
}

ModelFile read_safetensors_file(const std::string& path) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(path);
  ModelFile out;
  out.format = "safetensors";
  for (const auto& [key, value] : file.metadata()) out.metadata.insert(key, value);
  out.tensors = facts_of(file.tensors());
  return out;
}

bool begins_as_gguf(const std::string& path) {
  const io::MappedFile file = io::MappedFile::open(path);
  const auto bytes = file.bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with("GGUF");
}

}  // namespace

std::string ModelFile::text(const char* key) const {
  const GgufValue* value = metadata.find(key);
  return value != nullptr && value->type() == GgufType::string ? value->as_text() : "";
}

std::vector<DTypeTotal> ModelFile::totals() const {
  std::vector<DTypeTotal> totals;
  for (const TensorFacts& tensor : tensors) {
    auto at = std::find_if(totals.begin(), totals.end(),
                           [&](const DTypeTotal& total) { return total.dtype == tensor.dtype; });
    if (at == totals.end()) at = totals.insert(at, {.dtype = tensor.dtype});
    ++at->tensors;
    at->elements += element_count(tensor.shape);
    at->bytes += tensor.bytes;
  }
  std::sort(totals.begin(), totals.end(), [](const DTypeTotal& a, const DTypeTotal& b) {
    return std::pair(b.bytes, a.dtype) < std::pair(a.bytes, b.dtype);
  });
  return totals;
}

ModelFile read_model_file(const std::string& path) {
  if (path.ends_with(".safetensors")) return read_safetensors_file(path);
  if (path.ends_with(".gguf") || begins_as_gguf(path)) return read_gguf_file(path);
  throw Error(ErrorCode::unsupported, "info: no format that is known; got " + hearth::quoted(path) +
                                          ", expected a file of GGUF or called x.safetensors");
}

double bits_per_weight(const DTypeTotal& total) {
  if (total.elements == 0) return 0;
  return 8 * static_cast<double>(total.bytes) / static_cast<double>(total.elements);
}

}  // namespace hearth::tools
