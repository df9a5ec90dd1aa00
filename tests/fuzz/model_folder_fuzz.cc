// Reads arbitrary bytes as files of a folder of a model; the first byte says which: the index, what
// config.json says of quantized weights, weights that have to be made while they are read, or what
// generation_config.json recommends. What is not accepted must be a hearth::Error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/json.h"
#include "hearth/error.h"
#include "io/safetensors.h"
#include "models/files/float8_weights.h"
#include "models/files/fp4_blocks.h"
#include "models/files/mlx_weights.h"
#include "models/files/safetensors_index.h"
#include "models/sampling/recommended_sampling.h"
#include "require.h"

namespace {

using namespace hearth::models::folders;  // NOLINT(google-build-using-namespace)
using hearth::io::SafetensorsView;

using hearth::testing::require;

template <class Call>
void expect_error_or_success(Call call) {
  try {
    call();
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::unsupported);
  }
}

void check_made(const HostTensor& made) {
  require(hearth::bytes_of(made.dtype, element_count(made.shape)) ==
          static_cast<std::int64_t>(made.bytes.size()));
}

void read_index(const std::string& text) {
  const SafetensorsIndex index = parse_safetensors_index(text, "index");
  require(!index.files.empty());
  for (const auto& [name, file] : index.file_of) {
    require(std::binary_search(index.files.begin(), index.files.end(), file));
    require(file.find('/') == std::string::npos && !file.starts_with('.'));
  }
}

void read_quantization(const std::string& text) {
  const auto document = hearth::parse_json(text);
  if (!document || !std::holds_alternative<hearth::JsonObject>(*document)) return;
  const auto found = parse_mlx_quantization(std::get<hearth::JsonObject>(*document), "config");
  if (!found) return;
  require(found->all.bits >= 2 && found->all.bits <= 8 && found->all.group_size % 32 == 0);
}

// Every tensor as the weight of every other, in all schemes.
void read_weights(std::span<const std::byte> bytes) {
  const auto file =
      hearth::io::SafetensorsFile::parse(bytes, "weights", hearth::io::Float8Tensors::as_bytes);
  if (file.tensors().size() > 6) return;
  for (const SafetensorsView& weight : file.tensors()) {
    const bool is_float8 = weight.float8 != hearth::io::Float8::none;
    if (is_float8) {
      expect_error_or_success([&] { check_made(decode_float8_weight(weight, nullptr, {})); });
    }
    for (const SafetensorsView& scales : file.tensors()) {
      if (is_float8) {
        expect_error_or_success([&] { check_made(decode_float8_weight(weight, &scales, {2, 3})); });
      }
      expect_error_or_success([&] { check_made(mxfp4_of_blocks(weight, scales)); });
      for (const std::int64_t bits : {2, 3, 4, 5, 6, 8}) {
        expect_error_or_success([&] {
          check_made(decode_mlx_weight(weight, scales, &scales, {MlxMode::affine, bits, 32}));
        });
      }
      expect_error_or_success(
          [&] { check_made(decode_mlx_weight(weight, scales, nullptr, {MlxMode::mxfp4, 4, 32})); });
    }
  }
}

void read_recommended(const std::string& text) {
  hearth::GgufMetadata metadata;
  hearth::models::add_generation_config(metadata, text, "generation_config");
  hearth::models::recommended_sampling(metadata);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  expect_error_or_success([&] {
    if (data[0] == 3) {
      read_recommended(text);
    } else if (data[0] % 3 == 0) {
      read_index(text);
    } else if (data[0] % 3 == 1) {
      read_quantization(text);
    } else {
      read_weights(std::as_bytes(std::span(data + 1, size - 1)));
    }
  });
  return 0;
}
