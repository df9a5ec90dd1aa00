// Language models of the shapes of tests/golden/models with fresh weights: of any width, stored as
// any dtype, on any device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/golden_model.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/language_model.h"
#include "models/language/read_config.h"

namespace hearth::testing {

struct RandomModel {
  std::string golden;  // whose configuration it has
  std::uint64_t seed = 1;
  DType compute = DType::f32;
  // Of matrices but routers: floats, or blocks where rows are whole ones.
  DType weights = DType::f32;
  // In place of the golden model's, where they are not 0. Heads are of so many columns.
  std::int64_t dim = 0, hidden = 0, head_dim = 0, window = 0;
  // The embedding of the last token is NaN, and so is all that it writes.
  bool has_poison = false;
};

// The whole number `key` of a configuration, which becomes `to` where that is not 0: what it was,
// and what it is. {1, 1} where nothing changes.
inline std::pair<std::int64_t, std::int64_t> change_number(JsonObject& config, std::string_view key,
                                                           std::int64_t to) {
  if (to == 0) return {1, 1};
  for (auto& [name, value] : config) {
    if (name == key) return {std::exchange(std::get<std::int64_t>(value), to), to};
  }
  throw std::runtime_error("random model: no number " + std::string(key));
}

// Models of attention, with or without experts.
inline GoldenModel with_widths(GoldenModel golden, const RandomModel& wanted) {
  const auto dim = change_number(golden.config, "hidden_size", wanted.dim);
  const auto hidden = change_number(golden.config, "intermediate_size", wanted.hidden);
  const auto head = change_number(golden.config, "head_dim", wanted.head_dim);
  change_number(golden.config, "sliding_window", wanted.window);
  for (GoldenTensor& tensor : golden.tensors) {
    const auto has = [&](std::string_view part) {
      return tensor.name.find(part) != std::string::npos;
    };
    int of_heads = -1;  // the axis
    if (has("q_proj") || has("k_proj") || has("v_proj") || has("q_norm") || has("k_norm")) {
      of_heads = 0;
    } else if (has("o_proj.weight")) {
      of_heads = 1;
    }
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      std::int64_t& extent = tensor.shape[axis];
      if (axis == of_heads) {
        extent = extent / head.first * head.second;
      } else if (extent == dim.first) {
        extent = dim.second;
      } else if (extent % hidden.first == 0 && has("mlp")) {
        extent = extent / hidden.first * hidden.second;
      }
    }
  }
  return golden;
}

inline models::LanguageModel random_language_model(const RandomModel& wanted, std::int64_t context,
                                                   Device device = Device()) {
  const GoldenModel golden = with_widths(read_golden_model(wanted.golden), wanted);
  std::mt19937 random(static_cast<std::uint32_t>(wanted.seed));
  NamedArrays arrays;
  for (const GoldenTensor& tensor : golden.tensors) {
    std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
    for (float& value : values) {
      const double u = static_cast<double>(random()) * 0x1p-31 - 1;
      value = static_cast<float>(tensor.base + tensor.scale * u);
    }
    if (wanted.has_poison && tensor.name == "model.embed_tokens.weight") {
      std::fill(values.end() - tensor.shape[1], values.end(),
                std::numeric_limits<float>::quiet_NaN());
    }
    arrays.push_back({tensor.name, Array::from_data(values, tensor.shape)});
  }
  GgufContents contents = models::gguf_of_folder(golden.config, arrays);
  for (NamedArray& each : contents.arrays) {
    const Array& x = each.array;
    const bool is_router = each.name.ends_with("ffn_gate_inp.weight");
    if (x.rank() < 2 || !each.name.ends_with(".weight") || is_router) continue;
    if (!is_packed(wanted.weights)) {
      each.array = cast(x, wanted.weights);
    } else if (x.shape(x.rank() - 1) % block_of(wanted.weights) == 0) {
      each.array = quantize(x, wanted.weights);
    }
  }
  return models::LanguageModel(models::read_config(contents.metadata, models::FileKind::folder),
                               models::Weights(contents.arrays, wanted.compute, device), device,
                               context);
}

}  // namespace hearth::testing
