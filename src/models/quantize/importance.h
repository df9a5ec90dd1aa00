// Importance matrices: how much the elements of weight rows count, measured on a model's
// activations.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hearth::models {

// The mean squares of what a matrix is multiplied with, by the name of its tensor: [in], of experts
// [experts * in].
using Importance = std::map<std::string, std::vector<float>, std::less<>>;

// Reads llama.cpp's files, of both formats: GGUF (general.type "imatrix") and the older one of
// counts and sums. Throws Error{io}; Error{corrupt_file} where the contents break the format, are
// of no matrix, or have a sum or count that is negative or not finite.
Importance read_importance(const std::string& path);

}  // namespace hearth::models
