#include "models/loading/folder_contents.h"

#include "io/text_file.h"
#include "models/language/folder/folder_model.h"
#include "models/language/sentence_modules.h"
#include "models/sampling/recommended_sampling.h"
#include "models/tokenizer/file_limits.h"

namespace hearth::models {

GgufContents contents_of_folder(const ModelFolder& folder) {
  GgufContents contents = gguf_of_folder(folder.config, folder.tensors);
  if (!folder.generation_config.empty()) {
    add_generation_config(contents.metadata,
                          io::read_text(folder.generation_config, kMaxConfigBytes),
                          folder.generation_config);
  }
  add_sentence_modules_of(folder, contents.metadata);
  return contents;
}

}  // namespace hearth::models
