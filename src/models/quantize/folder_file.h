// A folder of Hugging Face as the GGUF file that it becomes.
#pragma once

#include <string>

#include "core/json.h"
#include "hearth/io.h"
#include "models/tokenizer/to_gguf.h"

namespace hearth::models {

// Tensors, metadata, tokenizer and chat template; vectors and what else is not a matrix in f32,
// matrices as the folder has them, computed when they are read. A folder without tokenizer.json
// becomes a file with the tokenizer "none". Throws as read_model_folder(), gguf_of_folder() and
// add_tokenizer() do.
GgufContents file_of_folder(const std::string& path);

// The same of a configuration and weights as Hugging Face has them, under `name`. `source` stands
// in messages.
GgufContents file_of_weights(const JsonObject& config, const NamedArrays& weights,
                             const TokenizerTexts& tokenizer, const std::string& name,
                             const std::string& source);

}  // namespace hearth::models
