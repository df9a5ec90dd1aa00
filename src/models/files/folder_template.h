// The chat templates of a folder as Hugging Face has them.
#pragma once

#include <string>

#include "models/files/model_folder.h"

namespace hearth::models {

// Empty where there is none.
struct FolderTemplates {
  std::string usual;
  std::string with_tools;  // in place of that for conversations with tools
};

// Those of chat_template.jinja and additional_chat_templates/tool_use.jinja, else the one, or those
// named default and tool_use, of tokenizer_config.json. Throws Error{io} for a file that cannot be
// read, and what config_templates() throws.
FolderTemplates chat_templates_of(const ModelFolder& folder);

}  // namespace hearth::models
