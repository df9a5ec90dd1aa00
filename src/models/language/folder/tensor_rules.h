// Names of a folder's tensors as GGUF's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/language/family.h"

namespace hearth::models {

struct RenamedTensor {
  const TensorRule* rule;
  std::string name;          // GGUF's; empty: not read
  std::int64_t expert = -1;  // -1: of no expert
};

// Names of models within models of texts and images, and of those without their output, as of
// models of texts alone.
std::string text_name(const std::string& name);

// What the rules that fit the longest part of a name make of it: those of the family before the
// standard ones. None where no rule fits.
std::vector<RenamedTensor> renamed(std::string_view name, const Family& family);

}  // namespace hearth::models
