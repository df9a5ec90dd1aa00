// Language models from files.
#pragma once

#include <string>

#include "hearth/io.h"
#include "models/transformer.h"

namespace hearth::tools {

// The model of a checkpoint, or of a folder as Hugging Face has them (config.json and
// model.safetensors; weights of other float dtypes are converted to f32).
models::Transformer load_model(const std::string& folder, DType compute, Device device);

// Whether `hearth train` wrote the folder.
bool is_trained_model(const std::string& folder);

// Such a model as the GGUF file that it becomes: a llama over bytes, each of which is a token. A
// byte of 0, which no text has, ends a text. Throws Error{unsupported} for another vocabulary.
GgufContents file_of_trained_model(const std::string& folder);

}  // namespace hearth::tools
