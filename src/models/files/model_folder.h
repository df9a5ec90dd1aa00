// Folders of models as Hugging Face and MLX have them: config.json, weights in safetensors, and
// what belongs to the tokenizer.
//
//   const ModelFolder folder = read_model_folder("Qwen3-0.6B");
//   const Array* head = folder.find("lm_head.weight");  // null where it is tied
//
// Weights are the pages of the files, but for those that are stored in a form that no dtype has:
//
// clang-format off
//   stored                                       read
//   F8_E4M3, F8_E5M2, with x.weight_scale(_inv)  bf16: values times scales, rounded once
//   x_blocks, x_scales of bytes (gpt-oss)        x_blocks: mxfp4 [.., rows, groups * 32], exactly
//   x.weight (u32), x.scales, x.biases (MLX)     x.weight: q4_1 of 2 to 4 bits and q5_1 of 5
//                                                where f16 holds scales and biases, else affine6
//                                                or affine8; mxfp4 of that mode
// clang-format on
// These are made on the host while the folder is read; the scales are used up and not among the
// tensors.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "hearth/array.h"
#include "hearth/parameter.h"

namespace hearth::models {

// What weights were stored as.
enum class WeightForm { plain, float8, mxfp4, mlx };

struct ModelFolder {
  std::string path;
  JsonObject config;    // config.json
  NamedArrays tensors;  // in the order of their names, which are those of the files
  WeightForm form = WeightForm::plain;
  bool is_mlx = false;  // written by MLX: norms, convolutions and experts have its shapes
  // Paths; empty where the file is not there.
  std::string tokenizer;          // tokenizer.json
  std::string tokenizer_config;   // tokenizer_config.json
  std::string chat_template;      // chat_template.jinja
  std::string tool_template;      // additional_chat_templates/tool_use.jinja
  std::string generation_config;  // generation_config.json

  // Null where there is none.
  const Array* find(std::string_view name) const noexcept;
};

// Whether the path is a folder with a config.json.
bool is_model_folder(const std::string& path);

// Reads model.safetensors or, where that is missing, the files that model.safetensors.index.json
// names, none outside the folder; else what `hearth train` keeps, checkpoint.safetensors. What
// map_safetensors() says of changing the files holds. Throws Error{io} for what is missing;
// Error{corrupt_file} for what breaks a format or does not fit together, such as a tensor that two
// files have; Error{unsupported} for dtypes and ways of quantizing that are not read.
ModelFolder read_model_folder(const std::string& path, Device device = Device());

}  // namespace hearth::models
