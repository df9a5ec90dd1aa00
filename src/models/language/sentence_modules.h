// What sentence-transformers keeps beside a model: how its rows become a text's vector.
#pragma once

#include "hearth/gguf.h"
#include "models/files/model_folder.h"

namespace hearth::models {

// Adds to the metadata of a folder's model, under the keys of read_text_vectors.h, what
// modules.json and the files that it names say: the pooling, whether vectors are normalised, the
// longest text (max_seq_length) and the prompt that each text gets. Nothing where there is no
// modules.json, which sentence-transformers takes for the mean. Throws Error{corrupt_file} for
// files of another form, Error{unsupported} for other modules, several poolings side by side and
// what texts are changed by, and Error{io}.
void add_sentence_modules_of(const ModelFolder& folder, GgufMetadata& metadata);

}  // namespace hearth::models
