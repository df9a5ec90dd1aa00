// Writes the seed corpus of model_folder_fuzz: `model_folder_seeds FOLDER`.

#include <span>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "seeds.h"

namespace {

using hearth::DType;
using hearth::io::Float8;
using hearth::io::SafetensorsView;

std::string weights(std::vector<SafetensorsView> tensors) {
  std::string file = "\x02" + hearth::io::safetensors_header(tensors, {});
  for (const SafetensorsView& tensor : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return file;
}

std::vector<std::string> seeds() {
  using std::string_literals::operator""s;
  const std::string some(256, '\x5a');
  const auto data = std::as_bytes(std::span(some));
  return {
      "\0"s + R"({"metadata": {"total_size": 8}, "weight_map": {"a": "model-1.safetensors",)"s +
          R"("b": "model-2.safetensors"}})",
      "\0"s + R"({"weight_map": {"a": "../x.safetensors"}})",
      "\x01"s + R"({"quantization": {"group_size": 64, "bits": 4, "mode": "affine",)"s +
          R"("lm_head": {"bits": 8, "group_size": 32}, "model.embed_tokens": false}})",
      "\x01"s + R"({"quantization": {"bits": 4, "group_size": 32, "mode": "mxfp4"}})",
      "\x03"s +
          R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0,)"s +
          R"("repetition_penalty": 1.05, "eos_token_id": [1, 2], "max_new_tokens": 9})",
      "\x03"s + R"({"do_sample": false, "temperature": null})",
      weights({{"x.weight", DType::u32, {2, 4}, data.first(32)},
               {"x.scales", DType::f16, {2, 1}, data.first(4)}}),
      weights({{"x.weight", DType::u32, {2, 5}, data.first(40)},
               {"x.scales", DType::bf16, {2, 1}, data.first(4)}}),
      weights({{"x.weight", DType::u32, {2, 4}, data.first(32)},
               {"x.scales", DType::u8, {2, 1}, data.first(2)}}),
      weights({{"x_blocks", DType::u8, {2, 1, 16}, data.first(32)},
               {"x_scales", DType::u8, {2, 1}, data.first(2)}}),
      weights({{"x.weight", DType::u8, {4, 5}, data.first(20), Float8::e4m3},
               {"x.weight_scale_inv", DType::f32, {2, 2}, data.first(16)}}),
      weights({{"x.weight", DType::u8, {2, 3, 4}, data.first(24), Float8::e5m2},
               {"x.weight_scale", DType::u8, {2, 3, 1}, data.first(6), Float8::e8m0}}),
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
