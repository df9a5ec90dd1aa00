// Language models from files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hearth/io.h"
#include "hearth/models.h"
#include "models/language/family.h"
#include "models/language/low_rank.h"
#include "models/language/model/language_model.h"
#include "models/sampling/recommended_sampling.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

struct LoadOptions {
  Device device = {};
  DType compute = DType::f32;  // of activations: f32, bf16, f16 or f64
  std::int64_t context = 0;    // positions of sequences at most; 0: what the model was made for
  // Where `context` is 0: so many, unless the model was made for less; 0: what it was made for.
  std::int64_t usual_context = 0;
  std::vector<AdapterFile> adapters = {};  // added to the model's products
  FindLowRank low_rank = {};               // and these
  // Called with the share of the weights' bytes that are where they belong, from 0 to 1.
  std::function<void(double)> progress = {};
};

// What is in a model's files, under GGUF's names, on the host and for the most part unread: weights
// are the pages of the files.
struct ModelContents {
  GgufContents contents;
  FileKind kind = FileKind::gguf;
  std::string tokenizer;           // the path of the file that has it; empty of folders without one
  std::string chat_template = {};  // of ChatTemplate, as the files have it; empty: none
  std::string tool_template = {};  // in place of that for conversations with tools; empty: that
};

// Of a GGUF file or a folder. Throws what reading them throws, with the path.
ModelContents read_model_contents(const std::string& path);

// The model without its tokenizer, which need not be there. Throws what LanguageModel throws, and
// LoadedAdapters of adapters.
LanguageModel make_language_model(const ModelContents& files, const LoadOptions& options = {});

// Its tokenizer, with an unused token for each row of the embedding that the tokenizer has none of.
Tokenizer tokenizer_of(const ModelContents& files);

struct LoadedModel {
  LanguageModel model;
  Tokenizer tokenizer;
  std::string chat_template = {};  // of ModelContents
  RecommendedSampling recommended = {};
  std::string tool_template = {};  // of ModelContents
};

// From a GGUF file (of a split model, any part) or a folder as Hugging Face and MLX have them.
// Weights stay as they are: on devices that read the host's memory they are the pages of the file.
// Throws what reading the file, its tokenizer, adapters and LanguageModel throw, with the path of
// what is at fault.
LoadedModel load_language_model(const std::string& path, const LoadOptions& options = {});

}  // namespace hearth::models
