#include "tools/info/model_file.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/json_object.h"
#include "core/quoted.h"
#include "io/file.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "models/adapters/stored_adapter.h"
#include "models/files/folder_tensors.h"
#include "models/language/family.h"

namespace hearth::tools {
namespace {

std::string dtype_text(const io::GgufView& view) { return std::string(name(view.dtype)); }

std::string dtype_text(const io::SafetensorsView& view) {
  if (view.float8 == io::Float8::none) return std::string(name(view.dtype));
  std::string text(safetensors_name(view.float8));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

template <class View>
TensorFacts facts_of(const View& view) {
  return {view.name, dtype_text(view), view.shape, static_cast<std::int64_t>(view.bytes.size())};
}

template <class View>
std::vector<TensorFacts> facts_of(const std::vector<View>& views) {
  std::vector<TensorFacts> facts;
  facts.reserve(views.size());
  for (const View& view : views) facts.push_back(facts_of(view));
  return facts;
}

std::string text_of(const GgufMetadata& metadata, const char* key) {
  const GgufValue* value = metadata.find(key);
  return value != nullptr && value->type() == GgufType::string ? value->as_text() : "";
}

std::string name_of(const models::Family* family) {
  return family == nullptr ? "" : std::string(family->architecture);
}

ModelFile read_gguf_file(const std::string& path) {
  const io::GgufFile file = io::GgufFile::open(path);
  ModelFile out;
  out.format = "gguf";
  out.version = file.version();
  out.files = file.part_count();
  out.alignment = file.alignment();
  out.architecture = text_of(file.metadata(), "general.architecture");
  out.family = name_of(models::find_family(out.architecture));
  out.name = text_of(file.metadata(), "general.name");
  out.metadata = file.metadata();
  out.tensors = facts_of(file.tensors());
  return out;
}

ModelFile read_safetensors_file(const std::string& path) {
  const io::SafetensorsFile file = io::SafetensorsFile::open(path, io::Float8Tensors::as_bytes);
  ModelFile out;
  out.format = "safetensors";
  for (const auto& [key, value] : file.metadata()) out.metadata.insert(key, value);
  out.tensors = facts_of(file.tensors());
  return out;
}

// Members as metadata: numbers, texts and flags as they are, others as JSON; nulls are left out.
void add_members(const JsonObject& config, GgufMetadata& metadata) {
  for (const auto& [key, value] : config) {
    std::visit(
        [&, &name = key, &member = value]<class T>(const T& held) {
          if constexpr (std::is_same_v<T, JsonArray> || std::is_same_v<T, JsonObject>) {
            metadata.set(name, json_text(member));
          } else if constexpr (!std::is_same_v<T, std::nullptr_t>) {
            metadata.set(name, held);
          }
        },
        static_cast<const JsonValue::variant&>(value));
  }
}

JsonObject read_object(const std::string& path) {
  return parse_json_object(models::folders::read_folder_text(path), "info: " + hearth::quoted(path),
                           "a configuration");
}

// A low-rank adapter as PEFT has them.
ModelFile read_adapter_folder(const std::string& path) {
  ModelFile out = read_safetensors_file(path + "/adapter_model.safetensors");
  out.format = "peft folder";
  add_members(read_object(path + "/adapter_config.json"), out.metadata);
  out.name = text_of(out.metadata, "base_model_name_or_path");
  return out;
}

ModelFile read_folder(const std::string& path) {
  namespace folders = models::folders;
  if (models::is_adapter_folder(path)) return read_adapter_folder(path);
  const std::string config_path = folders::existing_file(path, "config.json");
  if (config_path.empty()) {
    const std::string what = models::unfit_folder(path);
    throw Error(ErrorCode::unsupported, "info: the folder has no model; " +
                                            (what.empty() ? "got " + hearth::quoted(path) +
                                                                ", expected one with config.json"
                                                          : what));
  }
  const JsonObject config = read_object(config_path);
  const folders::FolderTensors stored = folders::FolderTensors::open(path);
  ModelFile out;
  out.format = "safetensors folder";
  out.files = static_cast<int>(stored.files().size());
  add_members(config, out.metadata);
  out.architecture = text_of(out.metadata, "model_type");
  out.family = name_of(models::find_family_of_folder(out.architecture, config));
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                           "generation_config.json"}) {
    if (folders::existing_file(path, file).empty()) continue;
    out.others.emplace_back(file);
  }
  for (const folders::StoredTensor& each : stored.tensors()) {
    out.tensors.push_back(facts_of(*each.view));
  }
  return out;
}

bool begins_as_gguf(const std::string& path) {
  const io::MappedFile file = io::MappedFile::open(path);
  const auto bytes = file.bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with("GGUF");
}

}  // namespace

std::vector<DTypeTotal> ModelFile::totals() const {
  std::vector<DTypeTotal> totals;
  for (const TensorFacts& tensor : tensors) {
    auto at = std::find_if(totals.begin(), totals.end(),
                           [&](const DTypeTotal& total) { return total.dtype == tensor.dtype; });
    if (at == totals.end()) at = totals.insert(at, DTypeTotal{.dtype = tensor.dtype});
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
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return read_folder(path);
  if (path.ends_with(".safetensors")) return read_safetensors_file(path);
  if (path.ends_with(".gguf") || begins_as_gguf(path)) return read_gguf_file(path);
  throw Error(ErrorCode::unsupported, "info: the format is not known; got " + hearth::quoted(path) +
                                          ", expected a file of GGUF, one called x.safetensors "
                                          "or a folder of a model");
}

double bits_per_weight(const DTypeTotal& total) {
  if (total.elements == 0) return 0;
  return 8 * static_cast<double>(total.bytes) / static_cast<double>(total.elements);
}

}  // namespace hearth::tools
