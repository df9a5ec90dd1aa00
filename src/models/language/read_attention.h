// The numbers of attention in a layer, from the metadata of its file.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

// The keys that a layer sees at most; 0: all of them.
std::int64_t window_of(const Keys& keys, const Family& family, std::int64_t layer);

// Of layer `layer`, for a config that has its dim and context. Throws as read_config() does.
AttentionConfig read_attention(const Keys& keys, const Family& family, FileKind kind,
                               const LanguageConfig& config, std::int64_t layer);

// Lets the last layers read keys and values of earlier ones, as many as the file says. Throws
// Error{unsupported} where rows see those behind them and layers share, or have windows in a family
// that is no encoder: which keys those would see is not known.
void share_layers(const Keys& keys, const Family& family, LanguageConfig& config);

}  // namespace hearth::models
