// Low-rank adapters as files have them: folders of PEFT (adapter_config.json beside
// adapter_model.safetensors) and GGUF files as llama.cpp's convert_lora_to_gguf.py writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hearth/array.h"
#include "hearth/gguf.h"

namespace hearth::models {

struct StoredAdapter {
  struct Pair {
    Array a;  // [rank, in], a float
    Array b;  // [out, rank]
    double scale = 1;
  };

  std::string path;
  std::string architecture;  // GGUF's name of the family; empty of a folder, which has none
  bool is_folder = false;
  // For messages: ` of an adapter for "x" with modules "q_proj", "v_proj"`; empty where the files
  // do not say.
  std::string origin = {};
  // By the name of the weights without ".weight": of a folder as Hugging Face has them
  // ("model.layers.0.self_attn.q_proj"), else as GGUF does ("blk.0.attn_q").
  std::map<std::string, Pair> pairs;
};

// Whether the path is a folder with an adapter_config.json.
bool is_adapter_folder(const std::string& path);

// Of a GGUF file's metadata.
bool says_adapter(const GgufMetadata& metadata);
// Whether the path is an adapter and no model: such a folder without a config.json, or a GGUF file
// that says so. Not where nothing can be read there.
bool is_adapter(const std::string& path);

// What a folder has that is none of an adapter nor of a model, as the end of an error: "got ...,
// expected ...", where it is of a run that was stopped or has a file of its own; else empty.
std::string unfit_folder(const std::string& path);

// Arrays are pages of the file or are made when they are read. Throws Error{io};
// Error{corrupt_file} for what breaks a format, for one matrix of a pair without the other and for
// pairs that do not fit together; Error{unsupported} for other kinds of adapters and for what these
// two lack, with its name: DoRA, biases, whole modules, embeddings.
StoredAdapter read_adapter(const std::string& path);

}  // namespace hearth::models
