// model.safetensors.index.json: which file of a folder has which tensor.
//
//   {"metadata": {"total_size": 123}, "weight_map": {"lm_head.weight": "model-00001-of-00002..."}}
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hearth::models::folders {

struct SafetensorsIndex {
  std::map<std::string, std::string> file_of;  // by the name of the tensor
  std::vector<std::string> files;              // each once, in order of their names
};

// `source` is the name used in messages. Throws Error{corrupt_file} for what is no such object, for
// an index of no tensors, and for names of files that are not plain names ending in ".safetensors":
// an index cannot name a file outside its folder.
SafetensorsIndex parse_safetensors_index(const std::string& text, const std::string& source);

}  // namespace hearth::models::folders
