// Quantizing the file of a language model, one tensor at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hearth/gguf.h"
#include "hearth/io.h"
#include "hearth/models.h"
#include "models/quantize/importance.h"
#include "models/quantize/tensor_types.h"

namespace hearth::models {

struct QuantizedTensorReport {
  std::string name;
  DType from = DType::f32, to = DType::f32;
  std::int64_t bytes_before = 0, bytes_after = 0;
  bool stays = false;    // as it was, bit for bit
  std::int64_t row = 0;  // elements of a matrix's row; 0 of what is no matrix of numbers
};

struct QuantizeOptions {
  QuantizeType type;
  Importance importance;                   // may be empty
  std::vector<AdapterFile> adapters = {};  // that become part of the weights
  std::vector<std::string> sources = {};   // what else was read, and must not be written over
  GgufOptions file;
  // Called after each tensor, of `count` in all.
  std::function<void(const QuantizedTensorReport&, std::size_t done, std::size_t count)> progress;
};

// Reads the GGUF file `in` (of a split model any part), or the folder of Hugging Face, and writes
// it as the GGUF file `out` with matrices in options.type: one tensor is in memory at a time beside
// what the folder's readers open, and `out` holds its old contents or all of the new ones, whatever
// happens meanwhile. Packed matrices are dequantized first. The file says that it is of the type
// that was asked for, but where most weights could not be packed. Returns the paths that were
// written.
// Throws as map_gguf, file_of_folder and save_gguf do, and LoadedAdapters of adapters;
// Error{invalid_argument} for importance that does not fit its matrix, for floats that are NaN,
// infinite or beyond what their new dtype holds (packed tensors that stay are not looked at), and
// where a file that is read would be written over; Error{io} where one that is read changes
// meanwhile.
std::vector<std::string> quantize_file(const std::string& in, const std::string& out,
                                       const QuantizeOptions& options);

}  // namespace hearth::models
