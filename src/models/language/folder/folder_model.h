// Models of Hugging Face's folders as the GGUF files that they would become: config.json as
// metadata, tensors under GGUF's names. Rows of queries and keys stay in their order, and scalings
// of positions that GGUF has tensors for stay numbers (FileKind::folder).
#pragma once

#include "core/json.h"
#include "hearth/io.h"

namespace hearth::models {

// `arrays` are those of the folder's files; what is made of them is recorded, not evaluated. Throws
// Error{unsupported} for types of models and scalings of positions that are not known and for
// tensors that the family does not have; Error{invalid_argument} with the key of what is missing
// or of the wrong type.
GgufContents gguf_of_folder(const JsonObject& config, const NamedArrays& arrays);

}  // namespace hearth::models
