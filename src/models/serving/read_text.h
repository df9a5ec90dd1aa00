// A whole answer, read from its stream.
#pragma once

#include <functional>
#include <string_view>

#include "hearth/models.h"
#include "models/serving/generation_stream.h"

namespace hearth::models {

// Gives `write`, which may be empty, the text as it comes; false from it cancels the rest. Throws
// the Error of an answer that failed.
GeneratedText read_text(GenerationStream& stream,
                        const std::function<bool(std::string_view)>& write);

}  // namespace hearth::models
