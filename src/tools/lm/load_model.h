// Language models from files.
#pragma once

#include <string>

#include "models/transformer.h"

namespace hearth::tools {

// The model of a checkpoint, or of a folder as Hugging Face has them (config.json and
// model.safetensors; weights of other float dtypes are converted to f32).
models::Transformer load_model(const std::string& folder, DType compute, Device device);

}  // namespace hearth::tools
