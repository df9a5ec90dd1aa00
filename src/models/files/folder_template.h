// The chat template of a folder as Hugging Face has them.
#pragma once

#include <string>

#include "models/files/model_folder.h"

namespace hearth::models {

// That of chat_template.jinja, else the one, or the default one, of tokenizer_config.json; empty
// where there is none. Throws Error{io} for a file that cannot be read.
std::string chat_template_of(const ModelFolder& folder);

}  // namespace hearth::models
