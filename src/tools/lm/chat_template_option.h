// The option of commands that talk: another chat template than the model's.
#pragma once

#include <string>

#include "models/language/load_model.h"
#include "tools/command_line.h"

namespace hearth::tools {

// Declares --chat-template; `path` must live as long as the variables of other options.
void add_chat_template_option(Command& command, std::string& path);

// Gives the model the template of that file, where one is named. Throws Error{io}.
void set_chat_template(models::LoadedModel& loaded, const std::string& path);

}  // namespace hearth::tools
