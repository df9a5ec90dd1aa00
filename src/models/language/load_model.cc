#include "models/language/load_model.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/json.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "io/file.h"
#include "models/files/model_folder.h"
#include "models/language/folder/folder_model.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

LanguageModel model_of_file(const GgufContents& contents, FileKind kind,
                            const LoadOptions& options) {
  return LanguageModel(read_config(contents.metadata, kind),
                       Weights(contents.arrays, options.compute, options.device), options.device,
                       options.context);
}

constexpr std::uint64_t kMostTemplateBytes = std::uint64_t{16} << 20;

std::string text_of_file(const std::string& path) {
  const auto bytes = io::read_file(path, kMostTemplateBytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const JsonValue* member_of(const JsonValue& value, std::string_view key) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) return nullptr;
  const auto found =
      std::ranges::find_if(*object, [&](const auto& each) { return each.first == key; });
  return found == object->end() ? nullptr : &found->second;
}

std::string text_or_nothing(const JsonValue* value) {
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

// `chat_template` of tokenizer_config.json: a text, or several with names, of which one is the
// default.
std::string template_of_config(const std::string& path) {
  const std::optional<JsonValue> config = parse_json(text_of_file(path));
  const JsonValue* value = config ? member_of(*config, "chat_template") : nullptr;
  if (value == nullptr) return "";
  if (const auto* several = std::get_if<JsonArray>(value)) {
    for (const JsonValue& each : *several) {
      if (text_or_nothing(member_of(each, "name")) == "default") {
        return text_or_nothing(member_of(each, "template"));
      }
    }
  }
  return text_or_nothing(value);
}

std::string template_of_folder(const ModelFolder& folder) {
  if (!folder.chat_template.empty()) return text_of_file(folder.chat_template);
  return folder.tokenizer_config.empty() ? "" : template_of_config(folder.tokenizer_config);
}

LoadedModel load_folder(const std::string& path, const LoadOptions& options) {
  const ModelFolder folder = read_model_folder(path);
  if (folder.tokenizer.empty()) {
    throw Error(ErrorCode::unsupported,
                "a folder without a tokenizer; got no tokenizer.json, expected one");
  }
  return {model_of_file(gguf_of_folder(folder.config, folder.tensors), FileKind::folder, options),
          read_tokenizer(folder.tokenizer), template_of_folder(folder)};
}

LoadedModel load_file(const std::string& path, const LoadOptions& options) {
  const GgufContents contents = map_gguf(path);
  const GgufValue* source = contents.metadata.find("tokenizer.chat_template");
  return {model_of_file(contents, FileKind::gguf, options), read_tokenizer(path),
          source == nullptr ? "" : source->as_text("tokenizer.chat_template")};
}

}  // namespace

LoadedModel load_language_model(const std::string& path, const LoadOptions& options) try {
  return is_model_folder(path) ? load_folder(path, options) : load_file(path, options);
} catch (const Error& error) {
  const std::string text = error.what();
  if (text.find(path) != std::string::npos) throw;
  throw Error(error.code(), path + ": " + text);
}

}  // namespace hearth::models
