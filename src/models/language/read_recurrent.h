// The numbers of layers that mix rows by a recurrence, from the metadata of a file.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

Mixer mixer_of(const Keys& keys, const Family& family, std::int64_t layer);

// Those of the family's mixer; nothing of attention. Throws as read_config() does.
void read_recurrent(const Keys& keys, const Family& family, FileKind kind, LanguageConfig& config);

}  // namespace hearth::models
