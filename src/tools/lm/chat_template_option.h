// The options of commands that talk: another chat template than the model's, and what it is told.
#pragma once

#include <string>

#include "core/json.h"
#include "models/loading/load_model.h"
#include "tools/command_line.h"

namespace hearth::tools {

// What helps a model that has none: behind what is wrong with it.
inline constexpr const char* kTemplateRemedy = "--chat-template FILE gives it one";

// Declares --chat-template; `value` must live as long as the variables of other options.
void add_chat_template_option(Command& command, std::string& value);

// The same of --chat-template-kwargs.
void add_template_arguments_option(Command& command, std::string& value);

// Of its value, an object as JSON; none where it is empty. Throws Error{invalid_argument} for what
// is no object.
JsonObject template_arguments_of(const std::string& value);

// Gives the model the template of the file that is named, or the value itself where it is a text
// with marks of templates and no file; nothing where it is empty. Throws Error{io}.
void set_chat_template(models::LoadedModel& loaded, const std::string& value);

}  // namespace hearth::tools
