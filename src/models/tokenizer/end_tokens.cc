#include "models/tokenizer/end_tokens.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <variant>

#include "core/json_object.h"
#include "core/quoted.h"
#include "io/text_file.h"
#include "models/tokenizer/file_limits.h"

namespace hearth::models {
namespace {

constexpr const char* kEndKey = "eos_token_id";

void add_ends_of(const JsonObject& config, const std::string& source,
                 std::vector<std::int64_t>& ends) {
  const JsonValue* value = find_key(config, kEndKey);
  if (value == nullptr || std::holds_alternative<std::nullptr_t>(*value)) return;
  const auto* several = std::get_if<JsonArray>(value);
  for (const JsonValue& each : several != nullptr ? *several : JsonArray{*value}) {
    const auto* id = std::get_if<std::int64_t>(&each);
    if (id == nullptr) {
      throw Error(ErrorCode::corrupt_file, source + ": " + kEndKey + " is of the wrong type; got " +
                                               hearth::quoted(json_text(*value)) +
                                               ", expected an id or an array of them");
    }
    if (std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  }
}

}  // namespace

std::vector<std::int64_t> end_tokens_of(const std::string& generation_config,
                                        const std::string& config, const std::string& source) {
  std::vector<std::int64_t> ends;
  for (const std::string* text : {&generation_config, &config}) {
    if (text->empty()) continue;
    const JsonObject whole = parse_json_object(*text, source, "a configuration");
    add_ends_of(whole, source, ends);
    const JsonValue* of_text = find_key(whole, "text_config");
    const auto* inner = of_text == nullptr ? nullptr : std::get_if<JsonObject>(of_text);
    if (inner != nullptr) add_ends_of(*inner, source, ends);
  }
  return ends;
}

std::vector<std::int64_t> end_tokens_of_folder(const std::string& folder) {
  const auto text_of = [&](const char* name) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored)
               ? io::read_text(path.string(), kMaxConfigBytes)
               : std::string();
  };
  return end_tokens_of(text_of("generation_config.json"), text_of("config.json"), folder);
}

}  // namespace hearth::models
