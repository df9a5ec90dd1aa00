// What `hearth info` prints.
#pragma once

#include <string>

#include "core/json.h"
#include "tools/info/model_file.h"

namespace hearth::tools {

struct InfoOptions {
  bool all = false;      // arrays and texts of the metadata whole
  bool tensors = false;  // each tensor
};

// For a terminal: names and texts are printable ASCII, others as \xNN.
std::string info_text(const ModelFile& file, const InfoOptions& options);

// {"format", "version", "files", "alignment", "architecture", "name", "parameters", "bytes",
// "dtypes": [{"dtype", "tensors", "parameters", "bytes", "bits_per_weight"}], "metadata": [{"key",
// "type", "value"}], "tensors": [{"name", "dtype", "shape", "bytes"}]}. What the format or the file
// lacks is null; "tensors" is there if the options ask for it, and
// "with", names of files, for a folder that has others. The entry of an array has a "count",
// and but for InfoOptions::all only its first values. Bytes that are no UTF-8 are U+FFFD.
JsonObject info_document(const ModelFile& file, const InfoOptions& options);

}  // namespace hearth::tools
