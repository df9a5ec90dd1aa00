// Quantized weights as MLX writes them: x.weight, u32 words of codes, beside x.scales and x.biases.
//
// Codes of `bits` bits lie one after the other in the bits of a row, lowest first. Mode affine: an
// element is scale * code + bias, of which `group_size` elements share scale and bias. Mode mxfp4:
// codes are four-bit floats, and 32 share a scale, a byte that is an exponent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/json.h"
#include "io/safetensors.h"
#include "models/files/host_tensor.h"

namespace hearth::models::folders {

enum class MlxMode { affine, mxfp4 };

struct MlxScheme {
  MlxMode mode = MlxMode::affine;
  std::int64_t bits = 4;
  std::int64_t group_size = 64;
};

struct MlxQuantization {
  MlxScheme all;                                            // of modules that are not named
  std::map<std::string, std::optional<MlxScheme>> modules;  // nothing: left as it was

  // Of the module, such as "model.layers.0.mlp.up_proj".
  std::optional<MlxScheme> scheme_of(const std::string& module) const;
};

// What "quantization" of a config.json says; nothing where there is none. Throws
// Error{corrupt_file} for fields of another type and sizes that there are not, Error{unsupported}
// for other modes.
std::optional<MlxQuantization> parse_mlx_quantization(const JsonObject& config,
                                                      const std::string& source);

// What the words stand for, in blocks: of mxfp4 as such; of affine codes of 2 to 4 bits q4_1 and of
// 5 bits q5_1 where all scales and biases are numbers of f16, else of up to 6 bits affine6, of 8
// affine8. Elements are exact but for the offset of affine8 (core/packed/given_codes.h). biases
// may be null for mxfp4. Throws Error{corrupt_file} for what does
// not fit together.
HostTensor decode_mlx_weight(const io::SafetensorsView& words, const io::SafetensorsView& scales,
                             const io::SafetensorsView* biases, const MlxScheme& scheme);

}  // namespace hearth::models::folders
