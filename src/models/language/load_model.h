// Language models from files.
#pragma once

#include <cstdint>
#include <string>

#include "models/language/language_model.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

struct LoadOptions {
  Device device = {};
  DType compute = DType::f32;  // of activations: f32, bf16, f16 or f64
  std::int64_t context = 0;    // positions of sequences at most; 0: what the model was made for
};

struct LoadedModel {
  LanguageModel model;
  Tokenizer tokenizer;
  std::string chat_template = {};  // of ChatTemplate, as the file has it; empty: none
};

// From a GGUF file (of a split model, any part) or a folder as Hugging Face and MLX have them.
// Weights stay as they are: on devices that read the host's memory they are the pages of the file.
// Throws what reading the file, its tokenizer and LanguageModel throw, with the path.
LoadedModel load_language_model(const std::string& path, const LoadOptions& options = {});

}  // namespace hearth::models
