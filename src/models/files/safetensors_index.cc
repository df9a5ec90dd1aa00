#include "models/files/safetensors_index.h"

#include <algorithm>
#include <string_view>

#include "core/json.h"
#include "core/json_fields.h"
#include "core/json_object.h"
#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models::folders {
namespace {

// Letters, digits and ". - _", as all writers use: neither a path nor a control character, and not
// hidden.
bool is_plain_file_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !name.starts_with('.') && name.ends_with(".safetensors") &&
         std::all_of(name.begin(), name.end(), is_plain);
}

}  // namespace

SafetensorsIndex parse_safetensors_index(const std::string& text, const std::string& source) {
  const JsonValue document = parse_json_object(text, source, "an index");
  const JsonFields fields(document, source);
  const JsonValue* map = fields.find("weight_map");
  if (map == nullptr || !std::holds_alternative<JsonObject>(*map)) {
    fields.fail("no weight_map; expected an object of tensors and files");
  }
  SafetensorsIndex index;
  for (const auto& [name, value] : std::get<JsonObject>(*map)) {
    const auto* file = std::get_if<std::string>(&value);
    if (file == nullptr || !is_plain_file_name(*file)) {
      fields.fail("tensor " + hearth::quoted(name) + " in no file of the folder; got " +
                  hearth::quoted(file != nullptr ? *file : json_text(value)) +
                  ", expected the plain name of a file called x.safetensors");
    }
    index.file_of.emplace(name, *file);
    index.files.push_back(*file);
  }
  std::sort(index.files.begin(), index.files.end());
  index.files.erase(std::unique(index.files.begin(), index.files.end()), index.files.end());
  if (index.files.empty()) fields.fail("an index of no tensors; got none, expected some");
  return index;
}

}  // namespace hearth::models::folders
