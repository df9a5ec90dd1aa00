#include "models/language/load_model.h"

#include <utility>

#include "hearth/error.h"
#include "hearth/io.h"
#include "models/files/model_folder.h"
#include "models/language/folder/folder_model.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

LanguageModel model_of_file(const GgufContents& contents, FileKind kind,
                            const LoadOptions& options) {
  return LanguageModel(read_config(contents.metadata, kind),
                       Weights(contents.arrays, options.compute, options.device), options.device,
                       options.context);
}

LoadedModel load_folder(const std::string& path, const LoadOptions& options) {
  const ModelFolder folder = read_model_folder(path);
  if (folder.tokenizer.empty()) {
    throw Error(ErrorCode::unsupported,
                "a folder without a tokenizer; got no tokenizer.json, expected one");
  }
  return {model_of_file(gguf_of_folder(folder.config, folder.tensors), FileKind::folder, options),
          read_tokenizer(folder.tokenizer)};
}

LoadedModel load_file(const std::string& path, const LoadOptions& options) {
  return {model_of_file(map_gguf(path), FileKind::gguf, options), read_tokenizer(path)};
}

}  // namespace

LoadedModel load_language_model(const std::string& path, const LoadOptions& options) try {
  return is_model_folder(path) ? load_folder(path, options) : load_file(path, options);
} catch (const Error& error) {
  const std::string text = error.what();
  if (text.find(path) != std::string::npos) throw;
  throw Error(error.code(), path + ": " + text);
}

}  // namespace hearth::models
