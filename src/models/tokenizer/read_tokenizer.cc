#include <cstring>
#include <filesystem>

#include "io/file.h"
#include "io/gguf.h"
#include "io/text_file.h"
#include "models/tokenizer/end_tokens.h"
#include "models/tokenizer/file_limits.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

Tokenizer read_tokenizer(const std::string& given, std::size_t rows) {
  std::error_code failure;
  const bool is_folder = std::filesystem::is_directory(given, failure);
  const std::string path =
      is_folder ? (std::filesystem::path(given) / "tokenizer.json").string() : given;
  {
    const io::MappedFile file = io::MappedFile::open(path);
    const auto bytes = file.bytes();
    if (bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0) {
      const io::GgufFile model = io::GgufFile::open(path);
      return tokenizer_from_gguf(model.metadata(), path);
    }
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::filesystem::path config = folder / "tokenizer_config.json";
  const bool has_config = std::filesystem::is_regular_file(config, failure);
  return tokenizer_from_json(io::read_text(path, kMaxTokenizerBytes), path,
                             has_config ? io::read_text(config.string(), kMaxTokenizerBytes) : "",
                             end_tokens_of_folder(folder.string()), rows);
}

}  // namespace hearth::models
