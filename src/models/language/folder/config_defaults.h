// What a config.json leaves out.
#pragma once

#include <string_view>

#include "core/json.h"
#include "models/language/family.h"

namespace hearth::models {

// The configuration, which may be the text_config of one, with what its type takes for keys that
// are not in it. A null is a value; a key under another name of it is not left out.
JsonObject with_defaults(const JsonObject& config, const Family& family, std::string_view type);

}  // namespace hearth::models
