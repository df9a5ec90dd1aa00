#include "models/files/folder_template.h"

#include <utility>

#include "io/text_file.h"
#include "models/tokenizer/config_templates.h"
#include "models/tokenizer/file_limits.h"

namespace hearth::models {

FolderTemplates chat_templates_of(const ModelFolder& folder) {
  const auto text_of = [](const std::string& path) {
    return path.empty() ? "" : io::read_text(path, kMaxTemplateBytes);
  };
  if (!folder.chat_template.empty()) {
    return {text_of(folder.chat_template), text_of(folder.tool_template)};
  }
  if (folder.tokenizer_config.empty()) return {};
  FolderTemplates found;
  for (auto& [name, text] : tokens::config_templates(
           io::read_text(folder.tokenizer_config, kMaxTokenizerBytes), folder.tokenizer_config)) {
    if (name == "default") found.usual = std::move(text);
    if (name == "tool_use") found.with_tools = std::move(text);
  }
  return found;
}

}  // namespace hearth::models
