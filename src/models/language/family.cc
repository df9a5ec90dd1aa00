#include "models/language/family.h"

#include <algorithm>
#include <string>

namespace hearth::models {

const Family* find_family(std::string_view architecture) {
  for (const Family& family : families()) {
    if (family.architecture == architecture) return &family;
  }
  return nullptr;
}

const Family* find_family_of_folder(std::string_view model_type) {
  for (const Family& family : families()) {
    const auto& types = family.model_types;
    const bool is_one = std::any_of(types.begin(), types.end(), [&](const FolderType& type) {
      return type.name == model_type;
    });
    if (is_one) return &family;
  }
  return nullptr;
}

std::int64_t FolderContext::size(std::string_view key) const {
  return Keys(metadata, std::string(architecture)).size(key);
}

std::int64_t FolderContext::size(std::string_view key, std::int64_t fallback) const {
  return Keys(metadata, std::string(architecture)).size(key, fallback);
}

}  // namespace hearth::models
