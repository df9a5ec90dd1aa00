// Writes the seed corpus of safetensors_fuzz: `safetensors_seeds FOLDER`.

#include <string>
#include <vector>

#include "io/safetensors.h"
#include "seeds.h"

namespace {

using hearth::DType;
using hearth::io::SafetensorsMetadata;
using hearth::io::SafetensorsView;

std::string file_of(const std::string& json, const std::string& data = {}) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i));
  return file + json + data;
}

std::string written(std::vector<SafetensorsView> tensors, const SafetensorsMetadata& metadata) {
  std::string file = hearth::io::safetensors_header(tensors, metadata);
  for (const SafetensorsView& tensor : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return file;
}

std::vector<std::string> seeds() {
  const std::string zeros(64, '\0');
  const auto data = std::as_bytes(std::span(zeros));
  std::vector<SafetensorsView> every_dtype;
  for (int i = 0; i < hearth::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    every_dtype.push_back({std::string(name(dtype)),
                           dtype,
                           {2},
                           data.first(static_cast<std::size_t>(2 * size_of(dtype)))});
  }
  return {
      written({}, {}),
      written({{"w", DType::f32, {2, 2}, data.first(16)}}, {{"format", "pt"}}),
      written({{"a", DType::i8, {}, data.first(1)}, {"e", DType::f16, {0, 3}, {}}}, {}),
      written(every_dtype, {{"a", "1"}, {"\xe2\x82\xac", "\n\"\\"}}),
      file_of(R"({"b":{"data_offsets":[1,2],"shape":[1],"dtype":"U8"},)"
              R"("\u0061":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} )",
              "xy"),
      file_of(R"({"t":{"dtype":"F64","shape":[9223372036854775807,2],"data_offsets":[0,8]}})",
              "12345678"),
      file_of(R"({"t":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}})", "x"),
      file_of(R"({"\ud83d\ude00":{"dtype":"BOOL","shape":[1,1,1,1,1,1,1,1],)"
              R"("data_offsets":[0,1]}})",
              "x"),
      file_of("{\"a\":[[[[[[[["),
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
