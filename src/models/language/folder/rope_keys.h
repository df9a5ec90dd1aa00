// Rotary positions of a config.json, in its older and newer spelling, as GGUF's keys.
#pragma once

#include "core/json.h"
#include "hearth/io.h"
#include "models/language/family.h"

namespace hearth::models {

// Adds keys, and the tensors of factors where positions are scaled by them. `head_dim` is the
// number of columns of a head. Throws Error{unsupported} for scalings that are not known.
// Heads turn in part only where families say so (Family::turns_parts).
void add_rope(const JsonObject& config, const Family& family, std::int64_t head_dim,
              GgufContents& contents);

}  // namespace hearth::models
