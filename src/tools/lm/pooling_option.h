// --pooling: which rows of a text become its vector, where its model's files do not say so or
// others are wanted.
#pragma once

#include <string>

#include "models/language/config.h"
#include "tools/command_line.h"

namespace hearth::tools {

// `pooling` is empty where the model's files say it.
void add_pooling_option(Command& command, std::string& pooling);

// Takes it for a model that may make vectors. `command` begins errors: Error{unsupported} for one
// with recurrent layers.
void set_pooling(models::LanguageConfig& config, const std::string& pooling,
                 const std::string& command);

// Throws Error{unsupported}, which names the option, for a model that makes no vectors without it.
void require_pooling(const models::LanguageConfig& config, const std::string& command);

}  // namespace hearth::tools
