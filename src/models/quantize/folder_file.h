// A folder of Hugging Face as the GGUF file that it becomes.
#pragma once

#include <string>

#include "hearth/io.h"

namespace hearth::models {

// Tensors, metadata, tokenizer and chat template; vectors and what else is not a matrix in f32,
// matrices as the folder has them, computed when they are read. A folder without tokenizer.json
// becomes a file with the tokenizer "none". Throws as read_model_folder(), contents_of_folder() and
// add_tokenizer() do.
GgufContents file_of_folder(const std::string& path);

}  // namespace hearth::models
