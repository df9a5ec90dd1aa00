#include "models/language/family.h"

#include <algorithm>
#include <string>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models {

const Family* find_family(std::string_view architecture) {
  for (const Family& family : families()) {
    if (family.architecture == architecture) return &family;
  }
  return nullptr;
}

const Family& family_by_name(std::string_view architecture) {
  const Family* family = find_family(architecture);
  if (family != nullptr) return *family;
  std::string known;
  for (const Family& each : families()) {
    known += (known.empty() ? "" : ", ") + std::string(each.architecture);
  }
  throw Error(ErrorCode::unsupported, "general.architecture: unknown family of models; got " +
                                          hearth::quoted(architecture) + ", expected one of " +
                                          known);
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
