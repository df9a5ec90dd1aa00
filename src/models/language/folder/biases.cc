#include "models/language/folder/biases.h"

#include <algorithm>
#include <string_view>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/tensor_roles.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kWeightEnding = ".weight";

// "attn_q" of "blk.3.attn_q.weight"; empty for what is no weight of a layer.
std::string_view part_of_layer(std::string_view name) {
  if (layer_of(name) < 0 || !name.ends_with(kWeightEnding)) return {};
  name.remove_suffix(kWeightEnding.size());
  return name.substr(name.rfind('.') + 1);
}

std::string bias_beside(const std::string& weight) {
  return weight.substr(0, weight.size() - kWeightEnding.size()) + ".bias";
}

}  // namespace

void require_biases(const JsonObject& config, const FolderType& type,
                    const std::map<std::string, std::string>& sources) {
  for (const auto& [key, parts] :
       {std::pair{"attention_bias", type.attention_bias}, {"mlp_bias", type.mlp_bias}}) {
    if (parts.empty() || !find_flag(config, key).value_or(false)) continue;
    for (const auto& [name, source] : sources) {
      const bool is_biased =
          std::find(parts.begin(), parts.end(), part_of_layer(name)) != parts.end();
      if (!is_biased || sources.contains(bias_beside(name))) continue;
      const std::string bias = source.ends_with(kWeightEnding) ? bias_beside(source) : source;
      throw Error(ErrorCode::invalid_argument,
                  "model: tensor is missing; got no " + hearth::quoted(bias) +
                      ", expected one, as config.json says " + std::string(key) + ": true");
    }
  }
}

}  // namespace hearth::models
