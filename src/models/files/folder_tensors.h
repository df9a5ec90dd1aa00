// The tensors in the safetensors files of a folder, as they are stored.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace hearth::models::folders {

struct StoredTensor {
  const io::SafetensorsView* view = nullptr;
  std::size_t file = 0;  // which of FolderTensors::files()
};

class FolderTensors {
 public:
  // Opens model.safetensors or, where that is missing, the files that model.safetensors.index.json
  // names, else the weights of a checkpoint of `hearth train`. Throws Error{io} where none of these
  // is there or a file is missing; Error{corrupt_file} for broken files, a tensor that two files
  // have, and one that is not in the file that the index names; Error{unsupported} for dtypes that
  // are not read.
  static FolderTensors open(const std::string& folder);

  // In the order of their names.
  const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  // Null where there is none.
  const io::SafetensorsView* find(std::string_view name) const noexcept;
  const std::vector<std::shared_ptr<const io::SafetensorsFile>>& files() const noexcept {
    return files_;
  }

 private:
  void add_file(const std::string& path);
  void sort_tensors();

  std::vector<std::string> paths_;  // of files_
  std::vector<std::shared_ptr<const io::SafetensorsFile>> files_;
  std::vector<StoredTensor> tensors_;
};

// The path of a file of the folder where it is there, else an empty text.
std::string existing_file(const std::string& folder, const char* name);

// The text of a file of the folder. Throws Error{io} for what cannot be read or is longer than
// any configuration.
std::string read_folder_text(const std::string& path);

}  // namespace hearth::models::folders
