#include "models/language/family.h"

#include <string>
#include <variant>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models {
namespace {

bool is_above_zero(const JsonValue* value) {
  const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return whole != nullptr && *whole > 0;
}

}  // namespace

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

const Family* find_family_of_folder(std::string_view model_type, const JsonObject& config) {
  const Family* unmarked = nullptr;
  for (const Family& family : families()) {
    for (const FolderType& type : family.model_types) {
      if (type.name != model_type) continue;
      if (type.mark.empty()) {
        unmarked = &family;
      } else if (is_above_zero(find_key(config, type.mark))) {
        return &family;
      }
    }
  }
  return unmarked;
}

std::int64_t FolderContext::count(std::string_view key) const {
  return Keys(metadata, std::string(architecture)).some_count(key);
}

}  // namespace hearth::models
