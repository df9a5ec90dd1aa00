// Rotary positions of a config.json, in its older and newer spelling, as GGUF's keys.
#pragma once

#include "core/json.h"
#include "hearth/io.h"

namespace hearth::models {

// Adds keys, and the tensors of factors where positions are scaled by them. `head_dim` is the
// number of columns of a head. Throws Error{unsupported} for scalings that are not known.
void add_rope(const JsonObject& config, std::string_view architecture, std::int64_t head_dim,
              GgufContents& contents);

}  // namespace hearth::models
