// Loading a language model under the eyes of who waits for it.
#pragma once

#include <string>

#include "models/loading/load_model.h"

namespace hearth::tools {

// load_language_model(), with a bar on the terminal.
models::LoadedModel load_with_progress(const std::string& path, models::LoadOptions options);

}  // namespace hearth::tools
