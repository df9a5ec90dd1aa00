// Writing safetensors files.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/integer_math.h"
#include "io/safetensors_header.h"

namespace hearth::io {
namespace {

// The order in which tensors follow each other in a file: what the reference writer uses.
constexpr DType kFileOrder[] = {DType::u64, DType::i64,  DType::f64,  DType::f32, DType::u32,
                                DType::i32, DType::bf16, DType::f16,  DType::u16, DType::i16,
                                DType::i8,  DType::u8,   DType::bool_};

int file_order(DType dtype) {
  return static_cast<int>(std::find(std::begin(kFileOrder), std::end(kFileOrder), dtype) -
                          std::begin(kFileOrder));
}

}  // namespace

std::string safetensors_header(std::vector<SafetensorsView>& tensors,
                               const SafetensorsMetadata& metadata) {
  const auto invalid = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "write_safetensors: " + what);
  };
  const auto encoded = [&](const std::string& text) {
    std::string json;
    try {
      json = nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
      invalid("a name or metadata that is not UTF-8; got " + printable(text));
    }
    return json;
  };

  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(file_order(a.dtype), std::string_view(a.name)) <
           std::pair(file_order(b.dtype), std::string_view(b.name));
  });
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const SafetensorsView& tensor : tensors) {
    if (is_packed(tensor.dtype)) {
      invalid("a packed tensor; got " + printable(tensor.name) + ", " +
              std::string(name(tensor.dtype)) +
              ", expected plain dtypes, or the format GGUF (save_gguf)");
    }
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    invalid("two tensors with one name; got " + printable(*twice));
  }
  if (std::binary_search(names.begin(), names.end(), kMetadataKey)) {
    invalid("a tensor called \"__metadata__\", which the format reserves");
  }

  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (json.back() != '{') json += ',';
      json += encoded(key) + ":" + encoded(value);
    }
    json += '}';
  }
  std::uint64_t offset = 0;
  for (const SafetensorsView& tensor : tensors) {
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 0) invalid("a negative extent; got " + to_string(tensor.shape));
    }
    const std::optional<std::uint64_t> bytes = checked_bytes(tensor.shape, tensor.dtype);
    if (!bytes || (!tensor.bytes.empty() && *bytes != tensor.bytes.size())) {
      invalid("tensor " + printable(tensor.name) + " whose bytes do not fit its shape; got " +
              std::to_string(tensor.bytes.size()) + " bytes for " +
              std::string(hearth::name(tensor.dtype)) + " " + to_string(tensor.shape));
    }
    if (json.size() > 1) json += ',';
    json += encoded(tensor.name) + ":{\"dtype\":\"";
    json += tensor.float8 == Float8::none ? info(tensor.dtype).safetensors
                                          : safetensors_name(tensor.float8);
    json += "\",\"shape\":[";
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      if (axis > 0) json += ',';
      json += std::to_string(tensor.shape[axis]);
    }
    json += "],\"data_offsets\":[" + std::to_string(offset) + ",";
    offset += *bytes;
    json += std::to_string(offset) + "]}";
  }
  json += '}';
  json.resize(round_up(json.size(), 8), ' ');
  if (json.size() > kMaxSafetensorsHeader) {
    invalid("names and metadata too long; got a header of " + std::to_string(json.size()) +
            " bytes, expected at most " + std::to_string(kMaxSafetensorsHeader));
  }
  std::string header;
  header.reserve(kLengthBytes + json.size());
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    header += static_cast<char>(static_cast<unsigned char>(json.size() >> (8 * i)));
  }
  return header += json;
}

void write_safetensors(const std::string& path, std::vector<SafetensorsView> tensors,
                       const SafetensorsMetadata& metadata) {
  const std::string header = safetensors_header(tensors, metadata);
  for (const SafetensorsView& tensor : tensors) {
    if (tensor.bytes.empty() && element_count(tensor.shape) > 0) {
      throw Error(ErrorCode::invalid_argument,
                  "write_safetensors: tensor " + printable(tensor.name) +
                      " whose bytes do not fit its shape; got none for " + to_string(tensor.shape));
    }
  }
  AtomicFileWriter writer(path);
  writer.write(header);
  for (const SafetensorsView& tensor : tensors) writer.write(tensor.bytes);
  writer.commit();
}

}  // namespace hearth::io
