#include "models/files/folder_tensors.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/quoted.h"
#include "hearth/error.h"
#include "io/text_file.h"
#include "models/files/checkpoint_names.h"
#include "models/files/safetensors_index.h"
#include "models/tokenizer/file_limits.h"

namespace hearth::models::folders {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

// Weights of PyTorch that the folder has instead, which are programs and not read.
std::string pickled_weights(const std::string& folder) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (existing_file(folder, name).empty()) continue;
    return std::string(" with ") + name +
           " (transformers' save_pretrained() makes safetensors of it)";
  }
  return "";
}

}  // namespace

std::string existing_file(const std::string& folder, const char* name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? path.string() : "";
}

std::string read_folder_text(const std::string& path) {
  return io::read_text(path, kMaxConfigBytes);
}

FolderTensors FolderTensors::open(const std::string& folder) {
  FolderTensors out;
  if (const std::string single = existing_file(folder, kSingleFile); !single.empty()) {
    out.add_file(single);
    out.sort_tensors();
    return out;
  }
  const std::string index_path = existing_file(folder, kIndexFile);
  const std::string checkpoint = existing_file(folder, kCheckpointFile);
  if (index_path.empty() && !checkpoint.empty()) {
    out.add_file(checkpoint);
    std::erase_if(out.tensors_,
                  [](const StoredTensor& each) { return is_of_the_run(each.view->name); });
    out.sort_tensors();
    return out;
  }
  if (index_path.empty()) {
    throw Error(ErrorCode::io, "read_model_folder: no weights; got " + hearth::quoted(folder) +
                                   pickled_weights(folder) + ", expected a folder with " +
                                   kSingleFile + ", " + kIndexFile + " or " + kCheckpointFile);
  }
  const std::string source = "read_model_folder: " + hearth::quoted(index_path);
  const SafetensorsIndex index = parse_safetensors_index(read_folder_text(index_path), source);
  for (const std::string& file : index.files) {
    out.add_file((std::filesystem::path(folder) / file).string());
  }
  out.sort_tensors();
  for (const auto& [name, file] : index.file_of) {
    const auto at = std::lower_bound(out.tensors_.begin(), out.tensors_.end(), name,
                                     [](const StoredTensor& each, const std::string& wanted) {
                                       return each.view->name < wanted;
                                     });
    const bool is_there = at != out.tensors_.end() && at->view->name == name;
    if (is_there && index.files[at->file] == file) continue;
    throw Error(ErrorCode::corrupt_file,
                source + ": a tensor in another file than the index says; got " +
                    hearth::quoted(name) + " in " +
                    (is_there ? hearth::quoted(index.files[at->file]) : "none") + ", expected " +
                    hearth::quoted(file));
  }
  return out;
}

void FolderTensors::add_file(const std::string& path) {
  auto file = std::make_shared<const io::SafetensorsFile>(
      io::SafetensorsFile::open(path, io::Float8Tensors::as_bytes));
  for (const io::SafetensorsView& view : file->tensors())
    tensors_.push_back({&view, files_.size()});
  paths_.push_back(path);
  files_.push_back(std::move(file));
}

void FolderTensors::sort_tensors() {
  std::sort(tensors_.begin(), tensors_.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return a.view->name < b.view->name;
  });
  for (std::size_t i = 1; i < tensors_.size(); ++i) {
    if (tensors_[i].view->name != tensors_[i - 1].view->name) continue;
    throw Error(ErrorCode::corrupt_file, "read_model_folder: a tensor in two files; got " +
                                             hearth::quoted(tensors_[i].view->name) + " in " +
                                             hearth::quoted(paths_[tensors_[i - 1].file]) +
                                             " and " + hearth::quoted(paths_[tensors_[i].file]) +
                                             ", expected each once");
  }
}

const io::SafetensorsView* FolderTensors::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& each, std::string_view wanted) { return each.view->name < wanted; });
  return at != tensors_.end() && at->view->name == name ? at->view : nullptr;
}

}  // namespace hearth::models::folders
