// The types that files are quantized to: their names, and the numbers that GGUF has for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "models/quantize/mixes.h"

namespace hearth::models {

// What is asked for: a dtype for matrices, and which of them get another.
struct QuantizeType {
  DType dtype = DType::q4_k;
  QuantizeMix mix = QuantizeMix::none;
  // Every matrix in `dtype`: also those of the output, which otherwise get q6_k at least.
  bool is_pure = false;
  bool is_kept = false;  // every matrix as it is: "keep"
};

// "q4_k_m", "mxfp4", "f16", by llama.cpp's names; capital letters are as good. Throws
// Error{invalid_argument} with the names that there are.
QuantizeType quantize_type_from_name(std::string_view name);
std::vector<std::string> quantize_type_names();

// The number of GGUF's "general.file_type" that names the type best; -1 for none.
std::int64_t file_type_of(const QuantizeType& type);
// What llama.cpp calls a type of that number: "Q4_K - Medium"; empty: it is not known.
std::string_view file_type_name(std::int64_t file_type) noexcept;

}  // namespace hearth::models
