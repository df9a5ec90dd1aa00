// What a feed-forward applies, from a file's metadata.
#pragma once

#include "models/language/config.h"
#include "models/language/family.h"
#include "models/language/keys.h"

namespace hearth::models {

// The family's own, or another of those that feed-forwards have, by transformers' name in
// "hidden_activation". Throws Error{unsupported} for other names, and for any but the family's own
// where what is fused with it or what mixes rows stands for that one.
Activation read_activation(const Keys& keys, const Family& family);

// Numbers of the activation xielu, which files have under keys without the family's name: one for
// all layers, or one for each. Those of folders without the tensors are what training begins with.
// Throws Error{invalid_argument} where a file has none, too few, or one that is not finite.
XieluConfig read_xielu(const GgufMetadata& metadata, FileKind kind, std::int64_t layer);

}  // namespace hearth::models
