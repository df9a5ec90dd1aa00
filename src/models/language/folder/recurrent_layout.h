// Tensors of recurrent layers as GGUF files hold them, otherwise than folders.
#pragma once

#include "hearth/io.h"
#include "models/language/family.h"

namespace hearth::models {

// Of delta layers the heads of values dealt out to those of keys in turn, where the family's files
// do so; of scans columns, and norms by group. Throws Error{invalid_argument} for tensors that do
// not fit the heads.
void lay_out_recurrent(GgufContents& contents, const LanguageConfig& config, const Family& family);

}  // namespace hearth::models
