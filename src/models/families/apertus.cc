// Apertus: norms of heads, a feed-forward without a gate whose activation has numbers of its own in
// each layer.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/tensor_roles.h"
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kApertusDefaults =
    R"({"max_position_embeddings": 65536, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 12e6, "factor": 8.0,
                            "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0}})";
constexpr FolderType kApertusTypes[] = {{.name = "apertus", .defaults = kApertusDefaults}};
constexpr TensorRule kApertusTensors[] = {
    {"model.layers.{}.attention_layernorm", "blk.{}.attn_norm"},
    {"model.layers.{}.feedforward_layernorm", "blk.{}.ffn_norm"},
    {"model.layers.{}.mlp.act_fn", "blk.{}.xielu"},
};

constexpr std::string_view kXieluKeys[] = {"alpha_p", "alpha_n", "beta", "eps"};

// Files have a number for each layer under a key, folders tensors of one element.
void move_to_keys(GgufContents& contents) {
  for (const std::string_view key : kXieluKeys) {
    const std::string ending = ".xielu." + std::string(key);
    std::map<std::int64_t, const Array*> by_layer;
    for (const NamedArray& each : contents.arrays) {
      if (each.name.ends_with(ending)) by_layer[layer_of(each.name)] = &each.array;
    }
    std::vector<float> numbers;
    for (const auto& [layer, array] : by_layer) {
      if (layer != static_cast<std::int64_t>(numbers.size()) || array->size() != 1) {
        throw Error(ErrorCode::invalid_argument,
                    "model: numbers of an activation; got " + to_string(array->shape()) + " of " +
                        hearth::quoted(ending.substr(1)) + " in layer " + std::to_string(layer) +
                        ", expected one in each layer");
      }
      numbers.push_back(static_cast<float>(array->to_doubles().front()));
    }
    if (!numbers.empty()) contents.metadata.set(ending.substr(1), std::move(numbers));
    std::erase_if(contents.arrays,
                  [&](const NamedArray& each) { return each.name.ends_with(ending); });
  }
}

}  // namespace

Family apertus_family() {
  return {.architecture = "apertus",
          .model_types = kApertusTypes,
          .activation = Activation::xielu,
          .tensors = kApertusTensors,
          .adjust_contents = move_to_keys,
          .repeats_output = true};
}

}  // namespace hearth::models
