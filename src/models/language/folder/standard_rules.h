// What most families of Hugging Face's folders share: keys of config.json, and names of tensors as
// Llama has them.
#pragma once

#include <span>

#include "models/language/family.h"

namespace hearth::models {

std::span<const KeyRule> standard_keys();
// Those of which only the type is looked at, since tensors tell what they say. Of no key of GGUF.
std::span<const KeyRule> typed_keys();
std::span<const TensorRule> standard_tensors();

}  // namespace hearth::models
