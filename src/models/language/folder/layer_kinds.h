// Families whose layers that see all keys have numbers of their own.
#pragma once

#include "core/json.h"
#include "hearth/io.h"

namespace hearth::models {

// Widths and counts of heads, columns that turn, and widths of feed-forwards, by the kind of a
// layer, where config.json tells kinds apart: those that see all keys from those with a window
// (`metadata` says which), and those that share keys from the others.
void add_layer_kinds(const JsonObject& config, GgufMetadata& metadata);

}  // namespace hearth::models
