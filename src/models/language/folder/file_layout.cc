#include "models/language/folder/file_layout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/files/row_order.h"
#include "models/files/tensor_roles.h"
#include "models/language/family.h"
#include "models/language/mixer.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

// Files hold floats of 32 bits.
void narrow_numbers(GgufMetadata& metadata) {
  GgufMetadata narrow;
  for (const GgufEntry& each : metadata) {
    GgufValue value = each.value;
    if (value.type() == GgufType::f64) {
      value = GgufValue(static_cast<float>(value.as_float(each.key)));
    }
    narrow.set(each.key, std::move(value));
  }
  metadata = std::move(narrow);
}

void permute_heads(GgufContents& contents, const LanguageConfig& config) {
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const AttentionConfig& attention = config.layers[i].attention;
    const std::string prefix = "blk." + std::to_string(i) + ".attn_";
    for (const auto& [name, heads] :
         {std::pair{"q.", attention.heads}, {"k.", attention.kv_heads}}) {
      for (NamedArray& each : contents.arrays) {
        if (!each.name.starts_with(prefix + name)) continue;
        require_extent(each.array, 0, heads * attention.key_dim);
        each.array = in_order(each.array, neighbours_first(heads, attention.key_dim), 0);
      }
    }
  }
}

RopeScalingKind kind_of_scaling(const LayerConfig& layer) {
  return layer.attention.rope.scaling.kind;
}

// Divisors of frequencies: 1 of the fast ones, `factor` of the slow ones.
void add_llama3_factors(GgufContents& contents, const RopeConfig& rope,
                        const std::string& architecture) {
  const RopeScaling& scaling = rope.scaling;
  const auto original = static_cast<double>(scaling.original_length);
  const double low = scaling.low_frequency_factor, high = scaling.high_frequency_factor;
  std::vector<float> divisors;
  for (std::int64_t i = 0; i < rope.dims / 2; ++i) {
    const double wave =
        2 * std::numbers::pi *
        std::pow(rope.base, 2.0 * static_cast<double>(i) / static_cast<double>(rope.dims));
    double divisor = scaling.factor;
    if (wave < original / high) {
      divisor = 1;
    } else if (wave <= original / low) {
      const double part = (original / wave - low) / (high - low);
      divisor = 1 / ((1 - part) / scaling.factor + part);
    }
    divisors.push_back(static_cast<float>(divisor));
  }
  const auto count = static_cast<std::int64_t>(divisors.size());
  contents.arrays.push_back({"rope_freqs.weight", Array::from_data(divisors, {count})});
  for (const char* key :
       {"type", "factor", "original_context_length", "low_freq_factor", "high_freq_factor"}) {
    contents.metadata.erase(architecture + ".rope.scaling." + key);
  }
}

void repeat_output(NamedArrays& arrays) {
  const NamedArray* embedding = find_weight(arrays, TensorRole::token_embedding);
  if (embedding == nullptr || find_weight(arrays, TensorRole::output) != nullptr) return;
  const Array weights = embedding->array;
  arrays.push_back({std::string(kOutputWeight), weights});
}

// Other programs have no tensor for what is added to the sum of experts, and refuse files with more
// than they know: where it is nothing, it is left out.
void drop_zero_biases(NamedArrays& arrays) {
  std::erase_if(arrays, [](const NamedArray& each) {
    if (!each.name.ends_with(kExpertSumBias)) return false;
    const std::vector<double> values = each.array.to_doubles();
    return std::ranges::all_of(values, [](double value) { return value == 0; });
  });
}

// What readers cannot know of an encoder by its architecture alone.
void say_both_ways(GgufContents& contents, const LanguageConfig& config) {
  contents.metadata.insert(config.architecture + ".attention.causal", false);
  if (config.vectors.pooling <= Pooling::last) {
    contents.metadata.insert(config.architecture + ".pooling_type",
                             static_cast<std::uint32_t>(config.vectors.pooling));
  }
  for (const NamedArray& each : contents.arrays) {
    if (each.name != "token_types.weight") continue;
    set_count(contents.metadata, "tokenizer.ggml.token_type_count", each.array.shape(0));
  }
}

}  // namespace

void lay_out_as_file(GgufContents& contents) {
  const Family& family = family_of(contents.metadata);
  const LanguageConfig config = read_config(contents.metadata, FileKind::folder);
  if (family.is_permuted) permute_heads(contents, config);
  // Layers with a window may have none.
  const auto scaled = std::ranges::find(config.layers, RopeScalingKind::llama3, kind_of_scaling);
  if (scaled != config.layers.end()) {
    add_llama3_factors(contents, scaled->attention.rope, config.architecture);
  }
  if (family.repeats_output && config.has_output) repeat_output(contents.arrays);
  drop_zero_biases(contents.arrays);
  if (!config.is_causal) say_both_ways(contents, config);
  const MixerDef& mixer = definition_of(family.mixer);
  if (mixer.lay_out != nullptr) mixer.lay_out(contents, config, family);
  narrow_numbers(contents.metadata);
}

}  // namespace hearth::models
