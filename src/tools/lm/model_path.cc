#include "tools/lm/model_path.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "io/file.h"
#include "models/files/model_folder.h"

namespace hearth::tools {

bool is_model_path(const std::string& path) {
  if (models::is_model_folder(path)) return true;
  std::error_code ignored;
  // What a pipe gives can be read once.
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const io::MappedFile file = io::MappedFile::open(path);
  const auto bytes = file.bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with("GGUF");
}

}  // namespace hearth::tools
