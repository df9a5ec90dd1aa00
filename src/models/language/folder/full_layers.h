// Families whose layers that see all keys have numbers of their own.
#pragma once

#include "core/json.h"
#include "hearth/io.h"

namespace hearth::models {

// Widths and counts of heads, and columns that turn, of layers that see all keys and of those with
// a window (`metadata` says which), where config.json tells them apart.
void add_full_layers(const JsonObject& config, GgufMetadata& metadata);

// Widths of feed-forwards, twice those of the others in layers that share keys, where config.json
// says so.
void add_wide_feed_forwards(const JsonObject& config, GgufMetadata& metadata);

}  // namespace hearth::models
