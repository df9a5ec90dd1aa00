// What the runtime reads from a folder, as files of GGUF have it.
#pragma once

#include "hearth/io.h"

namespace hearth::models {

// Makes the file of what gguf_of_folder() gives: rows of queries and keys in the order of families
// whose positions turn neighbours, factors of llama3's scaling as a tensor, numbers in the widths
// that llama.cpp reads, and what mixers lay out otherwise. The tokenizer is not there. Arrays are
// computed when they are read. Throws Error{invalid_argument} for heads that do not fit the
// tensors.
void lay_out_as_file(GgufContents& contents);

}  // namespace hearth::models
