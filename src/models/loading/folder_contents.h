// What a folder of Hugging Face says of its model, under GGUF's names.
#pragma once

#include "hearth/io.h"
#include "models/files/model_folder.h"

namespace hearth::models {

// Tensors and metadata of gguf_of_folder(), and what generation_config.json and the modules of
// sentence-transformers add, where there are such files. Throws as gguf_of_folder(),
// add_generation_config() and add_sentence_modules_of() do, and Error{io}.
GgufContents contents_of_folder(const ModelFolder& folder);

}  // namespace hearth::models
