// Writes the seed corpus of gguf_fuzz: `gguf_seeds FOLDER`.

#include <cstdint>
#include <string>
#include <vector>

#include "io/gguf_types.h"
#include "io/gguf_writer.h"
#include "seeds.h"

namespace {

using hearth::DType;
using hearth::GgufMetadata;
using hearth::io::GgufTensor;

// A file with these tensors, and `bytes` bytes of data.
std::string file_of(const std::vector<GgufTensor>& tensors, const GgufMetadata& metadata,
                    std::size_t bytes, std::int64_t alignment = 32) {
  return hearth::io::gguf_header(tensors, metadata, alignment) + std::string(bytes, 'x');
}

GgufMetadata every_type() {
  return {{"general.architecture", "llama"},
          {"u8", std::uint8_t{1}},
          {"i8", std::int8_t{-1}},
          {"u16", std::uint16_t{1}},
          {"i16", std::int16_t{-1}},
          {"u32", std::uint32_t{1}},
          {"i32", std::int32_t{-1}},
          {"f32", 1.0f},
          {"bool", true},
          {"u64", std::uint64_t{1}},
          {"i64", std::int64_t{-1}},
          {"f64", 1.0},
          {"texts", std::vector<std::string>{"a", "", "\xe2\x82\xac"}},
          {"bools", std::vector<bool>{true, false}},
          {"numbers", std::vector<std::int32_t>{1, 2, 3}},
          {"none", std::vector<float>{}}};
}

std::vector<std::string> seeds() {
  std::vector<GgufTensor> every_dtype;
  for (std::int32_t number = 0; hearth::io::gguf_tensor_type(number) != nullptr; ++number) {
    const auto& type = *hearth::io::gguf_tensor_type(number);
    if (type.dtype) every_dtype.push_back({std::string(type.name), *type.dtype, {2, 256}});
  }
  const std::string one = file_of({{"w", DType::f32, {2, 2}}}, {}, 32);
  std::string version_two = one;
  version_two[4] = 2;
  std::string big_endian = one;
  big_endian[4] = 0;
  big_endian[7] = 3;
  return {
      file_of({}, {}, 0),
      one,
      version_two,
      big_endian,
      file_of({{"a", DType::i8, {}}, {"e", DType::f16, {0, 3}}, {"b", DType::i64, {1, 1, 1, 2}}},
              every_type(), 96),
      file_of({{"a", DType::f32, {3}}, {"b", DType::q4_0, {32}}},
              {{"general.alignment", std::uint32_t{8}}}, 40, 8),
      file_of(every_dtype, {}, std::size_t{1} << 15),
      file_of({{"t", DType::q8_0, {1, 64}}},
              {{"split.no", std::uint16_t{0}},
               {"split.count", std::uint16_t{2}},
               {"split.tensors.count", std::int32_t{2}}},
              96),
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
